#include <stdlib.h>

#include "analyzer/command.h"
#include "analyzer/hugeblocks_pass.h"
#include "analyzer/sites.h"

#define TOP_TEXT 20u

struct sites_options {
	bool json;
	uint64_t top;
	const char *order_name;
	enum site_order order;
	const char *output_path;
	struct symbol_options symbols;
};

static bool write_sites(const struct sites_options *options, const struct sites_view *view, FILE *file,
			struct error *error)
{
	if (options->json) {
		json_t *object = sites_json(view);
		bool good = json_write(file, object, error);
		json_decref(object);
		return good;
	}
	return sites_print(file, view) ||
	       error_set(error, ERROR_INTERNAL, NULL, ERROR_NO_OFFSET, "out of memory");
}

static bool print(const struct sites_options *options, const struct hugeblocks_pass *pass,
		  struct error *error)
{
	const struct sites_view view = {
		.replay = pass->replay,
		.huge = pass->blocks,
		.symbols = symbols_create(pass->replay->trace, &options->symbols),
		.order = options->order,
		.top = options->top != UINT64_MAX ? (size_t)options->top
		       : options->json		  ? 0
						  : TOP_TEXT,
	};
	FILE *file = view.symbols ? output_open(options->output_path, error) : NULL;
	bool good = file && write_sites(options, &view, file, error);
	if (file)
		good = output_close(file, options->output_path, error) && good;
	symbols_free(view.symbols);
	return good || error_set(error, ERROR_INTERNAL, NULL, ERROR_NO_OFFSET, "out of memory");
}

/* What is live once a process has exited is what nobody cared to free. */
static enum site_order usual_order(const struct trace *trace)
{
	return trace_info(trace)->complete ? SITE_ORDER_PEAK : SITE_ORDER_LIVE;
}

static bool orders_by_nothing(const struct sites_options *options, const struct hugeblocks_pass *pass,
			      struct error *error)
{
	if (options->order != SITE_ORDER_HUGE || hugeblocks_known(pass->blocks))
		return false;
	error_set(error, ERROR_USAGE, trace_info(pass->replay->trace)->path, ERROR_NO_OFFSET,
		  "holds no look at pages, so that --sort huge has nothing to go by; take another order");
	return true;
}

static bool read_and_print(struct sites_options *options, struct replay *replay, struct error *error)
{
	struct hugeblocks_pass pass = {.replay = replay};
	bool good = hugeblocks_pass_open(&pass, &options->symbols, error) &&
		    replay_run(replay, hugeblocks_pass_visit, &pass, error) &&
		    hugeblocks_pass_finish(&pass, error);
	if (replay->live && !orders_by_nothing(options, &pass, error))
		good = print(options, &pass, error) && good;
	hugeblocks_pass_close(&pass);
	return good && !error->code;
}

static int run(struct sites_options *options, const char *path)
{
	struct error error = {0};
	if (!output_spares(options->output_path, &path, 1, &error))
		return error_print(&error);
	struct replay replay = {.trace = trace_open(path, &error)};
	if (!replay.trace)
		return error_print(&error);
	if (!options->order_name)
		options->order = usual_order(replay.trace);
	bool good = read_and_print(options, &replay, &error);
	int status = command_finish(replay.trace);
	if (!good)
		status = error_print(&error);
	replay_free(&replay);
	trace_close(replay.trace);
	return status;
}

static bool interpret(struct sites_options *options)
{
	static const char *const orders[] = {"live", "peak", "alloc", "remote", "huge"};
	const unsigned count = sizeof orders / sizeof *orders;
	unsigned order =
		options->order_name ? command_choose("sites", "sort", options->order_name, orders, count) : 0;
	options->order = (enum site_order)order;
	return order < count;
}

int cmd_sites(int argc, char **argv)
{
	struct sites_options options = {.top = UINT64_MAX};
	const struct command_option rows[] = {
		{"json", 0, OPTION_FLAG, &options.json, NULL, "one JSON object"},
		{"top", 0, OPTION_COUNT, &options.top, "N",
		 "only the first N sites, 0 for all (default 20; JSON: all)"},
		{"sort", 0, OPTION_STRING, &options.order_name, "KEY",
		 "live, peak, alloc, remote or huge (default: live; peak where the process has exited)"},
		{"output", 'o', OPTION_STRING, &options.output_path, "FILE",
		 "write there instead of standard output"},
		COMMAND_SYMBOL_OPTIONS(options.symbols),
		{0},
	};
	const struct command_usage usage = {
		.name = "sites",
		.operands = "TRACE",
		.purpose =
			"Which call stacks allocate, hold memory, sit on huge pages, and have their blocks "
			"freed by other threads.\n"
			"Exact in full mode; in sample mode estimates with 95% intervals.",
		.options = rows,
		.operands_min = 1,
		.operands_max = 1,
	};
	int status;
	int first = command_parse(&usage, argc, argv, &status);
	if (first < 0)
		return status;
	if (!interpret(&options))
		return ERROR_USAGE;
	return run(&options, argv[first]);
}
