/* Rows, verdicts and flags from tables; how tables are read. */
#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/compare_config.h"
#include "analyzer/compare_inputs.h"
#include "analyzer/compare_knee.h"
#include "analyzer/compare_rows.h"
#include "tests/unit/support_trace.h"

static struct compare compare;
static struct error error;

static void start(void)
{
	cr_redirect_stderr();
	compare = (struct compare){0};
	error = (struct error){0};
	for (size_t i = 0; i < METRIC_PER_JOULE; i++)
		compare.settings.metrics[i] = true;
	compare.settings.equivalence = 0.02;
}

static void end(void)
{
	compare_free(&compare);
}

TestSuite(compare, .init = start, .fini = end);

static bool read_table(const char *text, const char *columns)
{
	const char *path = support_path("table.csv");
	struct compare_request request = {.columns = columns, .operands = {&path, 1}};
	support_write_file(path, text, strlen(text));
	return compare_read(&request, &compare, &error);
}

static void evaluate(const char *text)
{
	cr_assert(read_table(text, NULL), "%s", error.text);
	cr_assert(compare_config(&compare, &error) && compare_rows(&compare, &error) &&
			  compare_verdicts(&compare, &error),
		  "%s", error.text);
}

static bool has_flag(const struct compare_row *row, const char *id)
{
	for (size_t i = 0; i < row->flag_count; i++)
		if (strcmp(row->flags[i], id) == 0)
			return true;
	return false;
}

static bool has_remark(const char *id, const char *part)
{
	for (size_t i = 0; i < compare.remark_count; i++)
		if (strcmp(compare.remarks[i].id, id) == 0 && strstr(compare.remarks[i].text, part))
			return true;
	return false;
}

#define HEADER "arm,threads,throughput_ops_s\n"

/* ---- verdicts ---------------------------------------------------------------------------------------- */

Test(compare, faster_and_slower)
{
	evaluate(HEADER "a,4,100\na,4,101\na,4,99\nb,4,120\nb,4,121\nb,4,119\nc,4,80\nc,4,81\nc,4,79\n");
	cr_assert_eq(compare.row_count, 2);
	cr_assert_eq(compare.family, 2);
	cr_assert_eq(compare.rows[0].verdict, VERDICT_FASTER);
	cr_assert_eq(compare.rows[1].verdict, VERDICT_SLOWER);
	cr_assert_eq(strncmp(compare.rows[0].text, "b faster by 20% [", 17), 0, "%s", compare.rows[0].text);
	cr_assert_eq(strncmp(compare.rows[1].text, "c slower by 20% [", 17), 0, "%s", compare.rows[1].text);
	cr_assert_float_eq(
		compare.rows[0].p_adjusted,
		fmin(2 * compare.rows[0].ratio.p, fmax(compare.rows[0].ratio.p, 2 * compare.rows[1].ratio.p)),
		1e-12);
	cr_assert(has_flag(&compare.rows[0], "few-runs"));
}

Test(compare, a_lower_latency_is_faster)
{
	evaluate("arm,threads,p95_us\na,4,100\na,4,101\na,4,99\nb,4,64\nb,4,63\nb,4,65\n");
	const struct compare_row *row = &compare.rows[1];
	cr_assert_eq(row->metric, METRIC_P95);
	cr_assert_eq(row->verdict, VERDICT_FASTER);
	cr_assert(strstr(row->text, "b faster by 36% [") && strstr(row->text, "(lower p95 latency)"), "%s",
		  row->text);
}

Test(compare, equivalent_and_undecided)
{
	evaluate(HEADER "a,4,1000\na,4,1001\na,4,1002\nb,4,1001\nb,4,1000\nb,4,1003\n"
			"a,8,1000\na,8,1100\na,8,900\nb,8,1050\nb,8,980\nb,8,1120\n");
	cr_assert_eq(compare.rows[0].verdict, VERDICT_EQUIVALENT);
	cr_assert_str_eq(compare.rows[0].text, "no difference larger than 2%");
	cr_assert_eq(compare.rows[1].verdict, VERDICT_UNDECIDED);
	cr_assert(strstr(compare.rows[1].text, "3 runs an arm cannot show less than "), "%s",
		  compare.rows[1].text);
	cr_assert(compare.rows[1].reach.detectable > 0.05);
	cr_assert(compare.rows[1].reach.runs[2] > 3);
}

/* By itself p is below 5%; as one of three it is no news. */
Test(compare, what_holds_alone_need_not_hold_among_many)
{
	evaluate(HEADER "a,4,100\na,4,104\na,4,96\nb,4,110\nb,4,114\nb,4,106\n"
			"a,8,100\na,8,104\na,8,96\nb,8,101\nb,8,105\nb,8,97\n");
	const struct compare_row *row = &compare.rows[0];
	cr_assert(row->ratio.p < 0.05 && row->ratio.low > 1, "p %g", row->ratio.p);
	cr_assert_eq(row->verdict, VERDICT_UNDECIDED);
	cr_assert(strstr(row->text, "among 3 comparisons"), "%s", row->text);
}

Test(compare, an_arm_without_usable_runs_is_invalid)
{
	evaluate("arm,threads,throughput_ops_s,valid\na,4,100,1\na,4,101,1\nb,4,120,0\nb,8,120,1\na,8,100,"
		 "1\n");
	cr_assert_eq(compare.rows[0].verdict, VERDICT_INVALID);
	cr_assert(has_flag(&compare.rows[0], "no-usable-run") && has_flag(&compare.rows[0], "not-valid"));
	cr_assert(strstr(compare.rows[0].text, "b has no run that can be used"), "%s", compare.rows[0].text);
	cr_assert_eq(compare.rows[1].verdict, VERDICT_UNDECIDED);
}

Test(compare, runs_that_do_not_say_what_is_compared)
{
	evaluate("arm,threads,throughput_ops_s,p95_us\na,4,100,5\na,4,101,6\nb,4,,7\n");
	cr_assert_eq(compare.rows[0].verdict, VERDICT_INVALID);
	cr_assert(has_flag(&compare.rows[0], "no-value") && !has_flag(&compare.rows[0], "no-usable-run"));
	cr_assert_str_eq(compare.rows[0].text, "invalid: b has no run that says its throughput");
}

Test(compare, zeroes_and_equal_values_have_no_interval)
{
	evaluate("arm,threads,p95_us,p99_us\na,4,0,3000\na,4,1,3000\nb,4,1,4000\nb,4,2,4000\n");
	cr_assert(has_flag(&compare.rows[1], "zero-value"));
	cr_assert(isnan(compare.rows[1].ratio.ratio));
	cr_assert(has_flag(&compare.rows[2], "no-noise"));
	cr_assert_eq(compare.rows[2].verdict, VERDICT_UNDECIDED);
	cr_assert(strstr(compare.rows[2].text, "too coarse"), "%s", compare.rows[2].text);
}

Test(compare, a_level_that_one_arm_lacks_is_named)
{
	evaluate(HEADER "a,4,100\na,4,101\nb,4,120\nb,4,121\na,8,100\nb,16,100\n");
	cr_assert_eq(compare.row_count, 1);
	cr_assert(has_remark("level-missing", "b has no run at 8 threads"));
	cr_assert(has_remark("level-missing", "a has no run at 16 threads"));
}

/* ---- over all levels --------------------------------------------------------------------------------- */

static void overall_says(const char *text, const char *part)
{
	evaluate(text);
	cr_assert_eq(compare.overall_count, 1);
	cr_assert(strstr(compare.overall[0].text, part), "%s", compare.overall[0].text);
	compare_free(&compare);
	start();
}

Test(compare, why_all_levels_have_no_interval)
{
	overall_says(HEADER "a,4,100\na,4,101\nb,4,120\nb,4,121\na,8,100\nb,8,130\n",
		     "a level with one run of an arm has no interval");
	overall_says(HEADER "a,4,100\na,4,101\nb,4,120\nb,4,121\na,8,100\na,8,100\nb,8,130\nb,8,130\n",
		     "a level at which every run printed the same has no interval");
}

/* What the runs of an arm have in common beside the treatment looks like the treatment, and no level shows
 * it. */
Test(compare, levels_of_one_run_say_what_they_rest_on)
{
	overall_says(HEADER "a,4,100\nb,4,150\na,8,100\nb,8,151\na,16,100\nb,16,149\n",
		     "; from one run an arm at each of 3 levels: it holds if nothing but the treatment was "
		     "common");
	overall_says(HEADER "a,4,100\nb,4,150\na,8,100\nb,8,101\n",
		     "; from 2 levels with one run an arm at each");
}

/* ---- copies ------------------------------------------------------------------------------------------ */

#define DETAILED "arm,threads,throughput_ops_s,mean_us,p95_us,p99_us\n"

Test(compare, a_run_and_its_copy_count_once)
{
	evaluate(DETAILED "a,4,1000.12345,40.5,90,120\na,4,1000.12345,40.5,90,120\n"
			  "a,8,1000.12345,40.5,90,120\na,4,1000.12345,40.5,90,121\nb,4,1100,36,80,100\n");
	cr_assert_eq(compare.rows[0].base.n, 2, "one is a copy; another level and another p99 are not");
	cr_assert_eq(compare.runs[1].use, RUN_COPY);
	cr_assert(has_remark("copy", "line 3 holds the very numbers of"));
}

/* Rounded numbers may well be the same in two runs. */
Test(compare, round_numbers_are_no_copies)
{
	evaluate(DETAILED "a,4,1000,40.5,90,120\na,4,1000,40.5,90,120\nb,4,1100,36,80,100\n");
	cr_assert_eq(compare.rows[0].base.n, 2);
}

Test(compare, the_same_run_in_two_arms_is_flagged)
{
	evaluate(DETAILED "a,4,1000.12345,40.5,90,120\nb,4,1000.12345,40.5,90,120\n");
	cr_assert_eq(compare.rows[0].arm.n, 1);
	cr_assert(has_flag(&compare.rows[0], "same-run"));
	cr_assert(strstr(compare.rows[0].text, "which is of the other arm"), "%s", compare.rows[0].text);
}

/* ---- money ------------------------------------------------------------------------------------------- */

/* The second best of one run is not known: nobody is the best then. */
Test(compare, a_price_without_a_value_is_not_the_best)
{
	compare.settings.center = CENTER_SECOND_BEST;
	evaluate(HEADER "a,4,100\na,4,90\nb,4,120\nb,4,110\na,8,100\nb,8,130\n");
	compare.arms[0].usd_per_hour = 1;
	compare.arms[1].usd_per_hour = 2;
	cr_assert(compare_prices(&compare, &error));
	cr_assert_eq(compare.price_count, 4);
	cr_assert(compare.prices[0].best && !compare.prices[1].best);
	cr_assert_float_eq(compare.prices[0].ops_per_usd, 90 * 3600, 1e-6);
	cr_assert(!compare.prices[2].best && !compare.prices[3].best && isnan(compare.prices[3].relative));
}

/* ---- designs ----------------------------------------------------------------------------------------- */

#define DRIFTING HEADER "a,4,100\nb,4,105\na,4,200\nb,4,212\na,4,400\nb,4,420\na,4,800\nb,4,848\n"

Test(compare, pairing_in_order_is_an_option)
{
	evaluate(DRIFTING);
	cr_assert_eq(compare.rows[0].ratio.method, RATIO_WELCH);
	cr_assert_eq(compare.rows[0].verdict, VERDICT_UNDECIDED);
	compare_free(&compare);
	start();
	compare.settings.paired = true;
	evaluate(DRIFTING);
	cr_assert_eq(compare.rows[0].ratio.method, RATIO_PAIRED);
	cr_assert_eq(compare.rows[0].verdict, VERDICT_FASTER);
	cr_assert(strstr(compare.rows[0].text, "b faster by 5.5% ["), "%s", compare.rows[0].text);
}

Test(compare, the_first_run_of_each_cell_can_be_left_out)
{
	compare.settings.exclude_first = true;
	evaluate(HEADER "a,4,1\na,4,100\na,4,101\nb,4,2\nb,4,100\nb,4,102\na,8,3\na,8,100\nb,8,4\nb,8,100\n");
	cr_assert_eq(compare.rows[0].base.n, 2);
	cr_assert_eq(compare.rows[1].arm.n, 1);
	cr_assert_float_eq(compare.rows[0].arm.min, 100, 0);
	cr_assert(has_flag(&compare.rows[0], "first-excluded"));
}

Test(compare, blocks_of_a_table)
{
	evaluate("arm,threads,block,throughput_ops_s\na,4,1,100\nb,4,1,105\nb,4,1,106\na,4,2,200\nb,4,2,212\n"
		 "a,4,3,300\n");
	cr_assert_eq(compare.rows[0].ratio.method, RATIO_PAIRED);
	cr_assert_eq(compare.rows[0].ratio.base_n, 2);
	cr_assert_float_eq(compare.rows[0].log_ratio[0], (log(1.05) + log(1.06)) / 2, 1e-12);
	cr_assert(has_flag(&compare.rows[0], "incomplete-blocks"));
}

/* ---- tables ------------------------------------------------------------------------------------------ */

/* What `ycsb --summary` writes: a row a run, then its operations. */
Test(compare, the_summary_of_ycsb)
{
	evaluate("arm,file,run,client,phase,threads,operation,throughput_ops_s,mean_us,p95_us,valid\n"
		 "a,x.txt,1,,load,4,OVERALL,999,1,,1\n"
		 "a,x.txt,2,,run,4,OVERALL,100,40,,1\na,x.txt,2,,run,4,READ,50,39,70,1\n"
		 "a,x.txt,2,,run,4,READ-FAILED,1,5,9,1\n"
		 "b,y.txt,1,,run,4,OVERALL,110,36,,1\nb,y.txt,1,,run,4,READ,55,35,60,1\n");
	cr_assert_eq(compare.run_count, 3);
	cr_assert_eq(compare.runs[0].use, RUN_LOAD);
	cr_assert_eq(compare.row_count, 3,
		     "throughput, READ mean and p95; no latency of OVERALL beside READ's");
	cr_assert_str_eq(compare.rows[2].operation, "READ");
	cr_assert_float_eq(compare.rows[2].ratio.ratio, 60.0 / 70, 1e-12);
	cr_assert_float_eq(compare.runs[1].mean_us, 40, 0);
}

Test(compare, columns_by_other_names_and_units)
{
	cr_assert(read_table("\xef\xbb\xbfvariant;\"thr\";\"ops; all\";P95\r\n\"on "
			     "\"\"x\"\"\";4;10;1.5\r\n\r\noff;4;11;2\r\n",
			     "arm=variant,threads=thr,throughput_ops_s=ops; all,p95_ms=P95"),
		  "%s", error.text);
	cr_assert_str_eq(compare.arms[0].label, "on \"x\"");
	cr_assert_eq(compare.runs[0].threads, 4);
	cr_assert_float_eq(run_value(&compare.runs[0], COMPARE_OVERALL, METRIC_P95, NULL), 1500, 1e-9);
}

Test(compare, tables_that_cannot_be_read)
{
	static const struct {
		const char *text, *columns, *says;
		enum error_code code;
	} cases[] = {
		{HEADER "a,4,ten\n", NULL, "line 2: 'ten' is no number", ERROR_INPUT},
		{HEADER "a,4,-1\n", NULL, "line 2: '-1' is below 0", ERROR_INPUT},
		{HEADER "a,4.5,1\n", NULL, "line 2: '4.5' is no whole number", ERROR_INPUT},
		{HEADER "a,4,10\n", NULL, "two arms or more", ERROR_USAGE},
		{"arm,threads\na,4\n", NULL, "no column holds anything to compare", ERROR_INPUT},
		{"threads,throughput_ops_s\n4,1\n", NULL, "no column 'arm'", ERROR_INPUT},
		{HEADER "a,4,10\n", "mean_us=latency", "there is no column 'latency'", ERROR_INPUT},
		{HEADER "a,4,10\n", "speed=threads", "'speed' is nothing that is compared", ERROR_USAGE},
		{HEADER "a,4,10\n", "threads", "--columns takes KEY=COLUMN", ERROR_USAGE},
		{"", NULL, "the file is empty", ERROR_INPUT},
		{HEADER "a,4,10\nb,4,10\n\"c,4,10\n", NULL, "ends within quotes", ERROR_INPUT},
		{"phase,arm,throughput_ops_s,valid\nrun,a,1,0\nrun,b,1,0\n", NULL, "no run that can be used",
		 ERROR_INPUT},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		start();
		cr_assert_not(read_table(cases[i].text, cases[i].columns), "%s", cases[i].text);
		cr_assert(strstr(error.text, cases[i].says), "%s: %s", cases[i].text, error.text);
		cr_assert_eq(error.code, cases[i].code, "%s", cases[i].text);
		compare_free(&compare);
	}
}

Test(compare, labels_have_a_length)
{
	size_t arm;
	char label[COMPARE_LABEL_BYTES + 1];
	memset(label, 'x', sizeof label);
	label[COMPARE_LABEL_BYTES] = 0;
	cr_assert_not(compare_arm(&compare, label, &arm, &error));
	cr_assert_not(compare_arm(&compare, "", &arm, &error));
	for (int i = 0; i < COMPARE_ARMS_MAX; i++) {
		snprintf(label, sizeof label, "%d", i);
		cr_assert(compare_arm(&compare, label, &arm, &error));
	}
	cr_assert(compare_arm(&compare, "3", &arm, &error));
	cr_assert_eq(arm, 3);
	cr_assert_not(compare_arm(&compare, "one more", &arm, &error));
}

Test(compare, keys_of_the_treatment_cover_what_lies_below)
{
	cr_assert(config_is_treatment("glibc,thp", "thp.enabled"));
	cr_assert(config_is_treatment("thp.khugepaged", "thp.khugepaged/defrag"));
	cr_assert_not(config_is_treatment("thp", "thp_after"));
	cr_assert_not(config_is_treatment("thp.enabled", "thp"));
	cr_assert_not(config_is_treatment(NULL, "thp"));
	cr_assert_not(config_is_treatment("", ""));
}
