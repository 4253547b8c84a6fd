#include <criterion/criterion.h>
#include <stdlib.h>

#include "analyzer/reuse.h"

#define CLASS 5u

/* ---- closed forms -------------------------------------------------------------------------------------- */

Test(reuse, a_stack_of_k_comes_back_within_k)
{
	struct reuse *reuse = reuse_create();
	for (unsigned i = 0; i < 8; i++)
		cr_assert(reuse_give(reuse, 0, CLASS));
	for (unsigned i = 0; i < 8; i++)
		cr_assert(reuse_take(reuse, 0, CLASS));
	const struct reuse_class *found = reuse_class(reuse, CLASS);
	/* distances 1, 2, ... 8: up to 1, 2, 4, 8 */
	cr_assert(found->bins[0] == 1 && found->bins[1] == 1 && found->bins[2] == 2 && found->bins[3] == 4);
	cr_assert_eq(found->cold, 0);
	cr_assert_eq(reuse_quantile(found, 0.5), 4);
	cr_assert_eq(reuse_quantile(found, 0.99), 8);
	reuse_free(reuse);
}

Test(reuse, cpus_and_classes_are_apart_and_what_is_not_there_is_cold)
{
	struct reuse *reuse = reuse_create();
	cr_assert(reuse_give(reuse, 0, CLASS) && reuse_take(reuse, 1, CLASS) &&
		  reuse_take(reuse, 0, CLASS + 1));
	cr_assert_eq(reuse_class(reuse, CLASS)->cold, 1);
	cr_assert_eq(reuse_class(reuse, CLASS + 1)->cold, 1);
	cr_assert(reuse_take(reuse, 0, CLASS));
	cr_assert_eq(reuse_class(reuse, CLASS)->bins[0], 1);
	reuse_free(reuse);
}

Test(reuse, a_consumer_without_end_keeps_bounded_memory)
{
	struct reuse *reuse = reuse_create();
	for (unsigned i = 0; i < 3 * REUSE_DEPTH_MAX; i++)
		cr_assert(reuse_give(reuse, 0, CLASS));
	for (unsigned i = 0; i < 3 * REUSE_DEPTH_MAX; i++)
		cr_assert(reuse_take(reuse, 0, CLASS));
	cr_assert_eq(reuse_class(reuse, CLASS)->cold, 2 * REUSE_DEPTH_MAX);
	reuse_free(reuse);
}

/* ---- against lists of each size ------------------------------------------------------------------------ */

/* Hits of a list of `places` that drops its oldest: of two walks, one up on a free, one down on a taking. */
static uint64_t hits_of(const bool *gives, unsigned count, unsigned places)
{
	uint64_t length = 0, hits = 0;
	for (unsigned i = 0; i < count; i++) {
		if (gives[i]) {
			length += length < places;
		} else if (length) {
			length--;
			hits++;
		}
	}
	return hits;
}

Test(reuse, distances_are_the_hits_of_a_list_of_any_size)
{
	enum { COUNT = 20000 };
	static bool gives[COUNT];
	struct reuse *reuse = reuse_create();
	uint64_t state = 7, within = 0;
	for (unsigned i = 0; i < COUNT; i++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		gives[i] = (state >> 60) + (i / 300 % 2 ? 2 : 0) > 8; /* up and down by turns */
		cr_assert(gives[i] ? reuse_give(reuse, 0, CLASS) : reuse_take(reuse, 0, CLASS));
	}
	for (unsigned bin = 0; bin < REUSE_BINS; bin++) {
		within += reuse_class(reuse, CLASS)->bins[bin];
		cr_assert_eq(within, hits_of(gives, COUNT, 1u << bin), "%u places", 1u << bin);
	}
	reuse_free(reuse);
}
