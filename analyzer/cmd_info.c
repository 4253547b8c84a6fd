#include "analyzer/command.h"
#include "analyzer/info.h"
#include "analyzer/replay.h"
#include "analyzer/symbols.h"

struct info_options {
	bool json;
	bool quick;
	const char *output_path;
	struct symbol_options symbols;
};

struct info_context {
	struct replay replay;
	struct rseq_watch rseq;
	struct regions *regions;
	const struct symbol_options *symbols; /* for the functions that map memory */
};

static bool visit(void *context, const struct merge_item *item, struct error *error)
{
	struct info_context *info = context;
	if (item->snapshot)
		return regions_until(info->regions, item->snapshot->mark.time, error);
	if (item->event && !rseq_watch_event(&info->rseq, item->event))
		return error_set(error, ERROR_INTERNAL, NULL, ERROR_NO_OFFSET, "out of memory");
	return regions_event(info->regions, item->event, error);
}

static bool read_events(struct info_context *context, struct error *error)
{
	context->regions = regions_open(context->replay.trace, context->symbols);
	if (!context->regions)
		return error_set(error, ERROR_INTERNAL, NULL, ERROR_NO_OFFSET, "out of memory");
	return replay_run(&context->replay, visit, context, error) &&
	       regions_until(context->regions, UINT64_MAX, error);
}

static bool print(const struct info_options *options, const struct info_context *context, struct error *error)
{
	const struct replay *replay = &context->replay;
	struct info_pass pass = {0};
	if (replay->live)
		pass = (struct info_pass){livemap_totals(replay->live), &replay->stream, &context->rseq,
					  context->regions};
	FILE *file = output_open(options->output_path, error);
	if (!file)
		return false;
	bool good = true;
	if (options->json) {
		json_t *object = info_json(replay->trace, &pass);
		good = json_write(file, object, error);
		json_decref(object);
	} else {
		info_print(file, replay->trace, &pass);
	}
	return output_close(file, options->output_path, error) && good;
}

static int run(const struct info_options *options, const char *path)
{
	struct error error = {0};
	if (!output_spares(options->output_path, &path, 1, &error))
		return error_print(&error);
	struct info_context context = {.symbols = &options->symbols};
	struct trace *trace = trace_open(path, &error);
	if (!trace)
		return error_print(&error);
	context.replay.trace = trace;
	bool read = options->quick || read_events(&context, &error);
	/* What was read up to an error is printed all the same. */
	bool printed = print(options, &context, &error);
	int status = command_finish(trace);
	if (!read || !printed)
		status = error_print(&error);
	replay_free(&context.replay);
	rseq_watch_free(&context.rseq);
	regions_close(context.regions);
	trace_close(trace);
	return status;
}

int cmd_info(int argc, char **argv)
{
	struct info_options options = {0};
	const struct command_option rows[] = {
		{"json", 0, OPTION_FLAG, &options.json, NULL, "one JSON object"},
		{"quick", 0, OPTION_FLAG, &options.quick, NULL,
		 "do not read the events: what needs them is unknown"},
		{"output", 'o', OPTION_STRING, &options.output_path, "FILE",
		 "write there instead of standard output"},
		COMMAND_SYMBOL_OPTIONS(options.symbols),
		{0},
	};
	const struct command_usage usage = {
		.name = "info",
		.operands = "TRACE",
		.purpose =
			"What was recorded, for how long, by which process on which machine, and what was "
			"lost.\n"
			"Counts come from the trace's exact counters. All events are read as well, for "
			"the peak and the\n"
			"end of the live bytes (exact in full mode, estimated in sample mode), for who has "
			"mapped how much,\n"
			"and to find damage.",
		.options = rows,
		.operands_min = 1,
		.operands_max = 1,
	};
	int status;
	int first = command_parse(&usage, argc, argv, &status);
	return first < 0 ? status : run(&options, argv[first]);
}
