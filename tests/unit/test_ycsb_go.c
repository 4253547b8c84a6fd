/* go-ycsb: cumulative blocks as text, table and JSON, and rows of single operations. */

#include <stdlib.h>

#include "tests/unit/support_ycsb.h"

TestSuite(ycsb_go, .fini = close_file);

Test(ycsb_go, summary)
{
	const struct ycsb_run *run = read_golden("go-1.0.1-run.txt", NULL);
	cr_assert_eq(run->format, YCSB_GO_TEXT);
	cr_assert_eq(run->phase, YCSB_PHASE_RUN);
	cr_assert_eq(run->threads_asked, 8);
	cr_assert_eq(run->record_count, 1000);
	cr_assert_eq(run->operation_count, 12000);
	cr_assert(run->complete);
	near(run->runtime_ms, 2404.583, "run time");
	near(run->throughput_ops_s, 7600 / 2.4, "throughput without READ_MODIFY_WRITE");
	near(run->error_rate, 9.0 / 9009, "error rate");
	const struct ycsb_operation *read = ycsb_find_operation(run, "READ");
	cr_assert_eq(read->count, 5760);
	near(read->ops_s, 2400, "rate");
	near(read->mean_us, 1962, "mean");
	near(ycsb_percentile_us(read, 99.99), 9839, "p99.99");
	cr_assert_eq(read->resolution_us, 0);
}

Test(ycsb_go, cumulative_lines_become_intervals)
{
	const struct ycsb_run *run = read_golden("go-1.0.1-run.txt", NULL);
	cr_assert_eq(run->interval_count, 3);
	/* TOTAL less READ_MODIFY_WRITE; the time is count over rate: 4028 / 4000, printed as 1.0 */
	cr_assert_eq(run->intervals[0].operations, 4028 - 604);
	near(run->intervals[0].end_s, 1.007, "end");
	cr_assert_eq(run->intervals[1].operations, 7600 - 1208 - (4028 - 604));
	near(run->intervals[1].end_s, 2, "end");
	near(run->intervals[1].ops_s, 2968 / 0.993, "rate of the interval, not since the start");
	cr_assert_eq(run->intervals[0].start_ns, YCSB_NO_TIME);
	cr_assert(isnan(run->intervals[0].mean_us), "means since the start say nothing about an interval");
}

Test(ycsb_go, given_start)
{
	struct ycsb_options options = {.have_start = true, .start_ns = 1000000000000};
	const struct ycsb_run *run = read_golden("go-1.0.1-run.txt", &options);
	cr_assert_eq(run->intervals[0].start_ns, 1000000000000);
	cr_assert_eq(run->intervals[0].end_ns, 1001007000000);
	cr_assert(strstr(run->clock_text, "start 1000.000 s since 1970 as given"), "%s", run->clock_text);
}

Test(ycsb_go, table)
{
	const struct ycsb_run *run = read_golden("go-1.0.1-table.txt", NULL);
	cr_assert_eq(run->format, YCSB_GO_TABLE);
	cr_assert_eq(run->phase, YCSB_PHASE_LOAD);
	near(run->runtime_ms, 62500, "1m2.5s");
	near(run->throughput_ops_s, 450, "throughput");
	cr_assert_eq(run->operation_kinds, 2);
	near(ycsb_percentile_us(&run->operations[0], 99.9), 11071, "p99.9");
	near(run->operations[0].min_us, 7, "min");
	cr_assert_eq(run->interval_count, 2);
	near(run->intervals[1].ops_s, 400, "rate");
}

Test(ycsb_go, json)
{
	const struct ycsb_run *run = read_golden("go-1.0.1-json.txt", NULL);
	cr_assert_eq(run->format, YCSB_GO_JSON);
	cr_assert(run->complete);
	cr_assert_eq(run->operations[0].count, 1600);
	near(ycsb_percentile_us(&run->operations[0], 99), 5900, "p99");
	cr_assert_eq(run->interval_count, 2);
	cr_assert_eq(run->intervals[1].operations, 600);
}

Test(ycsb_go, rows)
{
	const struct ycsb_run *run = read_golden("go-1.0.1-rows.txt", NULL);
	cr_assert_eq(run->format, YCSB_GO_CSV);
	cr_assert(run->complete);
	cr_assert_eq(run->flags, YCSB_FLAG_ERRORS | YCSB_FLAG_ERRORS_INVALID);
	near(run->error_rate, 1.0 / 7, "error rate");
	const struct ycsb_operation *read = ycsb_find_operation(run, "READ");
	cr_assert_eq(read->count, 4);
	near(read->mean_us, 1400, "mean");
	near(read->max_us, 5000, "max");
	near(ycsb_percentile_us(read, 50), 200, "p50 is the second of four");
	near(ycsb_percentile_us(read, 99), 5000, "p99");
	near(run->throughput_ops_s, 2, "6 operations in 3 s, the failed one apart");
	/* 1780000000 to ..03, of which the two inner seconds are whole */
	cr_assert_eq(run->interval_count, 2);
	cr_assert_eq(run->intervals[0].start_ns, 1780000001000000000);
	cr_assert_eq(run->intervals[0].operations, 3);
	cr_assert_eq(run->intervals[1].operations, 1);
}

Test(ycsb_go, a_percentile_of_many_rows_is_within_a_thousandth)
{
	char *text = malloc(1 << 20), *end = text;
	end += sprintf(end, "Run finished, takes 1s\noperation,timestamp_us,latency_us\n");
	for (unsigned i = 1; i <= 10000; i++)
		end += sprintf(end, "READ,1780000000000000,%u\n", i * 7);
	read_text(text);
	free(text);
	cr_assert_float_eq(ycsb_percentile_us(&file.runs[0].operations[0], 50), 35000, 35);
	cr_assert_float_eq(ycsb_percentile_us(&file.runs[0].operations[0], 99.9), 69930, 70);
}

#define ROW(name, takes, count, rate)                                                                        \
	name " - Takes(s): " takes ", Count: " count ", OPS: " rate                                          \
	     ", Avg(us): 500, Min(us): 300, Max(us): 5762, 99th(us): 1000, 99.9th(us): 2000, 99.99th(us): "  \
	     "5000\n"

Test(ycsb_go, before_total_was_printed)
{
	read_text(ROW("UPDATE", "10.0", "4000", "400.0") ROW("READ  ", "10.0", "6000",
							     "600.0") ROW("READ  ", "20.0", "12000", "600.0")
			  ROW("UPDATE", "20.0", "9000", "450.0") "Run finished, takes 25.387979842s\n" ROW(
				  "READ  ", "25.0", "15000", "600.0")
				  ROW("UPDATE", "25.0", "10000", "400.0"));
	cr_assert_eq(file.run_count, 1);
	const struct ycsb_run *run = &file.runs[0];
	cr_assert_eq(run->interval_count, 3);
	cr_assert_eq(run->intervals[1].operations, 11000);
	near(run->throughput_ops_s, 1000, "throughput");
	near(run->operations[0].resolution_us, 1000, "percentiles in whole milliseconds");
}

Test(ycsb_go, killed)
{
	read_text(ROW("READ  ", "1.0", "600", "600.0") ROW("READ  ", "2.0", "1300", "650.0"));
	const struct ycsb_run *run = &file.runs[0];
	cr_assert_eq(run->flags, YCSB_FLAG_NO_SUMMARY);
	cr_assert_eq(run->interval_count, 2);
	cr_assert_eq(run->operations[0].count, 1300, "of the last block");
}

Test(ycsb_go, lost_final_table)
{
	read_text(ROW("READ  ", "1.0", "600",
		      "600.0") "\nGot signal [terminated] to exit.\n"
			       "Run finished, takes 1.5s\n\nGot signal [terminated] again to exit.\n");
	const struct ycsb_run *run = &file.runs[0];
	cr_assert_eq(run->flags, YCSB_FLAG_NO_SUMMARY | YCSB_FLAG_LOST_TABLE);
	cr_assert_eq(run->operations[0].count, 600);
	near(run->runtime_ms, 1500, "run time");
}

Test(ycsb_go, a_row_cut_within_its_count_is_not_taken)
{
	read_text(ROW("READ  ", "1.0", "600", "600.0") "READ   - Takes(s): 2.0, Count: 13");
	cr_assert_eq(file.unread_lines, 1);
	cr_assert_eq(file.runs[0].last_operations, 600);
}

Test(ycsb_go, load_and_run_in_one_stream)
{
	read_text(ROW("INSERT", "9.7", "97000", "10000.0") "Load finished, takes 9.723412s\n" ROW(
		"READ  ", "10.0", "900", "90.0") "Run finished, takes 11s\n" ROW("READ  ", "11.0", "1000",
										 "90.9"));
	cr_assert_eq(file.run_count, 2);
	cr_assert_eq(file.runs[0].phase, YCSB_PHASE_LOAD);
	near(file.runs[0].throughput_ops_s, 10000, "load");
	cr_assert_eq(file.runs[1].operations[0].count, 1000);
}

Test(ycsb_go, property_dumps_separate_runs)
{
#define DUMP(threads)                                                                                        \
	"***************** properties *****************\n\"threadcount\"=\"" threads                         \
	"\"\n\"treadcount\"=\"99\"\n"                                                                        \
	"**********************************************\n"
	read_text(DUMP("8") ROW("READ  ", "1.0", "600",
				"600.0") "Run finished, takes 2s\n" ROW("READ  ", "2.0", "1200", "600.0")
			  DUMP("16") ROW("READ  ", "1.0", "900", "900.0") "Run finished, takes 2s\n" ROW(
				  "READ  ", "2.0", "1800", "900.0"));
	cr_assert_eq(file.run_count, 2);
	cr_assert_eq(file.runs[0].threads_asked, 8);
	cr_assert_eq(file.runs[1].threads_asked, 16);
	near(file.runs[1].throughput_ops_s, 900, "second");
	cr_assert_eq(file.runs[1].interval_count, 2);
}

static double run_time_ms(const char *duration)
{
	char text[400];
	snprintf(text, sizeof text, "Run finished, takes %s\n%s", duration,
		 ROW("READ  ", "2.0", "1200", "600.0"));
	read_text(text);
	double ms = file.runs[0].runtime_ms;
	return ms;
}

Test(ycsb_go, durations)
{
	near(run_time_ms("1h11m7.673834377s"), 4267673.834377, "hours");
	near(run_time_ms("130.084969ms"), 130.084969, "milliseconds");
	near(run_time_ms("532.1\xc2\xb5s"), 0.5321, "microseconds");
}

Test(ycsb_go, a_client_that_refused_to_start)
{
	read_text(DUMP("8") "totalOpCount(operationcount/insertcount/recordcount): 4 should be bigger than "
			    "threadCount: 8\n");
	cr_assert_eq(file.run_count, 1);
	cr_assert_eq(file.runs[0].flags, YCSB_FLAG_NO_SUMMARY);
	cr_assert_eq(file.runs[0].threads_asked, 8);
}
