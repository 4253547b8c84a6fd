#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyzer/command.h"
#include "analyzer/ycsb.h"
#include "analyzer/ycsb_clients.h"
#include "analyzer/ycsb_object.h"
#include "analyzer/ycsb_output.h"
#include "analyzer/ycsb_summary.h"

#define OFFSET_MAX_S (18 * 3600) /* no zone is further from UTC */

struct ycsb_command {
	bool json;
	bool clients;
	struct ycsb_output output;
	const char *output_path;
	const char *summary_prefix;
	double offset_s; /* NaN: not given */
	const char *start;
};

struct ycsb_inputs {
	struct ycsb_file *files;
	size_t count;
	struct ycsb_file together; /* clients of one run */
	bool left_out;		   /* one or more could not be read */
};

static bool take_options(const struct ycsb_command *command, struct ycsb_options *options,
			 struct error *error)
{
	if (!isnan(command->offset_s)) {
		if (fabs(command->offset_s) > OFFSET_MAX_S || command->offset_s != trunc(command->offset_s))
			return error_set(error, ERROR_USAGE, NULL, ERROR_NO_OFFSET,
					 "--ycsb-offset takes whole seconds east of UTC, from -64800 to "
					 "64800");
		options->have_offset = true;
		options->offset_s = (int64_t)command->offset_s;
	}
	if (command->start) {
		if (!ycsb_parse_time(command->start, &options->start_ns))
			return error_set(error, ERROR_USAGE, NULL, ERROR_NO_OFFSET,
					 "--ycsb-start takes seconds since 1970 or a time like "
					 "2026-05-31T12:00:00Z, not '%s'",
					 command->start);
		options->have_start = true;
	}
	return true;
}

/* What was read of a damaged file is used; the first line that could not be read is said. */
static void say_unread(const struct ycsb_file *file)
{
	struct error error = {0};
	error_set(&error, ERROR_INPUT, file->path, file->unread.offset_bytes,
		  "cannot read line %llu, \"%s\"%s; the rest of the file was used",
		  (unsigned long long)file->unread.line, file->unread.excerpt,
		  file->unread_lines > 1 ? " (and others behind it)" : "");
	error_print(&error);
}

static bool read_files(const char *const *paths, size_t count, const struct ycsb_options *options,
		       struct ycsb_inputs *inputs, struct error *error)
{
	inputs->files = calloc(count, sizeof *inputs->files);
	if (!inputs->files)
		return error_set(error, ERROR_INTERNAL, NULL, ERROR_NO_OFFSET, "out of memory");
	for (size_t i = 0; i < count; i++) {
		struct error wrong = {0};
		if (ycsb_read(paths[i], options, &inputs->files[inputs->count], &wrong)) {
			const struct ycsb_file *file = &inputs->files[inputs->count++];
			if (file->unread_lines > 0)
				say_unread(file);
			inputs->left_out |= file->unread_lines > 0;
		} else if (wrong.code == ERROR_INPUT) {
			error_print(&wrong);
			inputs->left_out = true;
		} else {
			*error = wrong;
			return false;
		}
	}
	ycsb_pair_files(inputs->files, &inputs->count);
	return true;
}

static bool print(const struct ycsb_command *command, const struct ycsb_inputs *inputs, struct error *error)
{
	FILE *file = output_open(command->output_path, error);
	if (!file)
		return false;
	bool good = true;
	if (command->json) {
		json_t *object = ycsb_object(inputs->files, inputs->count);
		json_put(object, "together", ycsb_runs_array(&inputs->together, 1, 0));
		good = json_write(file, object, error);
		json_decref(object);
	} else {
		ycsb_print(file, inputs->files, inputs->count, &command->output);
		if (inputs->together.run_count > 0)
			ycsb_print(file, &inputs->together, 1, &command->output);
	}
	return output_close(file, command->output_path, error) && good;
}

static bool spare_inputs(const struct ycsb_command *command, const char *const *paths, size_t count,
			 struct error *error)
{
	static const char *const endings[] = {"csv", "gp", "png", "svg"};
	if (!output_spares(command->output_path, paths, count, error))
		return false;
	if (!command->summary_prefix)
		return true;
	if (!ycsb_summary_prefix(command->summary_prefix, error))
		return false;
	for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
		char path[4200];
		snprintf(path, sizeof path, "%s.%s", command->summary_prefix, endings[i]);
		if (!output_spares(path, paths, count, error))
			return false;
	}
	return true;
}

/* Of clients that are one run the sum counts. */
static bool write_summary(const struct ycsb_command *command, const struct ycsb_inputs *inputs,
			  struct error *error)
{
	if (!command->summary_prefix)
		return true;
	if (command->clients && inputs->together.run_count > 0)
		return ycsb_summary_write(command->summary_prefix, &inputs->together, 1, error);
	return ycsb_summary_write(command->summary_prefix, inputs->files, inputs->count, error);
}

static int run(const struct ycsb_command *command, const char *const *paths, size_t count)
{
	struct error error = {0};
	struct ycsb_options options = {0};
	struct ycsb_inputs inputs = {0};
	bool done = take_options(command, &options, &error) && spare_inputs(command, paths, count, &error) &&
		    read_files(paths, count, &options, &inputs, &error);
	if (done && inputs.count > 0)
		done = ycsb_clients(inputs.files, inputs.count, command->clients, &inputs.together, &error) &&
		       print(command, &inputs, &error) && write_summary(command, &inputs, &error);
	int status = !done ? error_print(&error) : inputs.left_out ? ERROR_INPUT : ERROR_NONE;
	for (size_t i = 0; i < inputs.count; i++)
		ycsb_file_free(&inputs.files[i]);
	ycsb_file_free(&inputs.together);
	free(inputs.files);
	return status;
}

int cmd_ycsb(int argc, char **argv)
{
	struct ycsb_command command = {.offset_s = NAN};
	const struct command_option rows[] = {
		{"json", 0, OPTION_FLAG, &command.json, NULL, "one JSON object"},
		{"clients", 0, OPTION_FLAG, &command.clients, NULL,
		 "the files are of several clients of one run: show their sum too"},
		{"brief", 0, OPTION_FLAG, &command.output.brief, NULL, "one line a run"},
		{"series", 0, OPTION_FLAG, &command.output.series, NULL,
		 "every interval of the status lines too"},
		{"output", 'o', OPTION_STRING, &command.output_path, "FILE",
		 "write there instead of standard output"},
		{"summary", 0, OPTION_STRING, &command.summary_prefix, "PREFIX",
		 "write PREFIX.csv with all runs, and PREFIX.png and .svg: throughput, mean and p95 latency "
		 "and operations against threads"},
		{"ycsb-offset", 0, OPTION_SECONDS, &command.offset_s, "S",
		 "seconds east of UTC of the client's clock (default: this machine's zone)"},
		{"ycsb-start", 0, OPTION_STRING, &command.start, "TIME",
		 "start of a run without a clock: seconds since 1970, or 2026-05-31T12:00:00Z"},
		{0},
	};
	const struct command_usage usage = {
		.name = "ycsb",
		.operands = "FILE...",
		.purpose = "What YCSB or go-ycsb printed, as tables: throughput, latencies, errors, the "
			   "series, and whether the numbers\n"
			   "can be what they are taken for. Any kind of output is recognised by itself; a "
			   "file may hold several runs.",
		.options = rows,
		.operands_min = 1,
		.operands_max = -1,
	};
	int status;
	int first = command_parse(&usage, argc, argv, &status);
	return first < 0 ? status : run(&command, (const char *const *)argv + first, (size_t)(argc - first));
}
