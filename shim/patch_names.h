/*
 * The functions whose entries are patched where the program defines them itself, X(name) each. The hooks of
 * the allocator's functions exist twice: the exported ones, which the next definitions stand behind, and
 * those of this list, `patched_<name>`, which the program's own definitions stand behind (struct
 * patched_next). A program can use both: its own allocator, and libc's in its libraries.
 */
#ifndef MTRACE_PATCH_NAMES_H
#define MTRACE_PATCH_NAMES_H

#define PATCH_ALLOCATOR(X)                                                                                   \
	X(malloc)                                                                                            \
	X(calloc)                                                                                            \
	X(realloc)                                                                                           \
	X(reallocarray)                                                                                      \
	X(free)                                                                                              \
	X(cfree)                                                                                             \
	X(posix_memalign)                                                                                    \
	X(aligned_alloc)                                                                                     \
	X(memalign)                                                                                          \
	X(valloc)                                                                                            \
	X(pvalloc)                                                                                           \
	X(malloc_usable_size)                                                                                \
	X(free_sized)                                                                                        \
	X(free_aligned_sized)

#define PATCH_OPERATORS(X)                                                                                   \
	X(_Znwm)                                                                                             \
	X(_Znam)                                                                                             \
	X(_ZnwmRKSt9nothrow_t)                                                                               \
	X(_ZnamRKSt9nothrow_t)                                                                               \
	X(_ZnwmSt11align_val_t)                                                                              \
	X(_ZnamSt11align_val_t)                                                                              \
	X(_ZnwmSt11align_val_tRKSt9nothrow_t)                                                                \
	X(_ZnamSt11align_val_tRKSt9nothrow_t)                                                                \
	X(_ZdlPv)                                                                                            \
	X(_ZdaPv)                                                                                            \
	X(_ZdlPvm)                                                                                           \
	X(_ZdaPvm)                                                                                           \
	X(_ZdlPvRKSt9nothrow_t)                                                                              \
	X(_ZdaPvRKSt9nothrow_t)                                                                              \
	X(_ZdlPvSt11align_val_t)                                                                             \
	X(_ZdaPvSt11align_val_t)                                                                             \
	X(_ZdlPvmSt11align_val_t)                                                                            \
	X(_ZdaPvmSt11align_val_t)                                                                            \
	X(_ZdlPvSt11align_val_tRKSt9nothrow_t)                                                               \
	X(_ZdaPvSt11align_val_tRKSt9nothrow_t)

/* Where the program exports these, nobody comes to our exported hooks any more: they serve the entries too.
 */
#define PATCH_REGIONS(X)                                                                                     \
	X(mmap)                                                                                              \
	X(mmap64)                                                                                            \
	X(munmap)                                                                                            \
	X(mremap)                                                                                            \
	X(mprotect)                                                                                          \
	X(madvise)                                                                                           \
	X(sbrk)

#endif
