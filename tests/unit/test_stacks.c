#include <criterion/criterion.h>
#include <pthread.h>
#include <sched.h>

#include "shim/stacks.h"
#include "tests/unit/support_shim.h"

#define MIB   (UINT64_C(1) << 20)
#define DEPTH 16u

static const volatile uint32_t cpu_zero;

/* The frames of the n-th stack. */
static void make_stack(uint64_t n, uint64_t *frames, unsigned depth)
{
	for (unsigned i = 0; i < depth; i++)
		frames[i] = 0x400000 + (n + i + 1) * 8 + (n << 24);
}

static unsigned depth_of(uint64_t n)
{
	return 1 + (unsigned)(n % DEPTH);
}

static uint32_t intern(struct thread *thread, uint64_t n)
{
	uint64_t frames[DEPTH];
	make_stack(n, frames, depth_of(n));
	support_next_stack(frames, depth_of(n));
	return stacks_current(thread, 1, DEPTH);
}

static void assert_stack(uint64_t n, const uint64_t *frames, unsigned depth)
{
	uint64_t expected[DEPTH];
	make_stack(n, expected, DEPTH);
	cr_assert_eq(depth, depth_of(n), "stack %lu", (unsigned long)n);
	cr_assert_arr_eq(frames, expected, depth * sizeof *frames, "stack %lu", (unsigned long)n);
}

static void assert_kept(uint32_t id, uint64_t n)
{
	const uint64_t *frames;
	unsigned depth;
	cr_assert(stacks_get(id, &frames, &depth));
	assert_stack(n, frames, depth);
}

/* Definitions that wait in the rings: the number of them by stack id. */
#define IDS_MAX 4096u
static unsigned defined[IDS_MAX];

static void read_definitions(void (*check)(const struct decoder *))
{
	static struct decoder decoder;
	struct trace_event event;
	for (struct chunk_header *chunk; (chunk = rings_next_ready()); rings_release(chunk)) {
		support_chunk_start(&decoder, chunk);
		for (enum decode_result result; (result = decode_next(&decoder, &event)) != DECODE_END;) {
			cr_assert_neq(result, DECODE_DAMAGED);
			if (result != DECODE_STACK)
				continue;
			cr_assert_lt(decoder.stack_id, IDS_MAX);
			defined[decoder.stack_id]++;
			check(&decoder);
		}
	}
}

/* Numbers are given out in the order of first use: stack n has the number n + 1. */
static void check_in_order(const struct decoder *decoder)
{
	assert_stack(decoder->stack_id - 1, decoder->stack_frames, decoder->stack_depth);
}

Test(stacks, a_number_for_each_distinct_one)
{
	support_rings(MIB);
	cr_assert_eq(intern(support_ring_thread(&cpu_zero), 1), 0, "nothing was started");
	cr_assert(stacks_start());
	struct thread *thread = support_ring_thread(&cpu_zero), *other = support_ring_thread(&cpu_zero);
	for (uint32_t n = 0; n < 1000; n++)
		cr_assert_eq(intern(thread, n), n + 1);
	for (uint32_t n = 0; n < 1000; n++) {
		cr_assert_eq(intern(other, n), n + 1);
		cr_assert_eq(intern(thread, n), n + 1);
		assert_kept(n + 1, n);
	}
	cr_assert_eq(stacks_last(), 1000);
	ring_hand_over(thread);
	ring_hand_over(other);
	read_definitions(check_in_order);
	for (uint32_t id = 1; id <= 1000; id++)
		cr_assert_eq(defined[id], 1, "stack %u is defined %u times", id, defined[id]);
}

/* A number that the caller may write into an event has its definition in the rings, once. */
Test(stacks, a_number_is_defined_when_it_is_returned)
{
	support_rings(MIB);
	cr_assert(stacks_start());
	struct thread *thread = support_ring_thread(&cpu_zero);
	cr_assert_eq(intern(thread, 0), 1);
	struct chunk_header *chunk = atomic_load(&thread->chunk);
	uint32_t committed = atomic_load(&chunk->committed);
	cr_assert_gt(committed, 0);
	cr_assert_eq(intern(thread, 0), 1);
	cr_assert_eq(atomic_load(&chunk->committed), committed, "defined again");
}

Test(stacks, depth)
{
	uint64_t frames[DEPTH + 8];
	const uint64_t *kept;
	unsigned depth;
	support_rings(MIB);
	cr_assert(stacks_start());
	struct thread *thread = support_ring_thread(&cpu_zero);
	make_stack(3, frames, DEPTH + 8);
	support_next_stack(frames, DEPTH + 8);
	cr_assert_eq(stacks_current(thread, 1, DEPTH), 1);
	frames[DEPTH]++;
	cr_assert_eq(stacks_current(thread, 1, DEPTH), 1, "what lies below the depth is not looked at");
	frames[DEPTH - 1]++;
	cr_assert_eq(stacks_current(thread, 1, DEPTH), 2);
	cr_assert(stacks_get(2, &kept, &depth));
	cr_assert_eq(depth, DEPTH);
	cr_assert_arr_eq(kept, frames, sizeof *kept * DEPTH);
	support_next_stack(frames, DEPTH - 1);
	cr_assert_eq(stacks_current(thread, 1, DEPTH), 3, "a prefix is another stack");
	support_next_stack(frames, 0);
	cr_assert_eq(stacks_current(thread, 1, DEPTH), 0);
}

/* No room for the definition: no number, until there is room again. */
Test(stacks, definition_without_room)
{
	support_rings(MIB);
	cr_assert(stacks_start());
	struct thread *thread = support_ring_thread(&cpu_zero), *hog = support_ring_thread(&cpu_zero);
	const uint64_t *frames;
	unsigned depth;
	for (uint64_t n = 1; support_ring_write(hog, n, n * 4096, n);)
		n++;
	cr_assert_eq(intern(thread, 0), 0);
	cr_assert_eq(intern(thread, 0), 0);
	cr_assert_not(stacks_get(1, &frames, &depth));
	support_drain();
	uint32_t id = intern(thread, 0);
	cr_assert_neq(id, 0);
	cr_assert_eq(intern(hog, 0), id);
	assert_kept(id, 0);
	ring_hand_over(thread);
	ring_hand_over(hog);
	support_drain();
}

Test(stacks, numbers_start_anew_after_stacks_forget)
{
	const uint64_t *frames;
	unsigned depth;
	support_rings(MIB);
	cr_assert(stacks_start());
	intern(support_ring_thread(&cpu_zero), 0);
	intern(support_ring_thread(&cpu_zero), 1);
	stacks_forget();
	cr_assert_eq(stacks_last(), 0);
	cr_assert(stacks_start());
	cr_assert_not(stacks_get(1, &frames, &depth));
	cr_assert_eq(intern(support_ring_thread(&cpu_zero), 1), 1);
	assert_kept(1, 1);
}

/* ---- several threads meet the same stacks at once
 * ------------------------------------------------------------------ */

#define THREADS 3u
#define STACKS	3000u

struct finder {
	pthread_t pthread;
	struct thread *thread;
	uint32_t ids[STACKS];
};
static struct finder finders[THREADS];
static _Atomic uint32_t at_start;

static void *find_all(void *argument)
{
	struct finder *finder = argument;
	atomic_fetch_add(&at_start, 1);
	while (atomic_load(&at_start) < THREADS)
		sched_yield();
	for (uint32_t n = 0; n < STACKS; n++)
		finder->ids[n] = intern(finder->thread, n);
	for (uint32_t n = 0; n < STACKS; n++)
		if (!finder->ids[n]) /* another thread was just writing the definition */
			finder->ids[n] = intern(finder->thread, n);
	ring_hand_over(finder->thread);
	return NULL;
}

static void check_against_finder(const struct decoder *decoder)
{
	for (uint32_t n = 0; n < STACKS; n++)
		for (unsigned i = 0; i < THREADS; i++)
			if (finders[i].ids[n] == decoder->stack_id)
				assert_stack(n, decoder->stack_frames, decoder->stack_depth);
}

Test(stacks, threads_agree)
{
	support_rings(16 * MIB);
	cr_assert(stacks_start());
	for (unsigned i = 0; i < THREADS; i++) {
		finders[i].thread = support_ring_thread(&cpu_zero);
		cr_assert_eq(pthread_create(&finders[i].pthread, NULL, find_all, &finders[i]), 0);
	}
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(finders[i].pthread, NULL);
	read_definitions(check_against_finder);
	cr_assert_eq(stacks_last(), STACKS);
	for (uint32_t n = 0; n < STACKS; n++) {
		uint32_t id = 0; /* at least the thread that wrote the definition has it */
		for (unsigned i = 0; i < THREADS; i++)
			id = finders[i].ids[n] ? finders[i].ids[n] : id;
		cr_assert_eq(defined[id], 1);
		assert_kept(id, n);
		for (unsigned i = 0; i < THREADS; i++)
			cr_assert(finders[i].ids[n] == id || finders[i].ids[n] == 0);
	}
}
