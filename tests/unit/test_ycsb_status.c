/* Java YCSB's status lines: every trap of their grammar. */

#include "tests/unit/support_ycsb.h"

TestSuite(ycsb_status, .fini = close_file);

#define ZERO "2026-05-31 12:00:00:000 0 sec: 0 operations; est completion in 0 second \n"

/* ---- traps of the status line ------------------------------------------------------------------------ */

Test(ycsb_status, infinite_rate_and_count_at_the_start)
{
	const struct ycsb_run *run =
		read_run("2026-05-31 12:00:00:000 0 sec: 521 operations; \xe2\x88\x9e current ops/sec; est "
			 "completion in 0 second "
			 "[INSERT: Count=549, Max=471, Min=0, Avg=0.95, 90=0, 99=2, 99.9=471, 99.99=471] \n"
			 "2026-05-31 12:00:00:500 0 sec: 1021 operations; 1000 current ops/sec; [INSERT: "
			 "Count=500, Max=4, Min=0, "
			 "Avg=2, 50=1, 90=0, 99=3, 99.9=4, 99.99=4] \n");
	cr_assert_eq(run->interval_count, 1, "the first line is the base, not an interval");
	cr_assert_eq(run->intervals[0].operations, 500);
	near(run->intervals[0].ops_s, 1000, "rate");
	near(run->intervals[0].mean_us, 2, "the first line's latencies belong to no interval");
	near(run->intervals[0].p99_worst_us, 3, "99, not 99.9");
}

Test(ycsb_status, decimal_comma)
{
	const struct ycsb_run *run =
		read_run(ZERO "2026-05-31 12:00:01:000 1 sec: 2299 operations; 1921,08 current ops/sec; est "
			      "completion in 1 minute [READ: Count=2299, Max=26, Min=0, Avg=19,59, "
			      "90=45, 99=69, 99.9=108, 99.99=602] \n");
	near(run->intervals[0].mean_us, 19.59, "mean");
	near(run->intervals[0].p99_worst_us, 69, "p99");
}

Test(ycsb_status, arabic_digits)
{
	/* 2026-05-31 12:00:00:250 and Avg=1.24, 99=2, in Arabic-Indic digits */
	const struct ycsb_run *run = read_run(ZERO "٢٠٢٦-٠٥-٣١ ١٢:٠٠:٠٠:٢٥٠ 0 sec: 753 operations; ٣٠١٢٫٥ "
						   "current ops/sec; [READ: Count=753, Max=27, Min=0, "
						   "Avg=١٫٢٤, 90=٠, 99=٢, 99.9=٢٧, 99.99=٢٧] \n");
	near(run->intervals[0].end_s, 0.25, "stamp");
	near(run->intervals[0].mean_us, 1.24, "mean");
	near(run->intervals[0].p99_worst_us, 2, "p99");
}

Test(ycsb_status, thai_digits_and_buddhist_year)
{
	const struct ycsb_run *run = read_run(
		ZERO
		"๒๕๖๙-๐๕-๓๑ ๑๒:๐๐:๐๑:๐๐๐ 1 sec: 90 operations; ๙๐ current ops/sec; [READ: Count=90, Max=7, "
		"Min=0, Avg=๐.๕, 90=๐, 99=๓, 99.9=๗, 99.99=๗] \n");
	cr_assert_eq(run->interval_count, 1);
	cr_assert_eq(run->intervals[0].end_ns, (STAMP_S + 1) * 1000000000, "2569 is 2026");
	near(run->intervals[0].mean_us, 0.5, "mean");
}

Test(ycsb_status, old_and_new_words_for_the_remaining_time)
{
	const struct ycsb_run *run =
		read_run(ZERO "2026-05-31 12:00:10:000 10 sec: 81 operations; 8.1 current ops/sec; est "
			      "completion in 1 days 6 hours [READ: "
			      "Count=81, Max=9, Min=1, Avg=5, 90=8, 99=9, 99.9=9, 99.99=9] \n"
			      "2026-05-31 12:00:20:000 20 sec: 162 operations; 8.1 current ops/sec; est "
			      "completion in 1 hour 1 minute [READ: "
			      "Count=81, Max=9, Min=1, Avg=6, 90=8, 99=9, 99.9=9, 99.99=9] \n");
	near(run->intervals[0].mean_us, 5, "plural");
	near(run->intervals[1].mean_us, 6, "singular");
}

Test(ycsb_status, a_status_line_over_several_lines)
{
	const struct ycsb_run *run = read_run(
		ZERO
		"2026-05-31 12:00:01:000 1 sec: 40 operations; 40 current ops/sec; [HdrREAD: Count=30, "
		"Max=9, Min=0, "
		"Avg=2, 90=0, 99=1, 99.9=9, 99.99=9]\n"
		"[BucketREAD AverageLatency(us)=777] [HdrUPDATE: Count=10, Max=9, Min=0, Avg=6, 90=0, 99=8, "
		"99.9=9, 99.99=9]\n"
		"[BucketUPDATE AverageLatency(us)=777] \n");
	near(run->intervals[0].mean_us, 3, "both lines, and only the Hdr measurement");
	near(run->intervals[0].p99_worst_us, 8, "p99 of the second line");
}

Test(ycsb_status, two_averages_without_counts_have_no_mean)
{
	const struct ycsb_run *run =
		read_run(ZERO "2026-05-31 12:00:01:000 1 sec: 40 operations; 40 current ops/sec; [READ "
			      "AverageLatency(us)=2] [UPDATE AverageLatency(us)=9] \n");
	cr_assert(isnan(run->intervals[0].mean_us));
}

Test(ycsb_status, duplicate_lines_count_once)
{
	const char *second = "2026-05-31 12:00:01:000 1 sec: 40 operations; 40 current ops/sec; [READ "
			     "AverageLatency(us)=2] \n";
	char text[600];
	snprintf(text, sizeof text, "%s%s%s%s", ZERO, ZERO, second, second);
	const struct ycsb_run *run = read_run(text);
	cr_assert_eq(run->interval_count, 1);
	near(run->intervals[0].mean_us, 2, "mean");
	cr_assert(run->flags & YCSB_FLAG_DUPLICATE_STATUS);
}

Test(ycsb_status, two_lines_within_a_millisecond_lose_no_operation)
{
	const struct ycsb_run *run = read_run(ZERO "2026-05-31 12:00:01:000 1 sec: 40 operations; \n"
						   "2026-05-31 12:00:01:000 1 sec: 45 operations; \n"
						   "2026-05-31 12:00:02:000 2 sec: 80 operations; \n");
	cr_assert_eq(run->interval_count, 2);
	cr_assert_eq(run->intervals[0].operations + run->intervals[1].operations, 80);
	cr_assert_not(run->flags & YCSB_FLAG_DUPLICATE_STATUS);
}

Test(ycsb_status, a_clock_that_steps_back_makes_no_interval)
{
	const struct ycsb_run *run =
		read_run(ZERO "2026-05-31 12:00:10:000 10 sec: 100 operations; \n"
			      "2026-05-31 12:00:05:000 5 sec: 200 operations; [READ: Count=100, Max=9, "
			      "Min=0, Avg=2, 90=0, 99=1, 99.9=9, 99.99=9] \n"
			      "2026-05-31 12:00:15:000 15 sec: 300 operations; \n"
			      "[OVERALL], RunTime(ms), -731\n[OVERALL], Throughput(ops/sec), -0.17\n");
	cr_assert_eq(run->flags & YCSB_FLAG_CLOCK_BACK, YCSB_FLAG_CLOCK_BACK);
	cr_assert_eq(run->flags & YCSB_FLAG_NEGATIVE_TIME, YCSB_FLAG_NEGATIVE_TIME);
	cr_assert_eq(run->interval_count, 2);
	cr_assert(isnan(run->intervals[0].mean_us), "its latencies belong to no interval");
	near(run->intervals[1].ops_s, 10, "counted from after the step");
}

Test(ycsb_status, the_end_of_daylight_saving_is_followed)
{
	struct ycsb_options berlin = {.have_offset = true, .offset_s = 7200};
	const char *text = "2026-10-25 02:59:50:000 0 sec: 0 operations; \n"
			   "2026-10-25 02:00:00:000 10 sec: 100 operations; \n"
			   "2026-10-25 02:00:10:000 20 sec: 300 operations; \n";
	cr_assert(read_bytes(text, strlen(text), &berlin));
	const struct ycsb_run *run = &file.runs[0];
	cr_assert_eq(run->flags & (YCSB_FLAG_ZONE_CHANGED | YCSB_FLAG_CLOCK_BACK), YCSB_FLAG_ZONE_CHANGED);
	cr_assert_eq(run->interval_count, 2);
	near(run->intervals[0].ops_s, 10, "ten seconds, not minus 3590");
	near(run->intervals[1].end_s, 20, "end");
	/* 01:00:10 UTC */
	cr_assert_eq(run->intervals[1].end_ns - run->intervals[0].start_ns, 20000000000);
	cr_assert_eq(run->intervals[1].end_ns / 1000000000 % 86400, 3610);
}

Test(ycsb_status, zone_given_and_of_this_machine)
{
	const char *text = ZERO "2026-05-31 12:00:01:000 1 sec: 40 operations; \n";
	struct ycsb_options west = {.have_offset = true, .offset_s = -5 * 3600};
	cr_assert(read_bytes(text, strlen(text), &west));
	cr_assert_eq(file.runs[0].intervals[0].start_ns / 1000000000, STAMP_S + 5 * 3600);
	cr_assert(strstr(file.runs[0].clock_text, "18000 s west of UTC (as given)"), "%s",
		  file.runs[0].clock_text);
	setenv("TZ", "XST-2", 1); /* POSIX signs: two hours east */
	cr_assert(read_bytes(text, strlen(text), NULL));
	cr_assert_eq(file.runs[0].intervals[0].start_ns / 1000000000, STAMP_S - 2 * 3600);
	cr_assert_eq(file.runs[0].zone_offset_s, 7200);
	cr_assert(strstr(file.runs[0].clock_text, "this machine's zone"));
}

Test(ycsb_status, a_prefix_of_any_kind_before_a_status_line)
{
	const struct ycsb_run *run =
		read_run("client 7> 2026-05-31 12:00:00:000 0 sec: 0 operations; \n"
			 "client 7> 2026-05-31 12:00:02:000 2 sec: 40 operations; 20 current ops/sec; \n");
	near(run->intervals[0].ops_s, 20, "rate");
}
