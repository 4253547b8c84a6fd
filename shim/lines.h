/*
 * The lines of the kernel's lists under /proc, read in pieces, without allocating.
 */
#ifndef MTRACE_LINES_H
#define MTRACE_LINES_H

#include <stdbool.h>

/*
 * Calls visit for each line of the file at `path`, NUL-terminated and without its newline, until it returns
 * false. The line may be written to. A line longer than LINES_BYTES_MAX is passed over. False: the file
 * cannot be read.
 */
#define LINES_BYTES_MAX 5120u /* 100 of numbers, PATH_MAX, and escapes */
bool lines_visit(const char *path, bool (*visit)(char *line, void *argument), void *argument);

#endif
