/*
 * Chosen acquisitions, from the one to the release, and what both sides of a call reckon with. By the thread
 * that owns the table, inside GUARD_WRITE.
 */
#ifndef MTRACE_LOCK_HOLD_H
#define MTRACE_LOCK_HOLD_H

#include "shim/clock.h"
#include "shim/locks.h"

#define LOCK_NS_PER_S UINT64_C(1000000000)

static inline uint64_t lock_units_per_second(void)
{
	return shim_clock.tick_hz >> shim_clock.shift;
}

/* CPUs need not agree to the last unit. */
static inline uint64_t lock_span(uint64_t start, uint64_t end)
{
	return end > start ? end - start : 0;
}

static inline unsigned lock_bucket_of(uint64_t units)
{
	unsigned __int128 ns = (unsigned __int128)units * LOCK_NS_PER_S / lock_units_per_second();
	unsigned bucket = 0;
	for (uint64_t border = LOCK_BUCKET_NS; bucket < LOCK_BUCKETS - 1 && ns >= border; border *= 4)
		bucket++;
	return bucket;
}

static inline void lock_count_bucket(uint32_t *bucket)
{
	if (*bucket != UINT32_MAX)
		++*bucket;
}

static inline void lock_raise_to(uint64_t *longest, uint64_t value)
{
	if (value > *longest)
		*longest = value;
}

/* The chosen acquisition of this lock that is not released yet; NULL: none. */
struct held_lock *lock_find_held(struct lock_table *table, enum lock_kind kind, const void *lock);

/* The call was chosen and has acquired: followed to its release, or told at once where there is none to wait
 * for. The next one is drawn. */
void lock_keep_chosen(struct thread *thread, const struct lock_use *use, struct lock_record *entry);

/* The release that it waited for; `now` is before the call. */
void lock_tell_release(struct thread *thread, struct held_lock *held, uint64_t now);

#endif
