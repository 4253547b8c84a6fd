/*
 * What threads did with locks, from the exact sums of BLOCK_LOCKS and from the acquisitions chosen by chance
 * (EVENT_LOCK_WAIT, EVENT_LOCK_HOLD). Fed with the events of a trace in order; memory follows the numbers of
 * locks, of threads that use them, and of intervals.
 *
 * Words:
 *   operation   a call that acquired, released or failed to acquire: acquired + released + failed
 *   contended   a call that had to wait, whether or not it then got the lock
 *   wait        time inside of contended calls
 *   hold        time from acquisition to release; measured for acquisitions chosen by chance
 *   waiters     mean number of threads that wait: wait / elapsed (Little, Operations Research 9, 1961)
 *   entry       what one thread did with one lock since it was opened (trace/FORMAT.md)
 *   row         the locks of one kind at one place: locks that lie at the same offset in blocks of one
 * allocating stack are one row, unless each address is asked for by itself
 *
 * A lock is placed at the moment at which a thread first used it, which is when the block around it lives. In
 * a flight recorder that has lost its beginning, what entries held at their first record is not counted: sums
 * are of what is left of the time.
 *
 * Invariants: over all rows, and over all threads, every sum is that of locks_totals().
 */
#ifndef MTRACE_LOCKSUMS_H
#define MTRACE_LOCKSUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/error.h"
#include "analyzer/estimate.h"
#include "analyzer/lockplace.h"
#include "analyzer/reader_locks.h"

/* Times in time units. */
struct lock_sums {
	uint64_t acquired, released, shared, contended, failed;
	uint64_t wait, wait_longest;
	uint64_t held, hold, hold_longest; /* of the acquisitions that were measured */
	uint64_t waits[LOCK_BUCKETS], holds[LOCK_BUCKETS];
};

static inline uint64_t lock_operations(const struct lock_sums *sums)
{
	return sums->acquired + sums->released + sums->failed;
}

#define LOCK_ROWS_MAX 262144u /* the others go into one row of PLACE_REST by kind */

struct lock_row {
	struct lock_place place;
	unsigned kind;		 /* enum lock_kind */
	uint64_t address;	 /* of the first one seen; 0: none is recorded */
	uint32_t locks;		 /* different addresses in it */
	uint32_t threads;	 /* different ones that used them */
	uint32_t threads_waited; /* of these */
	bool other_threads;	 /* and some that have no number of their own */
	double busiest;		 /* atomic instructions (locks_exposure.h) on the address with most of them */
	struct lock_sums sums;
};

struct lock_thread {
	uint32_t thread; /* PLACE_NO_THREAD: all without a number of their own */
	struct lock_sums kinds[LOCK_KINDS];
};

/* Calls of one stack on locks of one kind. */
struct lock_site {
	uint32_t stack_id; /* 0: none was recorded */
	unsigned kind;
	struct estimate
		acquired; /* calls that acquired; kinds without an owner: known by lock_site_held() alone */
	struct estimate contended;
	struct estimate wait; /* time units */
	uint64_t samples;
};

/* Condition variables, barriers and semaphores are not held: to wait there is what they are for, no
 * contention; and their uncontended calls leave no event. */
static inline bool lock_kind_held(unsigned kind)
{
	return kind == LOCK_MUTEX || kind == LOCK_RWLOCK || kind == LOCK_SPIN;
}

/* One interval: what the sums grew by since the reading before. */
struct lock_reading {
	uint64_t start, end; /* time units */
	uint64_t operations;
	uint64_t contended, wait; /* for locks that are held: lock_kind_held() */
	double atomics;		  /* lock_atomics() of it (locks_exposure.h) */
};

struct locks;

/* `each`: a row for each address. NULL when out of memory. `trace` must outlive it. */
struct locks *locks_open(struct trace *trace, bool each);
void locks_close(struct locks *locks); /* NULL is fine */

/*
 * The next event, before it is applied to the world. False on an error, which is set. After the last one
 * locks_finish().
 */
bool locks_event(struct locks *locks, const struct lock_world *world, const struct trace_event *event,
		 struct error *error);
/* A snapshot: for locks_cpus(). */
void locks_snapshot(struct locks *locks, const struct snapshot *snapshot);
bool locks_finish(struct locks *locks, const struct lock_world *world, struct error *error);

/*
 * All of it, with a pass over the trace. *regions gives names to PLACE_REGION; it is the caller's to close,
 * also on failure. NULL with `error` set.
 */
struct locks *locks_read(struct trace *trace, bool each, const struct symbol_options *options,
			 struct regions **regions, struct error *error);

/* ---- what was found; owned by the locks ---------------------------------------------------------------- */

/* The trace has blocks of locks, whether or not they can be read: known before the first event. */
bool locks_recorded(const struct locks *locks);

/* False: the trace holds no records of locks, and sums of 0 are no answer. */
bool locks_known(const struct locks *locks);

const struct trace *locks_trace(const struct locks *locks);
const struct lock_row *locks_rows(const struct locks *locks, size_t *count);	   /* as they came */
const struct lock_thread *locks_threads(const struct locks *locks, size_t *count); /* as they came */
const struct lock_site *locks_sites(const struct locks *locks, size_t *count);	   /* as they came */
const struct lock_reading *locks_readings(const struct locks *locks, size_t *count);
const struct lock_sums *locks_totals(const struct locks *locks, unsigned kind); /* kind 0: of all */

/* The time that the sums are of, in time units: from `start` to the last reading's end. */
uint64_t locks_start(const struct locks *locks);
uint64_t locks_end(const struct locks *locks);
double locks_elapsed_s(const struct locks *locks); /* 0 where nothing is known */

/* CPUs that the process kept busy, without the tracer's thread: between the first snapshot and the last or,
 * where the first one comes late, from the start on. NaN where not known. */
double locks_cpus(const struct locks *locks);

/* Over the kinds that are held, or over the others. */
struct lock_sums locks_totals_held(const struct locks *locks, bool held);

/* Of how many acquisitions one was chosen; 0: not known. Sites are exact at 1. */
uint64_t locks_every(const struct locks *locks);

/* The bucket of a histogram in ns: from *low to before *high, which is UINT64_MAX for the last. */
void lock_bucket_ns(unsigned bucket, uint64_t *low_ns, uint64_t *high_ns);

/* The bucket in which the quantile lies; LOCK_BUCKETS where nothing was counted. */
unsigned lock_quantile(const uint64_t buckets[LOCK_BUCKETS], double quantile);

#endif
