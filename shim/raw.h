/*
 * System calls for the shim's own use. They go straight to the kernel: a call through libc would meet our own
 * hooks, and would change the guest's errno. All return the kernel's result, -errno on failure.
 */
#ifndef MTRACE_RAW_H
#define MTRACE_RAW_H

#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#include "arch.h"
#include "shim/own.h"

#define RAW_KERNEL_SIGSET_BYTES 8 /* the kernel's sigset_t; libc's is larger */

static inline long raw0(long number)
{
	return arch_syscall(number, 0, 0, 0, 0, 0, 0);
}
static inline long raw1(long number, long a)
{
	return arch_syscall(number, a, 0, 0, 0, 0, 0);
}
static inline long raw2(long number, long a, long b)
{
	return arch_syscall(number, a, b, 0, 0, 0, 0);
}
static inline long raw3(long number, long a, long b, long c)
{
	return arch_syscall(number, a, b, c, 0, 0, 0);
}
static inline long raw4(long number, long a, long b, long c, long d)
{
	return arch_syscall(number, a, b, c, d, 0, 0);
}

static inline bool raw_failed(long result)
{
	return (unsigned long)result >= (unsigned long)-4095L;
}

/*
 * Returns NULL on failure. Never on huge pages: where these are always on, our sparse tables would take some
 * tens of MiB instead of one, huge pages that the guest could have had, and time: on a machine with shadow
 * page tables, traced programs used half as much CPU time again. A kernel without huge pages refuses the
 * advice, which is as well.
 */
static inline void *raw_mmap(void *address, size_t bytes, int prot, int flags, int fd, uint64_t offset)
{
	long result = arch_syscall(SYS_mmap, (long)address, (long)bytes, prot, flags, fd, (long)offset);
	if (raw_failed(result))
		return NULL;
	raw3(SYS_madvise, result, (long)bytes, MADV_NOHUGEPAGE);
	own_note((void *)result, bytes);
	return (void *)result;
}

static inline void *raw_reserve(size_t bytes)
{
	return raw_mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
			0);
}

static inline long raw_munmap(void *address, size_t bytes)
{
	own_forget(address);
	return raw2(SYS_munmap, (long)address, (long)bytes);
}

static inline int raw_open(const char *path, int flags, int mode)
{
	return (int)raw4(SYS_openat, AT_FDCWD, (long)path, flags | O_CLOEXEC, mode);
}

static inline long raw_close(int fd)
{
	return raw1(SYS_close, fd);
}

static inline long raw_read(int fd, void *buffer, size_t bytes)
{
	return raw3(SYS_read, fd, (long)buffer, (long)bytes);
}

static inline long raw_pwrite(int fd, const void *buffer, size_t bytes, uint64_t offset)
{
	return raw4(SYS_pwrite64, fd, (long)buffer, (long)bytes, (long)offset);
}

static inline int raw_pid(void)
{
	return (int)raw0(SYS_getpid);
}

static inline int raw_tid(void)
{
	return (int)raw0(SYS_gettid);
}

/* Sleeps while *word == expected, at most timeout_ns. */
static inline void raw_futex_wait(_Atomic uint32_t *word, uint32_t expected, uint64_t timeout_ns)
{
	struct timespec timeout = {(time_t)(timeout_ns / 1000000000u), (long)(timeout_ns % 1000000000u)};
	arch_syscall(SYS_futex, (long)word, FUTEX_WAIT_PRIVATE, expected, (long)&timeout, 0, 0);
}

static inline void raw_futex_wake(_Atomic uint32_t *word)
{
	arch_syscall(SYS_futex, (long)word, FUTEX_WAKE_PRIVATE, INT32_MAX, 0, 0, 0);
}

static inline void raw_block_signals(uint64_t *previous)
{
	uint64_t all = ~UINT64_C(0);
	raw4(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, (long)previous, RAW_KERNEL_SIGSET_BYTES);
}

/* For a thread that is never to run a handler of the guest's. glibc's own two stay open: setuid and the like
 * wait until every thread has answered. */
static inline void raw_block_guest_signals(void)
{
	uint64_t guests = ~(UINT64_C(3) << 31); /* all but 32 and 33 */
	raw4(SYS_rt_sigprocmask, SIG_SETMASK, (long)&guests, 0, RAW_KERNEL_SIGSET_BYTES);
}

static inline void raw_restore_signals(const uint64_t *previous)
{
	raw4(SYS_rt_sigprocmask, SIG_SETMASK, (long)previous, 0, RAW_KERNEL_SIGSET_BYTES);
}

#endif
