/* Traces of a comparison's runs: over which time they are read, and what becomes of a rate. */
#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/compare_inside.h"
#include "tests/unit/support_compare.h"
#include "tests/unit/support_trace.h"

#define SECOND	 UINT64_C(1000000000)
#define START_NS ((int64_t)SUPPORT_START_REALTIME_NS)
#define RUNS	 4

#define NEAR(got, wanted, tolerance)                                                                         \
	cr_assert_float_eq(got, wanted, tolerance, "%s: %.12g instead of %.12g", #got, (double)(got),        \
			   (double)(wanted))

static struct compare compare;
static struct error error;

/*
 * Ten seconds: 3 of start-up with a thousand faults a second and no huge page, 6 of the run with `faults` a
 * second and `huge` of 100 MiB on huge pages, one of shutdown like the start.
 */
static void write_trace(const char *path, uint64_t faults, uint64_t huge_mib)
{
	struct support_trace *trace = support_open(path, &(struct support_options){.full = true});
	struct snapshot fields = {.rss_bytes = 100 << 20};
	for (uint64_t s = 0; s <= 10; s++) {
		bool running = s > 3 && s <= 9;
		fields.minor_faults += s == 0 ? 0 : running ? faults : 1000;
		fields.anon_huge_bytes = running ? huge_mib << 20 : 0;
		support_snapshot(trace, s * SECOND, &fields);
	}
	support_end(trace, 10 * SECOND);
}

static void add_run(size_t arm, uint64_t block, const char *name, double ops_s)
{
	struct compare_run *run = compare_add_run(&compare, arm);
	cr_assert_not_null(run);
	run->source = strdup(name);
	run->workload = strdup("");
	run->settings = json_object();
	run->threads = 4;
	run->block = block;
	run->trace = strdup(support_path(name));
	run->start_ns = START_NS + 3 * (int64_t)SECOND;
	run->end_ns = START_NS + 9 * (int64_t)SECOND;
	cr_assert(run_add_value(run, COMPARE_OVERALL, METRIC_THROUGHPUT, ops_s, 0));
}

static void start(void)
{
	size_t arm;
	cr_redirect_stderr();
	compare = (struct compare){0};
	error = (struct error){0};
	cr_assert(compare_arm(&compare, "off", &arm, &error) && compare_arm(&compare, "on", &arm, &error));
	for (uint64_t block = 0; block < RUNS / 2; block++) {
		char off[16], on[16];
		snprintf(off, sizeof off, "off%u.mtr", (unsigned)block);
		snprintf(on, sizeof on, "on%u.mtr", (unsigned)block);
		write_trace(support_path(off), 400 + 10 * block, 20);
		write_trace(support_path(on), 200 + 10 * block, 80 + block);
		add_run(0, block, off, 1000);
		add_run(1, block, on, 2000);
	}
}

static void end(void)
{
	compare_free(&compare);
}

TestSuite(compare_traces, .init = start, .fini = end);

static size_t quantity_of(const char *name)
{
	size_t index = 0;
	while (index < inside_quantities(&compare) &&
	       strcmp(inside_quantity(&compare, index).name, name) != 0)
		index++;
	cr_assert_lt(index, inside_quantities(&compare), "%s", name);
	return index;
}

static const struct inside_change *change_of(const char *name)
{
	for (size_t i = 0; i < compare.change_count; i++)
		if (compare.changes[i].quantity == quantity_of(name))
			return &compare.changes[i];
	cr_assert_fail("%s has not moved", name);
	return NULL;
}

Test(compare_traces, only_the_time_of_the_run_counts)
{
	cr_assert(compare_read_traces(&compare, &error) && compare_inside(&compare, &error));
	const struct compare_run *off = &compare.runs[0], *on = &compare.runs[1];
	NEAR(off->inside.values[INSIDE_COVERAGE], 0.2, 1e-9);
	NEAR(on->inside.values[INSIDE_COVERAGE], 0.8, 1e-9);
	size_t faults = quantity_of("minor_faults_per_s");
	NEAR(off->inside.values[faults], 400.0 / 1000, 1e-9); /* an operation */
	NEAR(on->inside.values[faults], 200.0 / 2000, 1e-9);
	cr_assert(isnan(off->inside.values[quantity_of("frees_other_cpu")]));
	cr_assert_null(compare.traces_missing);
	const struct inside_change *change = change_of("minor_faults_per_s");
	cr_assert_eq(change->down, 2);
	NEAR(change->ratio.ratio, sqrt(200.0 / 800 * 210 / 820), 1e-9);
	cr_assert_eq(change_of("huge_coverage")->up, 2);
	cr_assert_not(compare.regression.known, "four runs are too few");
}

Test(compare_traces, warm_up_that_was_trimmed_is_not_looked_at)
{
	compare.runs[0].start_ns = START_NS;
	compare.runs[0].trimmed_s = 3;
	cr_assert(compare_read_traces(&compare, &error));
	NEAR(compare.runs[0].inside.values[INSIDE_COVERAGE], 0.2, 1e-9);
}

Test(compare_traces, one_of_another_time_or_unreadable_is_left_out)
{
	compare.runs[0].start_ns -= 3600 * (int64_t)SECOND;
	compare.runs[0].end_ns -= 3600 * (int64_t)SECOND;
	support_write_file(compare.runs[3].trace, "no trace", 8);
	cr_assert(compare_read_traces(&compare, &error));
	cr_assert(isnan(compare.runs[0].inside.values[INSIDE_COVERAGE]));
	cr_assert(isnan(compare.runs[3].inside.values[INSIDE_COVERAGE]));
	cr_assert(compare.inputs_left_out);
	cr_assert(strstr(compare.traces_missing, "Some of the traces"), "%s", compare.traces_missing);
}

Test(compare_traces, numbers_for_people)
{
	char text[SCALE_TEXT_BYTES];
	struct inside_quantity share = inside_quantity(&compare, INSIDE_COVERAGE);
	struct inside_quantity faults = inside_quantity(&compare, quantity_of("minor_faults_per_s"));
	struct inside_quantity rss = inside_quantity(&compare, quantity_of("rss_bytes"));
	cr_assert_str_eq(inside_text(&share, 0.715, text), "71.5%");
	cr_assert_str_eq(inside_text(&faults, 0.0025, text), "0.0025 faults/op");
	cr_assert_str_eq(inside_text(&rss, 3 << 20, text), "3.00 MiB");
	cr_assert_str_eq(inside_text(&rss, NAN, text), "unknown");
}
