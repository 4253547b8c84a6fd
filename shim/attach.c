/* The slow way into a hook: a thread that is not attached yet, or that a hook of ours is under way in
 * (thread.h). */
#include <signal.h>

#include "shim/lifecycle.h"
#include "shim/raw.h"
#include "shim/registry.h"
#include "shim/ring.h"

/*
 * The hook that set the guard was left by a jump out of a signal handler: its frame is not on the stack any
 * more. That is certain where the asking hook's frame is as high as the guard's (a call made inside it would
 * be lower), or, for a hook that was writing, closer below it than a handler can be. What is lower still is
 * taken for nested until a hook comes that is not. A handler with a stack of its own may be anywhere.
 */
static bool guard_is_stale(const struct thread *thread, uintptr_t frame)
{
	size_t reach = thread->guard == GUARD_WRITE ? SIGNAL_FRAME_BYTES_MIN : 0;
	stack_t stack;
	if (frame + reach < thread->guard_frame || thread->sealed ||
	    raw2(SYS_sigaltstack, 0, (long)&stack) != 0)
		return false;
	return !(stack.ss_flags & SS_ONSTACK);
}

bool thread_clear_stale_guard(struct thread *thread, uintptr_t frame)
{
	if (!guard_is_stale(thread, frame))
		return false;
	/* The record that was being written is not committed, but the encoder has moved on: a fresh chunk. */
	if (thread->guard == GUARD_WRITE)
		atomic_store_explicit(&thread->limit, NULL, memory_order_relaxed);
	thread->guard = GUARD_NONE;
	return true;
}

static struct thread *attach(bool counted)
{
	if (!lifecycle_records_here())
		return NULL;
	struct thread *thread = registry_attach(counted);
	if (!thread)
		rings_count_shared(COUNTER_LOST_NO_THREAD, 1);
	return thread;
}

void thread_attach_new(void)
{
	if (!thread_self)
		attach(true);
}

__attribute__((noinline)) struct thread *thread_enter_slow(bool nested_ok, uintptr_t frame)
{
	if (!hooks_ready && !lifecycle_start_early())
		return NULL;
	struct thread *thread = thread_self;
	if (!thread)
		return attach(false);
	if (thread->mode == MODE_CLOSED) {
		if (nested_ok && lifecycle_is_suspended())
			lifecycle_count_stopped(COUNTER_LOST_STOPPED, 1);
		return NULL; /* an allocator's hook counts by capture_unrecorded() */
	}
	if (thread->guard)
		thread_clear_stale_guard(thread, frame);
	switch (thread->guard) {
	case GUARD_WRITE:
		if (nested_ok)
			rings_count_shared(COUNTER_LOST_REENTRY, 1);
		return NULL; /* an allocator's hook counts by capture_unrecorded() */
	case GUARD_CALL:
		return nested_ok ? thread : NULL;
	default:
		return thread;
	}
}
