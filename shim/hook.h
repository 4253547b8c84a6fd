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

/* For hooks other than the allocator's: makes sure that the next functions are known. */
static inline void hook_resolve(void)
{
	if (unlikely(!hooks_ready))
		lifecycle_start_early();
}

#endif
