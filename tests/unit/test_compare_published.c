/* Published comparisons come out again, and with them what they do not support. Sources are named at each. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/compare_config.h"
#include "analyzer/compare_inputs.h"
#include "analyzer/compare_knee.h"
#include "analyzer/compare_rows.h"
#include "tests/unit/support_trace.h"

#define GOLDEN "tests/golden/compare/"

static struct compare compare;
static struct error error;

static void start(void)
{
	compare = (struct compare){0};
	error = (struct error){0};
	compare.settings.metrics[METRIC_THROUGHPUT] = true;
	compare.settings.equivalence = 0.02;
}

static void end(void)
{
	compare_free(&compare);
}

TestSuite(compare_published, .init = start, .fini = end);

static void near(double got, double wanted, double tolerance, const char *what)
{
	cr_assert_float_eq(got, wanted, tolerance, "%s: %.10g instead of %.10g", what, got, wanted);
}

static void evaluate(const struct compare_request *request)
{
	cr_assert(compare_read(request, &compare, &error), "%s", error.text);
	cr_assert(compare_config(&compare, &error) && compare_rows(&compare, &error) &&
			  compare_verdicts(&compare, &error) && compare_knees(&compare, &error) &&
			  compare_prices(&compare, &error),
		  "%s", error.text);
}

/* Arms "LABEL=PATH" up to a NULL. */
static void evaluate_arms(const char **arms)
{
	struct compare_request request = {0};
	request.arms.items = arms;
	while (arms[request.arms.count])
		request.arms.count++;
	evaluate(&request);
}

static void evaluate_table(const char *text)
{
	const char *path = support_path("table.csv");
	struct compare_request request = {0};
	support_write_file(path, text, strlen(text));
	request.operands = (struct string_list){&path, 1};
	evaluate(&request);
}

static const struct compare_row *row_at(uint64_t threads, const char *operation, enum compare_metric metric)
{
	for (size_t i = 0; i < compare.row_count; i++)
		if (compare.rows[i].threads == threads && compare.rows[i].metric == metric &&
		    strcmp(compare.rows[i].operation, operation) == 0)
			return &compare.rows[i];
	cr_assert_fail("no row of %s at %llu", operation, (unsigned long long)threads);
	return NULL;
}

static bool has_flag(const struct compare_row *row, const char *id)
{
	for (size_t i = 0; i < row->flag_count; i++)
		if (strcmp(row->flags[i], id) == 0)
			return true;
	return false;
}

static void says(const char *text, const char *part)
{
	cr_assert(strstr(text, part), "\"%s\" is not in \"%s\"", part, text);
}

/* ---- tcmalloc's per-CPU capacity before and after a fix: a million records loaded --------------------- */

Test(compare_published, capacity_of_per_cpu_caches)
{
	compare.settings.metrics[METRIC_RUNTIME] = true;
	evaluate_table("arm,threads,throughput_ops_s,runtime_ms\n"
		       "before,16,72721.98,13751\n"
		       "after,16,114429.57,8739\n");
	const struct compare_row *throughput = row_at(16, COMPARE_OVERALL, METRIC_THROUGHPUT);
	const struct compare_row *time = row_at(16, COMPARE_OVERALL, METRIC_RUNTIME);
	cr_assert_eq(lround(100 * (throughput->ratio.ratio - 1)), 57);
	cr_assert_eq(lround(100 * (time->ratio.ratio - 1)), -36);
	cr_assert_eq(throughput->verdict, VERDICT_UNDECIDED);
	cr_assert(has_flag(throughput, "one-run"));
	says(throughput->text, "+57.4%, but one run per arm supports no conclusion");
	says(time->text, "-36.4%, but");
}

/* The table's four rows: +57, +60, +43 and +36% from one run each. Only the first row's rates are published;
 * the others stand for their percentages. All four together are four blocks, and do support something. */
Test(compare_published, four_rows_of_one_run_each)
{
	evaluate_table("arm,threads,throughput_ops_s\n"
		       "before,16,72721.98\nafter,16,114429.57\n"
		       "before,32,100000\nafter,32,160000\n"
		       "before,64,100000\nafter,64,143000\n"
		       "before,128,100000\nafter,128,136000\n");
	static const long percent[] = {57, 60, 43, 36};
	cr_assert_eq(compare.row_count, 4);
	for (size_t i = 0; i < 4; i++) {
		cr_assert_eq(lround(100 * (compare.rows[i].ratio.ratio - 1)), percent[i]);
		cr_assert_eq(compare.rows[i].verdict, VERDICT_UNDECIDED);
	}
	cr_assert_eq(compare.overall_count, 1);
	const struct compare_overall *overall = &compare.overall[0];
	cr_assert(overall->by_level);
	near(overall->ratio.ratio, pow(114429.57 / 72721.98 * 1.6 * 1.43 * 1.36, 0.25), 1e-12, "mean");
	cr_assert_eq(overall->verdict, VERDICT_FASTER);
	says(overall->text, "after faster by 49%");
	says(overall->text, "from one run an arm at each of 4 levels");
}

/* ---- glibc with and without LSE: Arm's learning path, one run an arm ---------------------------------- */

Test(compare_published, lse_of_one_run)
{
	const char *arms[] = {"NoLSE=" GOLDEN "lse-load.txt", "NoLSE=" GOLDEN "lse-without.txt",
			      "LSE=" GOLDEN "lse-load.txt", "LSE=" GOLDEN "lse-with.txt", NULL};
	compare.settings.metrics[METRIC_P99] = true;
	evaluate_arms(arms);
	const struct compare_row *row = row_at(256, COMPARE_OVERALL, METRIC_THROUGHPUT);
	near(row->ratio.ratio, 1.031443, 5e-7, "ratio");
	near(row->base.center, 6662.1275371047195, 0, "base");
	near(row->base.threads_busy, 63.58, 0.005, "busy");
	cr_assert_eq(row->base.n, 1, "the load is no run");
	cr_assert_eq(row->verdict, VERDICT_UNDECIDED);
	says(row->text, "+3.14%, but one run per arm supports no conclusion");
	says(row->text, "256 threads were asked for and 64 ended");
	says(row->text,
	     "the load was given 10,000,000 records on its command line and the run was given none");
	cr_assert(has_flag(row, "threads-ended") && has_flag(row, "record-count-default") &&
		  has_flag(row, "one-run"));
	/* Tails got slightly worse, which the report does not mention. */
	near(row_at(256, "UPDATE", METRIC_P99)->ratio.ratio, 1.005, 5e-4, "UPDATE");
	near(row_at(256, "READ-MODIFY-WRITE", METRIC_P99)->ratio.ratio, 1.006, 5e-4, "RMW");
	near(row_at(256, "SCAN", METRIC_P99)->ratio.ratio, 0.962, 5e-4, "SCAN");
}

/* The run's workload file asks for 1,000 records; with that on its command line the numbers are there. */
Test(compare_published, record_counts_of_load_and_run_differ)
{
	size_t bytes;
	char *text = (char *)support_read_file(GOLDEN "lse-without.txt", &bytes), changed[8192];
	char *at = memmem(text, bytes, "-p operationcount", 17);
	cr_assert_not_null(at);
	int length = snprintf(changed, sizeof changed, "%.*s-p recordcount=1000 %.*s", (int)(at - text), text,
			      (int)(bytes - (size_t)(at - text)), at);
	char run[300];
	snprintf(run, sizeof run, "b=%s", support_path("run.txt"));
	support_write_file(run + 2, changed, (size_t)length);
	const char *arms[] = {"a=" GOLDEN "lse-with.txt", "b=" GOLDEN "lse-load.txt", run, NULL};
	evaluate_arms(arms);
	const struct compare_row *row = row_at(256, COMPARE_OVERALL, METRIC_THROUGHPUT);
	says(row->text, "the load made 10,000,000 records and the run works on 1,000");
	free(text);
}

/* ---- instance types: second best of three, and what a dollar buys -------------------------------------- */

Test(compare_published, second_best_and_price)
{
	compare.settings.center = CENTER_SECOND_BEST;
	compare.settings.metrics[METRIC_MEAN] = true;
	const char *path = support_path("types.csv");
	const char *text = "type,throughput,ms,threads\n"
			   "x86,30000,2.0,64\nx86,36000,1.0,64\nx86,33000,1.5,64\n"
			   "arm,44000,1.1,64\narm,42000,1.3,64\narm,40000,1.2,64\n";
	support_write_file(path, text, strlen(text));
	struct compare_request request = {.columns = "arm=type,throughput_ops_s=throughput,mean_ms=ms"};
	request.operands = (struct string_list){&path, 1};
	cr_assert(compare_read(&request, &compare, &error), "%s", error.text);
	compare.arms[0].usd_per_hour = 0.40;
	compare.arms[1].usd_per_hour = 0.35;
	cr_assert(compare_config(&compare, &error) && compare_rows(&compare, &error) &&
		  compare_prices(&compare, &error));
	const struct compare_row *row = row_at(64, COMPARE_OVERALL, METRIC_THROUGHPUT);
	near(row->base.center, 33000, 0, "second best");
	near(row->arm.center, 42000, 0, "second best");
	near(row->center_ratio, 42.0 / 33, 1e-12, "ratio of centres");
	near(row_at(64, COMPARE_OVERALL, METRIC_MEAN)->base.center, 1500, 1e-9,
	     "of latencies the second lowest");
	cr_assert_eq(compare.price_count, 2);
	near(compare.prices[0].ops_per_usd, 33000 * 3600 / 0.40, 1e-3, "x86");
	near(compare.prices[1].ops_per_usd, 42000 * 3600 / 0.35, 1e-3, "arm");
	near(compare.prices[1].relative, 1, 0, "the best is 100%");
	cr_assert(compare.prices[1].best && !compare.prices[0].best);
	near(compare.prices[0].relative, 33000 / 0.40 / (42000 / 0.35), 1e-12, "x86");
	near(compare.prices[0].ratio.ratio, cbrt(36.0 * 33 * 30 / (44.0 * 42 * 40)) * 0.35 / 0.40, 1e-12,
	     "by geometric means");
	cr_assert(compare.prices[0].ratio.low < compare.prices[0].ratio.ratio &&
		  compare.prices[0].ratio.high > compare.prices[0].ratio.ratio);
}

Test(compare_published, second_best_of_fewer)
{
	double values[] = {5, 9, 9, 7};
	cr_assert(isnan(compare_center(CENTER_SECOND_BEST, METRIC_THROUGHPUT, values, 1)));
	near(compare_center(CENTER_SECOND_BEST, METRIC_THROUGHPUT, values, 2), 5, 0, "of two");
	near(compare_center(CENTER_SECOND_BEST, METRIC_THROUGHPUT, values, 4), 9, 0, "a tie counts twice");
	near(compare_center(CENTER_SECOND_BEST, METRIC_P95, values, 4), 7, 0, "lower is better");
	near(compare_center(CENTER_MEAN, METRIC_P95, values, 4), 7.5, 0, "mean");
	near(compare_center(CENTER_MEDIAN, METRIC_P95, values, 4), 8, 0, "median");
}
