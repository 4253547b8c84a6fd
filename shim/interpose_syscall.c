/*
 * What allocators ask of the kernel through prctl() and syscall().
 */
#include "shim/region.h"

#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <sys/uio.h>

#include "shim/registry.h"

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41 /* since Linux 5.17; Debian's older headers lack it */
#endif
#define RSEQ_UNREGISTER 1

/* ---- prctl
 * -------------------------------------------------------------------------------------------------------------
 */

static bool is_memory_option(long option)
{
	return option == PR_SET_VMA || option == PR_SET_THP_DISABLE;
}

/* Before the call: after it the thread may do no more than read, write and end. Returns the thread that it
 * closes. */
static struct thread *seal(bool strict)
{
	struct thread *thread = strict ? thread_enter_region() : NULL;
	if (thread)
		thread->sealed = true;
	return thread;
}

static void unseal_unless(bool succeeded, struct thread *thread)
{
	if (thread && !succeeded)
		thread->sealed = false;
}

static bool is_strict_prctl(long option, long mode)
{
	return option == PR_SET_SECCOMP && mode == SECCOMP_MODE_STRICT;
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
	region_resolve();
	if (unlikely(!hooks_ready))
		return (int)bare(arch_syscall(SYS_prctl, option, a[0], a[1], a[2], a[3], 0));
	struct thread *sealed = seal(is_strict_prctl(option, a[0]));
	int result = real.prctl(option, a[0], a[1], a[2], a[3]);
	unseal_unless(result == 0, sealed);
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

static __attribute__((noinline)) long syscall_strict(long number, const long *a)
{
	struct thread *sealed = seal(true);
	long result = real.syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	unseal_unless(result == 0, sealed);
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
	region_resolve();
	if (unlikely(!hooks_ready))
		return bare(arch_syscall(number, a, b, c, d, e, f));
	if (unlikely((number == SYS_prctl && is_strict_prctl(a, b)) ||
		     (number == SYS_seccomp && a == SECCOMP_SET_MODE_STRICT)))
		return syscall_strict(number, (long[]){a, b, c, d, e, f});
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
