/* What Java YCSB prints below an operation: histograms, time series, single operations. */

#include "tests/unit/support_ycsb.h"

TestSuite(ycsb_buckets, .fini = close_file);

#define OVERALL	   "[OVERALL], RunTime(ms), 1000\n[OVERALL], Throughput(ops/sec), 100.0\n"
#define READS(max) OVERALL "[READ], Operations, 100\n[READ], MaxLatency(us), " max "\n"

static const struct ycsb_operation *read_operation(const char *text)
{
	return &read_run(text)->operations[0];
}

Test(ycsb_buckets, whole_numbers_are_milliseconds)
{
	const struct ycsb_operation *read = read_operation(READS(
		"9500") "[READ], 95thPercentileLatency(us), 3000\n"
			"[READ], 0, 60\n[READ], 1, 0\n[READ], 2, 30\n[READ], 3, 9\n[READ], 9, 1\n[READ], "
			">10, 0\n[CLEANUP], Operations, 2\n[CLEANUP], 0, 2\n[CLEANUP], >10, 0\n");
	cr_assert_eq(read->bucket_kind, YCSB_BUCKETS_MS);
	cr_assert_eq(read->bucket_count, 4, "an empty bucket takes no room");
	near(read->buckets[1].at, 2000, "lower end in us");
	near(read->resolution_us, 1000, "resolution");
	near(ycsb_percentile_us(read, 95), 3000, "as printed");
	near(ycsb_percentile_us(read, 50), 0, "not printed: the first bucket holds 60");
	near(ycsb_percentile_us(read, 99), 3000, "the 99th of 100");
	near(ycsb_percentile_us(read, 99.9), 9000, "the 100th of 100");
	near(read->over_us, 10000, "end of the last bucket");
	cr_assert_eq(ycsb_find_operation(&file.runs[0], "CLEANUP")->bucket_count, 1);
}

Test(ycsb_buckets, what_lies_beyond_the_last_bucket_is_unknown)
{
	const struct ycsb_operation *read =
		read_operation(READS("90000") "[READ], 0, 97\n[READ], 1, 0\n[READ], >2, 3\n");
	near(ycsb_percentile_us(read, 95), 0, "p95");
	cr_assert(isnan(ycsb_percentile_us(read, 99)), "absent, not zero and not the last bucket");
	cr_assert_eq(read->over_count, 3);
	near(read->over_us, 2000, "2 ms");
	read = read_operation(READS("90000") "[READ], 0, 0\n[READ], >1, 100\n");
	cr_assert(isnan(ycsb_percentile_us(read, 50)));
	cr_assert_eq(read->bucket_kind, YCSB_BUCKETS_MS);
}

Test(ycsb_buckets, a_histogram_that_is_cut_off_is_none)
{
	const struct ycsb_operation *read = read_operation(READS("9000") "[READ], 0, 60\n[READ], 1, 30\n");
	cr_assert_eq(read->bucket_kind, YCSB_BUCKETS_NONE);
	cr_assert_eq(read->bucket_count, 0);
	cr_assert(isnan(ycsb_percentile_us(read, 50)), "90 of 100 say nothing about the median");
	read = read_operation(READS("9000") "[READ], 1, 60\n[READ], 0, 40\n");
	cr_assert_eq(read->bucket_kind, YCSB_BUCKETS_NONE, "out of order");
}

Test(ycsb_buckets, doubles_that_count_all_operations_are_microseconds)
{
	const struct ycsb_operation *read =
		read_operation(READS("40") "[READ], 7, 49.0\n[READ], 8, 2.0\n[READ], 40, 49.0\n");
	cr_assert_eq(read->bucket_kind, YCSB_BUCKETS_US);
	near(ycsb_percentile_us(read, 50), 8, "the 50th of 100");
	near(ycsb_percentile_us(read, 99), 40, "p99");
	near(read->resolution_us, 0, "not rounded");
}

Test(ycsb_buckets, other_doubles_are_means_over_time)
{
	const struct ycsb_operation *read =
		read_operation(READS("900") "[READ], 0, 17.5\n[READ], 500, NaN\n[READ], 1000, 2.0\n");
	cr_assert_eq(read->bucket_kind, YCSB_BUCKETS_MEANS);
	cr_assert_eq(read->bucket_count, 3);
	near(read->buckets[2].at, 1, "seconds");
	near(read->buckets[0].value, 17.5, "mean");
	cr_assert(isnan(read->buckets[1].value));
	cr_assert(isnan(ycsb_percentile_us(read, 50)));
}

/* A mean may happen to be the count; its place in time is not the largest latency. */
Test(ycsb_buckets, a_mean_that_equals_the_count)
{
	const struct ycsb_operation *read = read_operation(READS("4200") "[READ], 0, 100.0\n");
	cr_assert_eq(read->bucket_kind, YCSB_BUCKETS_MEANS);
}

Test(ycsb_buckets, a_bucket_that_is_no_number_is_reported)
{
	read_operation(READS("42") "[READ], 7, 9x\n[READ], >7, many\n");
	cr_assert_eq(file.unread_lines, 2);
	cr_assert_eq(file.unread.line, 5);
}

/* ---- single operations ------------------------------------------------------------------------------- */

#define RAW_HEADING(name) name " latency raw data: op, timestamp(ms), latency(us)\n"

Test(ycsb_buckets, raw_rows_without_a_summary)
{
	const struct ycsb_run *run = read_run(RAW_HEADING(
		"READ") "READ,1780228800000,100\nREAD,1780228801000,300\nREAD,1780228802000,"
			"200\n" RAW_HEADING("UPDATE") "UPDATE,1780228801500,5000\nUPDATE,1780228803999,"
						      "1000\n");
	cr_assert_eq(run->format, YCSB_JAVA_TEXT);
	cr_assert_eq(run->operation_kinds, 2);
	const struct ycsb_operation *read = ycsb_find_operation(run, "READ");
	cr_assert_eq(read->count, 3);
	near(read->mean_us, 200, "mean");
	near(ycsb_percentile_us(read, 50), 200, "p50");
	near(run->runtime_ms, 4000, "from the first start to the last end");
	near(run->throughput_ops_s, 1.25, "5 in 4 s");
	cr_assert(run->complete);
	/* of :00 to :03 the whole seconds :01 and :02 */
	cr_assert_eq(run->interval_count, 2);
	cr_assert_eq(run->intervals[0].operations, 2);
	cr_assert_eq(run->intervals[0].start_ns, (STAMP_S + 1) * 1000000000);
}

Test(ycsb_buckets, raw_rows_beside_a_summary_do_not_count_again)
{
	const struct ycsb_run *run =
		read_run(RAW_HEADING("READ") "READ,1780228800000,100\nREAD,1780228801000,300\n" OVERALL
					     "[READ], Total Operations, 2\n[READ], p50, 100\n");
	cr_assert_eq(run->operation_kinds, 1);
	cr_assert_eq(run->operations[0].count, 2);
	near(run->runtime_ms, 1000, "the summary's");
}

Test(ycsb_buckets, raw_rows_in_other_digits)
{
	const struct ycsb_run *run = read_run(RAW_HEADING(
		"READ") "READ,\xd9\xa1\xd9\xa7\xd9\xa8\xd9\xa0\xd9\xa2\xd9\xa2\xd9\xa8\xd9\xa8\xd9\xa0"
			"\xd9\xa0\xd9\xa0\xd9\xa0\xd9\xa0,\xd9\xa4\xd9\xa2\n");
	near(run->operations[0].mean_us, 42, "Arabic-Indic digits");
	cr_assert_eq(file.unread_lines, 0);
}

Test(ycsb_buckets, raw_rows_that_make_no_sense)
{
	read_text(RAW_HEADING("READ") "READ,1780228800000,100\nREAD,1780228800000,9x\n"
				      "READ,99999999999999999999,1\nREAD,1780228801000,4");
	cr_assert_eq(file.unread_lines, 3);
	cr_assert_eq(file.runs[0].operations[0].count, 1);
}
