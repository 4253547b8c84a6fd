#include "analyzer/command.h"
#include "analyzer/info.h"
#include "analyzer/replay.h"

struct info_options {
	bool json;
	bool quick;
	const char *output_path;
};

static bool print(const struct info_options *options, const struct replay *replay, struct error *error)
{
	const struct livemap_totals *live = replay->live ? livemap_totals(replay->live) : NULL;
	const struct merge_stats *stream = replay->live ? &replay->stream : NULL;
	FILE *file = output_open(options->output_path, error);
	if (!file)
		return false;
	bool good = true;
	if (options->json) {
		json_t *object = info_json(replay->trace, live, stream);
		good = json_write(file, object, error);
		json_decref(object);
	} else {
		info_print(file, replay->trace, live, stream);
	}
	return output_close(file, options->output_path, error) && good;
}

static int run(const struct info_options *options, const char *path)
{
	struct error error = {0};
	if (!output_spares(options->output_path, &path, 1, &error))
		return error_print(&error);
	struct replay replay = {0};
	struct trace *trace = trace_open(path, &error);
	if (!trace)
		return error_print(&error);
	replay.trace = trace;
	bool read = options->quick || replay_run(&replay, NULL, NULL, &error);
	/* What was read up to an error is printed all the same. */
	bool printed = print(options, &replay, &error);
	int status = command_finish(trace);
	if (!read || !printed)
		status = error_print(&error);
	replay_free(&replay);
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
		{0},
	};
	const struct command_usage usage = {
		.name = "info",
		.operands = "TRACE",
		.purpose = "What was recorded, for how long, by which process on which machine, and what was "
			   "lost.\n"
			   "Counts come from the trace's exact counters. All events are read as well, for "
			   "the peak and the\n"
			   "end of the live bytes (exact in full mode, estimated in sample mode) and to find "
			   "damage.",
		.options = rows,
		.operands_min = 1,
		.operands_max = 1,
	};
	int status;
	int first = command_parse(&usage, argc, argv, &status);
	return first < 0 ? status : run(&options, argv[first]);
}
