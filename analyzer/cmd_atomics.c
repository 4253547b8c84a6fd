#include <stdlib.h>

#include "analyzer/atomics_output.h"
#include "analyzer/command.h"
#include "analyzer/symbols.h"

#define TOP_TEXT 20u

struct atomics_options {
	bool json;
	bool instructions;
	uint64_t top; /* UINT64_MAX: not given */
	const char *output_path;
	struct symbol_options symbols;
};

/* Functions are shown of a single file, and of several where that was asked for. */
static struct atomics_view choose_view(const struct atomics_options *options,
				       const struct atomics_files *files)
{
	bool given = options->top != UINT64_MAX;
	bool single = files->count == 1 && !files->items[0].archive;
	return (struct atomics_view){
		.top = given	       ? (size_t)options->top
		       : options->json ? 0
				       : TOP_TEXT,
		.functions = given || single || options->json,
		.instructions = options->instructions,
	};
}

static bool write_out(const struct atomics_options *options, const struct atomics_files *files, FILE *file,
		      struct error *error)
{
	struct atomics_view view = choose_view(options, files);
	if (!options->json) {
		atomics_print(file, files, &view);
		return true;
	}
	json_t *object = atomics_json(files, &view);
	bool good = json_write(file, object, error);
	json_decref(object);
	return good;
}

/* The single file's problem would else be told on standard output only. */
static void say_problems(const struct atomics_files *files)
{
	for (size_t i = 0; i < files->count; i++) {
		const struct atomics_file *item = &files->items[i];
		struct error error = {0};
		if (!item->problem)
			continue;
		error_set(&error, ERROR_INPUT, item->file, ERROR_NO_OFFSET, "%s", item->problem);
		error_print(&error);
	}
}

static int run(const struct atomics_options *options, const char *const *operands, size_t count)
{
	struct atomics_files files = {.list = options->instructions,
				      .sysroot = options->symbols.sysroot,
				      .debug_dir = options->symbols.debug_dir};
	int status = ERROR_NONE;
	struct error error = {0};
	if (!output_spares(options->output_path, operands, count, &error))
		return error_print(&error);
	for (size_t i = 0; i < count; i++) {
		struct error reading = {0};
		if (!atomics_files_add(&files, operands[i], &reading))
			status = error_print(&reading);
	}
	say_problems(&files);
	if (status == ERROR_NONE && atomics_files_problems(&files))
		status = ERROR_INPUT;
	if (files.count || options->json) {
		FILE *file = output_open(options->output_path, &error);
		bool good = file && write_out(options, &files, file, &error);
		if (file)
			good = output_close(file, options->output_path, &error) && good;
		if (!good)
			status = error_print(&error);
	}
	atomics_files_free(&files);
	return status;
}

int cmd_atomics(int argc, char **argv)
{
	struct atomics_options options = {.top = UINT64_MAX};
	const struct command_option rows[] = {
		{"json", 0, OPTION_FLAG, &options.json, NULL, "one JSON object"},
		{"top", 0, OPTION_COUNT, &options.top, "N",
		 "the first N functions of each file, 0 for all (default 20 of a single file; JSON: all)"},
		{"instructions", 0, OPTION_FLAG, &options.instructions, NULL,
		 "each instruction with address, word and name"},
		{"output", 'o', OPTION_STRING, &options.output_path, "FILE",
		 "write there instead of standard output"},
		COMMAND_SYMBOL_OPTIONS(options.symbols),
		{0},
	};
	const struct command_usage usage = {
		.name = "atomics",
		.operands = "ELF|ARCHIVE|PID|TRACE...",
		.purpose =
			"How AArch64 code makes its atomic operations: LSE instructions, exclusive pairs, or "
			"helpers that\nchoose at run time. Counted in the ELF files themselves, on any "
			"machine; "
			"of a process or a trace\nin every file that it has mapped.\n"
			"Verdicts: inline-lse, no-lse, outline, mixed (several of these), none.",
		.options = rows,
		.operands_min = 1,
		.operands_max = -1,
	};
	int status;
	int first = command_parse(&usage, argc, argv, &status);
	if (first < 0)
		return status;
	return run(&options, (const char *const *)argv + first, (size_t)(argc - first));
}
