/* Curves and their knees, capacities from the command line, shares, maps of pairs. */
#include <criterion/criterion.h>
#include <math.h>

#include "analyzer/pairmap.h"
#include "analyzer/percpu_advice.h"
#include "analyzer/percpu_capacities.h"
#include "analyzer/spanlist.h"
#include "tests/unit/support_trace.h"

/* ---- curves -------------------------------------------------------------------------------------------- */

Test(percpu_advice, the_knee_of_a_hockey_stick_is_its_bend)
{
	const struct curve_point points[] = {
		{0, 1}, {65536, 0.8}, {131072, 0.05}, {262144, 0.04}, {1 << 20, 0.035}};
	cr_assert_eq(curve_knee(points, 5), 2);
	cr_assert_eq(curve_enough(points, 5), 3);
}

Test(percpu_advice, a_flat_curve_has_no_knee_and_the_smallest_is_enough)
{
	const struct curve_point points[] = {{0, 0.012}, {65536, 0.011}, {131072, 0.01}};
	cr_assert_eq(curve_knee(points, 3), ADVICE_NONE);
	cr_assert_eq(curve_enough(points, 3), 0);
	cr_assert_eq(curve_knee(points, 2), ADVICE_NONE);
	cr_assert_eq(curve_enough(points, 0), ADVICE_NONE);
}

/* ---- capacities ---------------------------------------------------------------------------------------- */

static struct trace *some_trace(void)
{
	struct error error = {0};
	const struct support_options options = {.full = true};
	support_end(support_open(support_path("some.mtr"), &options), 1000);
	return trace_open(support_path("some.mtr"), &error);
}

static bool parse(const char *list, const char *design, struct percpu_options *options)
{
	struct error error = {0};
	struct trace *trace = some_trace();
	*options = (struct percpu_options){0};
	bool good = percpu_capacities(list, design, trace, options, &error);
	cr_assert_eq(good, error.code == ERROR_NONE);
	trace_close(trace);
	return good;
}

Test(percpu_advice, lists_are_sorted_clipped_and_without_repetition)
{
	struct percpu_options options;
	cr_assert(parse("128M,0,256k,1M,1024K", NULL, &options));
	const uint64_t *list = options.capacities[CACHE_PER_CPU];
	cr_assert_eq(options.capacity_count[CACHE_PER_CPU], 4);
	cr_assert(list[0] == 0 && list[1] == 256 << 10 && list[2] == 1 << 20 && list[3] == 128 << 20);
	list = options.capacities[CACHE_PER_THREAD];
	cr_assert_eq(options.capacity_count[CACHE_PER_THREAD], 3);
	cr_assert_eq(list[0], CACHE_THREADS_MIN_BYTES);
	cr_assert(parse("1M", "per-thread", &options));
	cr_assert_eq(options.capacity_count[CACHE_PER_CPU], 0);
	cr_assert(parse("none", NULL, &options));
	cr_assert_eq(options.capacity_count[CACHE_PER_CPU] + options.capacity_count[CACHE_PER_THREAD], 0);
	cr_assert(parse(NULL, "both", &options));
	cr_assert_gt(options.capacity_count[CACHE_PER_CPU], 5);
}

Test(percpu_advice, what_is_no_list_is_refused)
{
	static const char *const wrong[] = {"",	    ",", "1M,", "1Q", "-1", "1 M", "9999999999999999999G",
					    "1M;2M"};
	struct percpu_options options;
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		cr_assert(!parse(wrong[i], NULL, &options), "%s", wrong[i]);
	cr_assert(!parse("1M", "per-core", &options));
	char many[400] = "1";
	for (unsigned i = 2; i < 40; i++)
		snprintf(many + strlen(many), 8, ",%uK", i);
	cr_assert(!parse(many, NULL, &options));
}

/* ---- parts --------------------------------------------------------------------------------------------- */

Test(percpu_advice, pairs_are_told_apart)
{
	struct pairmap map = {0};
	cr_assert_eq(pairmap_get(&map, 1, 2), PAIRMAP_NONE);
	for (uint32_t i = 0; i < 5000; i++)
		cr_assert(pairmap_add(&map, i / 70, i % 70 * 0x1000000u, i));
	for (uint32_t i = 0; i < 5000; i++)
		cr_assert_eq(pairmap_get(&map, i / 70, i % 70 * 0x1000000u), i);
	cr_assert_eq(pairmap_get(&map, 1, 2), PAIRMAP_NONE);
	pairmap_clear(&map);
}

/* Objects out are the difference of what was taken and given; a span whose objects are all back is gone. */
Test(percpu_advice, spans_are_cut_up_and_go_back)
{
	struct spanlist list;
	spanlist_start(&list, 10);
	cr_assert_eq(spanlist_take(&list, 7), 7);
	cr_assert_eq(spanlist_take(&list, 7), 3); /* what is left, alone */
	cr_assert_eq(spanlist_take(&list, 100), 10);
	cr_assert_eq(list.out, 20);
	cr_assert(spanlist_give(&list, 20));
	cr_assert(list.out == 0 && list.first == SPANLIST_NONE);
	uint64_t state = 3, out = 0;
	for (unsigned i = 0; i < 100000; i++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		uint32_t objects = 1 + (uint32_t)(state >> 59);
		if (state >> 40 & 1) {
			out += spanlist_take(&list, objects);
		} else {
			objects = objects < out ? objects : (uint32_t)out;
			cr_assert(spanlist_give(&list, objects));
			out -= objects;
		}
		cr_assert_eq(list.out, out);
	}
	cr_assert(spanlist_give(&list, (uint32_t)out));
	cr_assert_eq(list.first, SPANLIST_NONE);
	spanlist_free(&list);
}
