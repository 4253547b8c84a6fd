/*
 * Who serves malloc for the program, and how its calls come to us. A program that defines malloc itself (a
 * statically linked allocator) binds its own calls, and libc's, to that definition: a preloaded one is never
 * called, so its entries are patched, or its hooks used. Blind is never silent.
 */
#ifndef MTRACE_SOURCE_H
#define MTRACE_SOURCE_H

#include <stdbool.h>

enum source {
	SOURCE_BLIND,	   /* allocator calls are not seen */
	SOURCE_INTERPOSED, /* they bind to our functions */
	SOURCE_PATCHED,	   /* the entries of the program's own allocator lead to us */
	SOURCE_HOOKED,	   /* it calls us through its exported hooks */
};

/* Finds out, and patches or hooks where that is called for. Before anything is recorded. */
void source_start(void);

/* "interposed", "patched", "hooked" or "blind". */
const char *source_name(void);

/* True where no allocator is at work in the process whose calls do not come by us. */
bool source_sees_all(void);

/* Why, in words. */
const char *source_reason(void);

/* One line on stderr where allocator calls are not seen, or not all of them. */
void source_warn(void);

#endif
