/* Whether a run's numbers can be what they are taken for: each check on a run that fails it and one that does
 * not. */

#include "analyzer/ycsb_audit.h"
#include "tests/unit/support_ycsb.h"

TestSuite(ycsb_audit, .fini = close_file);

static struct ycsb_audit audit;

static void audit_text(const char *text, size_t run)
{
	read_text(text);
	ycsb_audit(&file, 1, 0, run, &audit);
}

static const struct ycsb_finding *found(const char *id)
{
	for (size_t i = 0; i < audit.finding_count; i++)
		if (strcmp(audit.findings[i].id, id) == 0)
			return &audit.findings[i];
	return NULL;
}

static void expect(const char *id, enum ycsb_severity severity, const char *words)
{
	const struct ycsb_finding *finding = found(id);
	cr_assert_not_null(finding, "no %s", id);
	cr_assert_eq(finding->severity, severity, "%s", id);
	cr_assert(strstr(finding->text, words), "%s: %s", id, finding->text);
	cr_assert_geq(audit.worst, severity);
}

static void expect_none(void)
{
	cr_assert_eq(audit.finding_count, 0, "%s: %s", audit.findings[0].id, audit.findings[0].text);
	cr_assert_eq(audit.worst, YCSB_NOTE);
}

#define COMMAND(arguments) "Command line: " arguments "\n"
#define OVERALL(runtime, rate)                                                                               \
	"[OVERALL], RunTime(ms), " runtime "\n[OVERALL], Throughput(ops/sec), " rate "\n"
#define OP(name, count, mean) "[" name "], Operations, " count "\n[" name "], AverageLatency(us), " mean "\n"
#define CLEANUP(count)	      OP("CLEANUP", count, "3")

/* ---- a run that is right ----------------------------------------------------------------------------- */

/* 4 threads for 10 s, 2000 operations of 20 ms. */
#define GOOD                                                                                                 \
	COMMAND("-t -threads 4 -p operationcount=2000 -p recordcount=900")                                   \
	OVERALL("10000", "200.0") OP("READ", "1500", "18000") OP("UPDATE", "500", "26000") CLEANUP("4")

Test(ycsb_audit, a_run_without_fault)
{
	audit_text(GOOD, 0);
	expect_none();
	near(audit.threads_busy, 4, "Little's law");
	near(audit.operations_done, 2000, "done");
	near(audit.operations_counted, 2000, "counted");
	near(audit.mean_us, 20000, "mean over both");
	cr_assert_eq(audit.threads, 4);
	cr_assert_eq(audit.threads_source, YCSB_THREADS_ASKED);
}

/* ---- identity ---------------------------------------------------------------------------------------- */

Test(ycsb_audit, a_read_modify_write_is_one_operation_of_three_lines)
{
	audit_text(OVERALL("10000", "100.0") OP("READ", "1000", "10000") OP("UPDATE", "400", "10000")
			   OP("READ-MODIFY-WRITE", "400", "20000"),
		   0);
	expect_none();
	near(audit.operations_counted, 1000, "1000 + 400 - 400");
	near(audit.threads_busy, 1.4, "its time is that of its parts");
}

Test(ycsb_audit, failures_count_as_operations_of_a_run_and_not_of_a_load)
{
#define HALF_FAILED OVERALL("10000", "100.0") OP("INSERT", "1000", "10") OP("INSERT-FAILED", "400", "10")
	audit_text(COMMAND("-load -threads 1") HALF_FAILED, 0);
	cr_assert_null(found("operations-identity"));
	audit_text(COMMAND("-t -threads 1") HALF_FAILED, 0);
	expect("operations-identity", YCSB_INVALID, "add up to 1,400, throughput times run time to 1,000");
	audit_text(HALF_FAILED, 0);
	cr_assert_null(found("operations-identity"), "a load, perhaps");
}

Test(ycsb_audit, a_lost_line_shows_in_the_sum)
{
	audit_text(OVERALL("10000", "200.0") OP("READ", "1500", "18000"), 0);
	expect("operations-identity", YCSB_INVALID, "1,500");
	audit_text(OVERALL("10000", "150.06") OP("READ", "1500", "18000"), 0);
	expect("operations-identity", YCSB_INVALID, "1,501");
	audit_text(OVERALL("10000", "150.04") OP("READ", "1500", "18000"), 0);
	cr_assert_null(found("operations-identity"), "rounds to 1500");
}

Test(ycsb_audit, operations_of_a_fork_are_not_judged)
{
	audit_text(OVERALL("10000", "150.0") OP("READ", "1500", "1") OP("COMMIT", "700", "1"), 0);
	cr_assert_null(found("operations-identity"));
	cr_assert(isnan(audit.operations_counted) && isnan(audit.threads_busy));
}

Test(ycsb_audit, second_measurements_are_not_added)
{
	audit_text(OVERALL("10000", "150.0") OP("HdrREAD", "1500", "1") OP("BucketREAD", "1500", "1")
			   OP("Intended-READ", "1500", "9"),
		   0);
	near(audit.operations_counted, 1500, "counted once");
	cr_assert_null(found("operations-identity"));
}

#define GO(name, count)                                                                                      \
	name " - Takes(s): 10.0, Count: " count ", OPS: 100.0, Avg(us): 5000, 99th(us): 9000\n"

Test(ycsb_audit, total_of_go_ycsb)
{
	audit_text("Run finished, takes 10s\n" GO("READ", "600") GO("TOTAL", "1000") GO("UPDATE", "400"), 0);
	cr_assert_null(found("operations-identity"));
	near(audit.operations_done, 1000, "done");
	audit_text("Run finished, takes 10s\n" GO("READ", "600") GO("TOTAL", "1000") GO("UPDATE", "300"), 0);
	expect("operations-identity", YCSB_INVALID, "900, its TOTAL to 1,000");
}

/* ---- threads ----------------------------------------------------------------------------------------- */

Test(ycsb_audit, busy_threads_differ_from_the_level)
{
	audit_text(COMMAND("-t -threads 5") OVERALL("10000", "200") OP("READ", "2000", "20000"), 0);
	expect("threads-busy", YCSB_WARNING, "4 threads were busy by Little's law, not 5");
	audit_text(COMMAND("-t -threads 3") OVERALL("10000", "200") OP("READ", "2000", "20000"), 0);
	expect("threads-busy", YCSB_WARNING, "more than the level of 3");
}

Test(ycsb_audit, a_throttled_client_may_idle)
{
	audit_text(COMMAND("-t -threads 16 -target 200") OVERALL("10000", "200") OP("READ", "2000", "20000"),
		   0);
	expect_none();
	audit_text(COMMAND("-t -threads 3 -target 200") OVERALL("10000", "200") OP("READ", "2000", "20000"),
		   0);
	expect("threads-busy", YCSB_WARNING, "more than");
}

Test(ycsb_audit, threads_that_did_not_end)
{
	audit_text(COMMAND("-t -threads 4") OVERALL("10000", "200") OP("READ", "2000", "20000") CLEANUP("3"),
		   0);
	expect("threads-ended", YCSB_WARNING, "4 threads were asked for and 3 ended");
}

Test(ycsb_audit, a_level_under_a_mistyped_name)
{
	audit_text("***************** properties *****************\n\"treadcount\"=\"16\"\n"
		   "\"operationcount\"=\"1000\"\n"
		   "**********************************************\nRun finished, takes 10s\n" GO("READ",
												  "1000"),
		   0);
	expect("threads-misnamed", YCSB_WARNING, "16 threads");
	expect("threads-busy", YCSB_WARNING, "0.5 threads were busy");
	cr_assert_eq(audit.threads, YCSB_UNKNOWN);
}

Test(ycsb_audit, levels_in_names)
{
	static const struct {
		const char *path;
		uint64_t threads;
	} names[] = {
		{"thp-threads-16.txt", 16},
		{"/a/threads-8/x-threads-32.out", 32},
		{"lse_64threads.txt", 64},
		{"run-128-threads.log", 128},
		{"t_Threads=4_1.txt", 4},
		{"threads-8/plain.txt", YCSB_UNKNOWN},
		{"threads.txt", YCSB_UNKNOWN},
		{"threads-0.txt", YCSB_UNKNOWN},
		{"thread12", 12},
		{"threads-99999999999.txt", YCSB_UNKNOWN},
		{"threads-16threads", 16},
		{"", YCSB_UNKNOWN},
	};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		cr_assert_eq(ycsb_threads_in_name(names[i].path), names[i].threads, "%s: %llu", names[i].path,
			     (unsigned long long)ycsb_threads_in_name(names[i].path));
}

Test(ycsb_audit, the_name_is_asked_last_and_held_against_the_rest)
{
	read_text(OVERALL("10000", "200") OP("READ", "2000", "20000"));
	free(file.path);
	file.path = strdup("x-threads-4.txt");
	ycsb_audit(&file, 1, 0, 0, &audit);
	cr_assert_eq(audit.threads, 4);
	cr_assert_eq(audit.threads_source, YCSB_THREADS_NAMED);
	expect_none();
	file.runs[0].threads_ended = 8;
	ycsb_audit(&file, 1, 0, 0, &audit);
	cr_assert_eq(audit.threads_source, YCSB_THREADS_ENDED);
	expect("threads-name", YCSB_WARNING, "named after 4 threads, the summary says 8");
}

/* ---- records and work -------------------------------------------------------------------------------- */

#define LOAD(arguments, inserted)                                                                            \
	COMMAND("-load " arguments) OVERALL("1000", inserted ".0") OP("INSERT", inserted, "1000")
#define RUN(arguments) COMMAND("-t " arguments) OVERALL("1000", "100.0") OP("READ", "100", "10000")

Test(ycsb_audit, a_run_on_other_records_than_were_loaded)
{
	audit_text(LOAD("-p recordcount=10000", "10000") RUN("-p recordcount=1000"), 1);
	expect("record-count", YCSB_WARNING, "the load made 10,000 records and the run works on 1,000");
	audit_text(LOAD("-p recordcount=1000", "1000") RUN("-p recordcount=1000"), 1);
	expect_none();
	audit_text(LOAD("-threads 1", "500") RUN("-p recordcount=1000"), 1);
	expect("record-count", YCSB_WARNING, "made 500 records");
	audit_text(LOAD("-p insertcount=500", "500") RUN("-p recordcount=1000"), 1);
	cr_assert_null(found("record-count"), "one of several clients");
	audit_text(LOAD("-p recordcount=10000", "10000") RUN("-threads 1"), 1);
	cr_assert_null(found("record-count"), "not known of the run");
	expect("record-count-default", YCSB_WARNING, "given 10,000 records");
	audit_text(LOAD("-threads 1", "1000") RUN("-threads 1"), 1);
	expect_none();
}

Test(ycsb_audit, the_nearest_load_before_the_run_counts)
{
	audit_text(LOAD("-p recordcount=500", "500") LOAD("-p recordcount=700", "700")
			   RUN("-p recordcount=700") LOAD("-p recordcount=900", "900"),
		   2);
	cr_assert_null(found("record-count"));
	audit_text(RUN("-p recordcount=700") LOAD("-p recordcount=900", "900"), 0);
	expect("record-count", YCSB_WARNING, "900");
}

Test(ycsb_audit, a_load_that_stopped_early)
{
	audit_text(LOAD("-threads 4 -p recordcount=1000", "990"), 0);
	expect("load-short", YCSB_WARNING, "990 of 1,000");
	audit_text(LOAD("-threads 30 -p recordcount=5000", "4980"), 0);
	cr_assert_null(found("load-short"), "30 equal shares of 166");
}

Test(ycsb_audit, a_run_that_stopped_early)
{
	audit_text(RUN("-threads 1 -p operationcount=500"), 0);
	expect("operations-short", YCSB_WARNING, "100 of 500");
	audit_text(RUN("-threads 1 -p operationcount=500 -p maxexecutiontime=1"), 0);
	cr_assert_null(found("operations-short"));
	audit_text(RUN("-threads 1 -p operationcount=100"), 0);
	cr_assert_null(found("operations-short"));
}

Test(ycsb_audit, keys_that_are_not_there)
{
	audit_text(RUN("-threads 1") "[READ], Return=OK, 99999\n[READ], Return=NOT_FOUND, 7\n", 0);
	expect("not-found", YCSB_WARNING, "7 operations");
	cr_assert_null(found("errors"), "7 of 100,006 are fewer than 0.1%%");
}

/* ---- errors and lost ends ---------------------------------------------------------------------------- */

Test(ycsb_audit, shares_of_errors)
{
	audit_text(OVERALL("1000", "1000")
			   OP("READ", "1000", "1") "[READ], Return=OK, 999\n[READ], Return=ERROR, 1\n",
		   0);
	cr_assert_null(found("errors"), "0.1%% is not more than 0.1%%");
	audit_text(OVERALL("1000", "1000")
			   OP("READ", "1000", "1") "[READ], Return=OK, 998\n[READ], Return=ERROR, 2\n",
		   0);
	expect("errors", YCSB_WARNING, "0.2%");
	cr_assert_null(found("errors-invalid"));
	audit_text(OVERALL("1000", "1000")
			   OP("READ", "1000", "1") "[READ], Return=OK, 980\n[READ], Return=ERROR, 20\n",
		   0);
	expect("errors-invalid", YCSB_INVALID, "2%");
}

Test(ycsb_audit, what_a_killed_client_leaves)
{
	audit_text(COMMAND("-t -threads 2") "2026-05-31 12:00:00:000 0 sec: 0 operations; \n"
					    "2026-05-31 12:00:02:000 2 sec: 90 operations; 45 current "
					    "ops/sec; \n",
		   0);
	expect("no-summary", YCSB_INVALID, "killed");
	near(audit.operations_done, 90, "so far");
	cr_assert(isnan(audit.threads_busy));
	cr_assert_null(found("operations-identity"));
}

Test(ycsb_audit, a_lost_final_table_and_a_negative_time)
{
	audit_text(GO("READ", "600") "Run finished, takes 1.5s\n", 0);
	expect("lost-table", YCSB_INVALID, "--foreground");
	audit_text(OVERALL("-5731", "-0.17448961786773687") OP("READ", "1", "11"), 0);
	expect("negative-time", YCSB_INVALID, "set back");
	cr_assert_null(found("operations-identity"), "the product is right all the same");
	cr_assert(isnan(audit.threads_busy));
}

Test(ycsb_audit, the_worst_stands_first)
{
	audit_text(COMMAND("-t -threads 9 -p operationcount=90") OVERALL("1000", "0.0"), 0);
	cr_assert_gt(audit.finding_count, 1);
	for (size_t i = 1; i < audit.finding_count; i++)
		cr_assert_geq(audit.findings[i - 1].severity, audit.findings[i].severity);
	cr_assert_str_eq(audit.findings[0].id, "no-operations");
}

/* ---- names ------------------------------------------------------------------------------------------- */

Test(ycsb_audit, classes_of_operations)
{
	static const struct {
		const char *name;
		enum ycsb_operation_class class;
	} names[] = {
		{"READ", YCSB_OP_DONE},
		{"HdrSCAN", YCSB_OP_DONE},
		{"DELETE-FAILED", YCSB_OP_FAILED},
		{"UPDATE-NOT_FOUND", YCSB_OP_FAILED},
		{"READ_ERROR", YCSB_OP_FAILED},
		{"READ-MODIFY-WRITE", YCSB_OP_TWICE},
		{"READ_MODIFY_WRITE", YCSB_OP_TWICE},
		{"READ_MODIFY_WRITE_ERROR", YCSB_OP_TWICE},
		{"SCAN-LATENCY-PER-RECORD", YCSB_OP_TWICE},
		{"Intended-READ", YCSB_OP_TWICE},
		{"TOTAL", YCSB_OP_TWICE},
		{"CLEANUP", YCSB_OP_NONE},
		{"VERIFY", YCSB_OP_NONE},
		{"GCS_TIME", YCSB_OP_NONE},
		{"READER", YCSB_OP_FOREIGN},
		{"BATCH_READ", YCSB_OP_FOREIGN},
		{"", YCSB_OP_FOREIGN},
	};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		cr_assert_eq(ycsb_classify(names[i].name), names[i].class, "%s", names[i].name);
}
