/*
 * Locks (MTRACE_LOCKS=1): what the hooks of interpose_lock.c, interpose_wait.c and interpose_atomic.c share.
 *
 *   table     a thread's own sums, an entry a lock (struct lock_record); only the owner writes, the writer
 *             thread reads (lockblock.c). In a mapping that the kernel wipes in forked children.
 *   plain     a call that met nothing special: it acquired or released at once, and was not chosen
 *   chosen    one acquisition in LOCKS_EVERY, by chance: its stack is recorded, and how long it held
 *   shared    sums of the process for what finds no table: threads without a place, handlers that interrupt
 *             the accounting of their own thread
 *
 * Nothing here waits, allocates, or changes errno. The unwinder's first use in a thread allocates: it is at
 * the thread's start, or at an allocation of its own; until then its calls have no stack.
 */
#ifndef MTRACE_LOCKS_H
#define MTRACE_LOCKS_H

#include "shim/clock.h"
#include "shim/thread.h"

/* 0 first: hooks look at it before this object is relocated. */
enum locks_state {
	LOCKS_EARLY = 0, /* the next functions are not known yet */
	LOCKS_OFF = 1,
	LOCKS_ON = 2,
};
extern uint32_t locks_state SHIM_LOCAL;

#define LOCKS_EVERY  512u /* a prime or not makes no difference: the distance is drawn anew each time */
#define LOCK_ENTRIES 256u
#define LOCK_PROBES  8u /* an entry stands this near to where its address points */
#define LOCK_QUEUE   64u
#define LOCK_KINDS   8u /* enum lock_kind is below this */
#define LOCKS_HELD   4u

/* A chosen acquisition until its release. */
struct held_lock {
	uint64_t address; /* 0: free */
	uint64_t since;	  /* time units; 0: given up inside a condition wait */
	uint64_t hold;	  /* time units before that wait */
	uint32_t stack_id;
	uint32_t depth; /* acquisitions of a recursive lock above this one */
	uint8_t kind, call;
	bool contended;
};

/* What the writer told last of an entry. */
struct lock_told {
	uint64_t opened, calls;
};

struct lock_table {
	uint32_t countdown; /* to the next chosen acquisition; at 1 it is the next one */
	uint32_t held_count;

	uintptr_t atomic_frame; /* of the hook that is inside libatomic, whose functions call each other; 0:
				   none */

	/* Contended calls: one in wait_weight is recorded. */
	uint32_t wait_weight, wait_countdown, wait_recorded;
	uint64_t wait_window; /* time units: when this count of recorded ones began */

	uint64_t last_opened; /* of any entry: two of one lock must differ */
	struct held_lock held[LOCKS_HELD];

	/* While an entry gives way to another: its index + 1. The writer then reads it again. */
	_Atomic uint32_t replacing, replaced;

	/* Closed entries in `queue`, from the owner (head) to the writer (tail). */
	_Atomic uint32_t queue_head, queue_tail;

	_Alignas(64) struct lock_record other[LOCK_KINDS]; /* address 0: no room, and LOCK_ATOMIC */
	struct lock_record entries[LOCK_ENTRIES];
	struct lock_record queue[LOCK_QUEUE];
	struct lock_told told[LOCK_KINDS + LOCK_ENTRIES]; /* the writer's */
};

/* ---- life ---------------------------------------------------------------------------------------------- */

/* Recording begins in this process, if it is wanted: before its first thread is attached. */
void locks_start(void);

/* In a forked child: nothing is recorded, what the parent had is gone. */
void locks_forget(void);

/* Gives a new thread its table, empty. Where there is no memory for it the thread's calls go to the shared
 * sums. */
void locks_attach(struct thread *thread);

/* The calling thread has just begun and holds nothing: makes its stacks ready to be recorded. */
void locks_thread_begins(struct thread *thread);

/* Of the slot with this index; NULL: none. */
struct lock_table *locks_table(uint32_t index);

/* For what has no table, by kind. */
struct lock_record *locks_shared(void);

/* ---- a plain call -------------------------------------------------------------------------------------- */

/* The thread, with a table that may be written to now; NULL: go the long way (struct lock_use). */
ALWAYS_INLINE struct thread *locks_enter(void)
{
	if (unlikely(locks_state != LOCKS_ON))
		return NULL;
	struct thread *thread = thread_self;
	return likely(thread && thread->locks && thread->mode != MODE_CLOSED &&
		      thread->guard != GUARD_WRITE && !thread->in_shim)
		       ? thread
		       : NULL;
}

/* As locks_enter, where no chosen acquisition is held that this release may be of. */
ALWAYS_INLINE struct thread *locks_enter_release(void)
{
	struct thread *thread = locks_enter();
	return likely(thread && !thread->locks->held_count) ? thread : NULL;
}

/* As locks_enter, where the acquisition is not to be chosen and no chosen one is held. */
ALWAYS_INLINE struct thread *locks_enter_plain(void)
{
	struct thread *thread = locks_enter();
	return likely(thread && thread->locks->countdown > 1 && !thread->locks->held_count) ? thread : NULL;
}

ALWAYS_INLINE _Atomic uint64_t *locks_sum(uint64_t *sum)
{
	return (_Atomic uint64_t *)sum;
}

/* The lock's entry where there is no entry yet: opens one, or gives the one for all others. */
struct lock_record *locks_open_entry(struct thread *thread, enum lock_kind kind, uint64_t address);

ALWAYS_INLINE struct lock_record *locks_entry(struct thread *thread, enum lock_kind kind, uint64_t address)
{
	struct lock_record *entries = thread->locks->entries;
	uint32_t at = (uint32_t)(address * UINT64_C(0x9e3779b97f4a7c15) >> 56);
	_Static_assert(LOCK_ENTRIES == 256, "eight bits of the product");
	struct lock_record *entry = &entries[at];
	if (likely(entry->address == address && entry->kind == kind))
		return entry;
	return locks_open_entry(thread, kind, address);
}

ALWAYS_INLINE void locks_count_acquired(struct thread *thread, enum lock_kind kind, const void *lock,
					bool for_reading)
{
	struct outer_guard outer = thread_guard_inside(thread, GUARD_WRITE);
	struct lock_record *entry = locks_entry(thread, kind, (uintptr_t)lock);
	thread->locks->countdown--;
	arch_add_own(locks_sum(&entry->acquired), 1);
	if (for_reading)
		arch_add_own(locks_sum(&entry->shared), 1);
	thread_guard_back(thread, outer);
}

ALWAYS_INLINE void locks_count_released(struct thread *thread, enum lock_kind kind, const void *lock)
{
	struct outer_guard outer = thread_guard_inside(thread, GUARD_WRITE);
	arch_add_own(locks_sum(&locks_entry(thread, kind, (uintptr_t)lock)->released), 1);
	thread_guard_back(thread, outer);
}

/* ---- any call ------------------------------------------------------------------------------------------ */

enum lock_outcome {
	LOCK_ACQUIRED,
	LOCK_RELEASED,
	LOCK_GAVE_UP, /* after it had waited: time out, interrupted */
	LOCK_FAILED,  /* at once: busy, error */
};

/* One call on its long way. Set kind, call and lock; the rest is of locks_begin() and its like. */
struct lock_use {
	enum lock_kind kind;
	enum lock_call call; /* 0: a release */
	const void *lock;
	bool known; /* the next function can be called; otherwise nobody else runs yet, and the call is done
		     */
	bool shared, chosen, waits, recorded;
	uint32_t stack_id;
	uint32_t weight;
	uint64_t start; /* time units: of the wait, or of the release */
};

/* Before the call that is to acquire or to release. False: do not call, see `known`. */
bool locks_begin(struct lock_use *use);

/* The call is going to wait, or may: the clock runs from here. Condition waits and semaphores are counted as
 * contended now, since a cancellation may end them. */
void locks_wait(struct lock_use *use);

/* `result`: the call's value, as an event has it. */
void locks_end(struct lock_use *use, enum lock_outcome outcome, int64_t result);

/* The lock is given up inside a condition wait, and has been taken again. No calls of their own. */
void locks_pause(const void *lock);
void locks_continue(const void *lock);

/* Calls of libatomic: no lock, no outcome. */
void locks_count_atomic_other(void);

#endif
