#include "analyzer/command.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "analyzer/array.h"
#include "analyzer/utf8.h"

#define OPTIONS_MAX	   48
#define PROGRESS_PERIOD_NS 200000000u
#define HELP_COLUMN	   28

/* ---- help ---------------------------------------------------------------------------------------------- */

static void print_option(FILE *file, const struct command_option *option)
{
	char left[64];
	char letter[8] = "    ";
	if (option->letter)
		snprintf(letter, sizeof letter, "-%c, ", option->letter);
	snprintf(left, sizeof left, "%s--%s%s%s", letter, option->name, option->argument ? " " : "",
		 option->argument ? option->argument : "");
	fprintf(file, "  %-*s %s\n", HELP_COLUMN, left, option->help);
}

static void print_help(const struct command_usage *usage)
{
	static const struct command_option help = {"help", 'h', OPTION_FLAG, NULL, NULL, "this text"};
	printf("usage: mtrace-analyze %s [OPTION...] %s\n\n%s\n\n", usage->name, usage->operands,
	       usage->purpose);
	for (const struct command_option *option = usage->options; option->name; option++)
		print_option(stdout, option);
	print_option(stdout, &help);
}

static int wrong_usage(const struct command_usage *usage, int *status)
{
	fprintf(stderr, "usage: mtrace-analyze %s [OPTION...] %s (--help tells more)\n", usage->name,
		usage->operands);
	*status = ERROR_USAGE;
	return -1;
}

/* ---- options ------------------------------------------------------------------------------------------- */

static bool list_append(struct string_list *list, const char *item)
{
	const char **grown = realloc(list->items, (list->count + 1) * sizeof *grown);
	if (!grown)
		return false;
	list->items = grown;
	list->items[list->count++] = item;
	return true;
}

void string_list_free(struct string_list *list)
{
	free(list->items);
	*list = (struct string_list){0};
}

static bool store_count(uint64_t *value, const char *text)
{
	char *end;
	errno = 0;
	uint64_t number = strtoull(text, &end, 10);
	if (errno || *text < '0' || *text > '9' || *end)
		return false;
	*value = number;
	return true;
}

static bool store_seconds(double *value, const char *text)
{
	char *end;
	errno = 0;
	double number = strtod(text, &end);
	if (errno || end == text || *end || !(number > -1e12 && number < 1e12))
		return false;
	*value = number;
	return true;
}

static bool is_folder(const char *path)
{
	struct stat status;
	return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static bool store(const struct command_option *option, const char *argument)
{
	switch (option->type) {
	case OPTION_FLAG:
		*(bool *)option->value = true;
		return true;
	case OPTION_STRING:
		*(const char **)option->value = argument;
		return true;
	case OPTION_FOLDER:
		*(const char **)option->value = argument;
		return is_folder(argument);
	case OPTION_LIST:
		return list_append(option->value, argument);
	case OPTION_COUNT:
		return store_count(option->value, argument);
	case OPTION_SECONDS:
		return store_seconds(option->value, argument);
	}
	return false;
}

/* getopt's tables; a long option's value is its index + 256. */
static size_t build_tables(const struct command_usage *usage, struct option *longs, char *letters)
{
	size_t count = 0;
	*letters++ = 'h';
	for (const struct command_option *option = usage->options; option->name && count < OPTIONS_MAX;
	     option++, count++) {
		bool argument = option->type != OPTION_FLAG;
		longs[count] = (struct option){option->name, argument ? required_argument : no_argument, NULL,
					       (int)count + 256};
		if (option->letter)
			*letters++ = option->letter;
		if (option->letter && argument)
			*letters++ = ':';
	}
	longs[count] = (struct option){"help", no_argument, NULL, 'h'};
	longs[count + 1] = (struct option){0};
	*letters = '\0';
	return count;
}

static void complain(const char *command, const struct command_option *option, const char *argument)
{
	if (option->type == OPTION_FOLDER)
		fprintf(stderr, "%s: --%s: there is no folder '%s'\n", command, option->name, argument);
	else
		fprintf(stderr, "%s: --%s: '%s' is no such value (%s)\n", command, option->name, argument,
			option->argument);
}

unsigned command_choose(const char *command, const char *option, const char *given, const char *const *names,
			unsigned count)
{
	for (unsigned i = 0; given && i < count; i++)
		if (strcmp(given, names[i]) == 0)
			return i;
	fprintf(stderr, "mtrace-analyze %s: --%s %s: it must be one of", command, option,
		given ? given : "is missing");
	for (unsigned i = 0; i < count; i++)
		fprintf(stderr, "%s %s", i ? "," : "", names[i]);
	fputc('\n', stderr);
	return count;
}

static const struct command_option *find_option(const struct command_usage *usage, int found)
{
	if (found >= 256)
		return &usage->options[found - 256];
	for (const struct command_option *option = usage->options; option->name; option++)
		if (option->letter == found)
			return option;
	return NULL;
}

static int check_operands(const struct command_usage *usage, int argc, int *status)
{
	int operands = argc - optind;
	if (operands < usage->operands_min) {
		fprintf(stderr, "mtrace-analyze %s: %s is missing\n", usage->name, usage->operands);
		return wrong_usage(usage, status);
	}
	if (usage->operands_max >= 0 && operands > usage->operands_max) {
		fprintf(stderr, "mtrace-analyze %s: too many arguments\n", usage->name);
		return wrong_usage(usage, status);
	}
	return optind;
}

int command_parse(const struct command_usage *usage, int argc, char **argv, int *status)
{
	struct option longs[OPTIONS_MAX + 2];
	char letters[2 * OPTIONS_MAX + 2];
	char name[64];
	build_tables(usage, longs, letters);
	snprintf(name, sizeof name, "mtrace-analyze %s", usage->name);
	argv[0] = name; /* getopt's own messages begin with it */
	optind = 0;
	*status = 0;
	for (int found; (found = getopt_long(argc, argv, letters, longs, NULL)) != -1;) {
		if (found == 'h') {
			print_help(usage);
			argv[0] = (char *)usage->name;
			return -1;
		}
		const struct command_option *option = found == '?' ? NULL : find_option(usage, found);
		if (option && !store(option, optarg)) {
			complain(name, option, optarg);
			option = NULL;
		}
		if (!option) {
			argv[0] = (char *)usage->name;
			return wrong_usage(usage, status);
		}
	}
	argv[0] = (char *)usage->name;
	return check_operands(usage, argc, status);
}

/* ---- output -------------------------------------------------------------------------------------------- */

static bool is_stdout(const char *path)
{
	return !path || strcmp(path, "-") == 0;
}

bool same_file(const char *a, const char *b)
{
	struct stat one, other;
	return !stat(a, &one) && !stat(b, &other) && one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

static bool same_as_rings(const char *path, const char *trace)
{
	char *rings;
	if (asprintf(&rings, "%s" TRACE_RINGS_SUFFIX, trace) < 0)
		return false;
	bool same = same_file(path, rings);
	free(rings);
	return same;
}

bool output_spares(const char *path, const char *const *inputs, size_t count, struct error *error)
{
	for (size_t i = 0; !is_stdout(path) && i < count; i++)
		if (same_file(path, inputs[i]) || same_as_rings(path, inputs[i]))
			return error_set(error, ERROR_USAGE, path, ERROR_NO_OFFSET,
					 "this is an input, which writing would destroy: name another file "
					 "for the output");
	return true;
}

FILE *output_open(const char *path, struct error *error)
{
	if (is_stdout(path))
		return stdout;
	FILE *file = fopen(path, "we");
	if (!file)
		error_set(error, ERROR_INTERNAL, path, ERROR_NO_OFFSET, "cannot be written: %s",
			  strerror(errno));
	return file;
}

bool output_close(FILE *file, const char *path, struct error *error)
{
	bool good = fflush(file) == 0 && !ferror(file);
	int reason = errno;
	if (!is_stdout(path) && fclose(file) != 0) {
		good = false;
		reason = errno;
	}
	return good || error_set(error, ERROR_INTERNAL, is_stdout(path) ? "standard output" : path,
				 ERROR_NO_OFFSET, "cannot be written: %s", strerror(reason));
}

void print_safe(FILE *file, const char *text)
{
	while (*text) {
		size_t length = utf8_sequence(text);
		const unsigned char *bytes = (const unsigned char *)text;
		bool control = (length == 1 && (bytes[0] < 0x20 || bytes[0] == 0x7f)) ||
			       (length == 2 && bytes[0] == 0xc2 && bytes[1] < 0xa0);
		if (!length || control)
			fputc('?', file);
		else
			fwrite(text, 1, length, file);
		text += length ? length : 1;
	}
}

void print_frame(FILE *file, const struct symbol_frame *frame)
{
	print_safe(file, frame->name);
	if (frame->source_file) {
		const char *slash = strrchr(frame->source_file, '/');
		fputs("  ", file);
		print_safe(file, slash ? slash + 1 : frame->source_file);
		if (frame->line)
			fprintf(file, ":%u", frame->line);
	}
	if (frame->inlined)
		fputs(" (inlined)", file);
}

/* ---- progress ------------------------------------------------------------------------------------------ */

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void progress_start(struct progress *progress, const char *what)
{
	*progress = (struct progress){.what = what, .on = isatty(STDERR_FILENO)};
	if (progress->on)
		progress->next_ns = now_ns() + PROGRESS_PERIOD_NS;
}

void progress_update(struct progress *progress, uint64_t done, uint64_t total)
{
	if (!progress->on)
		return;
	uint64_t now = now_ns();
	if (now < progress->next_ns)
		return;
	progress->next_ns = now + PROGRESS_PERIOD_NS;
	double percent = total ? 100.0 * (double)done / (double)total : 0;
	fprintf(stderr, "\r%s: %3.0f%%", progress->what, percent < 100 ? percent : 100);
	fflush(stderr);
	progress->drawn = true;
}

void progress_end(struct progress *progress)
{
	if (progress->drawn)
		fprintf(stderr, "\r%*s\r", (int)strlen(progress->what) + 8, "");
	progress->drawn = false;
}

/* ---- the end of a command ------------------------------------------------------------------------------ */

int command_finish(const struct trace *trace)
{
	size_t count;
	const char *const *notes = trace_notes(trace, &count);
	for (size_t i = 0; i < count; i++) {
		fputs("mtrace-analyze: note: ", stderr);
		print_safe(stderr, notes[i]);
		fputc('\n', stderr);
	}
	const struct trace_damage *damage = trace_damage(trace, &count);
	for (size_t i = 0; i < count; i++) {
		fputs("mtrace-analyze: ", stderr);
		print_safe(stderr, damage[i].file);
		fprintf(stderr, ": offset %" PRIu64 ": %s\n", damage[i].offset_bytes, damage[i].text);
	}
	if (trace_damage_count(trace) > count)
		fprintf(stderr, "mtrace-analyze: and %" PRIu64 " more damaged places\n",
			trace_damage_count(trace) - count);
	return trace_damage_count(trace) ? ERROR_INPUT : ERROR_NONE;
}
