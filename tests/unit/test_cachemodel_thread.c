/* Per-thread caches of the cache model: gperftools' rules, in cases that can be worked out by hand. */
#include <criterion/criterion.h>
#include <string.h>

#include "analyzer/cachemodel.h"

#define OBJECT_BYTES 64u
#define BATCH	     32u

static const uint64_t capacities[] = {512 << 10, 1 << 20, 32 << 20};
#define CAPACITIES (sizeof capacities / sizeof *capacities)

static struct cachemodel *per_thread(void)
{
	struct cachemodel *model = cachemodel_create(CACHE_PER_THREAD, capacities, CAPACITIES, 0);
	cr_assert(model);
	return model;
}

static unsigned class_of(uint64_t bytes)
{
	return cache_class_of(cache_classes(CACHE_PER_THREAD), bytes);
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

static void check(const struct cachemodel *model)
{
	const char *wrong = cachemodel_check(model);
	cr_assert(!wrong, "%s", wrong);
}

/* ---- classes ------------------------------------------------------------------------------------------- */

Test(cachemodel_thread, classes_rise_and_hold_what_they_are_for)
{
	for (unsigned design = 0; design < CACHE_DESIGNS; design++) {
		const struct cache_classes *classes = cache_classes((enum cache_design)design);
		for (uint64_t bytes = 0; bytes <= CACHE_SIZE_MAX; bytes += bytes < 2048 ? 1 : 37) {
			unsigned class = cache_class_of(classes, bytes);
			cr_assert(class > 0 && class < classes->count);
			cr_assert_geq(classes->classes[class].bytes, bytes);
			cr_assert(class == 1 || classes->classes[class - 1].bytes < bytes, "%lu", bytes);
		}
		cr_assert_eq(cache_class_of(classes, CACHE_SIZE_MAX + 1), CACHE_CLASS_NONE);
		cr_assert_eq(classes->classes[classes->count - 1].bytes, CACHE_SIZE_MAX);
		cr_assert_eq(classes->classes[cache_class_aligned(classes, 100, 64)].bytes % 64, 0);
		cr_assert_eq(cache_class_aligned(classes, 100, 1 << 20), CACHE_CLASS_NONE);
	}
}

Test(cachemodel_thread, realloc_stays_within_a_class_and_above_half_of_it)
{
	const struct cache_classes *classes = cache_classes(CACHE_PER_THREAD);
	const unsigned class = class_of(1024);
	uint64_t bytes = 512;
	cr_assert(cache_realloc_stays(classes, class, 1000, &bytes));
	bytes = 511;
	cr_assert(!cache_realloc_stays(classes, class, 1000, &bytes));
	cr_assert_eq(bytes, 511);
	bytes = 1025; /* by less than a quarter: a quarter */
	cr_assert(!cache_realloc_stays(classes, class, 1000, &bytes));
	cr_assert_eq(bytes, 1280);
	bytes = 5000;
	cr_assert(!cache_realloc_stays(classes, class, 1000, &bytes));
	cr_assert_eq(bytes, 5000);
}

/* ---- slow start ---------------------------------------------------------------------------------------- */

/*
 * The n-th miss fetches n objects while n < 32, and a batch from then on: 1 + 2 + ... + 31 for the first 31.
 * A span of 8-byte objects has 1024; what is left at its end is fetched alone.
 */
Test(cachemodel_thread, a_producer_fetches_one_object_more_each_time_up_to_a_batch)
{
	struct cachemodel *model = per_thread();
	const unsigned class = class_of(8);
	const uint64_t slow = 31 * 32 / 2, batches = (1024 - slow) / BATCH;
	take(model, 0, class, slow);
	for (size_t i = 0; i < CAPACITIES; i++)
		cr_assert_eq(cachemodel_result(model, i).underflows, 31);
	take(model, 0, class, batches * BATCH);
	for (size_t i = 0; i < CAPACITIES; i++) {
		cr_assert_eq(cachemodel_result(model, i).underflows, 31 + batches);
		cr_assert_eq(cachemodel_result(model, i).fetched_objects, cachemodel_allocs(model));
	}
	take(model, 0, class, (1024 - slow) % BATCH + 1);
	cr_assert_eq(cachemodel_result(model, 0).underflows, 31 + batches + 2);
	cr_assert_eq(cachemodel_result(model, 0).fetched_objects, 1024 + BATCH);
	check(model);
	cachemodel_free(model);
}

/*
 * A consumer: the list is too long at its limit and one, releases all it holds, and the limit rises by one:
 * releases of 2, 3, ... 32 objects; at a limit of 32 and beyond 33 are held, and a batch of 32 goes.
 */
Test(cachemodel_thread, a_consumer_releases_one_object_more_each_time_up_to_a_batch)
{
	struct cachemodel *model = per_thread();
	const unsigned class = class_of(OBJECT_BYTES);
	uint64_t frees = 0;
	take(model, 0, class_of(8), 1); /* or it would have no cache */
	for (unsigned n = 2; n <= BATCH; n++)
		frees += n;
	give(model, 0, class, frees);
	for (size_t i = 0; i < CAPACITIES; i++) {
		cr_assert_eq(cachemodel_result(model, i).overflows, BATCH - 1);
		cr_assert_eq(cachemodel_result(model, i).released_objects, frees);
	}
	give(model, 0, class, 1 + 50 * BATCH);
	for (size_t i = 0; i < CAPACITIES; i++) {
		cr_assert_eq(cachemodel_result(model, i).overflows, BATCH - 1 + 50);
		cr_assert_eq(cachemodel_result(model, i).released_objects, frees + 50 * BATCH);
	}
	check(model);
	cachemodel_free(model);
}

Test(cachemodel_thread, a_thread_that_never_allocated_has_no_cache)
{
	struct cachemodel *model = per_thread();
	give(model, 0, class_of(OBJECT_BYTES), 100);
	cr_assert_eq(cachemodel_result(model, 0).overflows, 100);
	cr_assert_eq(cachemodel_result(model, 0).releases, 100);
	check(model);
	cachemodel_free(model);
}

/* ---- stack and queue ----------------------------------------------------------------------------------- */

Test(cachemodel_thread, a_queue_hits_from_the_second_miss_on)
{
	struct cachemodel *model = per_thread();
	const unsigned class = class_of(OBJECT_BYTES);
	take(model, 0, class, 1000);
	uint64_t before = cachemodel_result(model, 0).underflows + cachemodel_result(model, 0).overflows;
	for (unsigned step = 0; step < 10000; step++) {
		give(model, 0, class, 1);
		take(model, 0, class, 1);
	}
	cr_assert_eq(cachemodel_result(model, 0).underflows + cachemodel_result(model, 0).overflows, before);
	check(model);
	cachemodel_free(model);
}

/* k blocks up and down: once the limit has come to k, everything hits, as long as the budget holds them. */
Test(cachemodel_thread, a_stack_hits_once_its_list_has_grown)
{
	struct cachemodel *model = per_thread();
	const unsigned class = class_of(OBJECT_BYTES);
	const uint64_t k = 200;
	for (unsigned round = 0; round < 50; round++) {
		take(model, 0, class, k);
		give(model, 0, class, k);
	}
	uint64_t before = cachemodel_result(model, 0).underflows;
	for (unsigned round = 0; round < 50; round++) {
		take(model, 0, class, k);
		give(model, 0, class, k);
	}
	cr_assert_eq(cachemodel_result(model, 0).underflows, before);
	check(model);
	cachemodel_free(model);
}

/* ---- budget -------------------------------------------------------------------------------------------- */

/*
 * One thread gives more than its budget: it grows by 64 KiB each time it is spent, until nothing is left
 * unclaimed and nobody has anything to give. The peak is within a step and a block of the capacity.
 */
Test(cachemodel_thread, a_cache_grows_to_the_capacity_and_not_beyond)
{
	struct cachemodel *model = per_thread();
	const unsigned class = class_of(32 << 10);
	for (unsigned round = 0; round < 400; round++) {
		take(model, 0, class, 600); /* 18.75 MiB */
		give(model, 0, class, 600);
	}
	for (size_t i = 0; i < CAPACITIES - 1; i++) {
		uint64_t peak = cachemodel_result(model, i).cached_bytes_peak;
		cr_assert_leq(peak, capacities[i] + (64 << 10) + (32 << 10), "%zu: %lu", i, peak);
	}
	cr_assert_gt(cachemodel_result(model, 0).underflows, cachemodel_result(model, 2).underflows);
	check(model);
	cachemodel_free(model);
}

/* An ended thread leaves nothing behind, and what it had others can claim. */
Test(cachemodel_thread, a_thread_that_ends_gives_everything_back)
{
	struct cachemodel *model = per_thread();
	const unsigned class = class_of(OBJECT_BYTES);
	for (uint32_t thread = 0; thread < 1000; thread++) {
		take(model, thread, class, 500);
		give(model, thread, class, 500);
		cachemodel_end_thread(model, thread);
	}
	for (size_t i = 0; i < CAPACITIES; i++) {
		struct cachemodel_result result = cachemodel_result(model, i);
		cr_assert_eq(result.fetched_objects, result.released_objects);
	}
	take(model, 5, class, 1); /* once more, from a destructor */
	check(model);
	cachemodel_free(model);
}

Test(cachemodel_thread, capacities_are_clipped_as_gperftools_does)
{
	const uint64_t wild[] = {0, 1, UINT64_MAX};
	struct cachemodel *model = cachemodel_create(CACHE_PER_THREAD, wild, 3, 0);
	cr_assert_eq(cachemodel_result(model, 0).capacity_bytes, CACHE_THREADS_MIN_BYTES);
	cr_assert_eq(cachemodel_result(model, 1).capacity_bytes, CACHE_THREADS_MIN_BYTES);
	cr_assert_eq(cachemodel_result(model, 2).capacity_bytes, CACHE_THREADS_MAX_BYTES);
	cachemodel_free(model);
}

/* Many threads, caches and classes at random: nothing gets lost, in any lane of either design. */
Test(cachemodel_thread, objects_are_never_lost)
{
	uint64_t many[CACHEMODEL_LANES_MAX];
	for (unsigned i = 0; i < CACHEMODEL_LANES_MAX; i++)
		many[i] = UINT64_C(40000) << (i / 2);
	for (unsigned design = 0; design < CACHE_DESIGNS; design++) {
		struct cachemodel *model =
			cachemodel_create((enum cache_design)design, many, CACHEMODEL_LANES_MAX - 1, 1000);
		uint64_t state = 1;
		for (unsigned i = 0; i < 300000; i++) {
			state = state * 6364136223846793005u + 1442695040888963407u;
			uint32_t cache = (uint32_t)(state >> 60);
			unsigned class = 1 + (unsigned)(state >> 40) % 60;
			cachemodel_advance(model, i);
			if (i / 1000 % 2)
				give(model, cache, class, 1);
			else
				take(model, cache, class, 1);
			if (i % 50000 == 0)
				cachemodel_end_thread(model, cache);
		}
		check(model);
		cachemodel_free(model);
	}
}

/* ---- side by side -------------------------------------------------------------------------------------- */

static void play(struct cachemodel *model)
{
	uint64_t state = 5;
	for (unsigned i = 0; i < 400000; i++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		uint32_t thread = (uint32_t)(state >> 61);
		unsigned class = 1 + (unsigned)(state >> 40) % 70;
		if ((state >> 56 & 15) < (i / 20000 % 2 ? 5 : 11))
			take(model, thread, class, 1);
		else
			give(model, thread, class, 1);
		if (i % 70000 == 0)
			cachemodel_end_thread(model, thread);
	}
	check(model);
}

/* A lane among others comes to what it comes to alone: when it parts from the one it follows makes no
 * difference. */
Test(cachemodel_thread, each_capacity_is_as_if_it_were_simulated_alone)
{
	uint64_t many[12];
	for (unsigned i = 0; i < 12; i++)
		many[i] = UINT64_C(524288) << (11 - i);
	struct cachemodel *together = cachemodel_create(CACHE_PER_THREAD, many, 12, 0);
	play(together);
	for (unsigned i = 0; i < 12; i++) {
		struct cachemodel *alone = cachemodel_create(CACHE_PER_THREAD, &many[i], 1, 0);
		play(alone);
		struct cachemodel_result a = cachemodel_result(alone, 0), b = cachemodel_result(together, i);
		cr_assert(memcmp(&a, &b, sizeof a) == 0,
			  "capacity %lu: %lu and %lu underflows, %lu and %lu overflows, %lu and %lu fetches",
			  many[i], a.underflows, b.underflows, a.overflows, b.overflows, a.fetches,
			  b.fetches);
		cachemodel_free(alone);
	}
	cr_assert_neq(cachemodel_result(together, 11).underflows, cachemodel_result(together, 0).underflows);
	cachemodel_free(together);
}
