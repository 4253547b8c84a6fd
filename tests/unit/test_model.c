/* Rows between snapshots, size classes, sites; and traces read into a model. */
#include <criterion/criterion.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "analyzer/model.h"
#include "tests/unit/support_report.h"

static void near(double got, double wanted, const char *what)
{
	cr_assert(fabs(got - wanted) <= 1e-9 * fabs(wanted) + 1e-12, "%s: %.12g instead of %.12g", what, got,
		  wanted);
}

/* ---- series ------------------------------------------------------------------------------------------ */

static struct snapshot counted(uint64_t second, uint64_t each)
{
	struct snapshot snapshot = {.minor_faults = each, .user_cpu_us = each, .rss_bytes = each};
	snapshot.mark.realtime_ns = second * RUN_SECOND;
	snapshot.mark.monotonic_ns = second * RUN_SECOND;
	for (unsigned i = 0; i < COUNTER_COUNT; i++)
		snapshot.counters[i] = each;
	return snapshot;
}

Test(series, rates_are_differences_over_time)
{
	struct snapshot before = counted(10, 1000), after = counted(12, 1600);
	double values[SERIES_COUNT];
	series_between(&before, &after, 2, values);
	near(values[SERIES_ALLOCS], 4 * 300, "malloc, calloc, new and aligned");
	near(values[SERIES_FREES], 2 * 300, "free and delete");
	near(values[SERIES_REALLOCS], 300, "reallocs");
	near(values[SERIES_LOST], 6 * 300, "six causes of loss");
	near(values[SERIES_MINOR_FAULTS], 300, "faults");
	near(values[SERIES_CPU_USER], 300e-6, "CPU");
	near(values[SERIES_RSS], 1600, "a level is the reading at the end");
	cr_assert(isnan(values[SERIES_THROUGHPUT]));
}

Test(series, first_interval_knows_counters_and_no_kernel_figures)
{
	struct snapshot after = counted(1, 500);
	double values[SERIES_COUNT];
	series_between(NULL, &after, 1, values);
	near(values[SERIES_ALLOCS], 4 * 500, "counters begin at 0");
	cr_assert(isnan(values[SERIES_MINOR_FAULTS]), "faults from before an exec would be counted");
	cr_assert(isnan(values[SERIES_CPU_USER]));
}

Test(series, unknown_is_not_zero)
{
	struct snapshot before = counted(1, 100), after = counted(2, 200);
	double values[SERIES_COUNT];
	after.anon_huge_bytes = SNAPSHOT_UNKNOWN;
	after.counters[COUNTER_CALLOC] = SNAPSHOT_UNKNOWN;
	after.minor_faults = 50; /* went back */
	series_between(&before, &after, 1, values);
	cr_assert(isnan(values[SERIES_HUGE]));
	cr_assert(isnan(values[SERIES_ALLOCS]));
	cr_assert(isnan(values[SERIES_MINOR_FAULTS]));
	near(values[SERIES_FREES], 200, "what is known stays known");
}

Test(series, names_are_distinct)
{
	for (size_t i = 0; i < SERIES_COUNT; i++) {
		cr_assert_not_null(series_infos[i].name);
		for (size_t j = 0; j < i; j++)
			cr_assert_str_neq(series_infos[i].name, series_infos[j].name);
	}
}

/* ---- rows -------------------------------------------------------------------------------------------- */

Test(rows, follow_each_other)
{
	struct timeline timeline = {0};
	struct snapshot one = counted(10, 100), two = counted(11, 200), three = counted(13, 400);
	bool skipped;
	cr_assert_not_null(timeline_append(&timeline, 9 * (int64_t)RUN_SECOND, NULL, &one, &skipped));
	cr_assert_not_null(timeline_append(&timeline, 0, &one, &two, &skipped));
	cr_assert_not_null(timeline_append(&timeline, 0, &two, &three, &skipped));
	cr_assert(timeline_finish(&timeline));
	cr_assert_eq(timeline.row_count, 3);
	near(timeline.usual_interval_s, 1, "median");
	near(timeline.rows[2].values[SERIES_REALLOCS], 100, "over its own two seconds");
	cr_assert_eq(timeline.rows[0].end_ns, timeline.rows[1].start_ns);
	free(timeline.rows);
}

Test(rows, stepped_wall_clock_keeps_the_rate_and_the_order)
{
	struct timeline timeline = {0};
	struct snapshot one = counted(10, 100), two = counted(11, 200), three = counted(12, 300);
	bool skipped;
	timeline_append(&timeline, 9 * (int64_t)RUN_SECOND, NULL, &one, &skipped);
	two.mark.realtime_ns = 5 * RUN_SECOND; /* set back by six seconds */
	cr_assert_null(timeline_append(&timeline, 0, &one, &two, &skipped));
	cr_assert(skipped, "a row before its predecessor has no place");
	three.mark.realtime_ns = 30 * RUN_SECOND; /* and then set forward */
	struct model_row *row = timeline_append(&timeline, 0, &two, &three, &skipped);
	cr_assert_not_null(row);
	near(row->values[SERIES_REALLOCS], 100, "by the monotonic clock");
	cr_assert_geq(row->start_ns, timeline.rows[0].end_ns);
	free(timeline.rows);
}

Test(rows, a_short_last_row_is_marked)
{
	struct timeline timeline = {0};
	struct snapshot last = counted(0, 0);
	bool skipped;
	for (uint64_t k = 1; k <= 5; k++) {
		struct snapshot next = counted(k, k);
		timeline_append(&timeline, 0, k == 1 ? NULL : &last, &next, &skipped);
		last = next;
	}
	struct snapshot end = last;
	end.mark.realtime_ns += 1000000;
	end.mark.monotonic_ns += 1000000;
	timeline_append(&timeline, 0, &last, &end, &skipped);
	timeline_finish(&timeline);
	cr_assert(timeline.rows[5].brief);
	cr_assert_not(timeline.rows[4].brief);
	free(timeline.rows);
}

Test(rows, keep_their_largest_sites_in_order)
{
	struct live_site sites[100] = {0};
	struct model_row row = {0};
	for (unsigned i = 0; i < 100; i++)
		sites[i].live_bytes.value = i % 2 ? (double)(i * 7919 % 1009) : 0;
	row_take_sites(&row, sites, 100);
	cr_assert_eq(row.site_count, MODEL_ROW_SITES);
	double smallest = row.sites[MODEL_ROW_SITES - 1].live_bytes;
	unsigned larger = 0;
	for (unsigned i = 0; i < 100; i++)
		larger += sites[i].live_bytes.value > smallest;
	cr_assert_lt(larger, MODEL_ROW_SITES, "nothing larger than the smallest one kept was left out");
	for (unsigned i = 0; i < MODEL_ROW_SITES; i++) {
		near(row.sites[i].live_bytes, sites[row.sites[i].site].live_bytes.value, "its own value");
		cr_assert(i == 0 || row.sites[i].live_bytes <= row.sites[i - 1].live_bytes);
	}
}

/* ---- size classes ------------------------------------------------------------------------------------ */

Test(sizes, every_size_is_in_its_class)
{
	static const uint64_t wanted[] = {16, 24, 32, 48, 64, 96, 128};
	for (unsigned i = 0; i < sizeof wanted / sizeof *wanted; i++)
		cr_assert_eq(size_class_upper_bytes(i), wanted[i]);
	for (uint64_t size = 0; size < 100000; size++) {
		unsigned class = size_class_of(size);
		cr_assert_leq(size, size_class_upper_bytes(class), "%lu in class %u", (unsigned long)size,
			      class);
		cr_assert(class == 0 || size > size_class_upper_bytes(class - 1), "%lu in class %u",
			  (unsigned long)size, class);
	}
	cr_assert_eq(size_class_of(UINT64_MAX), SIZE_CLASSES - 1);
}

/* ---- whole traces ------------------------------------------------------------------------------------ */

static struct model model;
static struct error error;

static void model_close(void)
{
	model_free(&model);
}

TestSuite(reading, .fini = model_close);

static void read_traces(const char *const *paths, size_t count)
{
	cr_assert(model_read(paths, count, NULL, &model, &error), "%s", error.text);
	cr_assert_null(model_check(&model), "%s", model_check(&model));
}

Test(reading, full_mode_is_exact)
{
	const char *path = support_path("full.mtr");
	run_trace(path, 30);
	read_traces(&path, 1);
	const struct timeline *timeline = &model.timelines[0];
	double allocs = 0;
	cr_assert_eq(timeline->row_count, 30);
	for (uint64_t k = 0; k < 30; k++) {
		const struct model_row *row = &timeline->rows[k];
		near(row->values[SERIES_ALLOCS], load_of(k), "allocations");
		near(row->values[SERIES_FREES], load_of(k) - 1, "frees");
		near(row->values[SERIES_LIVE], (double)(k + 1) * RUN_BLOCK_BYTES, "live bytes");
		cr_assert(isnan(row->values[SERIES_LIVE_LOW]), "an exact value has no interval");
		near(row->values[SERIES_RSS], RUN_RSS_BYTES, "RSS");
		cr_assert(isnan(row->values[SERIES_HUGE]), "not known");
		cr_assert_eq(row->end_ns, (int64_t)(SUPPORT_START_REALTIME_NS + (k + 1) * RUN_SECOND));
		near(row->sites[0].live_bytes, row->values[SERIES_LIVE], "one site holds everything");
		allocs += load_of(k);
	}
	near(timeline->classes.allocs[size_class_of(RUN_BLOCK_BYTES)], allocs, "size class");
	near(timeline->classes.alloc_bytes[size_class_of(RUN_BLOCK_BYTES)], allocs * RUN_BLOCK_BYTES,
	     "bytes of it");
	cr_assert_not(timeline->estimated);
	cr_assert(timeline->stacks);
	cr_assert_eq(timeline->site_count, 1);
	cr_assert_str_eq(timeline->label, "guest, pid 4242");
}

Test(reading, sample_mode_estimates_with_an_interval)
{
	const char *path = support_path("sample.mtr");
	struct support_trace *trace = run_open(path, &(struct support_options){.sample_bytes = 1000});
	for (unsigned i = 0; i < 50; i++)
		support_malloc(trace, 1, 1000 + i, UINT64_C(0x10000000) + i * 4096, 500, RUN_STACK);
	support_snapshot(trace, RUN_SECOND, NULL);
	support_end(trace, RUN_SECOND);
	read_traces(&path, 1);
	double weight = 1 / (1 - exp(-0.5));
	const struct timeline *timeline = &model.timelines[0];
	const double *values = timeline->rows[0].values;
	near(values[SERIES_LIVE], 50 * 500 * weight, "Horvitz-Thompson");
	cr_assert(values[SERIES_LIVE_LOW] < values[SERIES_LIVE] &&
		  values[SERIES_LIVE] < values[SERIES_LIVE_HIGH]);
	near(timeline->classes.allocs[size_class_of(500)], 50 * weight, "size classes as well");
	cr_assert(timeline->estimated);
}

/* Moves the start of a trace by four seconds: the digits in its process block, and the checksums over them.
 */
static void start_later(const char *path)
{
	static const char *const changes[][2] = {
		{"start_time=1000000000", "start_time=5000000000"},
		{"start_realtime_ns=1700000000", "start_realtime_ns=1700000004"},
		{"start_monotonic_ns=5000000000", "start_monotonic_ns=9000000000"}};
	struct block_header header;
	size_t bytes;
	uint64_t seed;
	uint8_t *data = support_read_file(path, &bytes);
	memcpy(&header, data + TRACE_PAGE_BYTES, sizeof header);
	memcpy(&seed, data + offsetof(struct file_header, nonce), sizeof seed);
	uint8_t *payload = data + TRACE_PAGE_BYTES + sizeof header;
	for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
		uint8_t *at = memmem(payload, header.raw_bytes, changes[i][0], strlen(changes[i][0]));
		cr_assert_not_null(at);
		memcpy(at, changes[i][1], strlen(changes[i][1]));
	}
	header.payload_check = XXH3_64bits(payload, header.stored_bytes);
	header.header_check =
		XXH3_64bits_withSeed(&header, offsetof(struct block_header, header_check), seed);
	memcpy(data + TRACE_PAGE_BYTES, &header, sizeof header);
	support_write_file(path, data, bytes);
	free(data);
}

static void two_stages(const char *const paths[2], uint64_t first_seconds)
{
	run_trace(paths[1], first_seconds);
	struct support_trace *later = support_open(paths[0], &(struct support_options){.full = true});
	support_snapshot(later, 8 * RUN_SECOND, NULL);
	support_snapshot(later, 9 * RUN_SECOND, NULL);
	support_end(later, 9 * RUN_SECOND);
	start_later(paths[0]);
}

Test(reading, stages_of_a_process_share_a_timeline)
{
	const char *paths[] = {support_path("second.mtr"), support_path("first.mtr")};
	two_stages(paths, 3);
	read_traces(paths, 2);
	cr_assert_eq(model.timeline_count, 1);
	cr_assert_eq(model.timelines[0].row_count, 3 + 2);
	near((double)(model.timelines[0].rows[3].start_ns - model.start_ns) / 1e9, 4,
	     "the second stage starts at 4 s");
	cr_assert_str_eq(trace_info(model.stages[0].trace)->path, paths[1],
			 "in order of time, not of the arguments");
}

Test(reading, traces_that_overlap_are_two_processes)
{
	const char *paths[] = {support_path("second.mtr"), support_path("first.mtr")};
	two_stages(paths, 6);
	read_traces(paths, 2);
	cr_assert_eq(model.timeline_count, 2);
	cr_assert_eq(model.timelines[0].row_count, 6);
	cr_assert_eq(model.timelines[1].row_count, 2);
	cr_assert_str_eq(model.timelines[1].label, "[2] guest, pid 4242",
			 "told apart although pid and program agree");
}

Test(reading, a_trace_given_twice_is_refused)
{
	const char *path = support_path("twice.mtr");
	run_trace(path, 2);
	const char *paths[] = {path, path};
	cr_assert_not(model_read(paths, 2, NULL, &model, &error));
	cr_assert_eq(error.code, ERROR_USAGE);
}

Test(reading, a_file_that_is_no_trace_is_refused)
{
	const char *path = support_path("foreign.mtr");
	support_write_file(path, "GIF89a", 6);
	cr_assert_not(model_read(&path, 1, NULL, &model, &error));
	cr_assert_eq(error.code, ERROR_INPUT);
	cr_assert_eq(model.stage_count, 0, "nothing is left behind");
}

Test(reading, killed_process_keeps_what_was_committed)
{
	const char *path = support_path("killed.mtr");
	struct support_trace *trace = run_open(path, &(struct support_options){.full = true});
	run_seconds(trace, 0, 3);
	run_events(trace, 3);
	support_kill(trace);
	read_traces(&path, 1);
	cr_assert_eq(model.timelines[0].row_count, 3, "rows end with the last snapshot");
	near(model.stages[0].totals.live_bytes.value, 4 * RUN_BLOCK_BYTES, "events go on to the end");
}

Test(reading, a_wrapped_recorder_keeps_its_place_in_time_and_knows_no_live_bytes)
{
	const char *path = support_path("wrapped.mtr");
	struct support_trace *trace =
		run_open(path, &(struct support_options){.full = true, .region_bytes = 64 << 10});
	run_seconds(trace, 0, 40);
	support_end(trace, 40 * RUN_SECOND);
	support_tell_first_times(path);
	read_traces(&path, 1);
	const struct timeline *timeline = &model.timelines[0];
	cr_assert(model.stages[0].wrapped);
	cr_assert_eq(model.start_ns, (int64_t)SUPPORT_START_REALTIME_NS, "zero is where tracing started");
	cr_assert(timeline->row_count > 3 && timeline->row_count < 40, "%zu rows", timeline->row_count);
	for (size_t i = 0; i < timeline->row_count; i++) {
		const struct model_row *row = &timeline->rows[i];
		uint64_t second = (uint64_t)(row->start_ns - model.start_ns) / RUN_SECOND;
		cr_assert(second > 0);
		near(row->values[SERIES_ALLOCS], load_of(second), "differences of counters stay exact");
		cr_assert(isnan(row->values[SERIES_LIVE]));
	}
}
