/* A call on a lock on its long way: it waits, it is chosen, it releases a chosen one, or its thread has no
 * table. */
#include <errno.h>

#include "shim/capture.h"
#include "shim/lifecycle.h"
#include "shim/locks.h"
#include "shim/registry.h"
#include "shim/sampling.h"
#include "shim/source.h"
#include "shim/writer.h"

#define NS_PER_S	 UINT64_C(1000000000)
#define WAITS_PER_SECOND 1000u
#define HOLD_UNKNOWN	 UINT64_MAX

/* ---- time ---------------------------------------------------------------------------------------------- */

static uint64_t units_per_second(void)
{
	return shim_clock.tick_hz >> shim_clock.shift;
}

/* CPUs need not agree to the last unit. */
static uint64_t span(uint64_t start, uint64_t end)
{
	return end > start ? end - start : 0;
}

static unsigned bucket_of(uint64_t units)
{
	unsigned __int128 ns = (unsigned __int128)units * NS_PER_S / units_per_second();
	unsigned bucket = 0;
	for (uint64_t border = LOCK_BUCKET_NS; bucket < LOCK_BUCKETS - 1 && ns >= border; border *= 4)
		bucket++;
	return bucket;
}

static void count_bucket(uint32_t *bucket)
{
	if (*bucket != UINT32_MAX)
		++*bucket;
}

static void raise_to(uint64_t *longest, uint64_t value)
{
	if (value > *longest)
		*longest = value;
}

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
	uint64_t waited = span(use->start, clock_now());
	if (!counted_before(use))
		add_shared(&record->contended, 1);
	add_shared(&record->wait, waited);
	atomic_fetch_add_explicit((_Atomic uint32_t *)&record->waits[bucket_of(waited)], 1,
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

/* ---- chosen acquisitions ------------------------------------------------------------------------------- */

static struct held_lock *find_held(struct lock_table *table, enum lock_kind kind, const void *lock)
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

static void tell_release(struct thread *thread, struct held_lock *held, uint64_t now)
{
	struct lock_record *entry = locks_entry(thread, held->kind, held->address);
	uint64_t hold = held->hold + (held->since ? span(held->since, now) : 0);
	arch_add_own(locks_sum(&entry->held), 1);
	arch_add_own(locks_sum(&entry->hold), hold);
	raise_to(&entry->hold_longest, hold);
	count_bucket(&entry->holds[bucket_of(hold)]);
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

static void keep_chosen(struct thread *thread, const struct lock_use *use, struct lock_record *entry,
			bool held_already)
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
	if (held_already || !has_hold(use->kind)) {
		tell(thread, &chosen, now, HOLD_UNKNOWN);
		return;
	}
	*place_for_held(thread, now) = chosen;
	thread->locks->held_count++;
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
	if (span(table->wait_window, now) >= units_per_second()) {
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
	uint64_t now = clock_now(), waited = span(use->start, now);
	if (!counted_before(use))
		arch_add_own(locks_sum(&entry->contended), 1);
	arch_add_own(locks_sum(&entry->wait), waited);
	raise_to(&entry->wait_longest, waited);
	count_bucket(&entry->waits[bucket_of(waited)]);
	entry->last_used = now;
	if (use->recorded)
		tell_wait(thread, use, now, result);
}

/* ---- the parts of a call ------------------------------------------------------------------------------- */

/* The unwinder allocates at its first use in a thread: not in a semaphore's post, which may be a signal
 * handler's, and only where every allocator's work is known to us. */
static bool may_warm_up(const struct thread *thread, const struct lock_use *use)
{
	return !thread->warm && !thread->sealed && capture_stack_depth && use->kind != LOCK_SEM &&
	       thread->guard == GUARD_NONE && source_sees_all();
}

static void take_stack(struct thread *thread, struct lock_use *use, uint64_t now)
{
	if (!use->stack_id)
		use->stack_id = capture_stack(thread, now);
	thread->locks->wants_warm_up |= !thread->warm;
}

static void begin(struct thread *thread, struct lock_use *use)
{
	struct outer_guard outer = thread_guard_inside(thread, GUARD_WRITE);
	struct lock_table *table = thread->locks;
	use->chosen = use->call && table->countdown <= 1;
	if (use->chosen)
		take_stack(thread, use, clock_now()); /* now: later the lock would be held longer for it */
	if (!use->call && find_held(table, use->kind, use->lock))
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
	struct held_lock *held = find_held(thread->locks, use->kind, use->lock);
	arch_add_own(locks_sum(&entry->acquired), 1);
	if (is_reading(use))
		arch_add_own(locks_sum(&entry->shared), 1);
	if (held)
		held->depth++;
	if (use->chosen)
		keep_chosen(thread, use, entry, held != NULL);
	else if (thread->locks->countdown > 1)
		thread->locks->countdown--;
}

static void end_released(struct thread *thread, const struct lock_use *use, struct lock_record *entry)
{
	struct held_lock *held = find_held(thread->locks, use->kind, use->lock);
	arch_add_own(locks_sum(&entry->released), 1);
	if (held && held->depth)
		held->depth--;
	else if (held)
		tell_release(thread, held, use->start);
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
	if (thread->locks->wants_warm_up && outcome == LOCK_RELEASED) {
		thread->locks->wants_warm_up = false;
		if (may_warm_up(thread, use))
			capture_warm_up(thread);
	}
	errno = error;
}

/* ---- inside condition waits, and libatomic ------------------------------------------------------------- */

/* What is held on through the wait is none of this lock's hold time. Should a cancellation end the wait, the
 * cleanup handlers hold the lock and release it: that is left out as well. */
void locks_pause(const void *lock)
{
	struct thread *thread = locks_enter();
	struct held_lock *held = thread ? find_held(thread->locks, LOCK_MUTEX, lock) : NULL;
	if (!held)
		return;
	held->hold += span(held->since, clock_now());
	held->since = 0;
}

void locks_continue(const void *lock)
{
	struct thread *thread = locks_enter();
	struct held_lock *held = thread ? find_held(thread->locks, LOCK_MUTEX, lock) : NULL;
	if (held && !held->since)
		held->since = clock_now();
}

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
