/*
 * Errors of the analyzer: typed, passed up, with the place in the input.
 *
 * A function that can fail on input takes a `struct error *` and returns false (or NULL) after filling it in.
 * The first error wins: error_set() does not overwrite an earlier one, so the place that knows most speaks.
 * Damage that was read past is not an error but a `struct damage` of the reader.
 */
#ifndef MTRACE_ERROR_H
#define MTRACE_ERROR_H

#include <stdbool.h>
#include <stdint.h>

/* The values are the exit statuses of mtrace-analyze. */
enum error_code {
	ERROR_NONE = 0,
	ERROR_NEGATIVE = 1, /* done, and the answer is "no" */
	ERROR_USAGE = 2,    /* wrong command line */
	ERROR_INPUT = 3,    /* input unreadable or damaged */
	ERROR_INTERNAL = 4, /* out of memory, output not writable */
};

#define ERROR_NO_OFFSET UINT64_MAX

struct error {
	enum error_code code;
	uint64_t offset_bytes; /* in the input file; ERROR_NO_OFFSET where there is none */
	char file[512];	       /* the input file; empty where there is none */
	char text[512];	       /* what is wrong, and what to do */
};

/* Fills in `error` unless it already holds one. `file` may be NULL. Returns false, so that a caller can
 * return it. */
bool error_set(struct error *error, enum error_code code, const char *file, uint64_t offset_bytes,
	       const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Prints "mtrace-analyze: FILE: offset N: TEXT" to stderr. Returns the exit status for it. */
int error_print(const struct error *error);

#endif
