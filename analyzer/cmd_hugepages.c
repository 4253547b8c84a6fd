#include <stdlib.h>
#include <string.h>

#include "analyzer/command.h"
#include "analyzer/coverage.h"
#include "analyzer/coverage_output.h"
#include "analyzer/hugeblocks.h"
#include "analyzer/pages_csv.h"
#include "analyzer/plot_map.h"
#include "analyzer/replay.h"

#define TOP_TEXT 10u

struct hugepages_options {
	bool json;
	uint64_t top;
	const char *output_path;
	const char *map_path;
	const char *runs_path;
	struct symbol_options symbols;
};

/* Everything that goes through the trace side by side. */
struct hugepages_pass {
	struct replay replay;
	struct regions *regions;
	struct pages *pages;
	struct coverage *coverage;
	struct hugeblocks *blocks;
	struct plot_map *map; /* NULL: not asked for */
};

static bool out_of_memory(struct error *error)
{
	return error_set(error, ERROR_INTERNAL, NULL, ERROR_NO_OFFSET, "out of memory");
}

/* ---- one pass ----------------------------------------------------------------------------------------- */

static bool pass_open(struct hugepages_pass *pass, const struct hugepages_options *options,
		      struct error *error)
{
	struct trace *trace = pass->replay.trace;
	const struct trace_info *info = trace_info(trace);
	pass->regions = regions_open(trace, &options->symbols);
	pass->pages = pages_open(trace);
	pass->blocks = hugeblocks_open(trace);
	if (pass->regions && pass->pages)
		pass->coverage = coverage_open(trace, pass->regions, pass->pages);
	if (options->map_path)
		pass->map = plot_map_create(info->first_time, info->last_time, trace_interval(trace));
	return (pass->coverage && pass->blocks && (pass->map || !options->map_path)) || out_of_memory(error);
}

static void pass_close(struct hugepages_pass *pass)
{
	coverage_close(pass->coverage);
	plot_map_free(pass->map);
	hugeblocks_close(pass->blocks);
	pages_close(pass->pages);
	regions_close(pass->regions);
	replay_free(&pass->replay);
}

static struct hugeblocks_world world_of(const struct hugepages_pass *pass)
{
	return (struct hugeblocks_world){pass->replay.live, pass->regions, pass->pages};
}

static bool take_map(struct hugepages_pass *pass, uint64_t time, struct error *error)
{
	return !pass->map || plot_map_take(pass->map, time, pass->regions, pass->pages) ||
	       out_of_memory(error);
}

static bool visit(void *context, const struct merge_item *item, struct error *error)
{
	struct hugepages_pass *pass = context;
	if (item->event) {
		hugeblocks_event(pass->blocks);
		return regions_event(pass->regions, item->event, error) &&
		       pages_until(pass->pages, item->event->time, error) &&
		       coverage_event(pass->coverage, item->event, error);
	}
	const struct hugeblocks_world world = world_of(pass);
	uint64_t time = item->snapshot->mark.time;
	bool looked;
	return regions_until(pass->regions, time, error) && pages_until(pass->pages, time, error) &&
	       coverage_snapshot(pass->coverage, item->snapshot, error) &&
	       hugeblocks_snapshot(pass->blocks, &world, time, &looked, error) && take_map(pass, time, error);
}

static bool pass_run(struct hugepages_pass *pass, struct error *error)
{
	if (!replay_run(&pass->replay, visit, pass, error))
		return false;
	const struct hugeblocks_world world = world_of(pass);
	return regions_until(pass->regions, UINT64_MAX, error) &&
	       pages_until(pass->pages, UINT64_MAX, error) && coverage_finish(pass->coverage, error) &&
	       hugeblocks_finish(pass->blocks, &world, trace_info(pass->replay.trace)->last_time, error);
}

/* ---- output ------------------------------------------------------------------------------------------- */

static bool write_view(const struct hugepages_options *options, const struct coverage_view *view, FILE *file,
		       struct error *error)
{
	if (options->json) {
		json_t *object = coverage_json(view);
		bool good = json_write(file, object, error);
		json_decref(object);
		return good;
	}
	size_t top = options->top == UINT64_MAX ? TOP_TEXT : (size_t)options->top;
	return coverage_print(file, view, top) || out_of_memory(error);
}

static bool print(const struct hugepages_options *options, const struct hugepages_pass *pass,
		  struct error *error)
{
	struct coverage_view view = {.trace = pass->replay.trace,
				     .coverage = pass->coverage,
				     .regions = pass->regions,
				     .pages = pass->pages,
				     .blocks = pass->blocks};
	view.symbols = symbols_create(view.trace, &options->symbols);
	FILE *file = view.symbols ? output_open(options->output_path, error) : NULL;
	bool good = file && write_view(options, &view, file, error);
	if (file)
		good = output_close(file, options->output_path, error) && good;
	symbols_free(view.symbols);
	return good || out_of_memory(error);
}

static bool draw(const struct hugepages_options *options, const struct hugepages_pass *pass,
		 struct error *error)
{
	const struct trace *trace = pass->replay.trace;
	const struct trace_info *info = trace_info(trace);
	const char *exe = trace_key(trace, "exe"), *slash = exe ? strrchr(exe, '/') : NULL;
	const char *pid = trace_key(trace, "pid");
	char title[128];
	if (!pass->map)
		return true;
	snprintf(title, sizeof title, "%.80s, pid %.20s",
		 slash ? slash + 1
		 : exe ? exe
		       : "unknown program",
		 pid ? pid : "unknown");
	return plot_map_draw(options->map_path, title, pass->map, trace_seconds(trace, info->first_time),
			     trace_seconds(trace, info->last_time), error);
}

static bool write_runs(const struct hugepages_options *options, const struct hugepages_pass *pass,
		       struct error *error)
{
	FILE *file = options->runs_path ? output_open(options->runs_path, error) : NULL;
	if (!file)
		return !options->runs_path;
	pages_csv(file, pass->pages);
	return output_close(file, options->runs_path, error);
}

/* Before the trace is read, which may take long. */
static bool outputs_good(const struct hugepages_options *options, const char *path, struct error *error)
{
	return output_spares(options->output_path, &path, 1, error) &&
	       output_spares(options->runs_path, &path, 1, error) &&
	       (!options->map_path || (plot_map_path(options->map_path, error) &&
				       output_spares(options->map_path, &path, 1, error)));
}

static int run(const struct hugepages_options *options, const char *path)
{
	struct error error = {0};
	struct hugepages_pass pass = {0};
	if (!outputs_good(options, path, &error))
		return error_print(&error);
	struct trace *trace = pass.replay.trace = trace_open(path, &error);
	if (!trace)
		return error_print(&error);
	bool good = pass_open(&pass, options, &error) && pass_run(&pass, &error);
	if (pass.coverage && pass.blocks)
		good = print(options, &pass, &error) && draw(options, &pass, &error) &&
		       write_runs(options, &pass, &error) && good;
	int status = command_finish(trace);
	if (!good)
		status = error_print(&error);
	pass_close(&pass);
	trace_close(trace);
	return status;
}

int cmd_hugepages(int argc, char **argv)
{
	struct hugepages_options options = {.top = UINT64_MAX};
	const struct command_option rows[] = {
		{"json", 0, OPTION_FLAG, &options.json, NULL, "one JSON object"},
		{"top", 0, OPTION_COUNT, &options.top, "N",
		 "so many mapping sites and breakers in the text, 0 for all (default 10)"},
		{"output", 'o', OPTION_STRING, &options.output_path, "FILE",
		 "write there instead of standard output"},
		{"runs", 0, OPTION_STRING, &options.runs_path, "FILE",
		 "the state of each page at the end, as CSV"},
		{"map", 0, OPTION_STRING, &options.map_path, "FILE",
		 "draw address space against time into FILE.png or FILE.svg (by gnuplot)"},
		COMMAND_SYMBOL_OPTIONS(options.symbols),
		{0},
	};
	const struct command_usage usage = {
		.name = "hugepages",
		.operands = "TRACE",
		.purpose =
			"Which memory lies on huge pages, over time; why the rest does not; which calls "
			"break\n"
			"huge pages; and what lies on them without being in use. docs/hugepages.md explains.",
		.options = rows,
		.operands_min = 1,
		.operands_max = 1,
	};
	int status;
	int first = command_parse(&usage, argc, argv, &status);
	if (first < 0)
		return status;
	return run(&options, argv[first]);
}
