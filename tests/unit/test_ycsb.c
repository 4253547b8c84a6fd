/* Java YCSB: export block, kinds of output, runs of a file, and input that is none. */

#include "tests/unit/support_ycsb.h"

TestSuite(ycsb, .fini = close_file);

#define ZERO "2026-05-31 12:00:00:000 0 sec: 0 operations; est completion in 0 second \n"

/* ---- a whole file ------------------------------------------------------------------------------------ */

Test(ycsb, summary_of_a_run)
{
	const struct ycsb_run *run = read_golden("java-0.17-run.txt", &utc);
	cr_assert_eq(run->format, YCSB_JAVA_TEXT);
	cr_assert_eq(run->phase, YCSB_PHASE_RUN);
	cr_assert_str_eq(run->version, "0.17.0");
	cr_assert(run->complete);
	near(run->throughput_ops_s, 2726.446531354135, "throughput");
	near(run->runtime_ms, 3301, "run time");
	cr_assert_eq(run->threads_asked, 4);
	cr_assert_eq(run->threads_ended, 4);
	cr_assert_eq(run->record_count, 5000);
	cr_assert_eq(run->operation_count, 9000);
	near(run->error_rate, 10.0 / 9000, "error rate");
	cr_assert_eq(run->flags, YCSB_FLAG_ERRORS);
	cr_assert_eq(run->operation_kinds, 5);
}

Test(ycsb, latencies_of_an_operation)
{
	read_golden("java-0.17-run.txt", &utc);
	const struct ycsb_operation *read = ycsb_find_operation(&file.runs[0], "READ");
	cr_assert_eq(read->count, 8490);
	near(read->mean_us, 318.75, "mean");
	near(read->min_us, 80, "min");
	near(read->max_us, 9000, "max");
	near(ycsb_percentile_us(read, 50), 250, "p50");
	near(ycsb_percentile_us(read, 99), 1900, "p99");
	near(ycsb_percentile_us(read, 99.9), 4100, "p99.9");
	cr_assert(isnan(ycsb_percentile_us(read, 99.99)));
	cr_assert_eq(read->return_count, 2);
	cr_assert_str_eq(read->returns[1].name, "NOT_FOUND");
	cr_assert_eq(read->returns[1].count, 10);
	near(ycsb_find_operation(&file.runs[0], "UPDATE")->mean_us, 800, "mean in E-notation");
	cr_assert_null(ycsb_find_operation(&file.runs[0], "SCAN"));
}

Test(ycsb, series_of_a_run)
{
	const struct ycsb_run *run = read_golden("java-0.17-run.txt", &utc);
	cr_assert_eq(run->interval_count, 4);
	/* 2002 operations in 1.001 s, though "1 sec" and "2000 current" are printed */
	near(run->intervals[0].ops_s, 2000, "first rate");
	near(run->intervals[0].start_s, 0, "start");
	near(run->intervals[0].end_s, 1.001, "end");
	cr_assert_eq(run->intervals[0].start_ns, STAMP_S * 1000000000 + 100000000);
	cr_assert_eq(run->intervals[3].end_ns, STAMP_S * 1000000000 + 3401000000LL);
	near(run->intervals[3].ops_s, 998 / 0.3, "last rate");
	cr_assert(run->intervals[3].partial && !run->intervals[0].partial);
	near(run->usual_interval_s, 1, "usual");
	cr_assert_eq(run->last_operations, 9000);
}

Test(ycsb, latency_of_an_interval_is_weighted_over_plain_operations)
{
	read_golden("java-0.17-run.txt", &utc);
	const struct ycsb_interval *intervals = file.runs[0].intervals;
	near(intervals[0].mean_us, (1500 * 400.0 + 500 * 800.0) / 2000,
	     "READ and UPDATE, without READ-MODIFY-WRITE");
	near(intervals[0].p99_worst_us, 3300, "the slower p99");
	near(intervals[1].mean_us, 310.25, "an operation without a sample does not count");
	cr_assert(isnan(intervals[2].mean_us), "an empty average is unknown");
	near(intervals[3].mean_us, 200, "CLEANUP does not count");
}

/* ---- old releases and other types -------------------------------------------------------------------- */

Test(ycsb, release_0_1)
{
	const struct ycsb_run *run = read_golden("java-0.1-histogram.txt", &utc);
	cr_assert_eq(file.run_count, 1);
	cr_assert_str_eq(run->version, "", "0.1 is what every release up to 0.7.0 says");
	cr_assert_eq(run->phase, YCSB_PHASE_LOAD);
	cr_assert_eq(run->threads_asked, 3);
	near(run->runtime_ms, 22075, "run time as a double");
	const struct ycsb_operation *insert = ycsb_find_operation(run, "INSERT");
	cr_assert_eq(insert->count, 43140);
	near(ycsb_percentile_us(insert, 95), 4000, "milliseconds");
	near(insert->resolution_us, 1000, "resolution");
	cr_assert(isnan(ycsb_percentile_us(insert, 99)), "absent, not zero");
	near(run->error_rate, 40.0 / 43140, "Return=-1 is a failure, Return=0 is none");
	cr_assert_not(run->flags & YCSB_FLAG_P95_IS_P90);
}

Test(ycsb, release_0_1_series_without_a_clock)
{
	const struct ycsb_run *run = read_golden("java-0.1-histogram.txt", &utc);
	cr_assert_eq(run->interval_count, 3);
	near(run->intervals[0].end_s, 10.07, "20140 operations at 2000/s, not the printed 10 s");
	near(run->intervals[1].end_s, 20.07, "second end");
	near(run->intervals[0].mean_us, 1204.5, "one operation needs no weight");
	cr_assert_eq(run->intervals[0].start_ns, YCSB_NO_TIME);
	cr_assert(strstr(run->clock_text, "no clock"));
}

Test(ycsb, given_start_serves_files_without_a_clock)
{
	struct ycsb_options options = {.have_start = true, .start_ns = 5000000000};
	const char *text = " 0 sec: 0 operations; \n 10 sec: 1000 operations; 100 current ops/sec; [READ "
			   "AverageLatency(us)=7] \n";
	cr_assert(read_bytes(text, strlen(text), &options));
	cr_assert_eq(file.runs[0].intervals[0].start_ns, 5000000000);
	cr_assert_eq(file.runs[0].intervals[0].end_ns, 15000000000);
}

Test(ycsb, p95_of_0_3_is_the_90th)
{
	const struct ycsb_run *run = read_run("[OVERALL], RunTime(ms), 408.0\n"
					      "[OVERALL], Throughput(ops/sec), 50.0\n"
					      "[READ], Operations, 20.0\n"
					      "[READ], MinLatency(us), 4.0\n"
					      "[READ], 95thPercentileLatency(ms), 2.0\n");
	cr_assert(run->flags & YCSB_FLAG_P95_IS_P90);
	cr_assert_eq(run->operations[0].count, 20);
	near(ycsb_percentile_us(&run->operations[0], 95), 2000, "milliseconds");
}

Test(ycsb, raw_type)
{
	const struct ycsb_run *run =
		read_run("Raw data measurement: will output to stdout.\n"
			 "2026-05-31 12:00:00:000 0 sec: 0 operations; est completion in 0 second READ "
			 "count: 3, average latency(us): 9.00 \n"
			 "2026-05-31 12:00:01:000 1 sec: 97 operations; 97 current ops/sec; est completion "
			 "in 2 second READ count: 30, "
			 "average latency(us): 2,00 UPDATE count: 10, average latency(us): 4,00 \n"
			 "READ latency raw data: op, timestamp(ms), latency(us)\n"
			 "READ,1780228800611,3\n"
			 "[OVERALL], RunTime(ms), 2052\n"
			 "[OVERALL], Throughput(ops/sec), 97.4\n"
			 "[READ], Total Operations, 112\n"
			 "[READ], Below is a summary of latency in microseconds:, -1\n"
			 "[READ], Average, 2.5\n[READ], Min, 1\n[READ], Max, 78\n[READ], p1, 1\n[READ], p99, "
			 "3\n[READ], p99.9, 78\n[UPDATE], Total Operations, 88\n");
	cr_assert_eq(run->interval_count, 1);
	near(run->intervals[0].mean_us, 2.5, "weighted mean");
	const struct ycsb_operation *read = ycsb_find_operation(run, "READ");
	cr_assert_eq(read->count, 112);
	near(read->mean_us, 2.5, "mean");
	near(read->max_us, 78, "max");
	near(ycsb_percentile_us(read, 99.9), 78, "p99.9");
}

Test(ycsb, json_objects_and_array)
{
	read_golden("java-0.17-json.txt", &utc);
	cr_assert_eq(file.run_count, 1);
	cr_assert_eq(file.format, YCSB_JAVA_JSON);
	near(file.runs[0].throughput_ops_s, 103448.27, "throughput");
	cr_assert_eq(file.runs[0].record_count, 4000);
	cr_assert_eq(file.runs[0].operations[0].count, 30000);
	cr_assert(isnan(file.runs[0].operations[0].mean_us), "a quoted NaN");
	near(ycsb_percentile_us(&file.runs[0].operations[0], 95), 17, "p95");
	read_golden("java-0.17-jsonarray.txt", &utc);
	cr_assert_eq(file.run_count, 1);
	near(file.runs[0].runtime_ms, 500, "run time");
	near(ycsb_percentile_us(&file.runs[0].operations[0], 99), 91, "p99");
}

Test(ycsb, a_stray_brace_does_not_swallow_the_rest)
{
	const struct ycsb_run *run =
		read_run("{ connection: \"open\n"
			 "[OVERALL], RunTime(ms), 100\n[OVERALL], Throughput(ops/sec), 30.0\n"
			 "[READ], Operations, 3\n");
	cr_assert(run->complete);
	cr_assert_eq(run->format, YCSB_JAVA_TEXT);
	cr_assert_eq(run->operations[0].count, 3);
}

/* ---- runs of a file ---------------------------------------------------------------------------------- */

#define BLOCK(runtime, rate, count)                                                                          \
	"[OVERALL], RunTime(ms), " runtime "\n[OVERALL], Throughput(ops/sec), " rate                         \
	"\n[READ], Operations, " count "\n"

Test(ycsb, blocks_one_after_the_other_are_runs)
{
	const char *text = BLOCK("1000", "10.0", "10") BLOCK("2000", "20.0", "40");
	read_text(text);
	cr_assert_eq(file.run_count, 2);
	near(file.runs[0].throughput_ops_s, 10, "first");
	near(file.runs[1].throughput_ops_s, 20, "second");
	cr_assert_eq(file.runs[1].operations[0].count, 40);
	cr_assert_eq(file.runs[1].first_line, 4);
}

Test(ycsb, the_overall_lines_may_come_last)
{
	const char *text =
		"[READ], Operations, 10\n[OVERALL], RunTime(ms), 1000\n[OVERALL], Throughput(ops/sec), 10.0\n"
		"[READ], Operations, 40\n[OVERALL], RunTime(ms), 2000\n[OVERALL], Throughput(ops/sec), "
		"20.0\n";
	read_text(text);
	cr_assert_eq(file.run_count, 2);
	cr_assert_eq(file.runs[0].operations[0].count, 10);
	near(file.runs[0].throughput_ops_s, 10, "first");
	near(file.runs[1].throughput_ops_s, 20, "second");
}

Test(ycsb, a_command_line_shown_twice_is_one_run)
{
	const char *text = "Command line: -threads 2 -t\n" BLOCK(
		"1000", "10.0", "10") "java -cp x site.ycsb.Client -threads 2 -t\n";
	const struct ycsb_run *run = read_run(text);
	cr_assert_eq(ycsb_threads(run), 2);
}

Test(ycsb, repetitions_with_the_same_command_line_are_runs)
{
#define REPETITION                                                                                           \
	"java -cp x site.ycsb.Client -threads 2 -load\nCommand line: -threads 2 -load\nYCSB Client 0.17.0\n"
	const char *text =
		REPETITION BLOCK("1000", "10.0", "10") REPETITION BLOCK("2000", "20.0", "40") REPETITION;
	read_text(text);
	cr_assert_eq(file.run_count, 3);
	cr_assert(file.runs[1].complete);
	cr_assert_eq(file.runs[2].phase, YCSB_PHASE_LOAD);
	cr_assert_eq(file.runs[2].flags, YCSB_FLAG_NO_SUMMARY);
}

Test(ycsb, a_counter_that_starts_again_is_another_run)
{
	const char *text = "2026-05-31 12:00:00:000 0 sec: 0 operations; \n2026-05-31 12:00:01:000 1 sec: "
			   "900 operations; \n"
			   "2026-05-31 12:01:00:000 0 sec: 3 operations; \n2026-05-31 12:01:01:000 1 sec: "
			   "500 operations; \n";
	read_text(text);
	cr_assert_eq(file.run_count, 2);
	cr_assert_eq(file.runs[0].last_operations, 900);
	near(file.runs[1].intervals[0].ops_s, 497, "rate");
	cr_assert_not(file.runs[0].complete);
	cr_assert(file.runs[0].flags & YCSB_FLAG_NO_SUMMARY);
}

Test(ycsb, summary_and_status_lines_gathered_one_after_the_other)
{
	const char *text = BLOCK("2000", "45.0", "90") "Command line: -threads 6 -t\n"
						       "2026-05-31 12:00:00:000 0 sec: 0 operations; \n"
						       "2026-05-31 12:00:02:000 2 sec: 90 operations; \n";
	const struct ycsb_run *run = read_run(text);
	cr_assert(run->complete);
	cr_assert_eq(run->interval_count, 1);
	cr_assert_eq(run->last_operations, 90);
}

Test(ycsb, a_foreign_series_does_not_join_a_summary)
{
	const char *text = BLOCK("2000", "45.0", "90") "2026-05-31 12:00:00:000 0 sec: 0 operations; \n"
						       "2026-05-31 12:00:02:000 2 sec: 91 operations; \n";
	read_text(text);
	cr_assert_eq(file.run_count, 2);
}

#define LOAD_LINES                                                                                           \
	ZERO "2026-05-31 12:00:02:000 2 sec: 1000 operations; 500 current ops/sec; [INSERT: Count=1000, "    \
	     "Avg=9, 99=20] \n"
#define RUN_LINES                                                                                            \
	"2026-05-31 12:01:00:000 0 sec: 0 operations; \n"                                                    \
	"2026-05-31 12:01:02:000 2 sec: 1000 operations; 500 current ops/sec; [READ: Count=500, Avg=9, "     \
	"99=20] [UPDATE: Count=500, Avg=9, 99=20] \n"
#define LOAD_BLOCK                                                                                           \
	"[OVERALL], RunTime(ms), 2010\n[OVERALL], Throughput(ops/sec), 497.5124\n"                           \
	"[INSERT], Operations, 1000\n"
#define RUN_BLOCK                                                                                            \
	"[OVERALL], RunTime(ms), 2000\n[OVERALL], Throughput(ops/sec), 500\n"                                \
	"[READ], Operations, 500\n[UPDATE], Operations, 500\n"

/* Load and run, each with its own numbers and status lines. */
static void expect_load_and_run(void)
{
	cr_assert_eq(file.run_count, 2, "%zu runs", file.run_count);
	for (size_t r = 0; r < 2; r++) {
		cr_assert(file.runs[r].complete);
		cr_assert_eq(file.runs[r].interval_count, 1);
		cr_assert_eq(file.runs[r].flags, 0);
	}
	cr_assert_not_null(ycsb_find_operation(&file.runs[0], "INSERT"));
	cr_assert_null(ycsb_find_operation(&file.runs[1], "INSERT"));
	cr_assert_not_null(ycsb_find_operation(&file.runs[1], "READ"));
	cr_assert_eq(file.runs[0].intervals[0].start_ns, STAMP_S * 1000000000);
	cr_assert_eq(file.runs[1].intervals[0].start_ns, (STAMP_S + 60) * 1000000000);
}

Test(ycsb, load_and_run_keep_their_own_summaries_however_put_together)
{
	read_text(LOAD_LINES LOAD_BLOCK RUN_LINES RUN_BLOCK); /* 2>&1 */
	expect_load_and_run();
	read_text(LOAD_LINES RUN_LINES LOAD_BLOCK RUN_BLOCK); /* cat two.err two.out */
	expect_load_and_run();
	read_text(LOAD_BLOCK RUN_BLOCK LOAD_LINES RUN_LINES); /* cat two.out two.err */
	expect_load_and_run();
}

/* ---- the halves of a run in two files ---------------------------------------------------------------- */

static struct ycsb_file pair[4];

static void put_file(size_t index, const char *path, const char *text)
{
	read_text(text);
	pair[index] = file;
	file = (struct ycsb_file){0};
	free(pair[index].path);
	pair[index].path = strdup(path);
}

static size_t pair_up(size_t count)
{
	ycsb_pair_files(pair, &count);
	return count;
}

/* The pair at `index` becomes `file`, which close_file() frees; the others go. */
static void keep_pair(size_t index, size_t count)
{
	ycsb_file_free(&file);
	for (size_t i = 0; i < count; i++)
		if (i != index)
			ycsb_file_free(&pair[i]);
	file = pair[index];
}

Test(ycsb, status_lines_and_summaries_in_two_files_are_one_client)
{
	for (size_t series = 0; series < 2; series++) {
		put_file(series, "d/two.err", LOAD_LINES RUN_LINES);
		put_file(1 - series, "d/two.out", LOAD_BLOCK RUN_BLOCK);
		cr_assert_eq(pair_up(2), 1);
		keep_pair(0, 1);
		expect_load_and_run();
		cr_assert_str_eq(file.path, "d/two.err");
		cr_assert_eq(file.runs[1].first_line, 3);
		cr_assert_eq(file.runs[1].throughput_ops_s, 500);
	}
}

Test(ycsb, two_clients_in_four_files_are_paired_by_name)
{
	put_file(0, "b.out", RUN_BLOCK);
	put_file(1, "a.err", RUN_LINES);
	put_file(2, "b.err", RUN_LINES);
	put_file(3, "a.out", RUN_BLOCK);
	cr_assert_eq(pair_up(4), 2);
	cr_assert_str_eq(pair[0].path, "a.err");
	cr_assert_str_eq(pair[1].path, "b.err");
	cr_assert(pair[0].runs[0].complete && pair[1].runs[0].complete);
	keep_pair(0, 2);
}

Test(ycsb, halves_that_do_not_agree_stay_two_files)
{
	put_file(0, "a.err", RUN_LINES);
	put_file(1, "a.out", LOAD_BLOCK);
	cr_assert_eq(pair_up(2), 2);
	keep_pair(0, 2);
	put_file(0, "x.err", RUN_LINES); /* which of the two is it? */
	put_file(1, "y.err", RUN_LINES);
	put_file(2, "z.out", RUN_BLOCK);
	cr_assert_eq(pair_up(3), 3);
	keep_pair(0, 3);
	put_file(0, "a.txt", RUN_LINES RUN_BLOCK);
	put_file(1, "a.out", RUN_BLOCK);
	cr_assert_eq(pair_up(2), 2);
	keep_pair(0, 2);
}

/* bin/ycsb.sh shows the command line on stdout. */
Test(ycsb, a_command_line_behind_status_lines_goes_with_its_summary)
{
	read_text(LOAD_LINES RUN_LINES "/usr/bin/java -cp x site.ycsb.Client -load -threads 3\n" LOAD_BLOCK
				       "/usr/bin/java -cp x site.ycsb.Client -t -threads 4\n" RUN_BLOCK);
	expect_load_and_run();
	cr_assert_eq(file.runs[0].phase, YCSB_PHASE_LOAD);
	cr_assert_eq(file.runs[0].threads_asked, 3);
	cr_assert_eq(file.runs[1].phase, YCSB_PHASE_RUN);
	cr_assert_eq(file.runs[1].threads_asked, 4);
}

Test(ycsb, levels_of_a_sweep_are_paired_in_order)
{
	read_text(ZERO "2026-05-31 12:00:02:000 2 sec: 90 operations; \n"
		       "2026-05-31 12:01:00:000 0 sec: 0 operations; \n"
		       "2026-05-31 12:01:04:000 4 sec: 90 operations; \n"
		       "2026-05-31 12:02:00:000 0 sec: 0 operations; \n"
		       "2026-05-31 12:02:09:000 9 sec: 90 operations; \n" BLOCK("2000", "45.0", "90")
			       BLOCK("4000", "22.5", "90") BLOCK("9000", "10.0", "90"));
	cr_assert_eq(file.run_count, 3);
	for (size_t r = 0; r < 3; r++)
		near(file.runs[r].last_printed_s, file.runs[r].runtime_ms / 1000, "its own run time");
}

Test(ycsb, a_summary_of_another_run_is_left_alone_and_marked)
{
	read_text(RUN_LINES LOAD_BLOCK);
	cr_assert_eq(file.run_count, 2);
	cr_assert_not(file.runs[0].complete);
	cr_assert_eq(file.runs[0].operation_kinds, 0);
	cr_assert_eq(file.runs[0].interval_count, 1);
	cr_assert(file.runs[0].flags & YCSB_FLAG_UNPAIRED);
	cr_assert(file.runs[1].complete);
	cr_assert_eq(file.runs[1].interval_count, 0);
	cr_assert(file.runs[1].flags & YCSB_FLAG_UNPAIRED);
	cr_assert_eq(file.runs[1].first_line, 3);
}

Test(ycsb, a_killed_run_before_a_whole_one_takes_nothing_from_it)
{
	read_text(LOAD_LINES RUN_LINES RUN_BLOCK);
	cr_assert_eq(file.run_count, 2);
	cr_assert_eq(file.runs[0].flags, YCSB_FLAG_NO_SUMMARY);
	cr_assert(file.runs[1].complete);
	cr_assert_eq(file.runs[1].interval_count, 1);
}

Test(ycsb, a_given_start_is_said_to_be_ignored_beside_a_clock)
{
	struct ycsb_options start = {.have_offset = true, .have_start = true, .start_ns = 5};
	cr_assert(read_bytes(LOAD_LINES, strlen(LOAD_LINES), &start));
	cr_assert(file.runs[0].flags & YCSB_FLAG_START_IGNORED);
	cr_assert_eq(file.runs[0].intervals[0].start_ns, STAMP_S * 1000000000);
}

Test(ycsb, the_traced_machines_zone_is_assumed_where_none_is_given)
{
	cr_assert(read_bytes(LOAD_LINES, strlen(LOAD_LINES), NULL));
	ycsb_assume_zone(&file, -3600);
	cr_assert_eq(file.runs[0].zone_offset_s, -3600);
	cr_assert_eq(file.runs[0].intervals[0].start_ns, (STAMP_S + 3600) * 1000000000);
	cr_assert_not_null(strstr(file.runs[0].clock_text, "3600 s west of UTC (the traced machine's zone"));
	read_text(LOAD_LINES);
	ycsb_assume_zone(&file, -3600);
	cr_assert_eq(file.runs[0].zone_offset_s, 0, "a given one stays");
}

Test(ycsb, clients_behind_prefixes_are_kept_apart)
{
	const char *text = "\x1b[36mycsb-1     |\x1b[0m 2026-05-31 12:00:00:000 0 sec: 0 operations; \n"
			   "\x1b[33mycsb-2     |\x1b[0m 2026-05-31 12:00:00:100 0 sec: 5 operations; \n"
			   "\x1b[36mycsb-1     |\x1b[0m 2026-05-31 12:00:01:000 1 sec: 700 operations; \n"
			   "\x1b[33mycsb-2     |\x1b[0m 2026-05-31 12:00:01:100 1 sec: 305 operations; \n"
			   "\x1b[33mycsb-2     |\x1b[0m [OVERALL], RunTime(ms), 1100\n";
	read_text(text);
	cr_assert_eq(file.run_count, 2);
	cr_assert_str_eq(file.runs[0].client, "ycsb-1");
	near(file.runs[0].intervals[0].ops_s, 700, "first client");
	near(file.runs[1].intervals[0].ops_s, 300, "second client");
	near(file.runs[1].runtime_ms, 1100, "run time");
}

Test(ycsb, other_dressings_of_a_line)
{
	const struct ycsb_run *run = read_run("```\n"
					      "    [OVERALL], RunTime(ms), 1000<br/>\n"
					      "> [OVERALL], Throughput(ops/sec), 12.5\n"
					      "2026-05-31T10:00:00.123456789Z [READ], Operations, 12\n"
					      "[READ], 1stPercentileLatency(us), 3\n"
					      "```\n");
	cr_assert(run->complete);
	near(run->throughput_ops_s, 12.5, "quoted");
	cr_assert_eq(run->operations[0].count, 12);
	near(ycsb_percentile_us(&run->operations[0], 1), 3, "1st");
}

/* ---- failures and damage ----------------------------------------------------------------------------- */

Test(ycsb, a_load_in_which_everything_failed)
{
	const struct ycsb_run *run =
		read_run("[OVERALL], RunTime(ms), 829\n[OVERALL], Throughput(ops/sec), 0.0\n"
			 "[INSERT], Operations, 0\n[INSERT], AverageLatency(us), NaN\n"
			 "[INSERT], MinLatency(us), 9223372036854775807\n[INSERT], MaxLatency(us), 0\n"
			 "[INSERT], 99thPercentileLatency(us), 0\n[INSERT], Return=ERROR, 10\n"
			 "[INSERT-FAILED], Operations, 10\n");
	near(run->error_rate, 1, "error rate");
	cr_assert(run->flags & YCSB_FLAG_ERRORS_INVALID);
	cr_assert(isnan(run->operations[0].mean_us) && isnan(run->operations[0].min_us));
}

Test(ycsb, no_operation_at_all)
{
	const struct ycsb_run *run =
		read_run("[OVERALL], RunTime(ms), 19\n[OVERALL], Throughput(ops/sec), 0.0\n");
	cr_assert(run->flags & YCSB_FLAG_NO_OPERATIONS);
	cr_assert(isnan(run->error_rate));
}

Test(ycsb, batched_inserts_and_second_measurements_are_no_errors)
{
	const struct ycsb_run *run = read_run(
		BLOCK("1000", "10.0", "5") "[READ], Return=BATCHED_OK, 5\n[Intended-READ], Operations, 5\n"
					   "[Intended-READ], Return=ERROR, 5\n");
	near(run->error_rate, 0, "error rate");
}

Test(ycsb, a_value_that_is_no_number_is_reported)
{
	const struct ycsb_run *run = read_run(
		BLOCK("1000", "10.0", "5") "[READ], MaxLatency(us), 12x\n[READ], MinLatency(us), 4\n");
	cr_assert_eq(file.unread_lines, 1);
	cr_assert_eq(file.unread.line, 4);
	cr_assert_str_eq(file.unread.excerpt, "[READ], MaxLatency(us), 12x");
	cr_assert(isnan(run->operations[0].max_us));
	near(run->operations[0].min_us, 4, "what follows is read");
}

Test(ycsb, a_status_line_cut_off_in_its_middle)
{
	const struct ycsb_run *run = read_run(
		ZERO "2026-05-31 12:00:01:000 1 sec: 40 operations; \n2026-05-31 12:00:02:000 2 sec: 7");
	cr_assert_eq(run->last_operations, 40);
	cr_assert_eq(file.unread_lines, 1);
	cr_assert(run->flags & YCSB_FLAG_CUT_OFF);
}

Test(ycsb, a_last_line_without_an_end_is_marked)
{
	const struct ycsb_run *run = read_run(BLOCK("1000", "10.0", "5") "[READ], Return=OK, 1");
	cr_assert(run->flags & YCSB_FLAG_CUT_OFF);
	cr_assert_not(read_run(BLOCK("1000", "10.0", "5"))->flags & YCSB_FLAG_CUT_OFF);
}

Test(ycsb, a_foreign_file_is_refused_with_its_first_line)
{
	const char *text = "\n\nUsage:\tsomething else\nmore\n";
	cr_assert_not(read_bytes(text, strlen(text), NULL));
	cr_assert_eq(error.code, ERROR_INPUT);
	cr_assert_eq(error.offset_bytes, 2);
	cr_assert(strstr(error.text, "line 3") && strstr(error.text, "Usage:?something else"), "%s",
		  error.text);
	cr_assert(strstr(error.file, "/proc/self/fd/"));
	cr_assert_eq(file.run_count, 0);
}

Test(ycsb, empty_and_missing_files)
{
	cr_assert_not(read_bytes("", 0, NULL));
	cr_assert(strstr(error.text, "nothing"));
	error = (struct error){0};
	cr_assert_not(ycsb_read("/nonexistent/ycsb.txt", NULL, &file, &error));
	cr_assert(strstr(error.text, "No such file"));
}

/* ---- names ------------------------------------------------------------------------------------------- */

Test(ycsb, names_for_machines)
{
	cr_assert_str_eq(ycsb_format_name(YCSB_GO_CSV), "go-csv");
	cr_assert_str_eq(ycsb_phase_name(YCSB_PHASE_LOAD), "load");
	cr_assert_null(ycsb_phase_name(YCSB_PHASE_UNKNOWN));
	for (unsigned bit = YCSB_FLAG_NO_SUMMARY; bit <= YCSB_FLAG_START_IGNORED; bit <<= 1)
		cr_assert_str_neq(ycsb_flag_name((enum ycsb_flag)bit), "unknown");
}
