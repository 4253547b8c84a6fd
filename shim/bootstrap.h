/*
 * Memory for the time before the next allocator is known: dlsym may allocate, and so may IFUNC resolvers and
 * constructors of other objects that run before this one is even relocated. Blocks come from an arena that is
 * never given back; free, realloc and malloc_usable_size recognise them for ever.
 *
 * Code here must work unrelocated: no call through the PLT, no pointer from the GOT, no thread-local storage.
 */
#ifndef MTRACE_BOOTSTRAP_H
#define MTRACE_BOOTSTRAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/event.h"

#define BOOTSTRAP_BYTES (UINT64_C(64) << 20) /* address space, used as needed */

extern uintptr_t bootstrap_start
	__attribute__((visibility("hidden"))); /* far from any block until the arena exists */

/* Zeroed. NULL where the arena is used up (errno is not set). */
void *bootstrap_allocate(enum event_kind kind, size_t bytes, size_t alignment);

/* Of a block of the arena. */
size_t bootstrap_size(const void *block);

/* True for addresses inside the arena. */
static inline bool bootstrap_owns(const void *block)
{
	return (uintptr_t)block - bootstrap_start < BOOTSTRAP_BYTES;
}

/* The block is not used any more: noted for the trace. */
void bootstrap_free(enum event_kind kind, void *block);

/* What happened so far, for the trace that starts now: calls `visit` for each allocation and free in order.
 */
void bootstrap_replay(void (*visit)(enum event_kind kind, uint64_t address, uint64_t size_bytes));

#endif
