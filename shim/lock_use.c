/* A call on a lock on its long way: it waits, it is chosen, it releases a chosen one, or its thread has no
 * table. */
#include <errno.h>

#include "shim/capture.h"
#include "shim/lifecycle.h"
#include "shim/lock_hold.h"
#include "shim/locks.h"
#include "shim/registry.h"
#include "shim/sampling.h"
#include "shim/source.h"
#include "shim/writer.h"

#define WAITS_PER_SECOND 1000u

/* ---- who counts ---------------------------------------------------------------------------------------- */

/* A signal handler may have interrupted this thread's own accounting, or a record that it was writing. */
static bool may_write(struct thread *thread, uintptr_t frame)
{
	return thread->locks && (thread->guard != GUARD_WRITE || thread_clear_stale_guard(thread, frame));
}

static bool is_suspended(const struct thread *thread)
{
	return thread->mode == MODE_CLOSED && !writer_is_self() && lifecycle_is_suspended();
}

/* The thread to count with, or NULL; then use->shared says whether the call is counted at all. */
static struct thread *find_thread(struct lock_use *use, uintptr_t frame)
{
	use->known = hooks_ready || lifecycle_start_early();
	if (!use->known || locks_state != LOCKS_ON)
		return NULL;
	struct thread *thread = thread_self;
	if (!thread && lifecycle_records_here()) {
		thread = registry_attach(false);
		use->shared = !thread;
	}
	if (!thread)
		return NULL;
	if (thread->in_shim) {
		/* Nothing that the unwinder calls posts: this is a handler that interrupted it. */
		use->shared = use->kind == LOCK_SEM;
		return NULL;
	}
	if (thread->mode == MODE_CLOSED) {
		use->shared = is_suspended(thread);
		return NULL;
	}
	use->shared = !may_write(thread, frame);
	return use->shared ? NULL : thread;
}

/* ---- shared sums --------------------------------------------------------------------------------------- */

static void add_shared(uint64_t *sum, uint64_t n)
{
	atomic_fetch_add_explicit(locks_sum(sum), n, memory_order_relaxed);
}

static bool counted_before(const struct lock_use *use)
{
	return use->kind == LOCK_COND || use->kind == LOCK_SEM;
}

static bool is_reading(const struct lock_use *use)
{
	return use->call >= LOCK_CALL_READ;
}

static void share_wait(const struct lock_use *use, enum lock_outcome outcome, struct lock_record *record)
{
	if (outcome == LOCK_FAILED) {
		if (counted_before(use))
			add_shared(&record->contended, UINT64_MAX);
		return;
	}
	uint64_t waited = lock_span(use->start, clock_now());
	if (!counted_before(use))
		add_shared(&record->contended, 1);
	add_shared(&record->wait, waited);
	atomic_fetch_add_explicit((_Atomic uint32_t *)&record->waits[lock_bucket_of(waited)], 1,
				  memory_order_relaxed);
}

static void share(const struct lock_use *use, enum lock_outcome outcome)
{
	struct lock_record *record = &locks_shared()[use->kind];
	if (use->waits)
		share_wait(use, outcome, record);
	add_shared(outcome == LOCK_ACQUIRED   ? &record->acquired
		   : outcome == LOCK_RELEASED ? &record->released
					      : &record->failed,
		   1);
	if (outcome == LOCK_ACQUIRED && is_reading(use))
		add_shared(&record->shared, 1);
}

/* ---- waits --------------------------------------------------------------------------------------------- */

static void set_weight(struct lock_table *table, uint32_t weight, uint32_t recorded)
{
	table->wait_weight = weight;
	table->wait_recorded = recorded;
}

/* One in `wait_weight` by chance, so that about WAITS_PER_SECOND are recorded at most. */
static bool choose_wait(struct thread *thread, uint64_t now)
{
	struct lock_table *table = thread->locks;
	if (lock_span(table->wait_window, now) >= lock_units_per_second()) {
		bool calm = table->wait_recorded < WAITS_PER_SECOND / 2 && table->wait_weight > 1;
		set_weight(table, calm ? table->wait_weight / 2 : table->wait_weight, 0);
		table->wait_window = now;
	}
	if (table->wait_countdown > 1) {
		table->wait_countdown--;
		return false;
	}
	table->wait_recorded++;
	if (table->wait_recorded > WAITS_PER_SECOND && table->wait_weight < (1u << 20))
		set_weight(table, table->wait_weight * 2, WAITS_PER_SECOND / 2);
	table->wait_countdown =
		1 + (uint32_t)(sampling_random(thread) % (2 * (uint64_t)table->wait_weight - 1));
	return true;
}

static void tell_wait(struct thread *thread, const struct lock_use *use, uint64_t now, int64_t result)
{
	struct trace_event event = {.kind = EVENT_LOCK_WAIT,
				    .time = use->start,
				    .end_time = now > use->start ? now : use->start,
				    .address = (uintptr_t)use->lock,
				    .size_bytes = use->weight,
				    .result = result,
				    .args = {use->kind, use->call},
				    .stack_id = use->stack_id};
	capture_told_event(thread, &event);
}

static void end_wait(struct thread *thread, const struct lock_use *use, struct lock_record *entry,
		     enum lock_outcome outcome, int64_t result)
{
	if (outcome == LOCK_FAILED) {
		if (counted_before(use))
			arch_add_own(locks_sum(&entry->contended), UINT64_MAX);
		return;
	}
	uint64_t now = clock_now(), waited = lock_span(use->start, now);
	if (!counted_before(use))
		arch_add_own(locks_sum(&entry->contended), 1);
	arch_add_own(locks_sum(&entry->wait), waited);
	lock_raise_to(&entry->wait_longest, waited);
	lock_count_bucket(&entry->waits[lock_bucket_of(waited)]);
	entry->last_used = now;
	if (use->recorded)
		tell_wait(thread, use, now, result);
}

/* ---- the parts of a call ------------------------------------------------------------------------------- */

/* Only where every allocator's work is known to us: what the unwinder allocates would be a call of the
 * guest's. */
void locks_thread_begins(struct thread *thread)
{
	if (thread->locks && thread->guard == GUARD_NONE && !thread->sealed && source_sees_all())
		capture_warm_up(thread);
}

static void take_stack(struct thread *thread, struct lock_use *use, uint64_t now)
{
	if (!use->stack_id)
		use->stack_id = capture_stack(thread, now);
}

static void begin(struct thread *thread, struct lock_use *use)
{
	struct outer_guard outer = thread_guard_inside(thread, GUARD_WRITE);
	struct lock_table *table = thread->locks;
	use->chosen = use->call && table->countdown <= 1;
	if (use->chosen)
		take_stack(thread, use, clock_now()); /* now: later the lock would be held longer for it */
	if (!use->call && lock_find_held(table, use->kind, use->lock))
		use->start = clock_now();
	thread_guard_back(thread, outer);
}

bool locks_begin(struct lock_use *use)
{
	struct thread *thread = find_thread(use, HOOK_FRAME());
	if (thread)
		begin(thread, use);
	return use->known;
}

void locks_wait(struct lock_use *use)
{
	struct thread *thread = locks_enter();
	use->waits = true;
	if (!thread && use->shared && counted_before(use))
		add_shared(&locks_shared()[use->kind].contended, 1);
	if (!thread) {
		use->start = clock_now();
		return;
	}
	struct outer_guard outer = thread_guard_inside(thread, GUARD_WRITE);
	use->start = clock_now();
	use->recorded = choose_wait(thread, use->start);
	use->weight = thread->locks->wait_weight;
	if (counted_before(use))
		arch_add_own(locks_sum(&locks_entry(thread, use->kind, (uintptr_t)use->lock)->contended), 1);
	if (use->recorded)
		take_stack(thread, use, use->start);
	thread_guard_back(thread, outer);
}

static void end_acquired(struct thread *thread, struct lock_use *use, struct lock_record *entry)
{
	struct held_lock *held = lock_find_held(thread->locks, use->kind, use->lock);
	arch_add_own(locks_sum(&entry->acquired), 1);
	if (is_reading(use))
		arch_add_own(locks_sum(&entry->shared), 1);
	if (held)
		held->depth++;
	if (use->chosen)
		lock_keep_chosen(thread, use, entry);
	else if (thread->locks->countdown > 1)
		thread->locks->countdown--;
}

static void end_released(struct thread *thread, const struct lock_use *use, struct lock_record *entry)
{
	struct held_lock *held = lock_find_held(thread->locks, use->kind, use->lock);
	arch_add_own(locks_sum(&entry->released), 1);
	if (held && held->depth)
		held->depth--;
	else if (held)
		lock_tell_release(thread, held, use->start);
}

static void end(struct thread *thread, struct lock_use *use, enum lock_outcome outcome, int64_t result)
{
	struct outer_guard outer = thread_guard_inside(thread, GUARD_WRITE);
	struct lock_record *entry = locks_entry(thread, use->kind, (uintptr_t)use->lock);
	if (use->waits)
		end_wait(thread, use, entry, outcome, result);
	if (outcome == LOCK_ACQUIRED)
		end_acquired(thread, use, entry);
	else if (outcome == LOCK_RELEASED)
		end_released(thread, use, entry);
	else
		arch_add_own(locks_sum(&entry->failed), 1);
	thread_guard_back(thread, outer);
}

/* The call may have taken long: recording may have ended meanwhile, or this may be a forked child by now. */
void locks_end(struct lock_use *use, enum lock_outcome outcome, int64_t result)
{
	struct thread *thread = locks_enter();
	if (!thread) {
		if (use->shared || (thread_self && locks_state == LOCKS_ON && is_suspended(thread_self)))
			share(use, outcome);
		return;
	}
	int error = errno;
	end(thread, use, outcome, result);
	errno = error;
}

/* ---- libatomic ----------------------------------------------------------------------------------------- */

__attribute__((noinline)) void locks_count_atomic_other(void)
{
	struct lock_use use = {.kind = LOCK_ATOMIC, .call = LOCK_CALL_LOCK};
	struct thread *thread = find_thread(&use, HOOK_FRAME());
	if (!thread) {
		if (use.shared)
			share(&use, LOCK_ACQUIRED);
		return;
	}
	int error = errno;
	begin(thread, &use);
	struct outer_guard outer = thread_guard_inside(thread, GUARD_WRITE);
	end_acquired(thread, &use, &thread->locks->other[LOCK_ATOMIC]);
	thread_guard_back(thread, outer);
	errno = error;
}
