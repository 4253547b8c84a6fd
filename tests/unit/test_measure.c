#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/measure.h"

/* What `print` writes, as a string that the caller frees. */
struct text {
	FILE *file;
	char *bytes;
	size_t count;
};

static FILE *begin(struct text *text)
{
	return text->file = open_memstream(&text->bytes, &text->count);
}

static void expect_text(struct text *text, const char *expected)
{
	fclose(text->file);
	cr_expect_str_eq(text->bytes, expected);
	free(text->bytes);
}

static void expect_progress(const struct status_line *line, const char *expected)
{
	struct text text;

	measure_print_progress(begin(&text), line);
	expect_text(&text, expected);
}

Test(measure, progress_of_status_lines)
{
	struct status_line line = {.label = "",
				   .wall_ms = INT64_C(1685981629458),
				   .elapsed_ms = 2004,
				   .interval_ms = 1000,
				   .operations = 38,
				   .operations_before = 19,
				   .operations_left = 2373181};

	setenv("TZ", "UTC", 1);
	tzset();
	expect_progress(&line, "2023-06-05 16:13:49:458 2 sec: 38 operations; 19 current ops/sec; "
			       "est completion in 1 day 10 hours ");
	line.interval_ms = 999;
	line.operations_left = 0;
	line.label = "a: ";
	expect_progress(&line, "a: 2023-06-05 16:13:49:458 2 sec: 38 operations; 19.02 current ops/sec; ");
}

Test(measure, progress_when_nothing_is_done_yet)
{
	struct status_line line = {.label = "", .wall_ms = INT64_C(1685981629458), .operations_left = 1000};

	setenv("TZ", "UTC", 1);
	tzset();
	expect_progress(&line, "2023-06-05 16:13:49:458 0 sec: 0 operations; est completion in 0 second ");
	line.elapsed_ms = line.interval_ms = 10000;
	expect_progress(&line, "2023-06-05 16:13:49:458 10 sec: 0 operations; "
			       "est completion in 106751991167300 days 15 hours ");
	line.elapsed_ms = line.interval_ms = 0;
	line.operations = 521;
	expect_progress(&line, "2023-06-05 16:13:49:458 0 sec: 521 operations; \u221E current ops/sec; "
			       "est completion in 0 second ");
}

Test(measure, intervals_hold_what_happened_since_the_last)
{
	struct measure measure;
	struct text text;

	measure_init(&measure, 2);
	measure_print_interval(&measure, begin(&text));
	expect_text(&text, "");

	measure_operation(&measure.threads[0], OP_READ, STATUS_OK, 163000);
	measure_operation(&measure.threads[1], OP_READ, STATUS_OK, 193200000);
	measure_operation(&measure.threads[1], OP_SCAN, STATUS_OK, 2000);
	measure_print_interval(&measure, begin(&text));
	expect_text(&text,
		    "[READ: Count=2, Max=193279, Min=163, Avg=96681.5, 90=193279, 99=193279, 99.9=193279, "
		    "99.99=193279] [SCAN: Count=1, Max=2, Min=2, Avg=2, 90=2, 99=2, 99.9=2, 99.99=2] ");

	measure_operation(&measure.threads[0], OP_SCAN, STATUS_OK, 7000);
	measure_print_interval(&measure, begin(&text));
	expect_text(&text,
		    "[READ: Count=0, Max=0, Min=9223372036854775807, Avg=NaN, 90=0, 99=0, 99.9=0, 99.99=0] "
		    "[SCAN: Count=1, Max=7, Min=7, Avg=7, 90=7, 99=7, 99.9=7, 99.99=7] ");
	measure_destroy(&measure);
}

Test(measure, export_block)
{
	static const double percentiles[] = {95, 99, 99.9};
	struct measure measure;
	struct text text;

	measure_init(&measure, 2);
	for (int i = 0; i < 3; i++) {
		measure_operation(&measure.threads[i % 2], OP_READ, STATUS_OK, 1000 * (uint64_t)(i + 1));
		measure_done(&measure.threads[i % 2]);
	}
	/* A read-modify-write counts as a read, an update and itself, and is one operation. */
	measure_operation(&measure.threads[0], OP_READ, STATUS_OK, 4000);
	measure_operation(&measure.threads[0], OP_UPDATE, STATUS_NOT_FOUND, 5500);
	measure_latency(&measure.threads[0], OP_READ_MODIFY_WRITE, 9600);
	measure_done(&measure.threads[0]);
	measure_latency(&measure.threads[0], OP_CLEANUP, 8000);
	measure_latency(&measure.threads[1], OP_CLEANUP, 10000);
	measure_print_export(&measure, begin(&text), 1600, percentiles, 3);
	expect_text(&text, "[OVERALL], RunTime(ms), 1600\n"
			   "[OVERALL], Throughput(ops/sec), 2.5\n"
			   "[READ], Operations, 4\n"
			   "[READ], AverageLatency(us), 2.5\n"
			   "[READ], MinLatency(us), 1\n"
			   "[READ], MaxLatency(us), 4\n"
			   "[READ], 95thPercentileLatency(us), 4\n"
			   "[READ], 99thPercentileLatency(us), 4\n"
			   "[READ], 99.9PercentileLatency(us), 4\n"
			   "[READ], Return=OK, 4\n"
			   "[UPDATE], Operations, 0\n"
			   "[UPDATE], AverageLatency(us), NaN\n"
			   "[UPDATE], MinLatency(us), 9223372036854775807\n"
			   "[UPDATE], MaxLatency(us), 0\n"
			   "[UPDATE], 95thPercentileLatency(us), 0\n"
			   "[UPDATE], 99thPercentileLatency(us), 0\n"
			   "[UPDATE], 99.9PercentileLatency(us), 0\n"
			   "[UPDATE], Return=NOT_FOUND, 1\n"
			   "[UPDATE-FAILED], Operations, 1\n"
			   "[UPDATE-FAILED], AverageLatency(us), 6.0\n"
			   "[UPDATE-FAILED], MinLatency(us), 6\n"
			   "[UPDATE-FAILED], MaxLatency(us), 6\n"
			   "[UPDATE-FAILED], 95thPercentileLatency(us), 6\n"
			   "[UPDATE-FAILED], 99thPercentileLatency(us), 6\n"
			   "[UPDATE-FAILED], 99.9PercentileLatency(us), 6\n"
			   "[READ-MODIFY-WRITE], Operations, 1\n"
			   "[READ-MODIFY-WRITE], AverageLatency(us), 10.0\n"
			   "[READ-MODIFY-WRITE], MinLatency(us), 10\n"
			   "[READ-MODIFY-WRITE], MaxLatency(us), 10\n"
			   "[READ-MODIFY-WRITE], 95thPercentileLatency(us), 10\n"
			   "[READ-MODIFY-WRITE], 99thPercentileLatency(us), 10\n"
			   "[READ-MODIFY-WRITE], 99.9PercentileLatency(us), 10\n"
			   "[CLEANUP], Operations, 2\n"
			   "[CLEANUP], AverageLatency(us), 9.0\n"
			   "[CLEANUP], MinLatency(us), 8\n"
			   "[CLEANUP], MaxLatency(us), 10\n"
			   "[CLEANUP], 95thPercentileLatency(us), 10\n"
			   "[CLEANUP], 99thPercentileLatency(us), 10\n"
			   "[CLEANUP], 99.9PercentileLatency(us), 10\n");
	cr_expect_eq(measure_operations_done(&measure), 4);
	cr_expect_eq(measure_returned(&measure, OP_UPDATE, STATUS_NOT_FOUND), 1);
	measure_destroy(&measure);
}
