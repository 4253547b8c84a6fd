/*
 * Where patched entries lead: entry_<name> for each hook of patch_names.h. A compiler that sees a function
 * and its callers together (gcc's -fipa-ra) lets a caller keep values in registers that any function may
 * change but this one does not. The hook changes them, so they are put back: all general ones but those that
 * every call may change. In arch/<name>/patch_entries.c, with unwind information: exceptions and backtraces
 * pass through.
 */
#ifndef MTRACE_PATCH_ENTRIES_H
#define MTRACE_PATCH_ENTRIES_H

#include "shim/patch_names.h"

/* X(entry, hook): what hands something back, and what does not. */
#define PATCH_ENTRIES_VALUE(X)                                                                               \
	X(malloc, patched_malloc)                                                                            \
	X(calloc, patched_calloc)                                                                            \
	X(realloc, patched_realloc)                                                                          \
	X(reallocarray, patched_reallocarray)                                                                \
	X(posix_memalign, patched_posix_memalign)                                                            \
	X(aligned_alloc, patched_aligned_alloc)                                                              \
	X(memalign, patched_memalign)                                                                        \
	X(valloc, patched_valloc)                                                                            \
	X(pvalloc, patched_pvalloc)                                                                          \
	X(malloc_usable_size, patched_malloc_usable_size)                                                    \
	X(_Znwm, patched__Znwm)                                                                              \
	X(_Znam, patched__Znam)                                                                              \
	X(_ZnwmRKSt9nothrow_t, patched__ZnwmRKSt9nothrow_t)                                                  \
	X(_ZnamRKSt9nothrow_t, patched__ZnamRKSt9nothrow_t)                                                  \
	X(_ZnwmSt11align_val_t, patched__ZnwmSt11align_val_t)                                                \
	X(_ZnamSt11align_val_t, patched__ZnamSt11align_val_t)                                                \
	X(_ZnwmSt11align_val_tRKSt9nothrow_t, patched__ZnwmSt11align_val_tRKSt9nothrow_t)                    \
	X(_ZnamSt11align_val_tRKSt9nothrow_t, patched__ZnamSt11align_val_tRKSt9nothrow_t)                    \
	X(mmap, mmap_hook)                                                                                   \
	X(mmap64, mmap64_hook)                                                                               \
	X(munmap, munmap_hook)                                                                               \
	X(mremap, mremap_hook)                                                                               \
	X(mprotect, mprotect_hook)                                                                           \
	X(madvise, madvise_hook)                                                                             \
	X(sbrk, sbrk_hook)

#define PATCH_ENTRIES_VOID(X)                                                                                \
	X(free, patched_free)                                                                                \
	X(cfree, patched_cfree)                                                                              \
	X(free_sized, patched_free_sized)                                                                    \
	X(free_aligned_sized, patched_free_aligned_sized)                                                    \
	X(_ZdlPv, patched__ZdlPv)                                                                            \
	X(_ZdaPv, patched__ZdaPv)                                                                            \
	X(_ZdlPvm, patched__ZdlPvm)                                                                          \
	X(_ZdaPvm, patched__ZdaPvm)                                                                          \
	X(_ZdlPvRKSt9nothrow_t, patched__ZdlPvRKSt9nothrow_t)                                                \
	X(_ZdaPvRKSt9nothrow_t, patched__ZdaPvRKSt9nothrow_t)                                                \
	X(_ZdlPvSt11align_val_t, patched__ZdlPvSt11align_val_t)                                              \
	X(_ZdaPvSt11align_val_t, patched__ZdaPvSt11align_val_t)                                              \
	X(_ZdlPvmSt11align_val_t, patched__ZdlPvmSt11align_val_t)                                            \
	X(_ZdaPvmSt11align_val_t, patched__ZdaPvmSt11align_val_t)                                            \
	X(_ZdlPvSt11align_val_tRKSt9nothrow_t, patched__ZdlPvSt11align_val_tRKSt9nothrow_t)                  \
	X(_ZdaPvSt11align_val_tRKSt9nothrow_t, patched__ZdaPvSt11align_val_tRKSt9nothrow_t)

#endif
