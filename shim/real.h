/*
 * The next definitions of what we interpose: the functions that the guest would have called without us.
 * Looked up with RTLD_NEXT, so an allocator that is preloaded behind us keeps its own.
 */
#ifndef MTRACE_REAL_H
#define MTRACE_REAL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* X(result, name, parameters) for everything that is looked up at start. */
#define REAL_C_FUNCTIONS(X)                                                                                  \
	X(void *, malloc, (size_t))                                                                          \
	X(void *, calloc, (size_t, size_t))                                                                  \
	X(void *, realloc, (void *, size_t))                                                                 \
	X(void *, reallocarray, (void *, size_t, size_t))                                                    \
	X(void, free, (void *))                                                                              \
	X(void, cfree, (void *))                                                                             \
	X(int, posix_memalign, (void **, size_t, size_t))                                                    \
	X(void *, aligned_alloc, (size_t, size_t))                                                           \
	X(void *, memalign, (size_t, size_t))                                                                \
	X(void *, valloc, (size_t))                                                                          \
	X(void *, pvalloc, (size_t))                                                                         \
	X(size_t, malloc_usable_size, (void *))                                                              \
	X(void, free_sized, (void *, size_t))                                                                \
	X(void, free_aligned_sized, (void *, size_t, size_t))                                                \
	X(void *, mmap, (void *, size_t, int, int, int, off_t))                                              \
	X(void *, mmap64, (void *, size_t, int, int, int, off_t))                                            \
	X(int, munmap, (void *, size_t))                                                                     \
	X(void *, mremap, (void *, size_t, size_t, int, void *))                                             \
	X(int, mprotect, (void *, size_t, int))                                                              \
	X(int, madvise, (void *, size_t, int))                                                               \
	X(int, posix_madvise, (void *, size_t, int))                                                         \
	X(ssize_t, process_madvise, (int, const void *, size_t, int, unsigned))                              \
	X(int, brk, (void *))                                                                                \
	X(void *, sbrk, (intptr_t))                                                                          \
	X(int, prctl, (int, long, long, long, long))                                                         \
	X(long, syscall, (long, long, long, long, long, long, long))                                         \
	X(int, pthread_create, (pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))             \
	X(pid_t, fork, (void))                                                                               \
	X(pid_t, _Fork, (void))                                                                              \
	X(pid_t, setsid, (void))                                                                             \
	X(int, daemon, (int, int))                                                                           \
	X(void *, dlopen, (const char *, int))                                                               \
	X(int, dlclose, (void *))                                                                            \
	X(int, execve, (const char *, char *const[], char *const[]))                                         \
	X(int, execv, (const char *, char *const[]))                                                         \
	X(int, execvp, (const char *, char *const[]))                                                        \
	X(int, execvpe, (const char *, char *const[], char *const[]))                                        \
	X(int, fexecve, (int, char *const[], char *const[]))                                                 \
	X(int, execveat, (int, const char *, char *const[], char *const[], int))                             \
	X(void, _exit, (int))

struct real {
#define REAL_MEMBER(result, name, parameters) result(*name) parameters;
	REAL_C_FUNCTIONS(REAL_MEMBER)
#undef REAL_MEMBER
};
extern struct real real __attribute__((visibility("hidden")));

/* Looks all of them up. A function that the host's libc lacks stays NULL; the hook that needs it says what
 * then. */
void real_resolve(void);

/*
 * A C++ operator's next definition by its mangled name. Where the global scope has none (a C program that
 * opened a C++ library), it is the one that the caller, an address inside the calling object, would have
 * found. NULL: none anywhere.
 */
void *real_operator(const char *name, const void *caller);

#endif
