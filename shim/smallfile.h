/*
 * Small text files of the kernel, read whole by one system call.
 */
#ifndef MTRACE_SMALLFILE_H
#define MTRACE_SMALLFILE_H

#include <stddef.h>
#include <stdint.h>

/* Into `text`, cut off at bytes - 1 and ended by NUL. Returns its length, or -errno; the text is then empty.
 */
long smallfile_read(const char *path, char *text, size_t bytes);

/* The decimal number at the start of the file; `otherwise` where there is none. */
uint64_t smallfile_number(const char *path, uint64_t otherwise);

#endif
