/*
 * What the entry points in entries.S lead to.
 */
#ifndef TESTS_HOST_ARM64_ALLOCATOR_H
#define TESTS_HOST_ARM64_ALLOCATOR_H

#include <stddef.h>

/* Calls so far that a trace counts, if it sees them. */
struct allocator_counts {
	unsigned long allocs, reallocs, frees;
};
extern struct allocator_counts allocator_counts;

void *allocator_malloc(size_t bytes);
void *allocator_calloc(size_t count, size_t each);
void *allocator_memalign(size_t alignment, size_t bytes);
int allocator_posix_memalign(void **block, size_t alignment, size_t bytes);
size_t allocator_usable(const void *block);
void *allocator_realloc(void *block, size_t bytes);
void *allocator_reallocarray(void *block, size_t count, size_t each);
void allocator_free(void *block);

/* Behind an entry that cannot be patched: not counted. */
void *allocator_unseen(size_t bytes);

/* Ends the process with status 42. */
void allocator_end_process(void) __attribute__((noreturn));

/* An entry's first instruction went wrong. */
void allocator_wrong(const void *caller) __attribute__((noreturn));

#endif
