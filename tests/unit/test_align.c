/* YCSB on the trace's time axis: resampling, segments, grids, hints; and the correlations that come of it. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "analyzer/align.h"
#include "analyzer/span.h"

#define S INT64_C(1000000000)

static void near(double got, double wanted, const char *what)
{
	cr_assert(fabs(got - wanted) <= 1e-9 * fabs(wanted) + 1e-12, "%s: %.12g instead of %.12g", what, got,
		  wanted);
}

/* ---- means over overlap ------------------------------------------------------------------------------ */

Test(span, mean_is_weighted_by_overlap)
{
	static const struct span spans[] = {{0, 10 * S, 100}, {10 * S, 20 * S, 200}, {20 * S, 30 * S, 400}};
	struct span_list list = {spans, 3, 0};
	near(span_mean(&list, 0, 10 * S), 100, "one span");
	near(span_mean(&list, 5 * S, 25 * S), (5 * 100 + 10 * 200 + 5 * 400) / 20.0, "parts of three");
	near(span_mean(&list, 22 * S, 24 * S), 400, "within one");
}

Test(span, half_has_to_be_covered)
{
	static const struct span spans[] = {{0, 4 * S, 100}, {4 * S, 10 * S, NAN}};
	near(span_mean(&(struct span_list){spans, 2, 0}, 0, 8 * S), 100, "exactly half");
	cr_assert(isnan(span_mean(&(struct span_list){spans, 2, 0}, 0, 9 * S)), "less than half");
	cr_assert(isnan(span_mean(&(struct span_list){spans, 2, 0}, 20 * S, 21 * S)), "beyond the last");
	cr_assert(isnan(span_mean(&(struct span_list){spans, 0, 0}, 0, S)), "no spans");
}

Test(span, equal_values_stay_equal)
{
	static const struct span spans[] = {{0, 3 * S, 0.1}, {3 * S, 10 * S, 0.1}};
	for (int64_t start = 0; start < 9; start++)
		cr_assert_eq(
			span_mean(&(struct span_list){spans, 2, 0}, start * S + 12345, (start + 1) * S + 777),
			0.1);
}

Test(span, overlap)
{
	cr_assert_eq(span_overlap_ns(0, 10, 5, 20), 5);
	cr_assert_eq(span_overlap_ns(5, 20, 0, 10), 5);
	cr_assert_eq(span_overlap_ns(0, 10, 10, 20), 0);
	cr_assert_eq(span_overlap_ns(0, 10, 30, 40), 0);
}

/* ---- a model and clients, made by hand ------------------------------------------------------------------
 */

#define POINTS_MAX 400
#define RUNS_MAX   6

static struct model_row rows[POINTS_MAX];
static struct timeline timeline;
static struct model model;
static struct ycsb_interval intervals[RUNS_MAX][POINTS_MAX];
static struct ycsb_run runs[RUNS_MAX];
static struct ycsb_file files[2];
static struct alignment alignment;

static double wave(int64_t i)
{
	return 1000 + (double)(i * 7919 % 101);
}

/* `count` rows of `length_s` from `start_s` on; allocations follow wave(), threads never change. */
static void make_rows(int64_t start_s, size_t count, int64_t length_s)
{
	for (size_t i = 0; i < count; i++) {
		struct model_row *row = &rows[i];
		row->start_ns = (start_s + (int64_t)i * length_s) * S;
		row->end_ns = row->start_ns + length_s * S;
		for (size_t s = 0; s < SERIES_COUNT; s++)
			row->values[s] = NAN;
		row->values[SERIES_ALLOCS] = wave(row->start_ns / S);
		row->values[SERIES_THREADS] = 7;
	}
	timeline = (struct timeline){.rows = rows, .row_count = count, .usual_interval_s = (double)length_s};
	model = (struct model){.timelines = &timeline, .timeline_count = 1, .start_ns = start_s * S};
	model.end_ns = rows[count - 1].end_ns;
}

/* A run of `file` with `count` status intervals of `length_s`; the throughput follows wave() too. */
static struct ycsb_run *make_run(size_t file, int64_t start_s, size_t count, int64_t length_s)
{
	struct ycsb_file *owner = &files[file];
	if (!owner->runs)
		owner->runs = &runs[file * RUNS_MAX / 2];
	struct ycsb_run *run = &owner->runs[owner->run_count];
	struct ycsb_interval *points = intervals[run - runs];
	owner->path = "client.txt";
	owner->run_count++;
	*run = (struct ycsb_run){.format = YCSB_JAVA_TEXT,
				 .phase = YCSB_PHASE_RUN,
				 .threads_asked = 8,
				 .threads_ended = YCSB_UNKNOWN,
				 .intervals = points,
				 .interval_count = count,
				 .usual_interval_s = (double)length_s};
	for (size_t i = 0; i < count; i++) {
		int64_t start_ns = (start_s + (int64_t)i * length_s) * S;
		points[i] = (struct ycsb_interval){.start_ns = start_ns,
						   .end_ns = start_ns + length_s * S,
						   .ops_s = 10 * wave(start_ns / S),
						   .mean_us = 300,
						   .p99_worst_us = 900};
	}
	return run;
}

static void align_all(size_t file_count)
{
	cr_assert(align(files, file_count, &model, &alignment));
}

static void align_close(void)
{
	alignment_free(&alignment);
}

TestSuite(align, .fini = align_close);

/* ---- segments ---------------------------------------------------------------------------------------- */

Test(align, one_run_is_one_segment_on_its_status_lines)
{
	make_rows(1000, 60, 1);
	make_run(0, 1010, 40, 1);
	align_all(1);
	cr_assert_eq(alignment.segment_count, 1);
	const struct segment *segment = &alignment.segments[0];
	cr_assert_str_eq(segment->name, "run, 8 threads");
	cr_assert_eq(segment->count, 40);
	cr_assert_not(segment->on_rows);
	for (size_t i = 0; i < 40; i++)
		near(segment->throughput[i], 10 * wave(1010 + (int64_t)i), "as printed");
	near(rows[20].values[SERIES_THROUGHPUT], 10 * wave(1020), "rows get it too");
	near(rows[20].values[SERIES_LATENCY_MEAN], 300, "latency as well");
	cr_assert(isnan(rows[5].values[SERIES_THROUGHPUT]), "nothing ran then");
}

Test(align, longer_rows_become_the_grid)
{
	make_rows(1000, 40, 10);
	make_run(0, 1000, 400, 1);
	align_all(1);
	const struct segment *segment = &alignment.segments[0];
	double mean = 0;
	for (int64_t i = 0; i < 10; i++)
		mean += 10 * wave(1050 + i) / 10;
	cr_assert(segment->on_rows);
	cr_assert_eq(segment->count, 40);
	near(segment->interval_s, 10, "interval");
	near(segment->throughput[5], mean, "mean of ten status lines");
}

Test(align, longer_status_lines_stay_the_grid)
{
	make_rows(1000, 400, 1);
	make_run(0, 1000, 30, 10);
	align_all(1);
	cr_assert_not(alignment.segments[0].on_rows);
	cr_assert_eq(alignment.segments[0].count, 30, "no point is made up");
	near(rows[14].values[SERIES_THROUGHPUT], 10 * wave(1010), "a row shows the interval it lies in");
}

Test(align, levels_of_a_sweep_are_segments_of_their_own)
{
	make_rows(1000, 100, 1);
	make_run(0, 1000, 30, 1);
	make_run(0, 1030, 30, 1)->threads_asked = 16;
	make_run(0, 1060, 30, 1)->threads_asked = 8;
	align_all(1);
	cr_assert_eq(alignment.segment_count, 3);
	cr_assert_str_eq(alignment.segments[0].name, "run, 8 threads");
	cr_assert_str_eq(alignment.segments[1].name, "run, 16 threads");
	cr_assert_str_eq(alignment.segments[2].name, "run, 8 threads #2");
}

Test(align, clients_at_the_same_time_add_up_while_both_run)
{
	make_rows(1000, 100, 1);
	make_run(0, 1000, 40, 1);
	make_run(1, 1005, 45, 1);
	align_all(2);
	cr_assert_eq(alignment.segment_count, 1);
	const struct segment *segment = &alignment.segments[0];
	cr_assert_eq(segment->clients, 2);
	cr_assert_eq(segment->threads, 16);
	cr_assert_eq(segment->start_ns, 1005 * S);
	cr_assert_eq(segment->end_ns, 1040 * S);
	near(segment->throughput[0], 2 * 10 * wave(1005), "sum");
	near(segment->latency_mean_us[0], 300, "not the sum");
}

Test(align, a_short_last_line_is_left_out)
{
	make_rows(1000, 60, 1);
	struct ycsb_run *run = make_run(0, 1000, 30, 1);
	run->intervals[29].end_ns -= S * 9 / 10;
	run->intervals[29].ops_s = 1e9;
	run->intervals[29].partial = true;
	align_all(1);
	cr_assert_eq(alignment.segments[0].count, 29);
}

Test(align, a_client_clock_that_goes_back_makes_no_overlap)
{
	make_rows(1000, 60, 1);
	struct ycsb_run *run = make_run(0, 1000, 30, 1);
	for (size_t i = 15; i < 30; i++) { /* set back by five seconds */
		run->intervals[i].start_ns -= 5 * S;
		run->intervals[i].end_ns -= 5 * S;
	}
	align_all(1);
	const struct segment *segment = &alignment.segments[0];
	for (size_t i = 1; i < segment->count; i++)
		cr_assert_geq(segment->grid[i].start_ns, segment->grid[i - 1].end_ns);
}

Test(align, parts_outside_of_the_trace_are_cut_off)
{
	make_rows(1020, 20, 1);
	make_run(0, 1000, 60, 1);
	align_all(1);
	cr_assert_eq(alignment.segments[0].count, 20);
	cr_assert_eq(alignment.segments[0].start_ns, 1020 * S);
}

Test(align, what_has_no_place_is_set_aside_with_its_reason)
{
	make_rows(1000, 20, 1);
	make_run(0, 1000, 0, 1);
	make_run(0, 1000, 10, 1)->intervals[0].start_ns = YCSB_NO_TIME;
	make_run(0, 5000, 10, 1);
	align_all(1);
	cr_assert_eq(alignment.segment_count, 0);
	cr_assert_eq(alignment.unplaced_count, 3);
	cr_assert_eq(alignment.unplaced[0].reason, UNPLACED_NO_SERIES);
	cr_assert_eq(alignment.unplaced[1].reason, UNPLACED_NO_CLOCK);
	cr_assert_eq(alignment.unplaced[2].reason, UNPLACED_NO_OVERLAP);
	cr_assert_eq(alignment.client_start_ns, 5000 * S);
	cr_assert_eq(alignment.client_end_ns, 5010 * S);
	cr_assert_not(alignment.have_hint, "no zone is 4000 s away");
}

Test(align, a_run_shorter_than_a_row_ran_while_something_was_traced)
{
	make_rows(1000, 20, 10);
	make_run(0, 1053, 4, 1);
	align_all(1);
	cr_assert_eq(alignment.segment_count, 0);
	cr_assert_eq(alignment.unplaced_count, 1);
	cr_assert_eq(alignment.unplaced[0].reason, UNPLACED_TOO_SHORT);
}

Test(align, a_run_between_two_stages_ran_while_nothing_was_traced)
{
	make_rows(1000, 40, 1);
	for (size_t i = 20; i < 40; i++) {
		rows[i].start_ns += 100 * S;
		rows[i].end_ns += 100 * S;
	}
	make_run(0, 1050, 30, 1);
	align_all(1);
	cr_assert_eq(alignment.segment_count, 0);
	cr_assert_eq(alignment.unplaced[0].reason, UNPLACED_NO_OVERLAP);
}

/* ---- hints ------------------------------------------------------------------------------------------- */

Test(align, another_zone_gives_a_hint)
{
	make_rows(100000, 100, 1);
	make_run(0, 100010 - 2 * 3600, 80, 1)->zone_offset_s = 7200; /* local time was UTC, not UTC+2 */
	align_all(1);
	cr_assert(alignment.have_hint);
	cr_assert_eq(alignment.hint_offset_s, 0);
}

Test(align, zone_shifts)
{
	int64_t day = 86400 * S;
	cr_assert_eq(align_zone_shift_s(0, 60 * S, 3600 * S, 3660 * S), 3600);
	cr_assert_eq(align_zone_shift_s(3600 * S, 3660 * S, 0, 60 * S), -3600);
	cr_assert_eq(align_zone_shift_s(0, 60 * S, 20700 * S, 20760 * S), 20700, "UTC+5:45");
	cr_assert_eq(align_zone_shift_s(0, 60 * S, 2 * day, 2 * day + 60 * S), 0, "no zone is two days away");
	cr_assert_eq(align_zone_shift_s(0, 60 * S, 450 * S, 500 * S), 0, "half a step away");
}

/* ---- correlation ------------------------------------------------------------------------------------- */

static const struct correlate_result *row_of(const struct aligned *aligned, enum series_id series)
{
	for (size_t i = 0; i < aligned->results.count; i++)
		if (!aligned->results.rows[i].segment &&
		    strcmp(aligned->results.rows[i].series, series_infos[series].name) == 0)
			return &aligned->results.rows[i];
	cr_assert(false, "no row for %s", series_infos[series].name);
	return NULL;
}

Test(align, correlation_finds_what_moves_together_and_names_the_rest)
{
	struct aligned aligned;
	make_rows(1000, 100, 1);
	make_run(0, 1010, 80, 1);
	align_all(1);
	cr_assert(align_correlate(&model, &alignment, &aligned));
	const struct correlate_result *allocs = row_of(&aligned, SERIES_ALLOCS);
	cr_assert_eq(allocs->verdict, CORRELATE_WITH);
	near(allocs->spearman, 1, "the same pattern");
	near(allocs->lag_s, 0, "at the same time");
	cr_assert_eq(row_of(&aligned, SERIES_THREADS)->verdict, CORRELATE_SERIES_CONSTANT);
	cr_assert_eq(row_of(&aligned, SERIES_HUGE)->verdict, CORRELATE_NOT_MEASURED);
	aligned_free(&aligned);
}

Test(align, levels_are_taken_in_the_middle_of_an_interval)
{
	struct aligned aligned;
	make_rows(1000, 60, 1);
	for (size_t i = 0; i < 60; i++)
		rows[i].values[SERIES_RSS] = (double)(i + 1); /* at the end of row i */
	make_run(0, 1010, 40, 1);
	align_all(1);
	cr_assert(align_correlate(&model, &alignment, &aligned));
	for (size_t i = 0; i < aligned.series_count; i++)
		if (aligned.series[i].series == SERIES_RSS)
			near(aligned.series[i].values[0][0], 10.5, "mean of 10 and 11");
	aligned_free(&aligned);
}

/* The row of second 1009 to 1010 holds what was before the run; status lines come half a second later. */
static void expect_only_what_was_within_the_run(size_t points)
{
	struct aligned aligned;
	for (size_t i = 0; i < timeline.row_count; i++) {
		bool within = rows[i].start_ns >= runs[0].intervals[0].start_ns &&
			      rows[i].end_ns <= runs[0].intervals[runs[0].interval_count - 1].end_ns;
		bool ends_within = rows[i].end_ns >= runs[0].intervals[0].start_ns;
		rows[i].values[SERIES_THREADS] = within || ends_within ? 9 : 2;
	}
	align_all(1);
	cr_assert_eq(alignment.segments[0].count, points);
	cr_assert(align_correlate(&model, &alignment, &aligned));
	cr_assert_eq(row_of(&aligned, SERIES_THREADS)->verdict, CORRELATE_SERIES_CONSTANT);
	for (size_t i = 0; i < aligned.series_count; i++)
		if (aligned.series[i].series == SERIES_THREADS)
			near(aligned.series[i].values[0][0], 9, "not what was before the run");
	aligned_free(&aligned);
}

Test(align, what_was_before_the_run_stays_out_of_its_first_interval)
{
	make_rows(1000, 60, 1);
	struct ycsb_run *run = make_run(0, 1010, 40, 1);
	for (size_t i = 0; i < 40; i++) {
		run->intervals[i].start_ns += S / 2;
		run->intervals[i].end_ns += S / 2;
	}
	expect_only_what_was_within_the_run(38); /* rows lie within 1011 .. 1050 */
}

Test(align, what_was_before_the_run_stays_out_of_its_first_row)
{
	make_rows(1000, 40, 10);
	make_run(0, 1053, 300, 1);
	expect_only_what_was_within_the_run(29); /* 1060 .. 1350 */
}

Test(align, without_segments_there_is_nothing_to_correlate)
{
	struct aligned aligned;
	make_rows(1000, 60, 1);
	align_all(0);
	cr_assert(align_correlate(&model, &alignment, &aligned));
	cr_assert_eq(aligned.results.count, 0);
	aligned_free(&aligned);
}
