#include <string.h>

#include "analyzer/command.h"
#include "analyzer/export.h"

#define PROGRESS_EVENTS 16384u

enum export_format { FORMAT_NONE, FORMAT_CSV, FORMAT_NDJSON, FORMAT_FOLDED };

struct export_options {
	const char *format_name;
	enum export_format format;
	const char *weight_name;
	enum export_weight weight;
	const char *output_path;
	struct symbol_options symbols;
};

/* ---- events -------------------------------------------------------------------------------------------- */

static bool write_events(const struct export_options *options, struct trace *trace, FILE *file,
			 struct error *error)
{
	struct merge *merge = merge_open(trace, error);
	if (!merge)
		return false;
	struct merge_item item;
	struct progress progress;
	const struct merge_stats *stats = merge_stats(merge);
	progress_start(&progress, "exporting");
	if (options->format == FORMAT_CSV)
		export_csv_head(file);
	while (!ferror(file) && merge_next(merge, &item, error)) {
		if (item.event && options->format == FORMAT_CSV)
			export_csv(file, trace, item.event);
		else if (item.event)
			export_ndjson(file, trace, item.event);
		if (stats->events % PROGRESS_EVENTS == 0)
			progress_update(&progress, stats->read_bytes, trace_info(trace)->trace_bytes);
	}
	progress_end(&progress);
	merge_close(merge);
	return error->code == ERROR_NONE;
}

/* ---- stacks -------------------------------------------------------------------------------------------- */

static void print_unmatched(const struct symbols *symbols)
{
	size_t count;
	const char *const *names = symbols_unmatched(symbols, &count);
	for (size_t i = 0; i < count; i++) {
		fputs("mtrace-analyze: note: no symbols: ", stderr);
		print_safe(stderr, names[i]);
		fputc('\n', stderr);
	}
}

static bool write_folded(const struct export_options *options, struct trace *trace, FILE *file,
			 struct error *error)
{
	struct replay replay = {.trace = trace};
	bool good = replay_run(&replay, NULL, NULL, error);
	struct symbols *symbols = symbols_create(trace, &options->symbols);
	if (!symbols || (replay.live && !export_folded(file, &replay, symbols, options->weight)))
		good = error_set(error, ERROR_INTERNAL, NULL, ERROR_NO_OFFSET, "out of memory");
	if (symbols)
		print_unmatched(symbols);
	symbols_free(symbols);
	replay_free(&replay);
	return good;
}

/* ---- the command --------------------------------------------------------------------------------------- */

static int run(const struct export_options *options, const char *path)
{
	struct error error = {0};
	if (!output_spares(options->output_path, &path, 1, &error))
		return error_print(&error);
	struct trace *trace = trace_open(path, &error);
	if (!trace)
		return error_print(&error);
	bool good = false;
	FILE *file = output_open(options->output_path, &error);
	if (file) {
		good = options->format == FORMAT_FOLDED ? write_folded(options, trace, file, &error)
							: write_events(options, trace, file, &error);
		good = output_close(file, options->output_path, &error) && good;
	}
	int status = command_finish(trace);
	if (!good)
		status = error_print(&error);
	trace_close(trace);
	return status;
}

static bool interpret(struct export_options *options)
{
	static const char *const formats[] = {"csv", "ndjson", "folded"};
	static const char *const weights[] = {"bytes", "allocs", "live"};
	unsigned format = command_choose("export", "format", options->format_name, formats, 3);
	unsigned weight =
		format < 3 ? command_choose("export", "weight", options->weight_name, weights, 3) : 3;
	options->format = (enum export_format)(FORMAT_CSV + format);
	options->weight = (enum export_weight)weight;
	return weight < 3;
}

int cmd_export(int argc, char **argv)
{
	struct export_options options = {.weight_name = "bytes"};
	const struct command_option rows[] = {
		{"format", 0, OPTION_STRING, &options.format_name, "F", "csv, ndjson or folded"},
		{"weight", 0, OPTION_STRING, &options.weight_name, "W",
		 "folded: bytes (default), allocs or live"},
		{"output", 'o', OPTION_STRING, &options.output_path, "FILE",
		 "write there instead of standard output"},
		COMMAND_SYMBOL_OPTIONS(options.symbols),
		{0},
	};
	const struct command_usage usage = {
		.name = "export",
		.operands = "TRACE",
		.purpose = "The events in time order as csv or ndjson, or the call sites as folded stacks "
			   "for flame graphs.\n"
			   "In sample mode csv and ndjson hold the samples, folded the estimates made from "
			   "them.",
		.options = rows,
		.operands_min = 1,
		.operands_max = 1,
	};
	int status;
	int first = command_parse(&usage, argc, argv, &status);
	if (first < 0)
		return status;
	return interpret(&options) ? run(&options, argv[first]) : ERROR_USAGE;
}
