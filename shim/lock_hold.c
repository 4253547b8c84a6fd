#include "shim/lock_hold.h"

#include "shim/capture.h"
#include "shim/sampling.h"

#define HOLD_UNKNOWN UINT64_MAX

struct held_lock *lock_find_held(struct lock_table *table, enum lock_kind kind, const void *lock)
{
	for (unsigned i = 0; table->held_count && i < LOCKS_HELD; i++)
		if (table->held[i].address == (uintptr_t)lock && table->held[i].kind == kind)
			return &table->held[i];
	return NULL;
}

static void tell(struct thread *thread, const struct held_lock *held, uint64_t now, uint64_t hold)
{
	struct trace_event event = {.kind = EVENT_LOCK_HOLD,
				    .time = now,
				    .end_time = now,
				    .address = held->address,
				    .size_bytes = LOCKS_EVERY,
				    .args = {held->kind, held->call, hold, held->contended},
				    .stack_id = held->stack_id};
	capture_told_event(thread, &event);
}

void lock_tell_release(struct thread *thread, struct held_lock *held, uint64_t now)
{
	struct lock_record *entry = locks_entry(thread, held->kind, held->address);
	uint64_t hold = held->hold + (held->since ? lock_span(held->since, now) : 0);
	arch_add_own(locks_sum(&entry->held), 1);
	arch_add_own(locks_sum(&entry->hold), hold);
	lock_raise_to(&entry->hold_longest, hold);
	lock_count_bucket(&entry->holds[lock_bucket_of(hold)]);
	entry->last_used = now;
	tell(thread, held, now, hold);
	held->address = 0;
	thread->locks->held_count--;
}

/* The oldest gives way: it may have been released by another thread. */
static struct held_lock *place_for_held(struct thread *thread, uint64_t now)
{
	struct held_lock *held = thread->locks->held, *oldest = held;
	for (unsigned i = 0; i < LOCKS_HELD; i++) {
		if (!held[i].address)
			return &held[i];
		if (held[i].since < oldest->since)
			oldest = &held[i];
	}
	tell(thread, oldest, now, HOLD_UNKNOWN);
	oldest->address = 0;
	thread->locks->held_count--;
	return oldest;
}

/* A hold is from an acquisition to a release by the same thread: other kinds have none. */
static bool has_hold(enum lock_kind kind)
{
	return kind == LOCK_MUTEX || kind == LOCK_RWLOCK || kind == LOCK_SPIN;
}

void lock_keep_chosen(struct thread *thread, const struct lock_use *use, struct lock_record *entry)
{
	uint64_t now = clock_now();
	struct held_lock chosen = {.address = (uintptr_t)use->lock,
				   .since = now,
				   .stack_id = use->stack_id,
				   .kind = (uint8_t)use->kind,
				   .call = (uint8_t)use->call,
				   .contended = use->waits};
	thread->locks->countdown = 1 + (uint32_t)(sampling_random(thread) % (2 * LOCKS_EVERY - 1));
	entry->last_used = now;
	if (!has_hold(use->kind) || lock_find_held(thread->locks, use->kind, use->lock)) {
		tell(thread, &chosen, now, HOLD_UNKNOWN);
		return;
	}
	*place_for_held(thread, now) = chosen;
	thread->locks->held_count++;
}

/* ---- inside condition waits ---------------------------------------------------------------------------- */

/* What is held on through the wait is none of this lock's hold time. Should a cancellation end the wait, the
 * cleanup handlers hold the lock and release it: that is left out as well. */
void locks_pause(const void *lock)
{
	struct thread *thread = locks_enter();
	struct held_lock *held = thread ? lock_find_held(thread->locks, LOCK_MUTEX, lock) : NULL;
	if (!held)
		return;
	held->hold += lock_span(held->since, clock_now());
	held->since = 0;
}

void locks_continue(const void *lock)
{
	struct thread *thread = locks_enter();
	struct held_lock *held = thread ? lock_find_held(thread->locks, LOCK_MUTEX, lock) : NULL;
	if (held && !held->since)
		held->since = clock_now();
}
