#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "analyzer/livemap.h"

#define REORDER 1000u

static uint64_t random_state;

/* Marsaglia, "Xorshift RNGs", 2003. */
static uint64_t random_next(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static void apply(struct livemap *map, struct trace_event event)
{
	if (event.end_time < event.time)
		event.end_time = event.time;
	cr_assert(livemap_apply(map, &event));
}

static struct trace_event alloc_at(uint64_t time, uint32_t thread, uint64_t address, uint64_t size_bytes)
{
	return (struct trace_event){.kind = EVENT_MALLOC,
				    .time = time,
				    .thread = thread,
				    .address = address,
				    .size_bytes = size_bytes};
}

static struct trace_event free_at(uint64_t time, uint32_t thread, uint64_t address)
{
	return (struct trace_event){.kind = EVENT_FREE, .time = time, .thread = thread, .address = address};
}

static struct trace_event realloc_at(uint64_t time, uint64_t end_time, uint32_t thread, uint64_t old_address,
				     uint64_t address, uint64_t size_bytes)
{
	return (struct trace_event){.kind = EVENT_REALLOC,
				    .time = time,
				    .end_time = end_time,
				    .thread = thread,
				    .old_address = old_address,
				    .address = address,
				    .size_bytes = size_bytes};
}

/* The invariants of livemap.h. */
static void assert_consistent(const struct livemap *map)
{
	size_t count;
	const struct live_site *sites = livemap_sites(map, &count);
	double bytes = 0, blocks = 0;
	for (size_t i = 0; i < count; i++) {
		bytes += sites[i].live_bytes.value;
		blocks += sites[i].live_blocks.value;
		cr_assert_geq(sites[i].live_bytes_peak.value, sites[i].live_bytes.value);
	}
	const struct livemap_totals *totals = livemap_totals(map);
	cr_assert_float_eq(bytes, totals->live_bytes.value, 1e-6 * (1 + bytes));
	cr_assert_float_eq(blocks, totals->live_blocks.value, 1e-6 * (1 + blocks));
}

static void sum_block(void *context, const struct live_block *block)
{
	*(uint64_t *)context += block->size_bytes;
}

static void assert_live(struct livemap *map, uint64_t bytes, uint64_t blocks)
{
	uint64_t sum = 0;
	cr_assert(livemap_finish(map));
	cr_assert_eq((uint64_t)livemap_totals(map)->live_bytes.value, bytes);
	cr_assert_eq((uint64_t)livemap_totals(map)->live_blocks.value, blocks);
	livemap_each(map, sum_block, &sum);
	cr_assert_eq(sum, bytes);
	assert_consistent(map);
}

/* ---- plain --------------------------------------------------------------------------------------------- */

Test(livemap, random_lives_agree_with_a_reference)
{
	enum { PLACES = 20000 };
	uint64_t *sizes = calloc(PLACES, sizeof *sizes);
	uint64_t live = 0, blocks = 0, peak = 0, time = 0, remote = 0;
	uint32_t *owners = calloc(PLACES, sizeof *owners);
	struct livemap *map = livemap_create(0, REORDER);
	random_state = 42;
	for (unsigned i = 0; i < 400000; i++) {
		uint64_t at = random_next() % PLACES, address = 0x7f0000000000u + at * 32;
		uint32_t thread = (uint32_t)(random_next() % 4);
		time += 10;
		if (sizes[at]) {
			remote += owners[at] != thread;
			apply(map, free_at(time, thread, address));
			live -= sizes[at];
			blocks--;
			sizes[at] = 0;
			time += REORDER; /* far from the next event of this address */
		} else {
			sizes[at] = 1 + random_next() % 100000;
			owners[at] = thread;
			struct trace_event event = alloc_at(time, thread, address, sizes[at]);
			event.stack_id = (uint32_t)(random_next() % 300);
			apply(map, event);
			live += sizes[at];
			blocks++;
			peak = live > peak ? live : peak;
		}
		if (i % 50000 == 0)
			assert_consistent(map);
	}
	assert_live(map, live, blocks);
	cr_assert_eq((uint64_t)livemap_totals(map)->live_bytes_peak.value, peak);
	cr_assert_eq(livemap_totals(map)->remote_frees, remote);
	cr_assert_eq(livemap_totals(map)->unknown_frees, 0);
	cr_assert_eq(livemap_totals(map)->reordered, 0);
	livemap_free(map);
	free(owners);
	free(sizes);
}

Test(livemap, memory_follows_the_live_blocks)
{
	struct livemap *map = livemap_create(0, REORDER);
	for (uint64_t i = 0; i < 1000000; i++) {
		apply(map, alloc_at(2 * i, 1, 0x10000 + i * 16, 8));
		if (i >= 1000)
			apply(map, free_at(2 * i + 1, 1, 0x10000 + (i - 1000) * 16));
	}
	cr_assert_leq(livemap_totals(map)->memory_bytes, 100000);
	assert_live(map, 8 * 1000, 1000);
	livemap_free(map);
}

Test(livemap, reallocs_move_grow_and_count_apart)
{
	struct livemap *map = livemap_create(0, REORDER);
	apply(map, alloc_at(10, 1, 0x1000, 100));
	apply(map, realloc_at(20, 25, 1, 0x1000, 0x2000, 300));
	apply(map, realloc_at(30, 35, 1, 0x2000, 0x2000, 400));
	apply(map, realloc_at(40, 45, 1, 0, 0x3000, 50)); /* realloc(NULL, 50) */
	assert_live(map, 450, 2);
	size_t count;
	const struct live_site *site = livemap_sites(map, &count);
	cr_assert_eq(count, 1);
	cr_assert_eq((uint64_t)site->allocs.value, 1);
	cr_assert_eq((uint64_t)site->alloc_bytes.value, 100);
	cr_assert_eq((uint64_t)site->reallocs.value, 3);
	cr_assert_eq((uint64_t)site->realloc_bytes.value, 750);
	livemap_free(map);
}

Test(livemap, an_old_address_is_taken_before_the_realloc_returns)
{
	struct livemap *map = livemap_create(0, REORDER);
	apply(map, alloc_at(10, 1, 0x1000, 100));
	apply(map, realloc_at(20, 900000, 1, 0x1000, 0x2000, 300));
	apply(map, alloc_at(50, 2, 0x1000, 7));
	assert_live(map, 307, 2);
	cr_assert_eq(livemap_totals(map)->reordered, 0);
	livemap_free(map);
}

Test(livemap, a_new_address_is_freed_by_another_while_the_realloc_runs)
{
	struct livemap *map = livemap_create(0, REORDER);
	apply(map, alloc_at(5, 1, 0x1000, 100));
	apply(map, alloc_at(10, 2, 0x2000, 1000));
	apply(map, realloc_at(20, 900000, 1, 0x1000, 0x2000, 300));
	apply(map, free_at(50000, 2, 0x2000)); /* long before the realloc took the address */
	apply(map, free_at(950000, 3, 0x2000));
	assert_live(map, 0, 0);
	cr_assert_eq(livemap_totals(map)->reordered, 0);
	cr_assert_eq(livemap_totals(map)->unknown_frees, 0);
	livemap_free(map);
}

Test(livemap, frees_of_unknown_blocks_are_counted)
{
	struct livemap *map = livemap_create(0, REORDER);
	apply(map, free_at(10, 1, 0x1000));
	apply(map, realloc_at(20, 21, 1, 0x2000, 0x3000, 5));
	apply(map, free_at(5000, 1, 0x3000));
	assert_live(map, 0, 0);
	cr_assert_eq(livemap_totals(map)->unknown_frees, 2);
	livemap_free(map);
}

/* ---- handed over, with clocks that disagree ------------------------------------------------------------ */

Test(livemap, allocation_seen_before_the_free_of_the_old_block)
{
	struct livemap *map = livemap_create(0, REORDER);
	apply(map, alloc_at(10, 1, 0x1000, 100));
	apply(map, alloc_at(5000, 2, 0x1000, 30)); /* thread 1 freed it before, by a clock that is ahead */
	apply(map, free_at(5100, 1, 0x1000));
	assert_live(map, 30, 1);
	cr_assert_eq(livemap_totals(map)->reordered, 1);
	cr_assert_eq(livemap_totals(map)->lost_frees, 0);
	livemap_free(map);
}

Test(livemap, the_new_owners_own_free_is_not_taken_for_the_old_one)
{
	struct livemap *map = livemap_create(0, REORDER);
	apply(map, alloc_at(10, 1, 0x1000, 100));
	apply(map, alloc_at(5000, 2, 0x1000, 30));
	apply(map, free_at(5050, 2, 0x1000));
	apply(map, free_at(5100, 1, 0x1000));
	assert_live(map, 0, 0);
	cr_assert_eq(livemap_totals(map)->reordered, 1);
	livemap_free(map);
}

Test(livemap, a_free_that_was_lost_is_not_waited_for_forever)
{
	struct livemap *map = livemap_create(0, REORDER);
	apply(map, alloc_at(10, 1, 0x1000, 100));
	apply(map, alloc_at(5000, 2, 0x1000, 30));
	apply(map, free_at(5000 + REORDER + 1, 1, 0x1000)); /* of the new block */
	assert_live(map, 0, 0);
	cr_assert_eq(livemap_totals(map)->lost_frees, 1);
	cr_assert_eq(livemap_totals(map)->reordered, 0);
	livemap_free(map);
}

Test(livemap, free_seen_before_its_allocation)
{
	struct livemap *map = livemap_create(0, REORDER);
	apply(map, free_at(5000, 2, 0x1000));
	apply(map, alloc_at(5100, 1, 0x1000, 100));
	assert_live(map, 0, 0);
	cr_assert_eq(livemap_totals(map)->reordered, 1);
	cr_assert_eq(livemap_totals(map)->unknown_frees, 0);
	livemap_free(map);
}

Test(livemap, a_thread_that_frees_and_allocates_again_is_no_reordering)
{
	struct livemap *map = livemap_create(0, REORDER);
	apply(map, free_at(5000, 1, 0x1000));
	apply(map, alloc_at(5100, 1, 0x1000, 100));
	assert_live(map, 100, 1);
	cr_assert_eq(livemap_totals(map)->unknown_frees, 1);
	livemap_free(map);
}

struct stamped {
	struct trace_event event;
	unsigned order; /* as it really happened, for a stable sort */
};

static int by_time(const void *a, const void *b)
{
	const struct stamped *left = a, *right = b;
	if (left->event.time != right->event.time)
		return left->event.time > right->event.time ? 1 : -1;
	if (left->event.thread != right->event.thread)
		return left->event.thread > right->event.thread ? 1 : -1;
	return left->order > right->order ? 1 : -1;
}

/* Puts real events under the clock of their thread's CPU; within a thread the order stays. */
static void skew(struct stamped *events, unsigned count, uint64_t worst)
{
	uint64_t offsets[4], last[4] = {0};
	for (unsigned i = 0; i < 4; i++)
		offsets[i] = random_next() % (worst + 1);
	for (unsigned i = 0; i < count; i++) {
		struct trace_event *event = &events[i].event;
		event->time += offsets[event->thread];
		event->time = event->time < last[event->thread] ? last[event->thread] : event->time;
		last[event->thread] = event->time;
		event->end_time = event->time;
	}
	qsort(events, count, sizeof *events, by_time);
}

/*
 * Blocks that wander between four threads as fast as a memory bus allows, clocks up to `worst` apart. Events
 * are at least 20 apart: a difference below 40 swaps neighbours, as real clocks do at the very worst.
 */
static uint64_t wander(uint64_t seed, uint64_t worst)
{
	enum { EVENTS = 20000, PLACES = 4 };
	struct stamped *events = calloc(EVENTS, sizeof *events);
	uint64_t sizes[PLACES] = {0}, live = 0, blocks = 0, time = 100000;
	random_state = seed;
	for (unsigned i = 0; i < EVENTS; i++) {
		uint64_t at = random_next() % PLACES, address = 0x10000 + at * 64;
		uint32_t thread = (uint32_t)(random_next() % 4);
		time += 20 + random_next() % 60;
		events[i].order = i;
		if (sizes[at]) {
			events[i].event = free_at(time, thread, address);
			live -= sizes[at];
			blocks--;
			sizes[at] = 0;
		} else {
			sizes[at] = 1 + random_next() % 1000;
			events[i].event = alloc_at(time, thread, address, sizes[at]);
			live += sizes[at];
			blocks++;
		}
	}
	skew(events, EVENTS, worst);
	struct livemap *map = livemap_create(0, REORDER);
	for (unsigned i = 0; i < EVENTS; i++)
		apply(map, events[i].event);
	assert_live(map, live, blocks);
	cr_assert_eq(livemap_totals(map)->unknown_frees, 0, "seed %lu", seed);
	cr_assert_eq(livemap_totals(map)->lost_frees, 0, "seed %lu", seed);
	uint64_t reordered = livemap_totals(map)->reordered;
	livemap_free(map);
	free(events);
	return reordered;
}

Test(livemap, live_bytes_are_exact_when_clocks_tie_or_differ)
{
	uint64_t reordered = 0;
	for (uint64_t seed = 1; seed <= 30; seed++) {
		cr_assert_eq(wander(seed * 7919, 0), 0);
		reordered += wander(seed * 7919, 39);
	}
	cr_assert_gt(reordered, 500, "%lu", reordered);
}

/* ---- sample mode --------------------------------------------------------------------------------------- */

Test(livemap, sampling_probability_is_that_of_the_poisson_process)
{
	cr_assert_float_eq(sample_probability(100, 0), 1, 0);
	cr_assert_float_eq(sample_probability(512, 512), 1 - exp(-1), 1e-12);
	cr_assert_float_eq(sample_probability(0, 1 << 19), sample_probability(1, 1 << 19), 0);
	cr_assert_float_eq(sample_probability(1, UINT64_C(1) << 50), ldexp(1, -50), 1e-25);
}

/* Draws samples as the shim does and counts how often the 95% interval holds the truth. */
Test(livemap, estimates_hold_the_truth_as_often_as_they_say)
{
	enum { ROUNDS = 300, BLOCKS = 3000 };
	const uint64_t period = 4096;
	unsigned held = 0;
	double sum = 0, truth_sum = 0;
	random_state = 1234567;
	for (unsigned round = 0; round < ROUNDS; round++) {
		struct livemap *map = livemap_create(period, REORDER);
		double truth = 0;
		for (uint64_t i = 0; i < BLOCKS; i++) {
			uint64_t size = 1 + random_next() % 1000 * (random_next() % 10 ? 1 : 10);
			double draw = (double)(random_next() >> 11) * ldexp(1, -53);
			truth += (double)size;
			if (draw < sample_probability(size, period))
				apply(map, alloc_at(i, 1, 0x1000 + i * 16, size));
		}
		cr_assert(livemap_finish(map));
		const struct estimate *live = &livemap_totals(map)->live_bytes;
		held += estimate_low(live) <= truth && truth <= estimate_high(live);
		sum += live->value;
		truth_sum += truth;
		livemap_free(map);
	}
	/* 285 of 300 are expected; below 270 or above 297 has a probability under 1e-4. */
	cr_assert_geq(held, 270);
	cr_assert_leq(held, 298);
	cr_assert_float_eq(sum / truth_sum, 1, 0.01);
}

Test(livemap, only_sampled_halves_of_a_realloc_count)
{
	struct livemap *map = livemap_create(4096, REORDER);
	apply(map, alloc_at(10, 1, 0x1000, 1 << 20));
	struct trace_event event = realloc_at(20, 20, 1, 0x1000, 0x2000, 1 << 20);
	event.sampled_old = true;
	apply(map, event);
	cr_assert_eq(livemap_totals(map)->live_blocks.value, 0);
	event = realloc_at(30, 30, 1, 0x9000, 0x3000, 1 << 20);
	event.sampled_new = true;
	apply(map, event);
	cr_assert(livemap_finish(map));
	cr_assert_float_eq(livemap_totals(map)->live_blocks.value, 1, 1e-6);
	cr_assert_eq(livemap_totals(map)->unknown_frees, 0);
	livemap_free(map);
}

Test(livemap, low_end_is_never_below_what_was_seen)
{
	struct livemap *map = livemap_create(1 << 19, REORDER);
	apply(map, alloc_at(10, 1, 0x1000, 100));
	const struct estimate *live = &livemap_totals(map)->live_bytes;
	cr_assert_geq(estimate_low(live), 100);
	cr_assert_gt(estimate_high(live), live->value);
	apply(map, free_at(5000, 1, 0x1000));
	cr_assert_eq(live->value, 0);
	cr_assert_float_eq(estimate_high(live), 3.689 * (1 << 19), 1000); /* none seen is not none there */
	livemap_free(map);
}
