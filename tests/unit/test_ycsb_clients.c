/* Clients of one run, put together. */

#include "analyzer/ycsb_audit.h"
#include "analyzer/ycsb_clients.h"
#include "tests/unit/support_ycsb.h"

static struct ycsb_file together;
static struct ycsb_file both[2];

static void fini(void)
{
	ycsb_file_free(&together);
	ycsb_file_free(&both[0]);
	ycsb_file_free(&both[1]);
	close_file();
}

TestSuite(ycsb_clients, .fini = fini);

/* Reads one text into each of two files. */
static void read_both(const char *a, const char *b)
{
	read_text(a);
	both[0] = file;
	file = (struct ycsb_file){0};
	read_text(b);
	both[1] = file;
	file = (struct ycsb_file){0};
	cr_assert(ycsb_clients(both, 2, true, &together, &error));
}

#define CLIENT(threads, runtime, rate, count, mean)                                                          \
	"Command line: -t -threads " threads " -p recordcount=1000\n[OVERALL], RunTime(ms), " runtime        \
	"\n[OVERALL], Throughput(ops/sec), " rate "\n[READ], Operations, " count                             \
	"\n[READ], AverageLatency(us), " mean "\n"

Test(ycsb_clients, sums_and_weighted_means)
{
	read_both(CLIENT("2", "1000", "300.0", "300",
			 "1000") "[READ], MinLatency(us), 9\n[READ], MaxLatency(us), "
				 "50\n[READ], 99thPercentileLatency(us), 40\n"
				 "[READ], Return=OK, 297\n[READ], Return=ERROR, 3\n",
		  CLIENT("3", "1000", "100.0", "100",
			 "5000") "[READ], MinLatency(us), 7\n[READ], MaxLatency(us), "
				 "40\n[READ], 99thPercentileLatency(us), 30\n"
				 "[READ], Return=OK, 100\n[UPDATE], Operations, 0\n");
	cr_assert_eq(together.run_count, 1);
	const struct ycsb_run *run = &together.runs[0];
	cr_assert_eq(run->clients, 2);
	near(run->throughput_ops_s, 400, "rates are added");
	cr_assert_eq(run->threads_asked, 5);
	cr_assert_eq(run->record_count, 1000, "the same records");
	cr_assert_eq(run->operation_kinds, 2);
	const struct ycsb_operation *read = &run->operations[0];
	cr_assert_eq(read->count, 400);
	near(read->mean_us, 2000, "(300 * 1000 + 100 * 5000) / 400");
	near(read->min_us, 7, "min");
	near(read->max_us, 50, "max");
	cr_assert(isnan(ycsb_percentile_us(read, 99)), "percentiles have no sum");
	cr_assert_eq(read->returns[0].count, 397);
	cr_assert_eq(read->returns[1].count, 3);
	near(run->error_rate, 3 / 400.0, "3 of 400");
	cr_assert_eq(run->flags, YCSB_FLAG_ERRORS, "1%% of the first client, less of both");
}

#define BUCKETS(a, b, over) "[READ], 0, " a "\n[READ], 1, 0\n[READ], 2, " b "\n[READ], >3, " over "\n"

Test(ycsb_clients, histograms_give_percentiles)
{
	read_both(CLIENT("2", "1000", "100.0", "100", "1000") BUCKETS("90", "10", "0"),
		  CLIENT("2", "1000", "300.0", "300", "1000") BUCKETS("60", "239", "1"));
	const struct ycsb_operation *read = &together.runs[0].operations[0];
	cr_assert_eq(read->bucket_count, 2);
	near(read->buckets[0].value, 150, "90 + 60");
	near(read->buckets[1].value, 249, "10 + 239");
	cr_assert_eq(read->over_count, 1);
	near(ycsb_percentile_us(read, 50), 2000, "the 200th of 400");
	near(ycsb_percentile_us(read, 99), 2000, "the 396th");
	cr_assert(isnan(ycsb_percentile_us(read, 99.9)), "the 400th lies beyond");
	/* One without spoils it: 100 of 400 are no histogram of all. */
	fini();
	read_both(CLIENT("2", "1000", "100.0", "100", "1000") BUCKETS("90", "10", "0"),
		  CLIENT("2", "1000", "300.0", "300", "1000"));
	cr_assert(isnan(ycsb_percentile_us(&together.runs[0].operations[0], 50)));
	cr_assert_eq(together.runs[0].operations[0].bucket_count, 0);
}

Test(ycsb_clients, clients_that_ran_for_different_times)
{
	read_both(CLIENT("2", "1000", "100.0", "100", "1000"), CLIENT("2", "960", "100.0", "96", "1000"));
	cr_assert_eq(together.runs[0].flags, 0);
	fini();
	read_both(CLIENT("2", "1000", "100.0", "100", "1000"), CLIENT("2", "500", "100.0", "50", "1000"));
	cr_assert(together.runs[0].flags & YCSB_FLAG_UNEVEN);
	near(together.runs[0].runtime_ms, 1000, "the longer");
	struct ycsb_audit audit;
	ycsb_audit(&together, 1, 0, 0, &audit);
	near(audit.operations_done, 150, "counted, not rate times time");
	for (size_t i = 0; i < audit.finding_count; i++)
		cr_assert_str_neq(audit.findings[i].id, "operations-identity");
}

Test(ycsb_clients, what_one_does_not_know_nobody_knows)
{
	read_both(CLIENT("2", "1000", "100.0", "100", "1000"),
		  "[OVERALL], RunTime(ms), 1000\n[OVERALL], Throughput(ops/sec), 100.0\n[READ], Operations, "
		  "100\n");
	cr_assert_eq(together.runs[0].threads_asked, YCSB_UNKNOWN);
	cr_assert_eq(together.runs[0].record_count, YCSB_UNKNOWN);
	cr_assert(isnan(together.runs[0].operations[0].mean_us));
	cr_assert_eq(together.runs[0].operations[0].count, 200);
}

/* ---- which belong together --------------------------------------------------------------------------- */

static void find_groups(const char *text)
{
	read_text(text);
	ycsb_file_free(&together);
	cr_assert(ycsb_clients(&file, 1, false, &together, &error));
}

#define NAMED(name, phase, rate)                                                                             \
	name " | Command line: " phase " -threads 1\n" name " | [OVERALL], RunTime(ms), 1000\n" name         \
	     " | [OVERALL], Throughput(ops/sec), " rate "\n" name " | [READ], Operations, 10\n"

Test(ycsb_clients, names_in_front_of_lines)
{
	find_groups(NAMED("a", "-load", "10") NAMED("b", "-load", "20") NAMED("a", "-t", "100")
			    NAMED("b", "-t", "200"));
	cr_assert_eq(together.run_count, 2);
	near(together.runs[0].throughput_ops_s, 30, "first runs");
	cr_assert_eq(together.runs[0].phase, YCSB_PHASE_LOAD);
	near(together.runs[1].throughput_ops_s, 300, "second runs");
}

Test(ycsb_clients, runs_without_names_are_of_one_client)
{
	find_groups(CLIENT("2", "1000", "100.0", "100", "1") CLIENT("4", "1000", "300.0", "300", "1"));
	cr_assert_eq(together.run_count, 0);
}

Test(ycsb_clients, a_load_and_the_run_behind_it_are_not_together)
{
	find_groups(NAMED("loader", "-load", "10") NAMED("runner", "-t", "20"));
	cr_assert_eq(together.run_count, 0);
}

#define AT(name, minute)                                                                                     \
	name " | 2026-05-31 12:" minute ":00:000 0 sec: 0 operations; \n" name " | 2026-05-31 12:" minute    \
	     ":10:000 10 sec: 90 operations; \n"

Test(ycsb_clients, clients_one_after_the_other_are_not_together)
{
	find_groups(AT("a", "00") AT("b", "01"));
	cr_assert_eq(together.run_count, 0);
	find_groups(AT("a", "00") AT("b", "00"));
	cr_assert_eq(together.run_count, 1);
}
