/*
 * How many atomic read-modify-write instructions a program executes through glibc's locks and libatomic, and
 * from that what cheaper ones (LSE on Arm) can gain at most.
 *
 * Of each call, instructions on the way without contention, by the design of glibc's nptl (2.34 and newer;
 * docs/locks.md tells them one by one):
 *
 *                      acquired  released   failed   contended, more   of the acquired for reading
 *   mutex                     1         1        1                 2
 *   rwlock                    1         1        1                 2                             1
 *   spin lock                 1         0        1                 1
 *   condition variable        8         3        8                 0
 *   semaphore                 1         1        0                 2
 *   barrier                   2         0        0                 0
 *   libatomic                 1         0        0                 0
 *
 * A condition variable's wait holds six of its own and the two of the mutex around it; its signal, 3 where
 * somebody waits and 0 where nobody does. "Contended, more" is for a thread that sleeps once. The figure errs
 * upwards where a mutex is recursive and held already, where the process has one thread (neither takes an
 * atomic instruction), and for signals that nobody waits for; downwards where a thread is woken in vain or
 * spins.
 *
 * Not counted, since nothing passes a hook: locks inside of glibc itself (malloc's arenas, stdio), and atomic
 * operations that the compiler put into the program, among them all of std::atomic, std::shared_ptr, and the
 * spin locks of WiredTiger and TCMalloc. No glibc changes those: `mtrace-analyze atomics` tells what they
 * are.
 */
#ifndef MTRACE_LOCKS_EXPOSURE_H
#define MTRACE_LOCKS_EXPOSURE_H

#include "analyzer/locks.h"

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
