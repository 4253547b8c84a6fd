/*
 * What the guest's allocator says of itself, where the program exports the functions to ask it with: those of
 * google/tcmalloc (MallocExtension_Internal_*, TCMalloc_Internal_GetStats) or of gperftools
 * (MallocExtension_GetNumericProperty). Only functions that read are called; each may be missing.
 *
 * They take the allocator's own locks, so they are never called from a hook, nor at the end of the trace (the
 * thread that ends the process waits for the writer, and might hold such a lock), nor across a fork: the
 * child would find the lock taken, by a thread that it does not have.
 */
#ifndef MTRACE_TCMALLOC_H
#define MTRACE_TCMALLOC_H

#include <stdint.h>

/* Looks the functions up. Before recording starts, by the thread that starts it. */
void tcmalloc_find(void);

/* "google-tcmalloc", "gperftools", or "none" where nothing can be asked. */
const char *tcmalloc_name(void);

/*
 * Asks, and appends an allocator record to the trace. By the writer thread, once per interval, just before
 * the snapshot; its first call asks nothing, since the guest is not ready for it yet. What costs too much to
 * be asked each time is asked less often, and the record says how old it is.
 */
void tcmalloc_write(uint64_t interval_ms, uint64_t watermark);

/* Around a fork, by the thread that forks: tcmalloc_hold() waits until the writer is not inside the allocator
 * (0.1 s at most), and it stays out until tcmalloc_release(). */
void tcmalloc_hold(void);
void tcmalloc_release(void);
void tcmalloc_after_fork(void); /* in the child */

#endif
