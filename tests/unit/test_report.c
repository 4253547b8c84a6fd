/* The report command from end to end: a synthetic run goes in, and what was written is read back. */
#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/command.h"
#include "analyzer/report_html.h"
#include "analyzer/series.h"
#include "tests/unit/support_report.h"

#define SECONDS 60

/* Paths stay valid while few others are asked for. */
static char trace_path[256], client_path[256], out_path[256];

static void start(void)
{
	cr_redirect_stdout();
	cr_redirect_stderr();
	snprintf(trace_path, sizeof trace_path, "%s", support_path("run.mtr"));
	snprintf(client_path, sizeof client_path, "%s", support_path("<b>client&'\",.txt"));
	snprintf(out_path, sizeof out_path, "%s", support_path("deep/er/out"));
}

TestSuite(report, .init = start);

static void write_client(uint64_t first, uint64_t seconds, long zone_s)
{
	FILE *file = fopen(client_path, "w");
	cr_assert_not_null(file);
	run_client(file, first, seconds, 1, zone_s, false);
	fclose(file);
}

static int report(const char *option, const char *value)
{
	char *argv[] = {"report",	 trace_path, "-o",	     out_path,	    "--ycsb", client_path,
			"--ycsb-offset", "0",	     (char *)option, (char *)value, NULL};
	int argc = 8 + (option != NULL) + (value != NULL);
	return cmd_report(argc, argv);
}

static char *read_text(const char *name)
{
	char path[512];
	size_t bytes;
	snprintf(path, sizeof path, "%s/%s", out_path, name);
	char *text = (char *)support_read_file(path, &bytes);
	text[bytes] = 0;
	return text;
}

static bool written(const char *name)
{
	char path[512];
	struct stat there;
	snprintf(path, sizeof path, "%s/%s", out_path, name);
	return stat(path, &there) == 0 && there.st_size > 0;
}

static json_t *read_json(void)
{
	json_error_t wrong;
	char *text = read_text("report.json");
	json_t *object = json_loads(text, 0, &wrong);
	cr_assert_not_null(object, "line %d: %s", wrong.line, wrong.text);
	free(text);
	return object;
}

/* The entry of an array whose `key` is `value`; NULL where there is none. */
static json_t *entry(json_t *object, const char *array, const char *key, const char *value)
{
	size_t i;
	json_t *item;
	json_array_foreach (json_object_get(object, array), i, item) {
		const char *text = json_string_value(json_object_get(item, key));
		if (text && strcmp(text, value) == 0)
			return item;
	}
	return NULL;
}

static const char *finding(json_t *object, const char *id)
{
	return json_string_value(json_object_get(entry(object, "findings", "id", id), "text"));
}

static double number(json_t *object, const char *key)
{
	json_t *value = json_object_get(object, key);
	cr_assert(json_is_number(value), "%s is no number", key);
	return json_number_value(value);
}

/* ---- what is written --------------------------------------------------------------------------------- */

Test(report, json_holds_what_the_run_was)
{
	run_trace(trace_path, SECONDS);
	write_client(5, 50, 0);
	cr_assert_eq(report(NULL, NULL), 0);
	json_t *object = read_json();
	double allocs = 0;
	for (uint64_t k = 0; k < SECONDS; k++)
		allocs += load_of(k);
	json_t *info = json_object_get(object, "info");
	cr_assert_eq(number(info, "pid"), 4242);
	cr_assert_eq(number(info, "lost"), 0);
	cr_assert_eq(number(info, "allocs"), allocs);
	cr_assert_eq(number(info, "live_bytes_peak"), (SECONDS + 1) * RUN_BLOCK_BYTES);
	cr_assert_eq(json_array_size(json_object_get(object, "traces")), 1);
	cr_assert_eq(json_array_size(json_object_get(object, "series")),
		     SERIES_SERVER_FIRST); /* they are last */
	json_t *series = entry(object, "series", "name", "allocs_per_s");
	cr_assert_eq(number(series, "points"), SECONDS);
	cr_assert_str_eq(json_string_value(json_object_get(series, "unit")), "calls/s");
	cr_assert(json_is_null(json_object_get(entry(object, "series", "name", "anon_huge_bytes"), "mean")),
		  "unknown is null");
	cr_assert(json_is_null(json_object_get(object, "hugepages")));
	json_t *runs = json_object_get(
		json_array_get(json_object_get(json_object_get(object, "ycsb"), "files"), 0), "runs");
	cr_assert_str_eq(json_string_value(json_object_get(json_array_get(runs, 0), "phase")), "run");
	cr_assert_eq(number(json_array_get(runs, 0), "threads"), 4);
	json_decref(object);
}

Test(report, correlations_with_words)
{
	run_trace(trace_path, SECONDS);
	write_client(5, 50, 0);
	report(NULL, NULL);
	json_t *object = read_json();
	json_t *allocs = entry(object, "correlations", "series", "allocs_per_s");
	cr_assert_str_eq(json_string_value(json_object_get(allocs, "verdict")), "moves with throughput");
	cr_assert_gt(number(allocs, "spearman"), 0.99);
	cr_assert_eq(number(allocs, "lag_s"), 0);
	cr_assert_lt(number(allocs, "p_adjusted"), 0.001);
	cr_assert_gt(number(allocs, "lag_max_s"), 4);
	cr_assert_leq(number(allocs, "lag_max_s"), 10);
	json_t *faults = entry(object, "correlations", "series", "minor_faults_per_s");
	cr_assert_str_eq(json_string_value(json_object_get(faults, "verdict")), "no support in this data");
	json_t *rss = entry(object, "correlations", "series", "rss_bytes");
	cr_assert_str_eq(json_string_value(json_object_get(rss, "verdict")), "unusable: never changes");
	cr_assert(json_is_null(json_object_get(rss, "spearman")));
	cr_assert(json_is_null(json_object_get(rss, "p_adjusted")));
	cr_assert(json_is_null(json_object_get(rss, "lag_max_s")));
	cr_assert_not_null(strstr(finding(object, "series-unusable"), "rss_bytes"));
	json_decref(object);
	char *text = read_text("summary.txt");
	cr_assert_not_null(strstr(text, "no support in this data"));
	cr_assert_not_null(strstr(text, "client clock"), "what was used as the client's zone is printed");
	free(text);
}

Test(report, phases_and_levels_are_segments)
{
	run_trace(trace_path, SECONDS);
	FILE *file = fopen(client_path, "w");
	run_client(file, 2, 25, 1, 0, true);
	run_client(file, 30, 25, 1, 0, false);
	fclose(file);
	cr_assert_eq(report(NULL, NULL), 0);
	json_t *object = read_json();
	json_t *segments = json_object_get(object, "segments");
	cr_assert_eq(json_array_size(segments), 2);
	cr_assert_str_eq(json_string_value(json_object_get(json_array_get(segments, 0), "name")),
			 "load, 4 threads");
	cr_assert_eq(number(json_array_get(segments, 1), "start_s"), 30);
	cr_assert_not_null(entry(object, "correlations", "segment", "run, 4 threads"),
			   "each by itself, beside the pooled");
	json_decref(object);
}

static unsigned count_fields(const char *line)
{
	unsigned fields = 1;
	bool quoted = false;
	for (; *line && *line != '\n'; line++) {
		quoted ^= *line == '"';
		fields += *line == ',' && !quoted;
	}
	return fields;
}

static unsigned check_table(const char *name)
{
	char *text = read_text(name);
	unsigned wanted = count_fields(text), lines = 0;
	for (char *line = text; *line; line = strchr(line, '\n') + 1, lines++)
		cr_assert_eq(count_fields(line), wanted, "%s, line %u", name, lines + 1);
	free(text);
	return lines - 1;
}

Test(report, tables_are_well_formed)
{
	run_trace(trace_path, SECONDS);
	write_client(5, 50, 0);
	report(NULL, NULL);
	cr_assert_eq(check_table("series.csv"), SECONDS);
	cr_assert_eq(check_table("aligned.csv"), 50);
	cr_assert_eq(check_table("sites.csv"), SECONDS);
	cr_assert_eq(check_table("sizes.csv"), 1);
	cr_assert_gt(check_table("correlations.csv"), 15);
	char *text = read_text("series.csv");
	cr_assert_not_null(strstr(text, "\n1,1.000000,2023-11-14T22:13:21.000Z,1.000000,"));
	free(text);
}

Test(report, page_loads_nothing_and_runs_nothing)
{
	run_trace(trace_path, SECONDS);
	write_client(5, 50, 0);
	report(NULL, NULL);
	char *page = read_text("index.html");
	cr_assert_null(strstr(page, "<script"));
	cr_assert_null(strstr(page, "<b>client"));
	cr_assert_not_null(strstr(page, "&lt;b&gt;client&amp;&#39;&quot;,.txt"),
			   "hostile names are shown as they are");
	cr_assert_null(strstr(page, "src=\"http"));
	cr_assert_null(strstr(page, "href"));
	cr_assert_not_null(strstr(page, "no support in this data"));
	cr_assert_str_eq(page + strlen(page) - 8, "</html>\n");
	free(page);
	char *sites = read_text("sites.csv");
	cr_assert_not_null(strstr(sites, "<script>alert(1)&'\"\"=,@x`id`+0x"), "quotes are doubled");
	free(sites);
}

Test(report, plots_are_drawn_or_their_absence_said)
{
	run_trace(trace_path, SECONDS);
	write_client(5, 50, 0);
	report(NULL, NULL);
	static const char *const names[] = {"overview", "latency", "cpu", "sites", "sizes"};
	json_t *object = read_json();
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		char png[64], svg[64], script[64];
		snprintf(png, sizeof png, "plots/%s.png", names[i]);
		snprintf(svg, sizeof svg, "plots/%s.svg", names[i]);
		snprintf(script, sizeof script, "plots/%s.gp", names[i]);
		cr_assert(written(script));
		if (!finding(object, "no-plots")) {
			cr_assert(written(png) && written(svg), "%s", names[i]);
			cr_assert_not_null(entry(object, "plots", "name", names[i]));
		}
	}
	cr_assert(!finding(object, "no-plots") || strstr(finding(object, "no-plots"), "not installed"), "%s",
		  finding(object, "no-plots"));
	json_decref(object);
}

Test(report, without_gnuplot_the_report_is_written_and_says_so)
{
	run_trace(trace_path, 5);
	write_client(0, 5, 0);
	setenv("PATH", "/nonexistent", 1);
	cr_assert_eq(report(NULL, NULL), 0);
	json_t *object = read_json();
	cr_assert_not_null(strstr(finding(object, "no-plots"), "gnuplot is not installed"));
	json_decref(object);
	cr_assert(written("plots/overview.gp"));
	cr_assert_not(written("plots/overview.png"));
	char *page = read_text("index.html");
	cr_assert_not_null(strstr(page, "gnuplot is not installed"));
	free(page);
}

Test(report, without_client_output)
{
	run_trace(trace_path, 30);
	char *argv[] = {"report", trace_path, "-o", out_path, NULL};
	cr_assert_eq(cmd_report(4, argv), 0);
	json_t *object = read_json();
	cr_assert(json_is_null(json_object_get(object, "ycsb")));
	cr_assert_eq(json_array_size(json_object_get(object, "correlations")), 0);
	cr_assert_not_null(finding(object, "ycsb-none"));
	json_decref(object);
}

/* ---- time -------------------------------------------------------------------------------------------- */

Test(report, no_overlap_names_both_ranges_and_a_way_out)
{
	run_trace(trace_path, SECONDS);
	write_client(5, 50, -3 * 3600); /* stamped three hours west of UTC, read as UTC */
	cr_assert_eq(report(NULL, NULL), 0);
	json_t *object = read_json();
	const char *text = finding(object, "ycsb-no-overlap");
	cr_assert_not_null(text);
	cr_assert_not_null(strstr(text, "2023-11-14T22:13:20"), "%s", text);
	cr_assert_not_null(strstr(text, "2023-11-14T19:13:25"), "%s", text);
	cr_assert_not_null(strstr(text, "--ycsb-offset -10800"), "%s", text);
	json_decref(object);
}

Test(report, too_short_a_run_gets_no_numbers)
{
	run_trace(trace_path, SECONDS);
	write_client(5, 12, 0);
	report(NULL, NULL);
	json_t *object = read_json();
	json_t *allocs = entry(object, "correlations", "series", "allocs_per_s");
	cr_assert(json_is_null(json_object_get(allocs, "spearman")));
	cr_assert_not_null(
		strstr(json_string_value(json_object_get(allocs, "verdict")), "fewer than 20 intervals"));
	json_decref(object);
}

Test(report, a_run_that_was_not_used_is_named_with_the_reason)
{
	run_trace(trace_path, SECONDS);
	FILE *client = fopen(client_path, "w");
	cr_assert_not_null(client);
	run_client(client, 2, 12, 1, 0, true);
	run_client(client, 16, 40, 1, 0, false);
	fclose(client);
	report(NULL, NULL);
	json_t *object = read_json();
	const char *text = finding(object, "run-unused");
	cr_assert_not_null(text);
	cr_assert_not_null(strstr(text, "\"load, 4 threads\""), "%s", text);
	cr_assert_not_null(strstr(text, "fewer than 20 intervals"), "%s", text);
	json_t *allocs = entry(object, "correlations", "series", "allocs_per_s");
	cr_assert_eq(number(allocs, "intervals"), 40, "the load's are not counted");
	json_decref(object);
	char *summary = read_text("summary.txt");
	cr_assert_not_null(strstr(summary, "Lags tried: up to 10 s either way."));
	free(summary);
}

Test(report, a_run_within_one_interval_is_not_said_to_be_elsewhere)
{
	run_trace(trace_path, SECONDS);
	FILE *client = fopen(client_path, "w");
	cr_assert_not_null(client);
	fputs("2023-11-14 22:13:30:200 0 sec: 0 operations; \n2023-11-14 22:13:30:700 0 sec: 9 operations; "
	      "\n",
	      client);
	fclose(client);
	report(NULL, NULL);
	json_t *object = read_json();
	cr_assert_null(finding(object, "ycsb-no-overlap"));
	cr_assert_null(finding(object, "ycsb-elsewhere"));
	cr_assert_not_null(
		strstr(finding(object, "ycsb-too-short"), "shorter than one interval of the trace"));
	json_decref(object);
}

/* A trace of a machine five hours west, and a client that ran there; --ycsb-offset is stronger. */
Test(report, the_traced_machines_zone_is_the_clients)
{
	struct support_options options = {.full = true, .extra_keys = "utc_offset_s=-18000\n"};
	struct support_trace *trace = run_open(trace_path, &options);
	run_seconds(trace, 0, SECONDS);
	support_end(trace, SECONDS * RUN_SECOND);
	write_client(5, 50, -18000);
	char *argv[] = {"report", trace_path, "-o", out_path, "--ycsb", client_path, NULL};
	cr_assert_eq(cmd_report(6, argv), 0);
	json_t *object = read_json();
	cr_assert_null(finding(object, "ycsb-no-overlap"));
	json_decref(object);
	char *summary = read_text("summary.txt");
	cr_assert_not_null(strstr(summary, "18000 s west of UTC (the traced machine's zone"), "%s", summary);
	free(summary);
	cr_assert_eq(report(NULL, NULL), 0); /* as UTC */
	object = read_json();
	cr_assert_not_null(finding(object, "ycsb-no-overlap"));
	json_decref(object);
}

/* ---- what goes wrong --------------------------------------------------------------------------------- */

Test(report, damage_is_reported_and_the_rest_written)
{
	size_t bytes;
	run_trace(trace_path, 30);
	write_client(0, 30, 0);
	uint8_t *data = support_read_file(trace_path, &bytes);
	memset(data + bytes / 2, 0x5a, 64);
	support_write_file(trace_path, data, bytes);
	free(data);
	cr_assert_eq(report(NULL, NULL), 3);
	json_t *object = read_json();
	cr_assert_not_null(finding(object, "damage"));
	cr_assert_gt(number(entry(object, "series", "name", "allocs_per_s"), "points"), 25);
	json_decref(object);
}

Test(report, lost_events_are_named_by_cause)
{
	struct support_trace *trace = run_open(trace_path, &(struct support_options){.full = true});
	run_seconds(trace, 0, 3);
	support_count(trace, COUNTER_LOST_RING_FULL, 17);
	support_end(trace, 4 * RUN_SECOND);
	write_client(0, 4, 0);
	cr_assert_eq(report(NULL, NULL), 0);
	json_t *object = read_json();
	cr_assert_not_null(strstr(finding(object, "lost-events"), "17 to full rings"));
	cr_assert_eq(number(entry(object, "series", "name", "lost_events_per_s"), "max"), 17);
	json_decref(object);
}

Test(report, killed_process_is_called_incomplete)
{
	struct support_trace *trace = run_open(trace_path, &(struct support_options){.full = true});
	run_seconds(trace, 0, 3);
	support_kill(trace);
	write_client(0, 3, 0);
	cr_assert_eq(report(NULL, NULL), 0);
	json_t *object = read_json();
	cr_assert_not_null(strstr(finding(object, "incomplete"), "rings file"));
	json_decref(object);
}

Test(report, wrong_usage)
{
	run_trace(trace_path, 2);
	write_client(0, 2, 0);
	char *without_output[] = {"report", trace_path, NULL};
	cr_assert_eq(cmd_report(2, without_output), 2);
	cr_assert_eq(report("--ycsb-offset", "1e9"), 2, "farther east than any zone");
	cr_assert_eq(report("--ycsb-start", "yesterday"), 2);
	cr_assert_eq(report("--ycsb", client_path), 2, "the same file twice");
}

Test(report, foreign_files_are_refused_by_name)
{
	run_trace(trace_path, 2);
	support_write_file(client_path, "%PDF-1.7\nnothing of YCSB\n", 25);
	cr_assert_eq(report(NULL, NULL), 3);
	write_client(0, 2, 0);
	support_write_file(trace_path, "%PDF-1.7\n", 9);
	cr_assert_eq(report(NULL, NULL), 3);
}

Test(report, output_folder_that_cannot_be_made)
{
	run_trace(trace_path, 2);
	write_client(0, 2, 0);
	snprintf(out_path, sizeof out_path, "%.200s/below-a-file", trace_path);
	cr_assert_eq(report(NULL, NULL), 4);
}

/* ---- parts ------------------------------------------------------------------------------------------- */

Test(html, base64)
{
	static const char *const cases[][2] = {{"", ""},
					       {"f", "Zg=="},
					       {"fo", "Zm8="},
					       {"foo", "Zm9v"},
					       {"foobar", "Zm9vYmFy"}}; /* RFC 4648, section 10 */
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char *got = NULL;
		size_t bytes;
		FILE *file = open_memstream(&got, &bytes);
		html_base64(file, (const unsigned char *)cases[i][0], strlen(cases[i][0]));
		fclose(file);
		cr_assert_str_eq(got, cases[i][1]);
		free(got);
	}
}
