/*
 * The program's own file. Under an explicit loader (`ld.so PROGRAM`) /proc/self/exe is the loader: what
 * counts is the file that the program headers of AT_PHDR are mapped from.
 */
#ifndef MTRACE_PROGRAM_H
#define MTRACE_PROGRAM_H

#include <stddef.h>

/* Writes the path, or "" where it cannot be found out. A file that was removed has " (deleted)" behind it. */
void program_path(char *path, size_t bytes);

#endif
