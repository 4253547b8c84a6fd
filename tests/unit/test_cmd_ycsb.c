/* The ycsb command from end to end: exit status, JSON, text, the campaign's summary. */
#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/command.h"
#include "tests/unit/support_trace.h"

static char out_path[256], input_path[256];

static void start(void)
{
	cr_redirect_stdout();
	cr_redirect_stderr();
	snprintf(out_path, sizeof out_path, "%s", support_path("out"));
	snprintf(input_path, sizeof input_path, "%s", support_path("in-threads-2.txt"));
}

TestSuite(cmd_ycsb, .init = start);

#define READ_GOLDEN "tests/golden/ycsb/java-0.17-run.txt"

static void write_input(const char *text)
{
	support_write_file(input_path, text, strlen(text));
}

/* Runs the command with -o out_path and up to three further arguments. */
static int ycsb(const char *a, const char *b, const char *c)
{
	char *argv[] = {"ycsb", "-o", out_path, (char *)a, (char *)b, (char *)c, NULL};
	int argc = 3 + (a != NULL) + (b != NULL) + (c != NULL);
	return cmd_ycsb(argc, argv);
}

static char *text_of_file(const char *path)
{
	size_t bytes;
	char *data = (char *)support_read_file(path, &bytes);
	char *text = realloc(data, bytes + 1);
	cr_assert_not_null(text);
	text[bytes] = 0;
	return text;
}

static json_t *run_of(json_t *root, size_t file, size_t run)
{
	json_t *files = json_object_get(root, "files");
	return json_array_get(json_object_get(json_array_get(files, file), "runs"), run);
}

static json_t *read_json(void)
{
	json_error_t error;
	json_t *root = json_load_file(out_path, 0, &error);
	cr_assert_not_null(root, "%s", error.text);
	return root;
}

static double real(json_t *object, const char *key)
{
	json_t *value = json_object_get(object, key);
	cr_assert_not_null(value, "no %s", key);
	return json_is_number(value) ? json_number_value(value) : NAN;
}

static bool has_flag(json_t *run, const char *id)
{
	json_t *flags = json_object_get(run, "flags");
	for (size_t i = 0; i < json_array_size(flags); i++)
		if (strcmp(json_string_value(json_array_get(flags, i)), id) == 0)
			return true;
	return false;
}

/* ---- JSON -------------------------------------------------------------------------------------------- */

Test(cmd_ycsb, json_of_a_run)
{
	cr_assert_eq(ycsb("--json", "--ycsb-offset=0", READ_GOLDEN), 0);
	json_t *root = read_json(), *run = run_of(root, 0, 0);
	json_t *file = json_array_get(json_object_get(root, "files"), 0);
	cr_assert_str_eq(json_string_value(json_object_get(file, "file")), READ_GOLDEN);
	cr_assert_str_eq(json_string_value(json_object_get(file, "format")), "java-text");
	cr_assert_str_eq(json_string_value(json_object_get(run, "phase")), "run");
	cr_assert_str_eq(json_string_value(json_object_get(run, "threads_source")), "command line");
	cr_assert(json_is_true(json_object_get(run, "complete")));
	cr_assert_eq(json_integer_value(json_object_get(run, "threads")), 4);
	cr_assert_float_eq(real(run, "throughput_ops_s"), 2726.446531354135, 1e-9);
	cr_assert_float_eq(real(run, "error_rate"), 10.0 / 9000, 1e-12);
	json_t *read = json_object_get(json_object_get(run, "operations"), "READ");
	cr_assert_eq(json_integer_value(json_object_get(read, "count")), 8490);
	cr_assert_float_eq(real(read, "p99_us"), 1900, 0);
	cr_assert_float_eq(real(json_object_get(read, "percentiles_us"), "99.9"), 4100, 0);
	cr_assert_eq(json_integer_value(json_object_get(json_object_get(read, "returns"), "NOT_FOUND")), 10);
	json_t *point = json_array_get(json_object_get(run, "series"), 0);
	cr_assert_float_eq(real(point, "t_s"), 1.001, 1e-9);
	cr_assert_float_eq(real(point, "ops_s"), 2000, 1e-9);
	cr_assert(has_flag(run, "errors") && has_flag(run, "not-found"));
	json_decref(root);
}

Test(cmd_ycsb, what_is_not_known_is_null)
{
	write_input("[OVERALL], RunTime(ms), 1000\n[OVERALL], Throughput(ops/sec), NaN\n[READ], Operations, "
		    "5\n");
	cr_assert_eq(ycsb("--json", input_path, NULL), 0);
	json_t *root = read_json(), *run = run_of(root, 0, 0);
	json_t *read = json_object_get(json_object_get(run, "operations"), "READ");
	static const char *const of_run[] = {"phase", "throughput_ops_s", "error_rate", "threads_busy",
					     "record_count"};
	static const char *const of_read[] = {"mean_us", "min_us", "max_us",	   "p50_us",
					      "p95_us",	 "p99_us", "resolution_us"};
	for (size_t i = 0; i < sizeof of_run / sizeof *of_run; i++)
		cr_assert(json_is_null(json_object_get(run, of_run[i])), "%s", of_run[i]);
	for (size_t i = 0; i < sizeof of_read / sizeof *of_read; i++)
		cr_assert(json_is_null(json_object_get(read, of_read[i])), "%s", of_read[i]);
	cr_assert_eq(json_integer_value(json_object_get(run, "threads")), 2, "of the file's name");
	cr_assert_str_eq(json_string_value(json_object_get(run, "threads_source")), "file name");
	json_decref(root);
}

Test(cmd_ycsb, a_name_that_is_no_utf8_is_kept)
{
	write_input("[R\xc3], Operations, 5\n[R\xc3], Return=\xff, 5\n[OVERALL], RunTime(ms), 1000\n");
	cr_assert_eq(ycsb("--json", input_path, NULL), 0);
	json_t *root = read_json(), *run = run_of(root, 0, 0);
	json_t *operation = json_object_get(json_object_get(run, "operations"), "R?");
	cr_assert_eq(json_integer_value(json_object_get(operation, "count")), 5);
	cr_assert_eq(json_integer_value(json_object_get(json_object_get(operation, "returns"), "?")), 5);
	json_decref(root);
}

Test(cmd_ycsb, clients_of_one_run)
{
	write_input("Command line: -t -threads 2\n[OVERALL], RunTime(ms), 1000\n[OVERALL], "
		    "Throughput(ops/sec), 50.0\n[READ], Operations, 50\n");
	cr_assert_eq(ycsb("--json", "--clients", input_path), 0);
	json_t *root = read_json();
	cr_assert_eq(json_array_size(json_object_get(root, "together")), 0, "one client is no group");
	json_decref(root);
	char other[256];
	snprintf(other, sizeof other, "%s", support_path("other"));
	char *argv[] = {"ycsb", "-o", out_path, "--json", "--clients", input_path, other, NULL};
	const char *text = "[OVERALL], RunTime(ms), 1000\n[OVERALL], Throughput(ops/sec), 70.0\n[READ], "
			   "Operations, 70\n";
	support_write_file(other, text, strlen(text));
	cr_assert_eq(cmd_ycsb(7, argv), 0);
	root = read_json();
	json_t *run = json_array_get(json_object_get(root, "together"), 0);
	cr_assert_eq(json_integer_value(json_object_get(run, "clients")), 2);
	cr_assert_float_eq(real(run, "throughput_ops_s"), 120, 0);
	cr_assert_eq(json_array_size(json_object_get(root, "files")), 2);
	json_decref(root);
}

/* ---- bad input --------------------------------------------------------------------------------------- */

Test(cmd_ycsb, a_line_that_cannot_be_read_is_named_and_the_rest_used)
{
	write_input("[OVERALL], RunTime(ms), 1000\n[OVERALL], Throughput(ops/sec), 5.0\n"
		    "[READ], Operations, five\n[UPDATE], Operations, 5\n");
	cr_assert_eq(ycsb("--json", input_path, NULL), ERROR_INPUT);
	json_t *root = read_json();
	json_t *operations = json_object_get(run_of(root, 0, 0), "operations");
	cr_assert_not_null(json_object_get(operations, "UPDATE"));
	json_decref(root);
	fflush(stderr);
	char said[4096];
	snprintf(said, sizeof said,
		 "mtrace-analyze: %s: offset 65: cannot read line 3, \"[READ], Operations, "
		 "five\"; the rest of the file was used\n",
		 input_path);
	cr_assert_stderr_eq_str(said);
}

Test(cmd_ycsb, a_foreign_file_among_others)
{
	write_input("\nno such thing\n");
	cr_assert_eq(ycsb("--json", input_path, READ_GOLDEN), ERROR_INPUT);
	json_t *root = read_json();
	cr_assert_eq(json_array_size(json_object_get(root, "files")), 1);
	json_decref(root);
	unlink(out_path);
	cr_assert_eq(ycsb(input_path, NULL, NULL), ERROR_INPUT);
	cr_assert_neq(access(out_path, F_OK), 0, "nothing to print, nothing written");
	cr_assert_eq(ycsb("/nonexistent/x", NULL, NULL), ERROR_INPUT);
}

Test(cmd_ycsb, wrong_usage)
{
	cr_assert_eq(ycsb(NULL, NULL, NULL), ERROR_USAGE);
	cr_assert_eq(ycsb("--ycsb-offset=99999", READ_GOLDEN, NULL), ERROR_USAGE);
	cr_assert_eq(ycsb("--ycsb-start=noon", READ_GOLDEN, NULL), ERROR_USAGE);
	cr_assert_eq(ycsb("--summary=x'y", READ_GOLDEN, NULL), ERROR_USAGE);
	cr_assert_eq(ycsb("--summary=/tmp/", READ_GOLDEN, NULL), ERROR_USAGE);
	cr_assert_neq(access(out_path, F_OK), 0, "said before anything is written");
}

Test(cmd_ycsb, an_input_is_never_overwritten)
{
	char prefix[300], csv[310];
	snprintf(prefix, sizeof prefix, "%s", support_path("sum"));
	snprintf(csv, sizeof csv, "%s.csv", prefix);
	support_write_file(csv, "[OVERALL], RunTime(ms), 1\n", 26);
	char option[320];
	snprintf(option, sizeof option, "--summary=%s", prefix);
	cr_assert_eq(ycsb(option, csv, NULL), ERROR_USAGE);
	char *kept = text_of_file(csv);
	cr_assert_str_eq(kept, "[OVERALL], RunTime(ms), 1\n");
	free(kept);
}

/* ---- text -------------------------------------------------------------------------------------------- */

Test(cmd_ycsb, text_says_what_the_json_says)
{
	cr_assert_eq(ycsb("--series", "--ycsb-offset=0", READ_GOLDEN), 0);
	char *text = text_of_file(out_path);
	static const char *const wanted[] = {"YCSB 0.17.0",
					     "phase        run, 4 threads (command line)",
					     "2726.4 ops/s",
					     "9,000 operations",
					     "0.111% failed",
					     "READ NOT_FOUND 10",
					     "8,490",
					     "2026-05-31T12:00:01.101Z",
					     "warning      errors"};
	for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
		cr_assert(strstr(text, wanted[i]), "no \"%s\" in: %s", wanted[i], text);
	free(text);
}

Test(cmd_ycsb, no_terminal_is_driven_by_names)
{
	write_input("[A\x1b]0;x\x07], Operations, 5\n[OVERALL], RunTime(ms), 1000\n");
	cr_assert_eq(ycsb(input_path, NULL, NULL), 0);
	char *text = text_of_file(out_path);
	cr_assert_null(strchr(text, '\x1b'));
	cr_assert_null(strchr(text, '\x07'));
	free(text);
}

/* ---- summary ----------------------------------------------------------------------------------------- */

/* A run whose threads were busy throughout: count operations of mean_us in one second. */
static void write_run(FILE *file, unsigned threads, const char *phase, unsigned count)
{
	fprintf(file,
		"Command line: %s -threads %u\n[OVERALL], RunTime(ms), 1000\n[OVERALL], Throughput(ops/sec), "
		"%u.0\n"
		"[READ], Operations, %u\n[READ], AverageLatency(us), %u\n[READ], 95thPercentileLatency(us), "
		"777\n[READ], Return=OK, %u\n",
		phase, threads, count, count, threads * 1000000 / count, count);
}

static char prefix[300];

static void write_summary(void)
{
	char option[320];
	FILE *file = fopen(input_path, "w");
	cr_assert_not_null(file);
	write_run(file, 2, "-load", 100);
	write_run(file, 2, "-t", 1000);
	write_run(file, 2, "-t", 3000);
	write_run(file, 8, "-t", 4000);
	fputs("Command line: -t -threads 8\n2026-05-31 12:00:00:000 0 sec: 0 operations; \n"
	      "2026-05-31 12:00:01:000 1 sec: 7 operations; \n",
	      file);
	fclose(file);
	snprintf(prefix, sizeof prefix, "%s", support_path("sum"));
	snprintf(option, sizeof option, "--summary=%s", prefix);
	cr_assert_eq(ycsb("--brief", option, input_path), 0);
}

Test(cmd_ycsb, summary_csv)
{
	char path[320], row[400];
	write_summary();
	snprintf(path, sizeof path, "%s.csv", prefix);
	char *text = text_of_file(path);
	cr_assert_eq(strncmp(text, "file,run,client,phase,threads,operation,throughput_ops_s,", 57), 0);
	size_t lines = 0;
	for (char *c = text; *c; c++)
		lines += *c == '\n';
	cr_assert_eq(lines, 1 + 4 * 2 + 1, "%s", text);
	/* The level of the name and the command line agree for 2 threads, so no flag there. */
	snprintf(row, sizeof row, "\n%s,2,,run,2,OVERALL,1000,1000,2000,,,,,,1000,0,command line,2,1,1,\n",
		 input_path);
	cr_assert(strstr(text, row), "%s", text);
	snprintf(row, sizeof row, "\n%s,3,,run,2,READ,3000,3000,666,,,777,,,,,,,1,1,\n", input_path);
	cr_assert(strstr(text, row), "%s", text);
	free(text);
}

Test(cmd_ycsb, summary_plot_leaves_out_loads_and_broken_runs)
{
	char path[320];
	write_summary();
	snprintf(path, sizeof path, "%s.gp", prefix);
	char *text = text_of_file(path);
	cr_assert(strstr(text, "3 runs against threads (1 left out"), "%s", text);
	/* Throughput: 1000 and 3000 at 2 threads, whose median is 2000, and 4000 at 8. */
	cr_assert(strstr(text, "$points_0_0 << EOD\n 2 1000\n 2 3000\n 8 4000\nEOD\n"), "%s", text);
	cr_assert(strstr(text, "$medians_0_0 << EOD\n 2 2000\n 8 4000\nEOD\n"), "%s", text);
	cr_assert(strstr(text, "$points_2_0 << EOD\n 2 777\n 2 777\n 8 777\nEOD\n"), "%s", text);
	free(text);
	struct stat drawn;
	snprintf(path, sizeof path, "%s.svg", prefix);
	if (access("/usr/bin/gnuplot", X_OK) == 0)
		cr_assert(stat(path, &drawn) == 0 && drawn.st_size > 1000);
}
