/*
 * What differs between processors: the clock, raw system calls, the thread pointer. Same names in every arch/
 * folder. Raw system calls do not touch errno and do not pass through our own hooks.
 */
#ifndef MTRACE_ARCH_H
#define MTRACE_ARCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define ARCH_NAME	  "aarch64"
#define ARCH_UNWIND_NAME  "aarch64"    /* in libunwind's symbol names */
#define ARCH_COND_VERSION "GLIBC_2.17" /* of the condition variables that programs use today */

/* The cheapest clock that all CPUs share: the generic timer's virtual count. Not ordered against its
 * surroundings. */
static inline uint64_t arch_ticks(void)
{
	uint64_t ticks;
	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
	return ticks;
}

/* Architected: the same rate on every CPU, never stops (Arm ARM, D11.1). */
static inline bool arch_ticks_usable(void)
{
	return true;
}

/* Ticks a second where the processor says so; 0: measure. */
static inline uint64_t arch_ticks_hz(void)
{
	uint64_t hz;
	__asm__("mrs %0, cntfrq_el0" : "=r"(hz));
	return hz;
}

static inline char *arch_thread_pointer(void)
{
	return __builtin_thread_pointer();
}

/* Adds to a counter that only this thread changes. A handler that comes in between and counts the same is not
 * counted: the price of an exclusive pair at every call is not worth that case. */
static inline void arch_add_own(_Atomic uint64_t *counter, uint64_t n)
{
	uint64_t value = atomic_load_explicit(counter, memory_order_relaxed);
	atomic_store_explicit(counter, value + n, memory_order_relaxed);
}

/* Six arguments always: a call that takes fewer ignores the rest. Returns the result or -errno. */
static inline long arch_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;
	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory", "cc");
	return x0;
}

#endif
