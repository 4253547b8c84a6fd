/*
 * What differs between processors: the clock, raw system calls, the thread pointer. Same names in every arch/
 * folder. Raw system calls do not touch errno and do not pass through our own hooks.
 */
#ifndef MTRACE_ARCH_H
#define MTRACE_ARCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <cpuid.h>
#include <x86intrin.h>

#define ARCH_NAME	  "x86_64"
#define ARCH_UNWIND_NAME  "x86_64"	/* in libunwind's symbol names */
#define ARCH_COND_VERSION "GLIBC_2.3.2" /* of the condition variables that programs use today */

/* The cheapest clock that all CPUs share: the time stamp counter. Not ordered against the instructions around
 * it. */
static inline uint64_t arch_ticks(void)
{
	return __rdtsc();
}

/* Intel SDM 3, 18.17: CPUID.80000007H:EDX[8]. Without it the counter stops or changes its rate: do not use
 * it. */
static inline bool arch_ticks_usable(void)
{
	unsigned a, b, c, d;
	return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & (1u << 8));
}

/* Ticks a second where the processor says so; 0: measure. */
static inline uint64_t arch_ticks_hz(void)
{
	return 0;
}

static inline char *arch_thread_pointer(void)
{
	char *pointer;
	__asm__("mov %%fs:0, %0" : "=r"(pointer));
	return pointer;
}

/* Adds to a counter that only this thread changes, in one instruction: a signal handler comes before or after
 * it. */
static inline void arch_add_own(_Atomic uint64_t *counter, uint64_t n)
{
	__asm__ volatile("addq %1, %0" : "+m"(*counter) : "er"(n));
}

/* Six arguments always: a call that takes fewer ignores the rest. Returns the result or -errno. */
static inline long arch_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	long result;
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

#endif
