/*
 * Calls that map, change and release memory. What they share is in region.h.
 */
#include "shim/region.h"

#include <sys/uio.h>

#include "shim/patch_names.h"

/* Ours by names that nobody can interpose: what the entries of a program that defines these functions itself
 * are to lead to (patch.c). In assembler, since compilers differ in the attributes that an alias needs. */
#define NAMED_FOR_PATCHING(name)                                                                             \
	__asm__(".globl " #name "_hook\n.hidden " #name "_hook\n.set " #name "_hook, " #name);
PATCH_REGIONS(NAMED_FOR_PATCHING)

/* ---- mapping
 * ----------------------------------------------------------------------------------------------------------
 */

HOOK void *mmap(void *start, size_t length, int prot, int flags, int fd, off_t offset)
{
	region_resolve();
	if (unlikely(!hooks_ready))
		return (void *)bare(
			arch_syscall(SYS_mmap, (long)start, (long)length, prot, flags, fd, offset));
	struct thread *thread = region_enter();
	return record_mmap(thread, real.mmap(start, length, prot, flags, fd, offset), start, length, prot,
			   flags, fd, offset);
}

HOOK void *mmap64(void *start, size_t length, int prot, int flags, int fd, off_t offset)
{
	region_resolve();
	if (unlikely(!hooks_ready))
		return (void *)bare(
			arch_syscall(SYS_mmap, (long)start, (long)length, prot, flags, fd, offset));
	struct thread *thread = region_enter();
	return record_mmap(thread, real.mmap64(start, length, prot, flags, fd, offset), start, length, prot,
			   flags, fd, offset);
}

HOOK void *mremap(void *old, size_t old_length, size_t length, int flags, ...)
{
	__builtin_va_list list;
	__builtin_va_start(list, flags);
	void *wanted = __builtin_va_arg(list, void *); /* garbage unless MREMAP_FIXED, as in libc */
	__builtin_va_end(list);
	region_resolve();
	if (unlikely(!hooks_ready))
		return (void *)bare(arch_syscall(SYS_mremap, (long)old, (long)old_length, (long)length, flags,
						 (long)wanted, 0));
	struct thread *thread = region_enter();
	uint64_t time = thread ? clock_now() : 0;
	void *address = real.mremap(old, old_length, length, flags, wanted);
	region_leave(thread);
	if (!thread)
		return address;
	bool failed = address == MAP_FAILED;
	struct trace_event event = {.kind = EVENT_MREMAP,
				    .time = time,
				    .end_time = clock_now(),
				    .address = failed ? 0 : (uintptr_t)address,
				    .old_address = (uintptr_t)old,
				    .size_bytes = length,
				    .result = failed ? -errno : 0,
				    .args = {old_length, (uint64_t)flags}};
	capture_region(thread, COUNTER_MREMAP, &event);
	return address;
}

/* ---- calls on a range that return 0 or -1
 * ------------------------------------------------------------------------------ */

struct range_call {
	enum event_kind kind;
	enum counter counter;
	void *start;
	size_t length;
	uint64_t args[2];
	uint64_t time;
	struct thread *thread;
};

ALWAYS_INLINE void range_begin(struct range_call *call)
{
	call->thread = region_enter();
	call->time = call->thread ? clock_now() : 0;
}

static void range_end(struct range_call *call, int64_t result)
{
	region_leave(call->thread);
	if (!call->thread)
		return;
	struct trace_event event = {.kind = (uint8_t)call->kind,
				    .time = call->time,
				    .address = (uintptr_t)call->start,
				    .size_bytes = call->length,
				    .result = result,
				    .args = {call->args[0], call->args[1]}};
	capture_region(call->thread, call->counter, &event);
}

HOOK int munmap(void *start, size_t length)
{
	struct range_call call = {EVENT_MUNMAP, COUNTER_MUNMAP, start, length, {0}, 0, NULL};
	region_resolve();
	if (unlikely(!hooks_ready))
		return (int)bare(raw_munmap(start, length));
	range_begin(&call);
	int result = real.munmap(start, length);
	range_end(&call, result_of(result));
	return result;
}

HOOK int mprotect(void *start, size_t length, int prot)
{
	struct range_call call = {EVENT_MPROTECT, COUNTER_MPROTECT, start, length, {(uint64_t)prot}, 0, NULL};
	region_resolve();
	if (unlikely(!hooks_ready))
		return (int)bare(raw3(SYS_mprotect, (long)start, (long)length, prot));
	range_begin(&call);
	int result = real.mprotect(start, length, prot);
	range_end(&call, result_of(result));
	return result;
}

HOOK int madvise(void *start, size_t length, int advice)
{
	struct range_call call = {EVENT_MADVISE, COUNTER_MADVISE, start, length, {(uint64_t)advice}, 0, NULL};
	region_resolve();
	if (unlikely(!hooks_ready))
		return (int)bare(raw3(SYS_madvise, (long)start, (long)length, advice));
	range_begin(&call);
	int result = real.madvise(start, length, advice);
	range_end(&call, result_of(result));
	return result;
}

/* Returns an error number and leaves errno alone. */
HOOK int posix_madvise(void *start, size_t length, int advice)
{
	struct range_call call = {
		EVENT_MADVISE, COUNTER_MADVISE, start, length, {(uint64_t)advice + ADVICE_POSIX}, 0, NULL};
	region_resolve();
	if (unlikely(!hooks_ready))
		return 0;
	range_begin(&call);
	int result = real.posix_madvise(start, length, advice);
	range_end(&call, -result);
	return result;
}

/* One event a range; the kernel says how many bytes it advised, not which, so all of them carry the call's
 * result. */
HOOK ssize_t process_madvise(int pidfd, const struct iovec *ranges, size_t count, int advice, unsigned flags)
{
	region_resolve();
	struct thread *thread = hooks_ready ? region_enter() : NULL;
	uint64_t time = thread ? clock_now() : 0;
	ssize_t result = real.process_madvise ? real.process_madvise(pidfd, ranges, count, advice, flags)
					      : real.syscall(SYS_process_madvise, pidfd, (long)ranges,
							     (long)count, advice, (long)flags, 0);
	region_leave(thread);
	int64_t outcome = result < 0 ? -errno : 0;
	for (size_t i = 0; thread && i < count; i++) {
		struct trace_event event = {.kind = EVENT_MADVISE, .time = time, .result = outcome};
		event.args[0] = (uint64_t)advice;
		event.args[1] = (uint64_t)(int64_t)pidfd;
		if (outcome == 0) { /* the kernel could read them, so can we */
			event.address = (uintptr_t)ranges[i].iov_base;
			event.size_bytes = ranges[i].iov_len;
		}
		capture_region(thread, COUNTER_MADVISE, &event);
		if (outcome)
			break;
	}
	return result;
}

/* ---- the break
 * ---------------------------------------------------------------------------------------------------------
 */

static void record_break(struct thread *thread, uint64_t time, uintptr_t before, bool failed)
{
	uintptr_t after = (uintptr_t)real.sbrk(0);
	region_leave(thread);
	struct trace_event event = {.kind = EVENT_BRK,
				    .time = time,
				    .address = after,
				    .size_bytes = after - before,
				    .result = failed ? -errno : 0};
	capture_region(thread, COUNTER_BRK, &event);
}

HOOK int brk(void *end)
{
	region_resolve();
	if (unlikely(!hooks_ready))
		return raw1(SYS_brk, (long)end) == (long)end ? 0 : -1;
	struct thread *thread = region_enter();
	uint64_t time = thread ? clock_now() : 0;
	uintptr_t before = (uintptr_t)real.sbrk(0);
	int result = real.brk(end);
	if (thread)
		record_break(thread, time, before, result != 0);
	return result;
}

HOOK void *sbrk(intptr_t increment)
{
	region_resolve();
	if (unlikely(!hooks_ready))
		return (void *)-1;
	struct thread *thread = increment ? region_enter() : NULL; /* sbrk(0) only asks */
	uint64_t time = thread ? clock_now() : 0;
	void *before = real.sbrk(increment);
	if (thread)
		record_break(thread, time,
			     (uintptr_t)before == UINTPTR_MAX ? (uintptr_t)real.sbrk(0) : (uintptr_t)before,
			     (uintptr_t)before == UINTPTR_MAX);
	return before;
}
