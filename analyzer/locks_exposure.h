/*
 * How many atomic read-modify-write instructions a program executes through glibc's locks and libatomic, and
 * from that what cheaper ones (LSE on Arm) can gain at most.
 *
 * Of each call, instructions, as counted by single-stepping glibc 2.36 on x86-64 in a process with several
 * threads (tests/unit/arch/x86_64/test_lock_atomics.c); an attempt that fails at once takes one more on Arm,
 * where nothing looks before it tries:
 *
 *                      acquired  released  failed   contended, more
 *   mutex                     1         1       1                 2
 *   rwlock                    1         1       1                 2   and 1 for each acquisition for writing
 *   spin lock                 1         0       1                 1
 *   condition variable       17         0      11                 0
 *   semaphore                 1         1       0                 3
 *   barrier                   3         0       0                 0
 *   libatomic                 1         0       0                 0
 *
 * A wait for a condition is 8 of its own, 2 of the mutex around it, and 7 of the signal that wakes it;
 * signals that nobody waits for take none. "Contended, more" is for a thread that sleeps once. The figure
 * errs upwards where a mutex is recursive and held already, where the process has one thread (neither takes
 * an atomic instruction), where a broadcast wakes many, and for a barrier's waiters, who take 2; downwards
 * where a thread is woken in vain or spins, and by up to 4 for each turn of a rwlock from readers to writers
 * and back.
 *
 * Not counted, since nothing passes a hook: locks inside of glibc itself (malloc's arenas, stdio), and atomic
 * operations that the compiler put into the program, among them all of std::atomic, std::shared_ptr, and the
 * spin locks of WiredTiger and TCMalloc. No glibc changes those: `mtrace-analyze atomics` tells what they
 * are.
 */
#ifndef MTRACE_LOCKS_EXPOSURE_H
#define MTRACE_LOCKS_EXPOSURE_H

#include "analyzer/locksums.h"

/* Atomic instructions that these calls took. */
double lock_atomics(unsigned kind, const struct lock_sums *sums);

struct lock_exposure {
	double atomics;	      /* in all */
	double atomics_per_s; /* NaN where no time is known */
	double hottest_per_s; /* of the lock with most: those of one lock follow each other */
	size_t hottest;	      /* index of its row; SIZE_MAX: none */
	double cpus;	      /* CPUs busy over the same time, by snapshots; NaN where not known */
};

/* `cpus`: of the process over that time, NaN where not known. */
struct lock_exposure lock_exposure(const struct locks *locks, double cpus);

/*
 * The largest share of throughput, in percent, that can be gained where each of these instructions takes
 * `saved_ns` less. A program that keeps its CPUs busy saves that share of their time; one that stands in line
 * for one lock can save as much as all instructions on that lock, which follow each other. The larger of the
 * two shares s holds, and gives s / (1 - s); NaN where neither is known, infinity from s = 1 on.
 */
double lock_gain_percent(const struct lock_exposure *exposure, double saved_ns);

/* The share s itself, and what a share gives in percent. */
double lock_share(const struct lock_exposure *exposure, double saved_ns);
double lock_gain_of_share(double share);

#endif
