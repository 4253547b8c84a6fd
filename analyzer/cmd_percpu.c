/* percpu: how a program uses its CPUs to allocate, and what other cache capacities would do. */
#include <stdlib.h>
#include <string.h>

#include "analyzer/command.h"
#include "analyzer/percpu_capacities.h"
#include "analyzer/percpu_json.h"
#include "analyzer/percpu_plot.h"
#include "analyzer/percpu_text.h"

#define TOP_TEXT 10u

struct options {
	bool json;
	uint64_t top;
	uint64_t every;
	const char *what_if;
	const char *design;
	const char *output_path;
	const char *plots;
	struct symbol_options symbols;
};

static bool out_of_memory(struct error *error)
{
	return error_set(error, ERROR_INTERNAL, NULL, ERROR_NO_OFFSET, "out of memory");
}

static bool write_json(FILE *file, const struct percpu *percpu, struct symbols *symbols, size_t top,
		       struct error *error)
{
	json_t *object = percpu_json(percpu, symbols, top);
	bool good = json_write(file, object, error);
	json_decref(object);
	return good;
}

static bool print(const struct options *options, const struct percpu *percpu, struct error *error)
{
	const bool given = options->top != UINT64_MAX;
	const size_t top = given ? (size_t)options->top : options->json ? 0 : TOP_TEXT;
	struct symbols *symbols = symbols_create(percpu_trace(percpu), &options->symbols);
	if (!symbols)
		return out_of_memory(error);
	FILE *file = output_open(options->output_path, error);
	bool good = file != NULL;
	if (good && options->json)
		good = write_json(file, percpu, symbols, top, error);
	else if (good)
		good = percpu_print(file, percpu, symbols, top) || out_of_memory(error);
	if (file)
		good = output_close(file, options->output_path, error) && good;
	symbols_free(symbols);
	return good;
}

static int run(const struct options *options, const char *path)
{
	struct error error = {0};
	struct percpu_options wanted = {.window_every = options->every};
	if (!output_spares(options->output_path, &path, 1, &error))
		return error_print(&error);
	struct trace *trace = trace_open(path, &error);
	if (!trace)
		return error_print(&error);
	struct percpu *percpu = NULL;
	bool good = percpu_capacities(options->what_if, options->design, trace, &wanted, &error) &&
		    (percpu = percpu_read(trace, &wanted, &error)) != NULL &&
		    print(options, percpu, &error) &&
		    (!options->plots || percpu_plot_write(options->plots, percpu, &error));
	int status = good ? command_finish(trace) : error_print(&error);
	percpu_free(percpu);
	trace_close(trace);
	return status;
}

int cmd_percpu(int argc, char **argv)
{
	struct options options = {.top = UINT64_MAX, .every = 1};
	const struct command_option rows[] = {
		{"json", 0, OPTION_FLAG, &options.json, NULL, "one JSON object"},
		{"what-if", 0, OPTION_STRING, &options.what_if, "LIST",
		 "capacities to simulate, e.g. 0,256K,1M,16M,128M; 'none' for no simulation"},
		{"design", 0, OPTION_STRING, &options.design, "NAME",
		 "per-cpu (google/tcmalloc), per-thread (gperftools) or both (default)"},
		{"every", 0, OPTION_COUNT, &options.every, "N",
		 "simulate one window of 262,144 calls in N: for long traces; gives an interval"},
		{"top", 0, OPTION_COUNT, &options.top, "N",
		 "only the first N threads, pairs and sites, 0 for all (default 10; JSON: all)"},
		{"plots", 0, OPTION_FOLDER, &options.plots, "DIR",
		 "draw the miss-ratio curves and the CPU-to-CPU matrix into DIR, which exists"},
		{"output", 'o', OPTION_STRING, &options.output_path, "FILE",
		 "write there instead of standard output"},
		COMMAND_SYMBOL_OPTIONS(options.symbols),
		{0},
	};
	const struct command_usage usage = {
		.name = "percpu",
		.operands = "TRACE",
		.purpose = "How a program uses CPUs to allocate and free, whether per-CPU caches are in "
			   "force, and what other\n"
			   "cache capacities would do: the trace goes through a model of the allocator's "
			   "front end (full mode\n"
			   "only; docs/percpu.md). Shares are exact in full mode, and estimates with 95% "
			   "intervals in sample mode.",
		.options = rows,
		.operands_min = 1,
		.operands_max = 1,
	};
	int status;
	int first = command_parse(&usage, argc, argv, &status);
	return first < 0 ? status : run(&options, argv[first]);
}
