#include <fnmatch.h>
#include <string.h>

#include "analyzer/command.h"
#include "analyzer/ftdc.h"
#include "analyzer/ftdc_damage.h"
#include "analyzer/ftdc_summary.h"
#include "analyzer/ftdc_table.h"
#include "analyzer/json.h"

struct ftdc_command {
	bool list, csv, ndjson, json;
	struct string_list globs; /* none: all metrics */
	const char *output_path;
	/* While the names are collected. */
	struct ftdc_names names;
	bool no_memory;
};

static bool out_of_memory(struct error *error)
{
	return error_set(error, ERROR_INTERNAL, NULL, ERROR_NO_OFFSET, "out of memory");
}

/* ---- which metrics ------------------------------------------------------------------------------------- */

static bool matches(const struct ftdc_command *command, const char *name)
{
	for (size_t i = 0; i < command->globs.count; i++)
		if (fnmatch(command->globs.items[i], name, 0) == 0)
			return true;
	return command->globs.count == 0;
}

static bool wanted(void *context, const char *name)
{
	return matches(context, name);
}

static bool collect(void *context, const char *name)
{
	struct ftdc_command *command = context;
	bool memory = true;
	if (matches(command, name))
		ftdc_names_add(&command->names, name, &memory);
	command->no_memory |= !memory;
	return false;
}

/* Nothing is left to be found where each name was given as it is, and each has come. A list goes on: it tells
 * of damage, which for rows the second pass does. */
static bool all_found(const struct ftdc_command *command)
{
	if (!command->csv || command->globs.count == 0 || command->names.count < command->globs.count)
		return false;
	for (size_t i = 0; i < command->globs.count; i++)
		if (strpbrk(command->globs.items[i], "*?[\\") ||
		    ftdc_names_find(&command->names, command->globs.items[i]) == FTDC_NO_NAME)
			return false;
	return true;
}

/* Goes through everything for the names alone. The reader, at its end, or NULL; to be closed by the caller.
 */
static struct ftdc *collect_names(struct ftdc_command *command, const char *path, struct error *error)
{
	const struct ftdc_options options = {.wanted = collect, .context = command, .names_only = true};
	struct ftdc_chunk chunk;
	struct progress progress;
	struct ftdc *ftdc = ftdc_open(path, &options, error);
	if (!ftdc)
		return NULL;
	progress_start(&progress, "names");
	while (!all_found(command) && ftdc_next(ftdc, &chunk, error))
		progress_update(&progress, ftdc_done_bytes(ftdc), ftdc_total_bytes(ftdc));
	progress_end(&progress);
	if (command->no_memory)
		out_of_memory(error);
	if (command->names.refused)
		fprintf(stderr, "mtrace-analyze: note: %zu names of metrics are left out: more than %u\n",
			command->names.refused, FTDC_NAMES_MAX);
	return ftdc;
}

/* ---- the ways to write --------------------------------------------------------------------------------- */

static struct ftdc *write_list(struct ftdc_command *command, const char *path, FILE *file,
			       struct error *error)
{
	struct ftdc *ftdc = collect_names(command, path, error);
	for (size_t i = 0; i < command->names.count; i++) {
		print_safe(file, command->names.items[i]);
		fputc('\n', file);
	}
	return ftdc;
}

typedef bool row_writer(FILE *file, struct ftdc_table *table, const struct ftdc_chunk *chunk);

static struct ftdc *write_rows(struct ftdc_command *command, const char *path, FILE *file, row_writer *writer,
			       struct error *error)
{
	const struct ftdc_options options = {.wanted = wanted, .context = command};
	struct ftdc_table table = {.names = &command->names};
	struct ftdc_chunk chunk;
	struct progress progress;
	struct ftdc *ftdc = ftdc_open(path, &options, error);
	progress_start(&progress, "exporting");
	while (ftdc && !ferror(file) && error->code == ERROR_NONE && ftdc_next(ftdc, &chunk, error)) {
		if (!writer(file, &table, &chunk))
			out_of_memory(error);
		progress_update(&progress, ftdc_done_bytes(ftdc), ftdc_total_bytes(ftdc));
	}
	progress_end(&progress);
	ftdc_table_free(&table);
	return ftdc;
}

/* The header needs all names before the first row: two passes, the first of which is cheap. */
static struct ftdc *write_csv(struct ftdc_command *command, const char *path, FILE *file, struct error *error)
{
	struct ftdc *names = collect_names(command, path, error);
	ftdc_close(names);
	if (!names || error->code != ERROR_NONE)
		return NULL;
	ftdc_csv_head(file, &command->names);
	return write_rows(command, path, file, ftdc_csv, error);
}

static struct ftdc *write_summary(struct ftdc_command *command, const char *path, FILE *file,
				  struct error *error)
{
	static struct ftdc_summary summary;
	const struct ftdc_options options = {.wanted = ftdc_summary_wants, .context = &summary};
	struct ftdc_chunk chunk;
	struct progress progress;
	struct ftdc *ftdc = ftdc_open(path, &options, error);
	if (!ftdc)
		return NULL;
	summary = (struct ftdc_summary){0};
	progress_start(&progress, "reading");
	while (ftdc_next(ftdc, &chunk, error)) {
		ftdc_summary_add(&summary, ftdc, &chunk);
		progress_update(&progress, ftdc_done_bytes(ftdc), ftdc_total_bytes(ftdc));
	}
	progress_end(&progress);
	if (summary.no_memory)
		out_of_memory(error);
	if (command->json) {
		json_t *object = ftdc_summary_json(&summary, ftdc);
		json_write(file, object, error);
		json_decref(object);
	} else {
		ftdc_summary_print(file, &summary, ftdc);
	}
	ftdc_summary_free(&summary);
	return ftdc;
}

static struct ftdc *write_output(struct ftdc_command *command, const char *path, FILE *file,
				 struct error *error)
{
	if (command->list)
		return write_list(command, path, file, error);
	if (command->csv)
		return write_csv(command, path, file, error);
	if (command->ndjson)
		return write_rows(command, path, file, ftdc_ndjson, error);
	return write_summary(command, path, file, error);
}

/* ---- the command --------------------------------------------------------------------------------------- */

/* False, too, where there is nothing to read: an output is opened, and emptied, only after that. */
static bool spares_inputs(const struct ftdc_command *command, const char *path, struct error *error)
{
	size_t count;
	struct ftdc *ftdc = ftdc_open(path, NULL, error);
	if (!ftdc)
		return false;
	const char *const *files = ftdc_files(ftdc, &count);
	bool spared = output_spares(command->output_path, files, count, error);
	ftdc_close(ftdc);
	return spared;
}

static int run(struct ftdc_command *command, const char *path)
{
	struct error error = {0};
	if (!spares_inputs(command, path, &error))
		return error_print(&error);
	FILE *file = output_open(command->output_path, &error);
	if (!file)
		return error_print(&error);
	struct ftdc *ftdc = write_output(command, path, file, &error);
	bool good = output_close(file, command->output_path, &error) && error.code == ERROR_NONE;
	int status = ftdc ? ftdc_print_damage(ftdc) : ERROR_NONE;
	ftdc_close(ftdc);
	return good ? status : error_print(&error);
}

static bool check_options(const struct ftdc_command *command)
{
	int rows = command->list + command->csv + command->ndjson;
	if (rows + command->json > 1) {
		fputs("mtrace-analyze ftdc: --list, --csv, --ndjson and --json: one at a time\n", stderr);
		return false;
	}
	if (command->globs.count && !rows) {
		fputs("mtrace-analyze ftdc: --metrics goes with --list, --csv or --ndjson\n", stderr);
		return false;
	}
	return true;
}

int cmd_ftdc(int argc, char **argv)
{
	struct ftdc_command command = {0};
	const struct command_option rows[] = {
		{"list", 0, OPTION_FLAG, &command.list, NULL, "names of the metrics, a line each"},
		{"csv", 0, OPTION_FLAG, &command.csv, NULL, "a row a sample"},
		{"ndjson", 0, OPTION_FLAG, &command.ndjson, NULL, "an object a sample, a line each"},
		{"json", 0, OPTION_FLAG, &command.json, NULL, "the summary as one JSON object"},
		{"metrics", 0, OPTION_LIST, &command.globs, "GLOB",
		 "list, csv, ndjson: only metrics of such names (repeatable)"},
		{"output", 'o', OPTION_STRING, &command.output_path, "FILE",
		 "write there instead of standard output"},
		{0},
	};
	const struct command_usage usage = {
		.name = "ftdc",
		.operands = "FILE|DIR",
		.purpose =
			"What mongod recorded about itself: the folder diagnostic.data below its dbPath, or "
			"a file of it.\n"
			"A summary of server, machine, huge pages, caches and memory over time, or the "
			"samples themselves.",
		.options = rows,
		.operands_min = 1,
		.operands_max = 1,
	};
	int status;
	int first = command_parse(&usage, argc, argv, &status);
	if (first >= 0)
		status = check_options(&command) ? run(&command, argv[first]) : ERROR_USAGE;
	ftdc_names_free(&command.names);
	string_list_free(&command.globs);
	return status;
}
