/*
 * Exact counts by CPU and size step in sample mode, where events tell of sampled blocks only.
 *
 * A thread counts what it allocates by step (thread->steps), and all its calls in its slot, for the CPU that
 * it is on (thread->counted_cpu). Every hook that counts looks at the CPU first; where it has changed, what
 * came together is settled: added to the row of the CPU it was left on. So the common call costs a comparison
 * and two additions, and only a migration an atomic operation. The writer adds up the rows and what is not
 * settled yet, once per interval.
 *
 *   operation           by                     beside
 *   cpucount_check      the thread itself, under its guard   everything
 *   cpucount_leave      the writer             everything by other threads
 *   cpucount_write      the writer             everything by guest threads
 */
#ifndef MTRACE_CPUCOUNT_H
#define MTRACE_CPUCOUNT_H

#include "shim/thread.h"

/* Makes room for the machine's CPUs, and empties it. Without room nothing is counted by CPU, and nothing
 * written. */
void cpucount_start(void);

/* A new thread: nothing is counted yet. */
void cpucount_enter(struct thread *thread);

/* The writer lets go of an ended thread, whose counters are still there. */
void cpucount_leave(struct thread *thread);

/* Writes BLOCK_CPUS: the CPUs whose counts have changed since they were told last. */
void cpucount_write(void);

/* The next time all, for who has not seen the blocks before. */
void cpucount_want_whole(void);

/* The thread is on another CPU than its counts are of. */
void cpucount_settle(struct thread *thread) SHIM_LOCAL;

ALWAYS_INLINE bool cpucount_is_elsewhere(const struct thread *thread)
{
	return *thread->cpu_id != thread->counted_cpu;
}

/* Before a call is counted in sample mode. */
ALWAYS_INLINE void cpucount_check(struct thread *thread)
{
	if (unlikely(cpucount_is_elsewhere(thread)))
		cpucount_settle(thread);
}

ALWAYS_INLINE void cpucount_allocation(struct thread *thread, uint64_t size_bytes)
{
	struct own_step *step = &thread->steps[size_step(size_bytes)];
	arch_add_own(&step->allocs, 1);
	arch_add_own(&step->bytes, size_bytes);
}

#endif
