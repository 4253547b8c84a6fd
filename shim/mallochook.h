/*
 * gperftools' exported hooks (MallocHook_AddNewHook and its like): the second choice, where its entries
 * cannot be patched. They cost about three times as much, call operator new and calloc malloc, and show a
 * realloc as a free and an allocation.
 */
#ifndef MTRACE_MALLOCHOOK_H
#define MTRACE_MALLOCHOOK_H

#include <stdbool.h>

/* Hooks in, where the program has such an allocator. False: it has not, or takes no more hooks. */
bool mallochook_start(void);

bool mallochook_active(void);

#endif
