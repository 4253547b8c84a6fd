/*
 * Call stacks: libunwind, opened at run time and made harmless, or libgcc's unwinder where it is absent.
 *
 * libunwind as it comes would open a pipe and probe memory by writing to it (in a guest that closes all
 * descriptors, into the guest's own files), and take the loader's lock. Its entries for pipe2, read, write
 * and dl_iterate_phdr are pointed at replacements that can do no harm before it is called for the first time.
 */
#ifndef MTRACE_UNWIND_H
#define MTRACE_UNWIND_H

#include <stdint.h>

#include "shim/thread.h"

/* Opens the unwinder. Loads objects: only from the constructor or the like. */
void unwind_start(void);

/* "libunwind", "libgcc" or "none". */
const char *unwind_name(void);

/* First use in this thread: everything that allocates happens here, outside of any allocator's lock. */
void unwind_warm(struct thread *thread);

/*
 * Return addresses of the calling thread, innermost first, frames of the shim left out; at most `depth`.
 * Returns their number; 0 where there is no unwinder, the thread is not warm, or too little stack is left.
 */
unsigned unwind_stack(struct thread *thread, uint64_t *frames, unsigned depth);

/* An object was unloaded: what the unwinder remembers of addresses may be wrong. */
void unwind_forget(void);

#endif
