/*
 * Executables that carry their own allocator. Their calls of malloc, and those of all libraries, bind to the
 * definition inside the executable, and a preloaded one is never asked. Its entries are redirected to our
 * hooks instead, each by a jump in its first bytes, and the hooks call the original through a trampoline.
 */
#ifndef MTRACE_PATCH_H
#define MTRACE_PATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/real.h"
#include "shim/thread.h"

struct patch_entry {
	const char *name;    /* of the function */
	const char *module;  /* path of the file that defines it */
	const char *skipped; /* why it was left alone; NULL: patched */
	const char *alias;   /* the name under which this entry is listed too, and patched or not */
};

/* What the patched entries did before: trampolines. Other members are NULL. */
extern struct real patched_next SHIM_LOCAL;

/* The trampoline of a function that was patched, or NULL. */
void *patch_trampoline(const char *name);

/*
 * Looks for objects that define the malloc family and keep their calls to themselves, and patches the first.
 * Once, in the constructor, before anything is recorded. `allowed`: MTRACE_PATCH.
 */
void patch_start(bool allowed);

/* The file that defines an allocator of its own, or NULL: there is none. */
const char *patch_module(void);

/* That file is the program, not a library. */
bool patch_is_program(void);

/* Why nothing at all could be patched; NULL: something was. */
const char *patch_failure(void);

/* Allocations, and frees, of the program's own allocator are seen. */
bool patch_sees_allocations(void);

/* When, in trace time; 0: not. */
uint64_t patch_time(void);

/* What was found, by index; NULL behind the last. */
const struct patch_entry *patch_entry(unsigned index);

#endif
