/*
 * Subcommands of mtrace-analyze, and what they share: options, progress on a terminal, output files.
 *
 * A subcommand lives in cmd_<name>.c as `int cmd_<name>(int argc, char **argv)` (argv[0] is its name) and
 * returns the exit status: enum error_code. It is made known by a line in main.c's table. It describes its
 * options in a `struct command_usage`, from which command_parse() fills in variables and prints --help.
 */
#ifndef MTRACE_COMMAND_H
#define MTRACE_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "analyzer/error.h"
#include "analyzer/reader.h"
#include "analyzer/symbols.h"

int cmd_info(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_sites(int argc, char **argv);
int cmd_hugepages(int argc, char **argv);
int cmd_percpu(int argc, char **argv);
int cmd_locks(int argc, char **argv);
int cmd_ycsb(int argc, char **argv);
int cmd_compare(int argc, char **argv);
int cmd_atomics(int argc, char **argv);
int cmd_ftdc(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_export(int argc, char **argv);

/* ---- options ------------------------------------------------------------------------------------------- */

/* Arguments of an option that may be given several times, in order; they point into argv. Zero-initialize. */
struct string_list {
	const char **items;
	size_t count;
};

void string_list_free(struct string_list *list);

enum option_type {
	OPTION_FLAG,	/* value: bool *, set to true */
	OPTION_STRING,	/* value: const char **, into argv */
	OPTION_LIST,	/* value: struct string_list *, appended to */
	OPTION_FOLDER,	/* value: const char **, into argv; the folder exists */
	OPTION_COUNT,	/* value: uint64_t *, a decimal number */
	OPTION_SECONDS, /* value: double *, may be negative */
};

struct command_option {
	const char *name; /* without the dashes */
	char letter;	  /* 0: has no short form */
	enum option_type type;
	void *value;	      /* keeps its content where the option is not given: the default */
	const char *argument; /* for --help, e.g. "FILE"; NULL for flags */
	const char *help;     /* one line */
};

struct command_usage {
	const char *name;
	const char *operands;		      /* for --help, e.g. "TRACE..." */
	const char *purpose;		      /* one or more lines, without a newline at the end */
	const struct command_option *options; /* ends with a name of NULL; --help is added */
	int operands_min;
	int operands_max; /* -1: any number */
};

/*
 * Parses argv; options and operands may mix (argv is permuted). Returns the index of the first operand, or -1
 * when the command is to end at once with *status: 0 after --help, 2 after wrong usage, which was said on
 * stderr.
 */
int command_parse(const struct command_usage *usage, int argc, char **argv, int *status);

/*
 * The index of `given` among `names`; `count` after a line on stderr that names the command, the option and
 * what it takes. NULL is among none.
 */
unsigned command_choose(const char *command, const char *option, const char *given, const char *const *names,
			unsigned count);

/* Rows for --sysroot and --debug-dir, alike in every command that prints symbols. */
/* clang-format off */
#define COMMAND_SYMBOL_OPTIONS(where) \
	{"sysroot", 0, OPTION_FOLDER, &(where).sysroot, "DIR", "look for the traced modules below DIR"},        \
	{"debug-dir", 0, OPTION_FOLDER, &(where).debug_dir, "DIR", "look for separate debug files in DIR"}
/* clang-format on */

/* ---- output -------------------------------------------------------------------------------------------- */

/* True where both exist and are one file, by whatever names. */
bool same_file(const char *a, const char *b);

/*
 * False, with ERROR_USAGE set, where writing `path` would destroy one of `inputs` or the rings file beside
 * it. To be asked before output_open(); a path of NULL, "-" or of no file yet destroys nothing.
 */
bool output_spares(const char *path, const char *const *inputs, size_t count, struct error *error);

/* Opens `path` for writing, stdout where it is NULL or "-". NULL on failure. */
FILE *output_open(const char *path, struct error *error);

/* Flushes, and closes what is not stdout. False where anything since output_open could not be written. */
bool output_close(FILE *file, const char *path, struct error *error);

/* Writes `text` so that it cannot drive a terminal: control bytes and bytes that are not UTF-8 become '?'. */
void print_safe(FILE *file, const char *text);

/* Likewise: the function, and where known its source ("main  mongo.c:12"), without a newline. */
void print_frame(FILE *file, const struct symbol_frame *frame);

/* One line on stderr, redrawn at most five times a second, and only where stderr is a terminal. */
struct progress {
	const char *what; /* e.g. "reading" */
	uint64_t next_ns; /* not before this moment (CLOCK_MONOTONIC) */
	bool on;
	bool drawn;
};

void progress_start(struct progress *progress, const char *what);
void progress_update(struct progress *progress, uint64_t done, uint64_t total);
void progress_end(struct progress *progress); /* wipes the line */

/*
 * The end of a command that read `trace`: prints its damage and notes to stderr (file, offset, what) and
 * returns the exit status: ERROR_INPUT where there was damage, otherwise 0.
 */
int command_finish(const struct trace *trace);

#endif
