/* locks: what threads did with locks, and how much of that goes through what LSE changes. */
#include <math.h>
#include <stdlib.h>

#include "analyzer/command.h"
#include "analyzer/locks_client.h"
#include "analyzer/locks_json.h"
#include "analyzer/locks_text.h"

#define TOP_TEXT 10u

static const double saved_default_ns[] = {1, 5, 20};

struct options {
	bool json;
	bool each;
	uint64_t top;
	double saved_ns; /* NaN: the default ones */
	struct string_list ycsb;
	const char *output_path;
	struct symbol_options symbols;
};

static bool out_of_memory(struct error *error)
{
	return error_set(error, ERROR_INTERNAL, NULL, ERROR_NO_OFFSET, "out of memory");
}

/* ---- the client ---------------------------------------------------------------------------------------- */

struct client {
	struct ycsb_file *files;
	size_t count;
};

static bool client_read(const struct options *options, struct client *client, struct error *error)
{
	client->files = calloc(options->ycsb.count + 1, sizeof *client->files);
	if (!client->files)
		return out_of_memory(error);
	for (; client->count < options->ycsb.count; client->count++)
		if (!ycsb_read(options->ycsb.items[client->count], NULL, &client->files[client->count],
			       error))
			return false;
	ycsb_pair_files(client->files, &client->count);
	return true;
}

static void client_free(struct client *client)
{
	for (size_t i = 0; i < client->count; i++)
		ycsb_file_free(&client->files[i]);
	free(client->files);
}

static double per_operation(const struct client *client, const struct locks *locks)
{
	enum lock_client_time over;
	double value = lock_atomics_per_operation(locks, client->files, client->count, &over);
	if (over == LOCK_CLIENT_WHOLE)
		fputs("mtrace-analyze locks: the client's output has no clock: taken is the whole trace, "
		      "load "
		      "and start included\n",
		      stderr);
	if (over == LOCK_CLIENT_NONE && client->count)
		fputs("mtrace-analyze locks: no run of the client lies in the time of the trace: nothing is "
		      "known per operation\n",
		      stderr);
	return value;
}

/* ---- output -------------------------------------------------------------------------------------------- */

static bool write_view(const struct options *options, const struct locks_view *view, FILE *file,
		       struct error *error)
{
	if (!options->json)
		return locks_print(file, view) || out_of_memory(error);
	json_t *object = locks_json(view);
	bool good = json_write(file, object, error);
	json_decref(object);
	return good;
}

static bool print(const struct options *options, const struct client *client, const struct locks *locks,
		  const struct regions *regions, struct error *error)
{
	const bool given = options->top != UINT64_MAX;
	struct locks_view view = {.locks = locks,
				  .regions = regions,
				  .top = given		 ? (size_t)options->top
					 : options->json ? 0
							 : TOP_TEXT,
				  .cpus = locks_cpus(locks),
				  .per_operation = per_operation(client, locks),
				  .saved_ns = saved_default_ns,
				  .saved_count = sizeof saved_default_ns / sizeof *saved_default_ns};
	if (!isnan(options->saved_ns)) {
		view.saved_ns = &options->saved_ns;
		view.saved_count = 1;
	}
	view.symbols = symbols_create(locks_trace(locks), &options->symbols);
	if (!view.symbols)
		return out_of_memory(error);
	FILE *file = output_open(options->output_path, error);
	bool good = file && write_view(options, &view, file, error);
	if (file)
		good = output_close(file, options->output_path, error) && good;
	symbols_free(view.symbols);
	return good;
}

/* The status of a trace that was read, but holds no locks. */
static int no_locks(struct trace *trace)
{
	int status = command_finish(trace);
	fprintf(stderr,
		"mtrace-analyze locks: %s holds no records of locks: they are recorded with MTRACE_LOCKS=1 "
		"in "
		"the environment of the traced program\n",
		trace_info(trace)->path);
	return status == ERROR_NONE ? ERROR_NEGATIVE : status;
}

static int run_trace(const struct options *options, const struct client *client, struct trace *trace)
{
	struct error error = {0};
	struct regions *regions = NULL;
	struct locks *locks = locks_read(trace, options->each, &options->symbols, &regions, &error);
	int status;
	if (locks && !locks_known(locks))
		status = no_locks(trace);
	else if (locks && print(options, client, locks, regions, &error))
		status = command_finish(trace);
	else
		status = error_print(&error);
	locks_close(locks);
	regions_close(regions);
	return status;
}

static int run(const struct options *options, const char *path)
{
	struct error error = {0};
	struct client client = {0};
	if (!output_spares(options->output_path, &path, 1, &error) ||
	    !output_spares(options->output_path, options->ycsb.items, options->ycsb.count, &error))
		return error_print(&error);
	bool good = client_read(options, &client, &error);
	struct trace *trace = good ? trace_open(path, &error) : NULL;
	int status = trace ? run_trace(options, &client, trace) : error_print(&error);
	trace_close(trace);
	client_free(&client);
	return status;
}

int cmd_locks(int argc, char **argv)
{
	struct options options = {.top = UINT64_MAX, .saved_ns = NAN};
	const struct command_option rows[] = {
		{"json", 0, OPTION_FLAG, &options.json, NULL, "one JSON object"},
		{"each", 0, OPTION_FLAG, &options.each, NULL,
		 "each address by itself, not the locks of one allocating stack together"},
		{"top", 0, OPTION_COUNT, &options.top, "N",
		 "only the first N locks, sites and threads, 0 for all (default 10; JSON: all)"},
		{"ycsb", 0, OPTION_LIST, &options.ycsb, "FILE",
		 "output of YCSB or go-ycsb of that time: atomic operations per operation (several times)"},
		{"atomic-ns", 0, OPTION_SECONDS, &options.saved_ns, "NS",
		 "what an atomic instruction is to cost less, for the bound (default: 1, 5 and 20 ns)"},
		{"output", 'o', OPTION_STRING, &options.output_path, "FILE",
		 "write there instead of standard output"},
		COMMAND_SYMBOL_OPTIONS(options.symbols),
		{0},
	};
	const struct command_usage usage = {
		.name = "locks",
		.operands = "TRACE",
		.purpose =
			"Which locks a program works with and waits for, from which calls, and how many "
			"atomic instructions\n"
			"that takes in glibc: a bound for what LSE can gain (docs/locks.md). The program has "
			"to be traced with\n"
			"MTRACE_LOCKS=1. Exit status 1: the trace holds no records of locks.",
		.options = rows,
		.operands_min = 1,
		.operands_max = 1,
	};
	int status;
	int first = command_parse(&usage, argc, argv, &status);
	if (first >= 0 && !isnan(options.saved_ns) && !(options.saved_ns > 0 && options.saved_ns < 1e6)) {
		fputs("mtrace-analyze locks: --atomic-ns takes nanoseconds, above 0 and below 1,000,000, "
		      "e.g. 5\n",
		      stderr);
		status = ERROR_USAGE;
	} else if (first >= 0) {
		status = run(&options, argv[first]);
	}
	string_list_free(&options.ycsb);
	return status;
}
