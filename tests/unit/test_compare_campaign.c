/* A campaign's folder: blocks, what is left out, what its manifests say about the arms. */
#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <math.h>

#include "analyzer/compare_config.h"
#include "analyzer/compare_inputs.h"
#include "analyzer/compare_knee.h"
#include "analyzer/compare_rows.h"
#include "analyzer/compare_series.h"
#include "tests/unit/support_campaign.h"

static struct compare compare;
static struct error error;

static void start(void)
{
	cr_redirect_stderr();
	compare = (struct compare){0};
	error = (struct error){0};
	compare.settings.metrics[METRIC_THROUGHPUT] = true;
	compare.settings.equivalence = 0.02;
	campaign_start("[\"off\",\"on\"]", "[\"thp\"]");
}

static void end(void)
{
	compare_free(&compare);
}

TestSuite(compare_campaign, .init = start, .fini = end);

#define OFF "\"thp\":{\"enabled\":\"never\"},\"machine\":{\"kernel\":\"6.1\"}"
#define ON  "\"thp\":{\"enabled\":\"always\"},\"machine\":{\"kernel\":\"6.1\"}"

/* Two levels, `blocks` blocks that drift by 20% from one to the next; on is faster by 5, 6, 5, 6, ...
 * percent. */
static void add_blocks(unsigned blocks, const char *off, const char *on)
{
	unsigned number = 1;
	for (unsigned b = 1; b <= blocks; b++) {
		double drift = pow(1.2, b), gain = b % 2 ? 1.05 : 1.06;
		for (unsigned threads = 4; threads <= 8; threads *= 2) {
			double ops_s = 1000 * threads * drift;
			campaign_add(
				&(struct campaign_run){number++, b, threads, "off", ops_s, false, NULL, off});
			campaign_add(&(struct campaign_run){number++, b, threads, "on", ops_s * gain, false,
							    NULL, on});
		}
	}
}

static void read_campaign(void)
{
	const char *path = campaign_folder;
	struct compare_request request = {.operands = {&path, 1}};
	cr_assert(compare_read(&request, &compare, &error), "%s: %s", error.file, error.text);
	cr_assert(compare_apply_series(&compare, &error) && compare_config(&compare, &error) &&
			  compare_rows(&compare, &error) && compare_verdicts(&compare, &error) &&
			  compare_knees(&compare, &error),
		  "%s", error.text);
}

static bool has_flag(const struct compare_row *row, const char *id)
{
	for (size_t i = 0; i < row->flag_count; i++)
		if (strcmp(row->flags[i], id) == 0)
			return true;
	return false;
}

/* The drift is eight times the effect, and cancels. */
Test(compare_campaign, runs_are_compared_within_their_block)
{
	add_blocks(6, OFF, ON);
	read_campaign();
	cr_assert_eq(compare.row_count, 2);
	for (size_t i = 0; i < 2; i++) {
		const struct compare_row *row = &compare.rows[i];
		cr_assert_eq(row->ratio.method, RATIO_PAIRED);
		cr_assert_eq(row->ratio.base_n, 6);
		cr_assert_float_eq(row->ratio.ratio, sqrt(1.05 * 1.06), 1e-4);
		cr_assert_eq(row->verdict, VERDICT_FASTER, "%s", row->text);
		cr_assert_str_eq(row->workload, "workloada");
		cr_assert_eq(row->flag_count, 0);
	}
	cr_assert(compare.overall[0].by_block);
	cr_assert_eq(compare.overall[0].ratio.base_n, 6);
	cr_assert_eq(compare.overall[0].verdict, VERDICT_FASTER);
	cr_assert_str_eq(compare.axis, "thp");
}

Test(compare_campaign, treatment_does_not_confound)
{
	add_blocks(3, OFF, ON);
	read_campaign();
	cr_assert_eq(compare.difference_count, 1);
	cr_assert_str_eq(compare.differences[0].key, "thp.enabled");
	cr_assert(compare.differences[0].treatment && compare.differences[0].differs[1]);
	cr_assert_str_eq(compare.differences[0].values[0], "never");
	cr_assert_not(has_flag(&compare.rows[0], "confounded"));
}

Test(compare_campaign, anything_else_that_differs_does)
{
	add_blocks(3, OFF, "\"thp\":{\"enabled\":\"always\"},\"machine\":{\"kernel\":\"6.12\",\"smt\":null}");
	read_campaign();
	cr_assert(has_flag(&compare.rows[0], "confounded"));
	cr_assert(strstr(compare.rows[0].text, "confounded (machine.kernel): "), "%s", compare.rows[0].text);
	compare_free(&compare);
	compare.settings.metrics[METRIC_THROUGHPUT] = true;
	compare.settings.treatment = "thp,machine";
	read_campaign();
	cr_assert_not(has_flag(&compare.rows[0], "confounded"));
}

Test(compare_campaign, what_is_unknown_of_an_arm_is_no_difference)
{
	add_blocks(3, OFF ",\"glibc\":{\"lse\":null}", ON ",\"glibc\":{\"lse\":\"inline-lse\"}");
	read_campaign();
	cr_assert_eq(compare.difference_count, 1);
	cr_assert_str_eq(compare.differences[0].key, "thp.enabled");
}

Test(compare_campaign, warm_ups_and_failed_runs_are_not_used)
{
	add_blocks(3, OFF, ON);
	campaign_add(&(struct campaign_run){50, 1, 4, "off", 1, true, NULL, OFF});
	campaign_add(&(struct campaign_run){51, 3, 4, "on", 2, false, "failed", ON});
	read_campaign();
	size_t uses[RUN_USES] = {0};
	for (size_t i = 0; i < compare.run_count; i++)
		uses[compare.runs[i].use]++;
	cr_assert_eq(uses[RUN_WARMUP], 1);
	cr_assert_eq(uses[RUN_NOT_DONE], 1);
	cr_assert_eq(uses[RUN_USED], 12);
	cr_assert(compare.rows[0].base.min > 1000);
	cr_assert(has_flag(&compare.rows[0], "runs-left-out") && has_flag(&compare.rows[0], "run-failed"));
	cr_assert_not(has_flag(&compare.rows[1], "runs-left-out"));
}

Test(compare_campaign, a_block_without_its_other_arm_counts_for_the_centre_alone)
{
	add_blocks(3, OFF, ON);
	campaign_add(&(struct campaign_run){60, 4, 4, "on", 9000, false, NULL, ON});
	read_campaign();
	const struct compare_row *row = &compare.rows[0];
	cr_assert_eq(row->arm.n, 4);
	cr_assert_eq(row->ratio.base_n, 3);
	cr_assert(has_flag(row, "incomplete-blocks"));
}

Test(compare_campaign, a_damaged_manifest_is_named_and_left_out)
{
	add_blocks(3, OFF, ON);
	campaign_write("runs/0001/manifest.json", "{\"arm\": \"off\",");
	read_campaign();
	cr_assert(compare.inputs_left_out);
	cr_assert_eq(compare.rows[0].base.n, 2);
}

Test(compare_campaign, a_client_that_was_throttled_is_flagged)
{
	add_blocks(2, OFF, ON);
	size_t bytes;
	char path[700], name[64];
	snprintf(name, sizeof name, "runs/0001/ycsb.txt");
	snprintf(path, sizeof path, "%s/%s", campaign_folder, name);
	char *text = (char *)support_read_file(path, &bytes);
	campaign_write(name, "java site.ycsb.Client -t -threads 4 -target 4800 %.*s", (int)bytes, text);
	free(text);
	read_campaign();
	cr_assert(has_flag(&compare.rows[0], "throttled"));
	cr_assert_not(has_flag(&compare.rows[1], "throttled"));
}

Test(compare_campaign, two_campaigns_have_different_blocks)
{
	add_blocks(3, OFF, ON);
	const char *arms[2];
	char off[600], on[600];
	snprintf(off, sizeof off, "x=%s:off", campaign_folder);
	snprintf(on, sizeof on, "y=%s:on", campaign_folder);
	arms[0] = off;
	arms[1] = on;
	struct compare_request request = {.arms = {arms, 2}};
	cr_assert(compare_read(&request, &compare, &error), "%s", error.text);
	cr_assert(compare_rows(&compare, &error));
	cr_assert_eq(compare.rows[0].ratio.method, RATIO_PAIRED, "arms of one campaign, under other labels");
	compare_free(&compare);
	char wrong[700];
	snprintf(wrong, sizeof wrong, "x=%s", campaign_folder);
	arms[0] = wrong;
	cr_assert_not(compare_read(&request, &compare, &error));
	cr_assert_eq(error.code, ERROR_USAGE);
	cr_assert(strstr(error.text, "FOLDER:ARM"), "%s", error.text);
}

Test(compare_campaign, knee)
{
	static const double ops_s[] = {1000, 1900, 1950, 1800};
	for (unsigned i = 0; i < 8; i++)
		campaign_add(&(struct campaign_run){i + 1, 1, 4u << (i / 2), i % 2 ? "on" : "off",
						    ops_s[i / 2] * (i % 2 ? 1.5 : 1), false, NULL, NULL});
	compare.settings.metrics[METRIC_P95] = true;
	read_campaign();
	cr_assert_eq(compare.knee_count, 2);
	const struct compare_knee *knee = &compare.knees[0];
	cr_assert_eq(knee->peak_threads, 16);
	cr_assert_float_eq(knee->peak_ops_s, 1950, 1e-6);
	cr_assert_not(knee->peak_is_last);
	cr_assert_eq(knee->sweet_threads, 8);
	cr_assert_eq(knee->step_count, 3);
	cr_assert_eq(knee->steps[0].from, 4);
	cr_assert_float_eq(knee->steps[0].to_mean_us / knee->steps[0].from_mean_us, 2 * 1000.0 / 1900, 1e-6);
	cr_assert_eq(knee->steps[0].p95_count, 2);
	cr_assert_str_eq(knee->steps[0].p95[1].operation, "UPDATE");
	cr_assert_float_eq(knee->steps[0].p95[1].to_us, 3 * 8e6 / 1900, 1);
}

/* 50 W while off runs, 40 W while on runs; both at their own rates. */
Test(compare_campaign, operations_per_joule)
{
	add_blocks(3, OFF, ON);
	char path[600];
	snprintf(path, sizeof path, "power_mw=%s/power.csv", campaign_folder);
	FILE *file = fopen(strchr(path, '=') + 1, "w");
	cr_assert_not_null(file);
	fputs("time,value\n", file);
	for (long long s = 0; s < 60LL * 14; s++)
		fprintf(file, "%lld,%d\n", CAMPAIGN_START_MS / 1000 + s, (s / 60) % 2 ? 50000 : 40000);
	fclose(file);
	compare.settings.metrics[METRIC_PER_JOULE] = true;
	cr_assert(compare_add_series(&compare, path, &error), "%s", error.text);
	read_campaign();
	cr_assert_eq(compare.row_count, 4);
	const struct compare_row *row = &compare.rows[1];
	cr_assert_eq(row->metric, METRIC_PER_JOULE);
	cr_assert_eq(row->base.n, 3);
	cr_assert_float_eq(row->base.values[0], 4000 * 1.2 / 50, 1e-6);
	cr_assert_float_eq(row->ratio.ratio, 50.0 / 40 * cbrt(1.05 * 1.06 * 1.05), 1e-4);
	cr_assert_eq(row->ratio.method, RATIO_PAIRED);
}
