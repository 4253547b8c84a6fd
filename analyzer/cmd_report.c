/* report: traces and client output into one folder. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analyzer/command.h"
#include "analyzer/json.h"
#include "analyzer/model_ftdc.h"
#include "analyzer/report_csv.h"
#include "analyzer/report_html.h"
#include "analyzer/report_json.h"
#include "analyzer/report_locks.h"
#include "analyzer/report_percpu.h"
#include "analyzer/report_plot.h"
#include "analyzer/report_text.h"

struct report_options {
	const char *directory;
	struct string_list ycsb, ftdc;
	double ycsb_offset_s; /* NaN: not given */
	const char *ycsb_start;
	struct symbol_options symbols;
	bool json;
};

static bool out_of_memory(struct error *error)
{
	return error_set(error, ERROR_INTERNAL, NULL, ERROR_NO_OFFSET, "out of memory");
}

/* ---- options ----------------------------------------------------------------------------------------- */

/* Zones lie within UTC-12 and UTC+14. */
#define OFFSET_MAX_S 93600

static bool take_ycsb_options(const struct report_options *options, struct ycsb_options *out,
			      struct error *error)
{
	double offset_s = options->ycsb_offset_s;
	if (!isnan(offset_s)) {
		if (!(fabs(offset_s) <= OFFSET_MAX_S) || offset_s != rint(offset_s))
			return error_set(error, ERROR_USAGE, NULL, ERROR_NO_OFFSET,
					 "--ycsb-offset %g: wanted are whole seconds east of UTC of the "
					 "client's clock, e.g. 7200 "
					 "for UTC+2",
					 offset_s);
		out->have_offset = true;
		out->offset_s = (int64_t)offset_s;
	}
	if (options->ycsb_start) {
		if (!ycsb_parse_time(options->ycsb_start, &out->start_ns))
			return error_set(error, ERROR_USAGE, NULL, ERROR_NO_OFFSET,
					 "--ycsb-start %s: wanted are seconds since 1970, or a time as "
					 "2026-05-31T12:00:00Z",
					 options->ycsb_start);
		out->have_start = true;
	}
	return true;
}

/* False with errno set. mkdir() may refuse what exists with another error than EEXIST (a read-only file
 * system), so what is there counts; why it is not is what mkdir() said. */
static bool make_one_directory(const char *path)
{
	struct stat there;
	if (mkdir(path, 0777) == 0)
		return true;
	int reason = errno;
	bool exists = stat(path, &there) == 0;
	errno = exists ? ENOTDIR : reason;
	return exists && S_ISDIR(there.st_mode);
}

/* Makes the folder and those above it. */
static bool make_directory(const char *path, struct error *error)
{
	char part[REPORT_PATH_BYTES];
	size_t length = strlen(path);
	if (length == 0 || length >= sizeof part - 64)
		return error_set(error, ERROR_USAGE, NULL, ERROR_NO_OFFSET,
				 "-o: this is no path of a folder: '%s'", path);
	memcpy(part, path, length + 1);
	for (size_t i = 1; i <= length; i++) {
		if (path[i] != '/' && path[i] != 0)
			continue;
		part[i] = 0;
		if (!make_one_directory(part))
			return error_set(error, ERROR_INTERNAL, path, ERROR_NO_OFFSET,
					 "cannot make this folder: %s", strerror(errno));
		part[i] = path[i];
	}
	return true;
}

/* ---- input ------------------------------------------------------------------------------------------- */

/* An input that cannot be read makes the status 3, and the report is made from the others. False where
 * `wrong` is another kind of error. */
static bool leave_out(struct report *report, const struct error *wrong, struct error *error)
{
	if (wrong->code != ERROR_INPUT) {
		*error = *wrong;
		return false;
	}
	error_print(wrong);
	report->inputs_left_out = true;
	return findings_add(&report->findings, "input-unread", "%s is left out: %s.", wrong->file,
			    wrong->text) ||
	       out_of_memory(error);
}

static bool read_client(const struct report_options *options, struct report *report, struct error *error)
{
	const struct string_list *list = &options->ycsb;
	report->files = calloc(list->count + 1, sizeof *report->files);
	if (!report->files)
		return out_of_memory(error);
	for (size_t i = 0; i < list->count; i++) {
		for (size_t j = 0; j < i; j++)
			if (same_file(list->items[i], list->items[j]))
				return error_set(
					error, ERROR_USAGE, list->items[i], ERROR_NO_OFFSET,
					"this file is given twice; its throughput would count twice");
		struct error wrong = {0};
		if (ycsb_read(list->items[i], &report->ycsb_options, &report->files[report->file_count],
			      &wrong))
			report->file_count++;
		else if (!leave_out(report, &wrong, error))
			return false;
	}
	ycsb_pair_files(report->files, &report->file_count);
	return true;
}

static bool read_traces(const struct report_options *options, const char *const *traces, size_t trace_count,
			struct report *report, struct error *error)
{
	if (!model_read(traces, trace_count, &options->symbols, &report->model, error))
		return false;
	for (size_t i = 0; i < report->model.unread_count; i++)
		if (!leave_out(report, &report->model.unread[i], error))
			return false;
	return true;
}

static bool read_servers(const struct report_options *options, struct report *report, struct error *error)
{
	const struct string_list *list = &options->ftdc;
	report->servers = calloc(list->count + 1, sizeof *report->servers);
	if (!report->servers)
		return out_of_memory(error);
	for (size_t i = 0; i < list->count; i++) {
		struct error wrong = {0};
		struct report_server *server = &report->servers[report->server_count];
		if (model_add_ftdc(&report->model, list->items[i], server, &wrong))
			report->server_count++;
		else if (!leave_out(report, &wrong, error))
			return false;
	}
	return true;
}

/* A client is presumed to have run on the traced machine; where machines differ, nothing is presumed. */
static void take_traced_zone(struct report *report)
{
	const char *zone = NULL;
	for (size_t i = 0; i < report->model.stage_count; i++) {
		const char *other = trace_key(report->model.stages[i].trace, "utc_offset_s");
		if (zone && other && strcmp(zone, other) != 0)
			return;
		zone = zone ? zone : other;
	}
	char *end;
	long long offset_s = zone ? strtoll(zone, &end, 10) : 0;
	if (!zone || end == zone || *end || llabs(offset_s) > OFFSET_MAX_S)
		return;
	for (size_t i = 0; i < report->file_count; i++)
		ycsb_assume_zone(&report->files[i], offset_s);
}

static bool read_all(const struct report_options *options, const char *const *traces, size_t trace_count,
		     struct report *report, struct error *error)
{
	if (!read_client(options, report, error) ||
	    !read_traces(options, traces, trace_count, report, error) ||
	    !report_percpu_read(report, &options->symbols, error))
		return false;
	take_traced_zone(report);
	if (!report_locks(report))
		return out_of_memory(error);
	if (!read_servers(options, report, error))
		return false;
	if (!align(report->files, report->file_count, &report->model, &report->alignment) ||
	    !align_correlate(&report->model, &report->alignment, &report->aligned) ||
	    !findings_collect(report))
		return out_of_memory(error);
	return true;
}

/* ---- output ------------------------------------------------------------------------------------------ */

static bool write_stdout(const struct report_options *options, const struct report *report,
			 struct error *error)
{
	if (!options->json) {
		report_text_print(stdout, report);
	} else {
		json_t *object = report_json(report);
		bool written = json_write(stdout, object, error);
		json_decref(object);
		if (!written)
			return false;
	}
	return output_close(stdout, NULL, error);
}

static bool write_all(const struct report_options *options, struct report *report, struct error *error)
{
	if (!report_csv_write(report, error) || !report_plot_write(report, error))
		return false;
	if (report->plots_missing[0] &&
	    !findings_add(&report->findings, "no-plots", "No plots: %s.", report->plots_missing))
		return out_of_memory(error);
	return report_html_write(report, error) && report_json_write(report, error) &&
	       report_text_write(report, error) && write_stdout(options, report, error);
}

static void report_free(struct report *report)
{
	aligned_free(&report->aligned);
	alignment_free(&report->alignment);
	findings_free(&report->findings);
	for (size_t i = 0; i < report->file_count; i++)
		ycsb_file_free(&report->files[i]);
	for (size_t i = 0; i < report->server_count; i++)
		json_decref(report->servers[i].summary);
	free(report->servers);
	free(report->files);
	free(report->figures);
	report_percpu_free(report);
	report_locks_free(report);
	model_free(&report->model);
}

/* Damage of any trace, or an input left out, makes the status 3; everything that could be read was written
 * all the same. */
static int finish(const struct report *report)
{
	int status = report->inputs_left_out ? ERROR_INPUT : ERROR_NONE;
	for (size_t i = 0; i < report->server_count; i++)
		if (report->servers[i].damaged)
			status = ERROR_INPUT;
	for (size_t i = 0; i < report->model.stage_count; i++) {
		int one = command_finish(report->model.stages[i].trace);
		status = one > status ? one : status;
	}
	return status;
}

static int run(const struct report_options *options, const char *const *traces, size_t trace_count)
{
	struct error error = {0};
	struct report report = {
		.directory = options->directory,
		.inputs = {{traces, trace_count},
			   {options->ycsb.items, options->ycsb.count},
			   {options->ftdc.items, options->ftdc.count}},
	};
	int status;
	if (take_ycsb_options(options, &report.ycsb_options, &error) &&
	    make_directory(options->directory, &error) &&
	    read_all(options, traces, trace_count, &report, &error) && write_all(options, &report, &error))
		status = finish(&report);
	else
		status = error_print(&error);
	report_free(&report);
	return status;
}

int cmd_report(int argc, char **argv)
{
	struct report_options options = {.directory = NULL, .ycsb_offset_s = NAN};
	const struct command_option known[] = {
		{"output", 'o', OPTION_STRING, &options.directory, "DIR",
		 "write the report into DIR (made where missing)"},
		{"ycsb", 0, OPTION_LIST, &options.ycsb, "FILE",
		 "output of YCSB or go-ycsb; may be given several times, stderr and stdout of a run apart "
		 "too"},
		{"ftdc", 0, OPTION_LIST, &options.ftdc, "DIR",
		 "diagnostic.data of the traced mongod, or of a member of its replica set; may be given "
		 "several "
		 "times"},
		{"ycsb-offset", 0, OPTION_SECONDS, &options.ycsb_offset_s, "S",
		 "seconds east of UTC of the client's clock (default: the traced machine's zone; this "
		 "machine's where that is not known)"},
		{"ycsb-start", 0, OPTION_STRING, &options.ycsb_start, "TIME",
		 "start of a run without a clock: seconds since 1970, or 2026-05-31T12:00:00Z"},
		COMMAND_SYMBOL_OPTIONS(options.symbols),
		{"json", 0, OPTION_FLAG, &options.json, NULL, "print report.json instead of the summary"},
		{0},
	};
	const struct command_usage usage = {
		.name = "report",
		.operands = "TRACE... -o DIR",
		.purpose = "Writes a report of one or more traces: text, HTML, JSON, CSV and plots, with the "
			   "client's throughput\n"
			   "beside them and what goes with it.",
		.options = known,
		.operands_min = 1,
		.operands_max = -1,
	};
	int status;
	int first = command_parse(&usage, argc, argv, &status);
	if (first >= 0 && !options.directory) {
		fputs("mtrace-analyze report: -o DIR is missing: where shall the report go?\n", stderr);
		status = ERROR_USAGE;
	} else if (first >= 0) {
		status = run(&options, (const char *const *)argv + first, (size_t)(argc - first));
	}
	string_list_free(&options.ycsb);
	string_list_free(&options.ftdc);
	return status;
}
