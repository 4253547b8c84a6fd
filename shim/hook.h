/*
 * What the interpose_*.c files share. A hook has three parts: the way in (thread_enter, else the slow way),
 * the call of the next function, and the record. Where nothing is to be recorded it is the next function
 * alone.
 */
#ifndef MTRACE_HOOK_H
#define MTRACE_HOOK_H

#include <errno.h>

#include "shim/bootstrap.h"
#include "shim/capture.h"
#include "shim/lifecycle.h"
#include "shim/real.h"

#define HOOK __attribute__((visibility("default")))

/* The thread with no hook at work, in sample mode, on the CPU that its counts are of. */
ALWAYS_INLINE struct thread *hook_enter_sampling(void)
{
	struct thread *thread = thread_enter_mode(MODE_SAMPLE);
	return likely(thread && !cpucount_is_elsewhere(thread)) ? thread : NULL;
}

/* For hooks other than the allocator's: makes sure that the next functions are known. */
static inline void hook_resolve(void)
{
	if (unlikely(!hooks_ready))
		lifecycle_start_early();
}

#endif
