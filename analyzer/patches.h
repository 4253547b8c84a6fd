/*
 * Entry points of an allocator inside the program that the shim has patched, or left alone (trace/FORMAT.md,
 * section 5).
 */
#ifndef MTRACE_PATCHES_H
#define MTRACE_PATCHES_H

#include <jansson.h>
#include <stddef.h>

#include "analyzer/reader.h"

/* Array of {name, module, state, reason}; `state` is "patched", "skipped" or "alias". */
json_t *patches_json(const struct trace *trace);

/* Seconds after the start from which patched entries lead to the shim; JSON null: none does. */
json_t *patched_at_json(const struct trace *trace);

/* "36 entry points of /usr/bin/x; not memalign (it is shorter than a jump)" and the like, cut off at `bytes`.
 * False: nothing was to be patched. */
bool patches_text(const struct trace *trace, char *text, size_t bytes);

#endif
