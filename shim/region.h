/*
 * What the hooks of calls on memory regions share (interpose_region.c, interpose_syscall.c). They are
 * recorded inside an allocator's call too: that is how an allocator grows. The allocator may hold its locks
 * there, so nothing in them allocates or calls one of its functions.
 *
 * What takes memory away is stamped before the call (another thread may own the range before the call
 * returns), what gives memory after it.
 */
#ifndef MTRACE_REGION_H
#define MTRACE_REGION_H

#include "shim/hook.h"
#include "shim/raw.h"

/*
 * A program that defines mmap and mmap64 itself may call one from the other, or make the call by syscall():
 * of those inside each other the outer one is recorded. A signal handler's call is lower on the stack by more
 * than a wrapper's, and is not inside. NULL: not recorded. region_leave() after the next function.
 */
ALWAYS_INLINE struct thread *region_enter(void)
{
	struct thread *thread = thread_enter_region();
	uintptr_t frame = HOOK_FRAME();
	if (!thread || thread->region_frame - frame - 1 < SIGNAL_FRAME_BYTES_MIN)
		return NULL;
	thread->region_frame = frame;
	return thread;
}

ALWAYS_INLINE void region_leave(struct thread *thread)
{
	if (thread)
		thread->region_frame = 0;
}

static inline void capture_region(struct thread *thread, enum counter counter, struct trace_event *event)
{
	capture_event(thread, event->result < 0 ? COUNTER_REGION_FAILED : counter, event);
}

static inline int64_t result_of(long result)
{
	return result == -1 ? -errno : result;
}

/*
 * An allocator inside the program may be who asks, under its locks, and starting would call it (dlsym
 * allocates): that is left to another hook, or to the constructor.
 */
static inline void region_resolve(void)
{
	if (unlikely(!hooks_ready) && lifecycle_malloc_is_ours())
		lifecycle_start_early();
}

/* The kernel's answer to a call made before the next functions are known, as libc would give it. */
static inline long bare(long result)
{
	if (!raw_failed(result))
		return result;
	lifecycle_set_errno((int)-result);
	return -1;
}

static inline void *record_mmap(struct thread *thread, void *address, void *start, size_t length, int prot,
				int flags, int fd, off_t offset)
{
	region_leave(thread);
	if (!thread)
		return address;
	bool failed = address == MAP_FAILED;
	struct trace_event event = {
		.kind = EVENT_MMAP,
		.address = failed ? (uintptr_t)start : (uintptr_t)address,
		.size_bytes = length,
		.result = failed ? -errno : 0,
		.args = {(uint64_t)prot, (uint64_t)flags, (uint64_t)(int64_t)fd, (uint64_t)offset}};
	capture_region(thread, COUNTER_MMAP, &event);
	return address;
}

#endif
