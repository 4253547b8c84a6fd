/* The compare command from end to end: exit status, every form of output, arms from the command line. */
#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "analyzer/command.h"
#include "tests/unit/support_campaign.h"

#define ARGUMENTS_MAX 24

static char out_path[512];

static void start(void)
{
	cr_redirect_stdout();
	cr_redirect_stderr();
	snprintf(out_path, sizeof out_path, "%s", support_path("out"));
}

TestSuite(cmd_compare, .init = start);

/* "compare -o out_path" and arguments up to a NULL. */
static int compare(const char *first, ...)
{
	char *argv[ARGUMENTS_MAX] = {"compare", "-o", out_path};
	int argc = 3;
	va_list arguments;
	va_start(arguments, first);
	for (const char *argument = first; argument && argc < ARGUMENTS_MAX - 1;
	     argument = va_arg(arguments, const char *))
		argv[argc++] = (char *)argument;
	va_end(arguments);
	return cmd_compare(argc, argv);
}

static json_t *read_json(void)
{
	json_error_t error;
	json_t *root = json_load_file(out_path, 0, &error);
	cr_assert_not_null(root, "%s", error.text);
	return root;
}

static const char *text_of(json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

static double real(json_t *object, const char *key)
{
	json_t *value = json_object_get(object, key);
	cr_assert_not_null(value, "no %s", key);
	return json_is_number(value) ? json_number_value(value) : NAN;
}

static json_t *row(json_t *root, size_t index)
{
	return json_array_get(json_object_get(root, "rows"), index);
}

/* Three blocks at two levels; on is slower by 10%, with a little noise. */
static void make_campaign(void)
{
	static const double noise[] = {1, 1.004, 0.997, 1.002, 0.999, 1.003};
	unsigned number = 1;
	campaign_start("[\"off\",\"on\"]", "[\"thp\"]");
	for (unsigned block = 1; block <= 6; block++) {
		for (unsigned threads = 2; threads <= 4; threads *= 2) {
			double ops_s = 5000 * threads * noise[block - 1];
			campaign_add(&(struct campaign_run){number++, block, threads, "off", ops_s, false,
							    NULL, "\"thp\":{\"enabled\":\"never\"}"});
			campaign_add(&(struct campaign_run){number++, block, threads, "on",
							    ops_s * 0.9 * noise[(block + 2) % 6], false, NULL,
							    "\"thp\":{\"enabled\":\"always\"}"});
		}
	}
}

/* ---- JSON -------------------------------------------------------------------------------------------- */

Test(cmd_compare, json_of_a_campaign)
{
	make_campaign();
	cr_assert_eq(compare("--json", campaign_folder, NULL), 0);
	json_t *root = read_json(), *arms = json_object_get(root, "arms");
	cr_assert_str_eq(json_string_value(json_array_get(arms, 0)), "off");
	cr_assert_eq(json_array_size(json_object_get(root, "rows")), 2 * 5,
		     "throughput; mean and p95 of two operations; no p99, which is not printed");
	json_decref(root);
}

Test(cmd_compare, fields_of_a_row)
{
	make_campaign();
	cr_assert_eq(compare("--json", "--metrics=throughput", campaign_folder, NULL), 0);
	json_t *root = read_json(), *first = row(root, 0), *base = json_object_get(first, "base");
	cr_assert_str_eq(text_of(first, "workload"), "workloada");
	cr_assert_eq(json_integer_value(json_object_get(first, "threads")), 2);
	cr_assert_str_eq(text_of(first, "operation"), "OVERALL");
	cr_assert_str_eq(text_of(first, "metric"), "throughput_ops_s");
	cr_assert_str_eq(text_of(base, "label"), "off");
	cr_assert_eq(json_integer_value(json_object_get(base, "n")), 6);
	cr_assert_eq(json_array_size(json_object_get(base, "values")), 6);
	cr_assert(real(base, "min") <= real(base, "center") && real(base, "center") <= real(base, "max"));
	cr_assert_float_eq(real(first, "ratio"), 0.9, 0.005);
	cr_assert(real(first, "ratio_low") < real(first, "ratio") &&
		  real(first, "ratio") < real(first, "ratio_high"));
	cr_assert(real(first, "p") <= real(first, "p_adjusted") && real(first, "p_adjusted") < 0.05);
	cr_assert_str_eq(text_of(first, "verdict"), "slower");
	cr_assert_str_eq(text_of(first, "method"), "paired");
	cr_assert(json_is_array(json_object_get(first, "flags")));
	cr_assert(json_is_null(json_object_get(root, "price")));
	json_t *overall = json_array_get(json_object_get(root, "overall"), 0);
	cr_assert_str_eq(text_of(overall, "unit"), "block");
	cr_assert_str_eq(text_of(overall, "verdict"), "slower");
	cr_assert_eq(json_array_size(json_object_get(root, "knee")), 2);
	json_t *difference = json_array_get(json_object_get(root, "differences"), 0);
	cr_assert_str_eq(text_of(difference, "key"), "thp.enabled");
	cr_assert_eq(json_array_size(json_object_get(root, "runs")), 24);
	json_decref(root);
}

/* ---- exit status ------------------------------------------------------------------------------------- */

Test(cmd_compare, a_base_that_no_run_is_of)
{
	make_campaign();
	cr_assert_eq(compare("--base=neither", campaign_folder, NULL), 2);
}

Test(cmd_compare, fail_if_slower)
{
	make_campaign();
	cr_assert_eq(compare("--fail-if=slower:5", campaign_folder, NULL), ERROR_NEGATIVE);
	cr_assert_eq(compare("--fail-if=slower:12", campaign_folder, NULL), 0, "by 10%% only");
	cr_assert_eq(compare("--fail-if=slower:0", "--base=on", campaign_folder, NULL), 0,
		     "with on as the base, off is faster");
}

Test(cmd_compare, wrong_usage)
{
	make_campaign();
	static const char *const wrong[] = {"--center=third",	  "--metrics=speed",  "--fail-if=faster:3",
					    "--fail-if=slower:x", "--equivalence=0",  "--price=off=1",
					    "--price=nobody=1",	  "--price=off=free", "--arm=x",
					    "--series=power",	  "--plot=/tmp/a b"};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		cr_assert_eq(compare(wrong[i], campaign_folder, NULL), ERROR_USAGE, "%s", wrong[i]);
	cr_assert_eq(compare(NULL), ERROR_USAGE);
	cr_assert_eq(compare("--json", "--csv", campaign_folder, NULL), ERROR_USAGE);
	cr_assert_eq(compare("/tmp", NULL), ERROR_USAGE);
}

Test(cmd_compare, inputs_that_are_missing_or_left_out)
{
	make_campaign();
	char run[600], gone[600], other[600];
	snprintf(run, sizeof run, "--arm=a=%s/runs/0001/ycsb.txt", campaign_folder);
	snprintf(other, sizeof other, "--arm=b=%s/runs/0002/ycsb.txt", campaign_folder);
	snprintf(gone, sizeof gone, "--arm=a=%s/runs/0999/ycsb.txt", campaign_folder);
	cr_assert_eq(compare(run, other, NULL), 0);
	cr_assert_eq(compare(run, gone, other, NULL), ERROR_INPUT);
	cr_assert_eq(compare(gone, other, NULL), ERROR_INPUT);
}

Test(cmd_compare, an_output_that_is_an_input_is_refused)
{
	make_campaign();
	char argument[700], other[700];
	snprintf(out_path, sizeof out_path, "%.400s/runs/0001/ycsb.txt", campaign_folder);
	snprintf(argument, sizeof argument, "--arm=a=%s", out_path);
	snprintf(other, sizeof other, "--arm=b=%s/runs/0002/ycsb.txt", campaign_folder);
	cr_assert_eq(compare(argument, other, NULL), ERROR_USAGE);
}

/* ---- arms -------------------------------------------------------------------------------------------- */

Test(cmd_compare, files_behind_an_arm_are_its_own)
{
	make_campaign();
	char path[5][600], arm[620], pattern[640];
	for (unsigned i = 0; i < 5; i++)
		snprintf(path[i], sizeof path[i], "%s/runs/%04u/ycsb.txt", campaign_folder, i * 4 + 1);
	snprintf(arm, sizeof arm, "x=%s", path[0]);
	snprintf(pattern, sizeof pattern, "--arm=y=%s/runs/000[26]/ycsb.txt", campaign_folder);
	cr_assert_eq(compare("--arm", arm, path[1], path[2], pattern, "--json", "--metrics=throughput", NULL),
		     0);
	json_t *root = read_json(), *first = row(root, 0);
	cr_assert_eq(json_integer_value(json_object_get(json_object_get(first, "base"), "n")), 3);
	cr_assert_eq(json_integer_value(json_object_get(json_object_get(first, "arm"), "n")), 2);
	cr_assert_str_eq(text_of(first, "method"), "welch", "files that are named have no blocks");
	json_t *difference = json_array_get(json_object_get(root, "differences"), 0);
	cr_assert_str_eq(text_of(difference, "key"), "thp.enabled", "the manifest beside a file is read");
	cr_assert(json_is_false(json_object_get(difference, "treatment")));
	json_decref(root);
}

/* ---- forms ------------------------------------------------------------------------------------------- */

static char *output(const char *path)
{
	size_t bytes;
	char *data = (char *)support_read_file(path, &bytes), *text = realloc(data, bytes + 1);
	cr_assert_not_null(text);
	text[bytes] = 0;
	return text;
}

/* Text is wrapped wherever a line is full: blanks and line ends are alike. */
static void unwrap(char *text)
{
	char *out = text;
	for (const char *at = text; *at; at++)
		if (*at != ' ' && *at != '\n')
			*out++ = *at;
		else if (out == text || out[-1] != ' ')
			*out++ = ' ';
	*out = 0;
}

static void holds(const char *path, const char *part)
{
	char *text = output(path);
	unwrap(text);
	cr_assert(strstr(text, part), "\"%s\" is not in %s: %.300s", part, path, text);
	free(text);
}

Test(cmd_compare, text_and_markdown)
{
	make_campaign();
	cr_assert_eq(compare("--price=off=1", "--price=on=2", campaign_folder, NULL), 0);
	holds(out_path, "off (the base): 12 runs");
	holds(out_path, "on slower by ");
	holds(out_path, "sweet spot 4 threads");
	holds(out_path, "Operations per dollar");
	holds(out_path, "runs an arm for 2%");
	cr_assert_eq(compare("--markdown", campaign_folder, NULL), 0);
	holds(out_path, "# Comparison ");
	holds(out_path, "| --- | ---: |");
	holds(out_path, "throughput\\_ops\\_s");
}

Test(cmd_compare, csv)
{
	make_campaign();
	cr_assert_eq(compare("--csv", "--metrics=throughput", campaign_folder, NULL), 0);
	char *text = output(out_path), *line = strchr(text, '\n') + 1;
	cr_assert_eq(strncmp(text, "workload,threads,operation,metric,base,base_n,", 46), 0);
	cr_assert_eq(strncmp(line, "workloada,2,OVERALL,throughput_ops_s,off,6,", 43), 0, "%s", line);
	size_t lines = 0;
	for (const char *at = text; *at; at++)
		lines += *at == '\n';
	cr_assert_eq(lines, 3);
	free(text);
}

Test(cmd_compare, a_report_holds_every_form)
{
	static const char *const names[] = {"compare.txt", "compare.md", "compare.csv", "compare.json",
					    "compare.gp"};
	make_campaign();
	char folder[600], option[620], path[700];
	snprintf(folder, sizeof folder, "%s/report", campaign_folder);
	snprintf(option, sizeof option, "--report=%s", folder);
	cr_assert_eq(compare(option, campaign_folder, NULL), 0);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		snprintf(path, sizeof path, "%s/%s", folder, names[i]);
		cr_assert_eq(access(path, R_OK), 0, "%s", names[i]);
	}
	holds(path, "p95 latency, UPDATE");
	holds(path, "with vectors heads");
}

Test(cmd_compare, options_are_shown_in_the_output)
{
	make_campaign();
	cr_assert_eq(compare("--exclude-first", "--trim-warmup", "--paired", "--center=second-best",
			     campaign_folder, NULL),
		     0);
	holds(out_path, "--exclude-first");
	holds(out_path, "--trim-warmup");
	holds(out_path, "--paired");
	holds(out_path, "carries no interval");
	holds(out_path, "2 first");
}
