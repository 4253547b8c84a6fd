#include <criterion/criterion.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "shim/sampling.h"
#include "tests/unit/support_shim.h"

/* ---- draws
 * ----------------------------------------------------------------------------------------------------------
 */

#define SIGMAS 4.0

static void assert_near(double value, double expected, double sigma, const char *what)
{
	cr_assert_leq(fabs(value - expected), SIGMAS * sigma, "%s: %g, expected %g, sigma %g", what, value,
		      expected, sigma);
}

/* A draw is floor(x) + 1 of an exponential x: geometric, with success probability 1 - exp(-1/mean). */
Test(sampling, mean_of_the_draws)
{
	static const uint64_t means[] = {1, 16, 4096, 512 << 10, UINT64_C(1) << 40};
	static struct thread thread;
	const unsigned draws = 200000;
	for (unsigned i = 0; i < sizeof means / sizeof means[0]; i++) {
		double sum = 0, success = -expm1(-1.0 / (double)means[i]);
		thread.random = 1000 + i;
		cr_assert(sampling_start(means[i]));
		for (unsigned k = 0; k < draws; k++) {
			uint64_t draw = sampling_draw(&thread);
			cr_assert_geq(draw, 1);
			sum += (double)draw;
		}
		assert_near(sum / draws, 1 / success, sqrt((1 - success) / draws) / success, "mean");
	}
}

/* Allocations of mixed sizes in one stream, sampled by the rule of capture.h: each size by its own
 * probability. */
Test(sampling, probability_by_size)
{
	static const uint64_t sizes[] = {40, 4000, 40000, 200000, 400000, 1200000}; /* s/T from 0.0001 to 3 */
	enum { SIZES = sizeof sizes / sizeof sizes[0] };
	const uint64_t mean = 400000;
	static struct thread thread;
	double seen[SIZES] = {0}, sampled[SIZES] = {0};
	uint64_t bytes = 0, pick = 4711;
	thread.random = 12345;
	cr_assert(sampling_start(mean));
	uint64_t sample_at = sampling_draw(&thread);
	for (unsigned k = 0; k < 3000000; k++) {
		unsigned i = (unsigned)(support_random(&pick) >> 32) % SIZES;
		bytes += sizes[i];
		seen[i]++;
		if (bytes < sample_at)
			continue;
		sampled[i]++;
		sample_at = bytes + sampling_draw(&thread);
	}
	for (unsigned i = 0; i < SIZES; i++) {
		double p = -expm1(-(double)sizes[i] / (double)mean);
		assert_near(sampled[i] / seen[i], p, sqrt(p * (1 - p) / seen[i]), "share");
	}
}

/* The logarithm against libm's: one draw with the mean 2^40 shows 12 digits of it. */
Test(sampling, logarithm)
{
	static struct thread thread;
	cr_assert(sampling_start(UINT64_C(1) << 40));
	thread.random = 99;
	for (unsigned k = 0; k < 100000; k++) {
		double log_of_uniform = -(double)(sampling_draw(&thread) - 1) * 0x1p-40;
		double uniform = (double)((thread.random * UINT64_C(0x2545f4914f6cdd1d) >> 11) + 1) * 0x1p-53;
		cr_assert_leq(fabs(log_of_uniform - log(uniform)), 1e-7 * fabs(log(uniform)) + 1e-11);
	}
}

/* ---- the set
 * -------------------------------------------------------------------------------------------------------- */

static uint64_t filter_words_in_use(void)
{
	uint64_t used = 0;
	for (unsigned i = 0; i < sizeof sample_filter / sizeof sample_filter[0]; i++)
		used += atomic_load(&sample_filter[i]) != 0;
	return used;
}

static unsigned filter_count(uint64_t address)
{
	struct sample_place place = sample_place(address);
	return (unsigned)(atomic_load(&sample_filter[place.word]) >> place.shift & 15);
}

#define BASE   UINT64_C(0x7f1200000000)
#define BLOCKS 120000u

/* As from an allocator: neighbours, and pages far apart. */
static uint64_t block_address(unsigned block)
{
	return BASE + (uint64_t)(block % 1000) * 48 + (uint64_t)(block / 1000) * 0x21000;
}

Test(sampling, set_against_a_reference)
{
	static bool member[BLOCKS];
	uint64_t random = 31337, members = 0, refused = 0;
	cr_assert(sampling_start(1));
	for (unsigned k = 0; k < 2000000; k++) {
		unsigned block = (unsigned)(support_random(&random) >> 32) % BLOCKS;
		uint64_t address = block_address(block);
		cr_assert(!member[block] || sample_set_maybe(address), "false negative");
		if (member[block]) {
			cr_assert(sample_set_remove(address));
			member[block] = false;
			members--;
		} else {
			cr_assert_not(sample_set_remove(address));
			member[block] = sample_set_insert(address);
			members += member[block];
			refused += !member[block];
		}
	}
	cr_assert_gt(members, BLOCKS / 3);
	cr_assert_lt(refused, 20);
	for (unsigned block = 0; block < BLOCKS; block++)
		cr_assert_eq(sample_set_remove(block_address(block)), member[block]);
	cr_assert_eq(filter_words_in_use(), 0);
}

/* Most frees are of blocks that are not sampled, and must not get to the search. */
Test(sampling, filter_says_no_to_most)
{
	unsigned maybe = 0;
	cr_assert(sampling_start(1));
	for (unsigned block = 0; block < 4000; block++)
		cr_assert(sample_set_insert(block_address(block * 7)));
	for (unsigned block = 0; block < BLOCKS; block++)
		maybe += block % 7 != 0 && sample_set_maybe(block_address(block));
	cr_assert_lt(maybe, BLOCKS / 10);
}

/* The bucket where sampling.c begins to look. */
static uint64_t first_bucket(uint64_t address)
{
	return sample_hash(address) >> 20 & ((1u << 17) - 1);
}

static uint64_t filter_place(uint64_t address)
{
	return sample_hash(address) >> (64 - SAMPLE_FILTER_BITS);
}

/* Fills in addresses for which `key` is the same. */
static void find_alike(uint64_t (*key)(uint64_t), uint64_t *addresses, unsigned count)
{
	uint64_t address = BASE, wanted = key(BASE);
	for (unsigned found = 0; found < count; address += 16)
		if (key(address) == wanted)
			addresses[found++] = address;
}

#define RUN_ENTRIES 32u /* four buckets of eight */

Test(sampling, overfull_buckets_refuse)
{
	uint64_t addresses[RUN_ENTRIES + 6];
	find_alike(first_bucket, addresses, RUN_ENTRIES + 6);
	cr_assert(sampling_start(1));
	for (unsigned i = 0; i < RUN_ENTRIES + 6; i++)
		cr_assert_eq(sample_set_insert(addresses[i]), i < RUN_ENTRIES, "block %u", i);
	for (unsigned i = RUN_ENTRIES; i < RUN_ENTRIES + 6; i++)
		cr_assert_not(sample_set_remove(addresses[i]));
	cr_assert(sample_set_remove(addresses[20]));
	cr_assert(sample_set_insert(addresses[RUN_ENTRIES]));
	cr_assert_not(sample_set_insert(addresses[20]));
	/* The first buckets become empty first: what spilled over them must still be found. */
	for (unsigned i = 0; i <= RUN_ENTRIES; i++)
		cr_assert_eq(sample_set_remove(addresses[i]), i != 20, "block %u", i);
	cr_assert_eq(filter_words_in_use(), 0);
}

/* A block whose free was not seen comes again. */
Test(sampling, the_same_block_again)
{
	cr_assert(sampling_start(1));
	cr_assert(sample_set_insert(BASE));
	cr_assert(sample_set_insert(BASE));
	cr_assert_eq(filter_count(BASE), 1);
	cr_assert(sample_set_remove(BASE));
	cr_assert_not(sample_set_remove(BASE));
	cr_assert_eq(filter_words_in_use(), 0);
}

/* 20 blocks share a counter that goes to 15: it stays, its neighbours do not suffer. */
Test(sampling, full_counter_stays)
{
	uint64_t alike[20];
	find_alike(filter_place, alike, 20);
	cr_assert(sampling_start(1));
	for (unsigned i = 0; i < 20; i++) {
		cr_assert(sample_set_insert(alike[i]));
		cr_assert_eq(filter_count(alike[i]), i < 14 ? i + 1 : 15);
	}
	cr_assert_eq(filter_words_in_use(), 1);
	for (unsigned i = 0; i < 20; i++) {
		cr_assert(sample_set_maybe(alike[i]));
		cr_assert(sample_set_remove(alike[i]));
	}
	struct sample_place place = sample_place(alike[0]);
	cr_assert_eq(atomic_load(&sample_filter[place.word]), UINT64_C(15) << place.shift);
	cr_assert_not(sample_set_remove(alike[0]));
	sampling_forget();
	cr_assert_eq(filter_words_in_use(), 0);
}

/* ---- several threads
 * ---------------------------------------------------------------------------------------------- */

#define THREADS 4u

/* Blocks of its own, in counters and buckets that all share. Returns the number of errors. */
static void *insert_and_remove(void *first)
{
	uintptr_t errors = 0;
	uint64_t random = (uintptr_t)first + 5;
	static _Thread_local bool member[500];
	for (unsigned k = 0; k < 300000; k++) {
		unsigned i = (unsigned)(support_random(&random) >> 32) % 500;
		uint64_t address = BASE + (i * THREADS + (uintptr_t)first) * 16;
		if (!member[i])
			member[i] = sample_set_insert(address);
		else if (!sample_set_maybe(address) || !sample_set_remove(address))
			errors++;
		else
			member[i] = false;
	}
	for (unsigned i = 0; i < 500; i++)
		if (member[i] && !sample_set_remove(BASE + (i * THREADS + (uintptr_t)first) * 16))
			errors++;
	return (void *)errors;
}

Test(sampling, threads_share_counters)
{
	pthread_t threads[THREADS];
	cr_assert(sampling_start(1));
	for (uintptr_t i = 0; i < THREADS; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, insert_and_remove, (void *)i), 0);
	for (unsigned i = 0; i < THREADS; i++) {
		void *errors;
		pthread_join(threads[i], &errors);
		cr_assert_null(errors);
	}
	cr_assert_eq(filter_words_in_use(), 0);
}

/* A block whose free went past the hooks is sampled again; an entry before its own has become free meanwhile.
 */
Test(sampling, inserted_again_is_there_once)
{
	uint64_t blocks[2], at = UINT64_C(0x7f0000000000), found = 0;
	uint64_t bucket = sample_hash(at) >> 20 & 0x1ffff;
	cr_assert(sampling_start(1));
	for (; found < 2; at += 16)
		if ((sample_hash(at) >> 20 & 0x1ffff) == bucket)
			blocks[found++] = at;
	sample_set_insert(blocks[0]);
	sample_set_insert(blocks[1]);
	sample_set_remove(blocks[0]);
	sample_set_insert(blocks[1]);
	cr_assert(sample_set_remove(blocks[1]));
	cr_assert_not(sample_set_remove(blocks[1]), "it was there twice");
}
