/*
 * Who serves malloc for the program. A program that defines malloc itself (a statically linked allocator)
 * binds its own calls, and libc's, to that definition: a preloaded one is never called. Blind is never
 * silent.
 */
#ifndef MTRACE_SOURCE_H
#define MTRACE_SOURCE_H

#include <stdbool.h>

/* The program's calls of malloc come to us. */
bool source_is_interposed(void);

/* "interposed" or "blind". */
const char *source_name(void);

/* Why, in words. */
const char *source_reason(void);

/* One line on stderr where we are blind. */
void source_warn(void);

#endif
