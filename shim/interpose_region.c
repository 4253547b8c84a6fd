/*
 * Calls that map, change and release memory, and what allocators ask of the kernel through syscall(). They
 * are recorded inside an allocator's call too: that is how an allocator grows. The allocator may hold its
 * locks here, so nothing in this file allocates or calls one of its functions.
 *
 * What takes memory away is stamped before the call (another thread may own the range before the call
 * returns), what gives memory after it.
 */
#include "shim/hook.h"

#include <linux/prctl.h>
#include <sys/uio.h>

#include "shim/patch_names.h"
#include "shim/raw.h"
#include "shim/registry.h"

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41 /* since Linux 5.17; Debian's older headers lack it */
#endif
#define RSEQ_UNREGISTER 1

/* Ours by names that nobody can interpose: what the entries of a program that defines these functions itself
 * are to lead to (patch.c). */
#define NAMED_FOR_PATCHING(name)                                                                             \
	extern __typeof__(name) name##_hook __attribute__((alias(#name), visibility("hidden"), copy(name)));
PATCH_REGIONS(NAMED_FOR_PATCHING)

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

static void capture_region(struct thread *thread, enum counter counter, struct trace_event *event)
{
	capture_event(thread, event->result < 0 ? COUNTER_REGION_FAILED : counter, event);
}

static int64_t result_of(long result)
{
	return result == -1 ? -errno : result;
}

/* Before libc is there: the kernel's answer, without errno. */
static long bare(long result)
{
	return raw_failed(result) ? -1 : result;
}

/* ---- mapping
 * ----------------------------------------------------------------------------------------------------------
 */

static void *record_mmap(struct thread *thread, void *address, void *start, size_t length, int prot,
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

HOOK void *mmap(void *start, size_t length, int prot, int flags, int fd, off_t offset)
{
	hook_resolve();
	if (unlikely(!hooks_ready))
		return (void *)bare(
			arch_syscall(SYS_mmap, (long)start, (long)length, prot, flags, fd, offset));
	struct thread *thread = region_enter();
	return record_mmap(thread, real.mmap(start, length, prot, flags, fd, offset), start, length, prot,
			   flags, fd, offset);
}

HOOK void *mmap64(void *start, size_t length, int prot, int flags, int fd, off_t offset)
{
	hook_resolve();
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
	hook_resolve();
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
	hook_resolve();
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
	hook_resolve();
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
	hook_resolve();
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
	hook_resolve();
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
	hook_resolve();
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
	hook_resolve();
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
	hook_resolve();
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

/* ---- prctl
 * -------------------------------------------------------------------------------------------------------------
 */

static bool is_memory_option(long option)
{
	return option == PR_SET_VMA || option == PR_SET_THP_DISABLE;
}

static void record_prctl(struct thread *thread, long option, long a, long b, long c, long result)
{
	struct trace_event event = {
		.kind = EVENT_PRCTL, .result = result_of(result), .args = {(uint64_t)option, (uint64_t)a}};
	if (option == PR_SET_VMA) {
		event.address = (uint64_t)b;
		event.size_bytes = (uint64_t)c;
	}
	capture_region(thread, COUNTER_PRCTL, &event);
}

HOOK int prctl(int option, ...)
{
	long a[4];
	__builtin_va_list list;
	__builtin_va_start(list, option);
	for (int i = 0; i < 4; i++)
		a[i] = __builtin_va_arg(list, long);
	__builtin_va_end(list);
	hook_resolve();
	if (unlikely(!hooks_ready))
		return (int)bare(arch_syscall(SYS_prctl, option, a[0], a[1], a[2], a[3], 0));
	int result = real.prctl(option, a[0], a[1], a[2], a[3]);
	struct thread *thread = is_memory_option(option) ? thread_enter_region() : NULL;
	if (thread)
		record_prctl(thread, option, a[0], a[1], a[2], result);
	return result;
}

/* ---- syscall
 * -----------------------------------------------------------------------------------------------------------
 */

static void record_rseq(struct thread *thread, long area, long length, long flags, long signature,
			long result)
{
	struct trace_event event = {.kind = EVENT_RSEQ,
				    .address = (uint64_t)area,
				    .size_bytes = (uint64_t)length,
				    .result = result_of(result),
				    .args = {(uint64_t)flags, (uint64_t)signature}};
	bool registered = !(flags & RSEQ_UNREGISTER);
	capture_event(thread, registered ? COUNTER_RSEQ : COUNTER_EVENTS_LIFE, &event);
	if (result != 0) {
		thread_count_n(thread, COUNTER_RSEQ_FAILED, registered);
		return;
	}
	/* struct rseq: cpu_id_start, cpu_id. From here on it is this area that the kernel keeps. */
	registry_set_rseq(thread, registered ? (const volatile uint32_t *)area + 1 : NULL);
}

static void record_syscall(struct thread *thread, uint64_t time, long number, const long *a, long result)
{
	struct trace_event event = {.time = time,
				    .address = (uint64_t)a[0],
				    .size_bytes = (uint64_t)a[1],
				    .result = result_of(result),
				    .args = {(uint64_t)a[2]}};
	switch (number) {
	case SYS_rseq:
		record_rseq(thread, a[0], a[1], a[2], a[3], result);
		return;
	case SYS_prctl:
		if (is_memory_option(a[0]))
			record_prctl(thread, a[0], a[1], a[2], a[3], result);
		return;
	case SYS_membarrier:
		event = (struct trace_event){
			.kind = EVENT_MEMBARRIER, .time = time, .result = result_of(result)};
		for (int i = 0; i < 3; i++)
			event.args[i] = (uint64_t)a[i];
		capture_event(thread, COUNTER_MEMBARRIER, &event);
		return;
	case SYS_munmap:
		event.kind = EVENT_MUNMAP;
		event.args[0] = 0;
		capture_region(thread, COUNTER_MUNMAP, &event);
		return;
	case SYS_mprotect:
		event.kind = EVENT_MPROTECT;
		capture_region(thread, COUNTER_MPROTECT, &event);
		return;
	case SYS_madvise:
		event.kind = EVENT_MADVISE;
		capture_region(thread, COUNTER_MADVISE, &event);
		return;
	case SYS_mremap:
		event.kind = EVENT_MREMAP;
		event.end_time = clock_now();
		event.old_address = (uint64_t)a[0];
		event.address = result == -1 ? 0 : (uint64_t)result;
		event.size_bytes = (uint64_t)a[2];
		event.args[0] = (uint64_t)a[1];
		event.args[1] = (uint64_t)a[3];
		event.result = result == -1 ? -errno : 0;
		capture_region(thread, COUNTER_MREMAP, &event);
		return;
	}
}

static bool is_recorded(long number)
{
	return number == SYS_rseq || number == SYS_membarrier || number == SYS_munmap ||
	       number == SYS_mprotect || number == SYS_madvise || number == SYS_mremap || number == SYS_prctl;
}

static __attribute__((noinline)) long syscall_recorded(long number, const long *a)
{
	struct thread *thread = region_enter();
	uint64_t time = thread ? clock_now() : 0;
	long result = real.syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	region_leave(thread);
	if (thread)
		record_syscall(thread, time, number, a, result);
	return result;
}

static __attribute__((noinline)) long syscall_mmap(const long *a)
{
	struct thread *thread = region_enter();
	return (long)record_mmap(thread, (void *)real.syscall(SYS_mmap, a[0], a[1], a[2], a[3], a[4], a[5]),
				 (void *)a[0], (size_t)a[1], (int)a[2], (int)a[3], (int)a[4], a[5]);
}

static long syscall_madvise_other(const long *a)
{
	return process_madvise((int)a[0], (const struct iovec *)a[1], (size_t)a[2], (int)a[3],
			       (unsigned)a[4]);
}

/*
 * Whatever is not of interest is passed on by a jump: a clone with a stack of its own returns there, and
 * would not find our frame. Declared with seven parameters under another C name, since a variadic function
 * cannot jump.
 */
HOOK long syscall_hook(long number, long a, long b, long c, long d, long e, long f) __asm__("syscall");

HOOK long syscall_hook(long number, long a, long b, long c, long d, long e, long f)
{
	hook_resolve();
	if (unlikely(!hooks_ready))
		return bare(arch_syscall(number, a, b, c, d, e, f));
	if (is_recorded(number))
		return syscall_recorded(number, (long[]){a, b, c, d, e, f});
	if (number == SYS_mmap)
		return syscall_mmap((long[]){a, b, c, d, e, f});
	if (number == SYS_process_madvise)
		return syscall_madvise_other((long[]){a, b, c, d, e, f});
	if (number == SYS_exit)
		registry_note_exit((int)a);
	if (number == SYS_exit_group)
		lifecycle_finish(END_UNDERSCORE_EXIT, (int)a);
	return real.syscall(number, a, b, c, d, e, f);
}
