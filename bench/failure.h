/*
 * Why something could not be done, carried up to main().
 *
 * A function that can fail takes a `struct failure *`, fills it in and returns false (or NULL). The first
 * failure wins: the place that knows most speaks. The text says what, where and what to do, and ends without
 * a newline.
 */
#ifndef MTRACE_BENCH_FAILURE_H
#define MTRACE_BENCH_FAILURE_H

#include <stdbool.h>

/* Exit statuses of ycsb-embedded and mallocbench. */
enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_WRONG_USAGE = 2 };

struct failure {
	int exit_status; /* 0: nothing failed */
	char text[1024];
};

/* Fills in `failure` unless it already holds one. Returns false, so that a caller can return it. */
bool failure_set(struct failure *failure, int exit_status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Prints "PROGRAM: TEXT" to stderr. Returns the exit status. */
int failure_print(const struct failure *failure, const char *program);

/* calloc() and strdup() that end the program with a message where there is no memory: for set-up only. */
void *must_calloc(unsigned long count, unsigned long bytes);
char *must_copy(const char *text);

#endif
