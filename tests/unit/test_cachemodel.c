#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "analyzer/cachemodel.h"

/* 64 bytes: batches of 32, and at the start 2369 / 16 - 3 = 145 objects fit the slab. */
#define OBJECT_BYTES 64u
#define BATCH	     32u
#define SLAB_OBJECTS 145u

static const uint64_t capacities[] = {0, 64, 128, 640, 1280, 2048, 3200, 4096, 8192, 65536, 1 << 20};
#define CAPACITIES (sizeof capacities / sizeof *capacities)

static unsigned class_of(enum cache_design design, uint64_t bytes)
{
	return cache_class_of(cache_classes(design), bytes);
}

static struct cachemodel *per_cpu(void)
{
	struct cachemodel *model = cachemodel_create(CACHE_PER_CPU, capacities, CAPACITIES, 0);
	cr_assert(model);
	return model;
}

static void take(struct cachemodel *model, uint32_t cache, unsigned class, uint64_t times)
{
	while (times--)
		cr_assert(cachemodel_take(model, cache, class));
}

static void give(struct cachemodel *model, uint32_t cache, unsigned class, uint64_t times)
{
	while (times--)
		cr_assert(cachemodel_give(model, cache, class));
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void check(const struct cachemodel *model)
{
	const char *wrong = cachemodel_check(model);
	cr_assert(!wrong, "%s", wrong);
}

/* ---- a producer and a consumer ------------------------------------------------------------------------- */

/*
 * Only underflows on CPU 0. The n-th one finds a limit of min(32 + n, 64, what the capacity buys), and brings
 * half of it and one more: (limit + 1) / 2 + 1 objects. A limit of 1 brings a second object only from the
 * third miss in a row on, of 0 never.
 */
static uint64_t producer_underflows(uint64_t affordable, uint64_t allocs)
{
	uint64_t served = 0, misses = 0;
	while (served < allocs) {
		uint64_t limit = least(least(BATCH + misses, 2 * BATCH), affordable);
		uint64_t moved = limit == 1 && misses + 1 < 3 ? 1 : (limit + 1) / 2 + 1;
		served += limit ? moved : 1;
		misses++;
	}
	return misses;
}

/* Only overflows on CPU 1: the limit rises by one a miss, up to two batches. */
static uint64_t consumer_overflows(uint64_t affordable, uint64_t frees)
{
	uint64_t held = 0, misses = 0;
	for (uint64_t i = 0; i < frees; i++) {
		uint64_t limit = least(least(misses, 2 * BATCH), affordable);
		if (held < limit) {
			held++;
			continue;
		}
		misses++;
		limit = least(least(misses, 2 * BATCH), affordable);
		/* the first miss is no successive one: overflows begin with another direction */
		uint64_t moved = limit == 1 && misses - 1 < 3 ? 1 : (limit + 1) / 2 + 1;
		held -= least((limit ? moved : 1) - 1, held);
	}
	return misses;
}

Test(cachemodel, a_producer_and_a_consumer_miss_as_often_as_predicted)
{
	const uint64_t blocks = 100000;
	const unsigned class = class_of(CACHE_PER_CPU, OBJECT_BYTES);
	struct cachemodel *model = per_cpu();
	take(model, 0, class, blocks);
	give(model, 1, class, blocks);
	for (size_t i = 0; i < CAPACITIES; i++) {
		uint64_t affordable = capacities[i] / OBJECT_BYTES;
		struct cachemodel_result result = cachemodel_result(model, i);
		struct cachemodel_cache producer = cachemodel_cache(model, 0, i);
		struct cachemodel_cache consumer = cachemodel_cache(model, 1, i);
		cr_assert_eq(result.underflows, producer_underflows(affordable, blocks), "%zu", i);
		cr_assert_eq(result.overflows, consumer_overflows(affordable, blocks), "%zu", i);
		cr_assert_eq(producer.underflows, result.underflows);
		cr_assert_eq(producer.overflows + consumer.underflows, 0);
		cr_assert_eq(consumer.overflows, result.overflows);
	}
	check(model);
	cachemodel_free(model);
}

/* Once limits stand at two batches, each miss moves 33: 1 + 100000 / 33 with a little at the start. */
Test(cachemodel, a_long_producer_misses_once_in_33)
{
	const unsigned class = class_of(CACHE_PER_CPU, OBJECT_BYTES);
	struct cachemodel *model = per_cpu();
	take(model, 0, class, 100000);
	uint64_t before = cachemodel_result(model, CAPACITIES - 1).underflows;
	take(model, 0, class, 33 * 1000);
	cr_assert_eq(cachemodel_result(model, CAPACITIES - 1).underflows - before, 1000);
	check(model);
	cachemodel_free(model);
}

/* ---- capacity 0 ---------------------------------------------------------------------------------------- */

Test(cachemodel, without_capacity_every_call_misses_and_moves_one_object)
{
	const unsigned small = class_of(CACHE_PER_CPU, 8), large = class_of(CACHE_PER_CPU, 100000);
	struct cachemodel *model = per_cpu();
	for (unsigned i = 0; i < 10000; i++) {
		take(model, i % 3, small, 3);
		take(model, 1, large, 1);
		give(model, i % 2, small, 3);
		give(model, 1, large, 1);
	}
	struct cachemodel_result result = cachemodel_result(model, 0);
	cr_assert_eq(result.underflows, cachemodel_allocs(model));
	cr_assert_eq(result.overflows, cachemodel_frees(model));
	cr_assert_eq(result.fetches, cachemodel_allocs(model));
	cr_assert_eq(result.fetched_objects, cachemodel_allocs(model));
	cr_assert_eq(result.released_objects, cachemodel_frees(model));
	cr_assert_eq(result.cached_bytes_peak, 0);
	check(model);
	cachemodel_free(model);
}

/* ---- stacks and queues on one CPU ---------------------------------------------------------------------- */

/*
 * k blocks up, k blocks down, again and again. Two batches serve all of it once they are there: the first
 * round fetches, and what it fetched too much of overflows once. A list shorter than k misses in every round.
 */
Test(cachemodel, a_stack_that_fits_is_served_from_the_third_round_on)
{
	const unsigned class = class_of(CACHE_PER_CPU, OBJECT_BYTES);
	for (uint64_t k = 1; k <= BATCH; k++) {
		struct cachemodel *model = per_cpu();
		struct cachemodel_result first[CAPACITIES];
		for (unsigned round = 0; round < 2; round++) {
			take(model, 0, class, k);
			give(model, 0, class, k);
		}
		for (size_t i = 0; i < CAPACITIES; i++)
			first[i] = cachemodel_result(model, i);
		for (unsigned round = 0; round < 500; round++) {
			take(model, 0, class, k);
			give(model, 0, class, k);
		}
		for (size_t i = 0; i < CAPACITIES; i++) {
			struct cachemodel_result result = cachemodel_result(model, i);
			uint64_t affordable = capacities[i] / OBJECT_BYTES;
			uint64_t misses = result.underflows + result.overflows - first[i].underflows -
					  first[i].overflows;
			if (affordable >= 2 * BATCH)
				cr_assert_eq(misses, 0, "%lu blocks, capacity %lu: %lu", k, capacities[i],
					     misses);
			if (affordable == 0)
				cr_assert_eq(misses, 2 * 500 * k);
			if (affordable && k > affordable)
				cr_assert_gt(misses, 500, "%lu blocks, capacity %lu", k, capacities[i]);
		}
		check(model);
		cachemodel_free(model);
	}
}

/*
 * A queue of k blocks: each step frees the oldest and allocates a new one. However long the queue is, a list
 * that holds one block serves each allocation after its free.
 */
Test(cachemodel, a_queue_of_any_length_needs_one_place)
{
	const unsigned class = class_of(CACHE_PER_CPU, OBJECT_BYTES);
	for (uint64_t k = 1; k < 3000; k = 3 * k + 1) {
		struct cachemodel *model = per_cpu();
		take(model, 0, class, k);
		struct cachemodel_result first[CAPACITIES];
		for (size_t i = 0; i < CAPACITIES; i++)
			first[i] = cachemodel_result(model, i);
		for (unsigned step = 0; step < 10000; step++) {
			give(model, 0, class, 1);
			take(model, 0, class, 1);
		}
		for (size_t i = 0; i < CAPACITIES; i++) {
			struct cachemodel_result result = cachemodel_result(model, i);
			uint64_t under = result.underflows - first[i].underflows;
			uint64_t over = result.overflows - first[i].overflows;
			if (i == 0)
				cr_assert(under == 10000 && over == 10000);
			else /* a list that the building up left full overflows once, and has room then */
				cr_assert(under == 0 && over <= 1, "k %lu, capacity %lu: %lu %lu", k,
					  capacities[i], under, over);
		}
		check(model);
		cachemodel_free(model);
	}
}

/* ---- the slab, and the budget shared among classes ----------------------------------------------------- */

Test(cachemodel, a_list_never_holds_more_than_its_slab)
{
	const unsigned class = class_of(CACHE_PER_CPU, OBJECT_BYTES);
	struct cachemodel *model = per_cpu();
	for (unsigned round = 0; round < 2000; round++) { /* turns grow the limit by batches */
		take(model, 0, class, 1000);
		give(model, 0, class, 1000);
	}
	uint64_t peak = cachemodel_result(model, CAPACITIES - 1).cached_bytes_peak;
	cr_assert_leq(peak, SLAB_OBJECTS * OBJECT_BYTES);
	cr_assert_gt(peak, SLAB_OBJECTS * OBJECT_BYTES / 3);
	check(model);
	cachemodel_free(model);
}

Test(cachemodel, what_one_class_holds_another_has_not)
{
	const uint64_t one[] = {BATCH * OBJECT_BYTES};
	struct cachemodel *model = cachemodel_create(CACHE_PER_CPU, one, 1, 0);
	const unsigned first = class_of(CACHE_PER_CPU, OBJECT_BYTES), second = class_of(CACHE_PER_CPU, 128);
	take(model, 0, first, 1); /* grows to a batch at once: that is all */
	take(model, 0, second, 1000);
	cr_assert_eq(cachemodel_result(model, 0).underflows, 1 + 1000);
	take(model, 1, second, 1); /* another CPU has a budget of its own: 16 objects, so 9 come */
	take(model, 1, second, 8);
	cr_assert_eq(cachemodel_cache(model, 1, 0).underflows, 1);
	check(model);
	cachemodel_free(model);
}

/* After two seconds a class that wants more gets a batch of what others do not use. */
Test(cachemodel, the_background_moves_capacity_between_classes)
{
	const uint64_t one[] = {BATCH * OBJECT_BYTES};
	const unsigned first = class_of(CACHE_PER_CPU, OBJECT_BYTES), second = class_of(CACHE_PER_CPU, 128);
	struct cachemodel *model = cachemodel_create(CACHE_PER_CPU, one, 1, 1000);
	uint64_t misses[2];
	cachemodel_advance(model, 1000000);
	take(model, 0, first, 1);
	for (unsigned part = 0; part < 2; part++) {
		uint64_t before = cachemodel_result(model, 0).underflows;
		take(model, 0, second, 1000);
		misses[part] = cachemodel_result(model, 0).underflows - before;
		for (unsigned second_s = 1; second_s <= 60; second_s++) {
			take(model, 0, second, 1); /* it must have missed in the interval */
			cachemodel_advance(model, 1000000 + 1000 * (60 * part + second_s));
		}
	}
	cr_assert_eq(misses[0], 1000);
	cr_assert_lt(misses[1], 200);
	check(model);
	cachemodel_free(model);
}

/* Nothing happens on a CPU for two rounds of 30 seconds: its cache is emptied. */
Test(cachemodel, an_idle_cache_is_emptied)
{
	const uint64_t one[] = {1 << 20};
	const unsigned class = class_of(CACHE_PER_CPU, OBJECT_BYTES);
	struct cachemodel *model = cachemodel_create(CACHE_PER_CPU, one, 1, 1000);
	cachemodel_advance(model, 5000);
	take(model, 0, class, 1);
	cr_assert_eq(cachemodel_result(model, 0).released_objects, 0);
	for (unsigned second_s = 6; second_s < 100; second_s++)
		cachemodel_advance(model, 1000 * second_s);
	cr_assert_eq(cachemodel_result(model, 0).released_objects, (BATCH + 1) / 2);
	check(model);
	cachemodel_free(model);
}

/* ---- transfer cache ------------------------------------------------------------------------------------ */

/* What a consumer releases a producer gets back, without the central list, as far as 16 batches hold it. */
Test(cachemodel, the_transfer_cache_carries_blocks_from_cpu_to_cpu)
{
	const unsigned class = class_of(CACHE_PER_CPU, OBJECT_BYTES);
	struct cachemodel *model = per_cpu();
	take(model, 0, class, 300);
	give(model, 1, class, 300);
	struct cachemodel_result before = cachemodel_result(model, CAPACITIES - 1);
	for (unsigned i = 0; i < 10000; i++) {
		take(model, 0, class, 1);
		give(model, 1, class, 1);
	}
	struct cachemodel_result after = cachemodel_result(model, CAPACITIES - 1);
	cr_assert_eq(after.central_fetches, before.central_fetches);
	cr_assert_eq(after.central_releases, before.central_releases);
	cr_assert_gt(after.fetches, before.fetches);
	cachemodel_free(model);
}
