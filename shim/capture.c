#include "shim/capture.h"

#include <errno.h>

#include "shim/lifecycle.h"
#include "shim/stacks.h"
#include "shim/unwind.h"

unsigned capture_stack_depth;

/*
 * The unwinder's first use in a thread takes about a millisecond and allocates, so it is put off: a thread
 * that lives shortly never gets there, and region hooks, which may be under the allocator's lock, never go
 * there.
 */
static void warm_up(struct thread *thread)
{
	if (likely(thread->warm || !capture_stack_depth))
		return;
	int error = errno;
	unwind_warm(thread);
	errno = error;
}

/* The present stack's number; 0: none, as in a thread that is not warm. */
static uint32_t stack_now(struct thread *thread, uint64_t time)
{
	if (capture_stack_depth == 0)
		return 0;
	int error = errno;
	uint32_t id = stacks_current(thread, time, capture_stack_depth);
	if (id == 0)
		thread_count(thread, COUNTER_STACKLESS);
	errno = error;
	return id;
}

static void write_extended(struct thread *thread, const struct trace_event *event)
{
	uint8_t *at = ring_begin(thread, event->time);
	if (at)
		ring_commit(thread, encode_extended(&thread->codec, at, event));
}

/* ---- allocations and frees
 * ---------------------------------------------------------------------------------------- */

__attribute__((noinline)) void capture_allocation_general(struct thread *thread, enum event_kind kind,
							  uint64_t address, uint64_t size_bytes,
							  uint64_t alignment_bytes)
{
	warm_up(thread);
	uint64_t time = clock_now();
	uint32_t stack_id = stack_now(thread, time);
	bool hot = kind != EVENT_ALIGNED && alignment_bytes == 0 && codec_address_fits(address);
	if (!hot) {
		write_extended(thread, &(struct trace_event){.kind = (uint8_t)kind,
							     .time = time,
							     .address = address,
							     .size_bytes = size_bytes,
							     .alignment_bytes = alignment_bytes,
							     .stack_id = stack_id});
		return;
	}
	uint8_t *at = ring_begin(thread, time);
	if (at)
		ring_commit(thread,
			    encode_allocation(&thread->codec, at, kind, time, address, size_bytes, stack_id));
}

static uint64_t bytes_so_far(struct thread *thread)
{
	return atomic_load_explicit(&thread->slot->counters[COUNTER_ALLOC_BYTES], memory_order_relaxed);
}

/* The process has no memory: the next draw starts at the end of the sampled allocation. */
static void draw_next(struct thread *thread)
{
	thread->sample_at_bytes = bytes_so_far(thread) + sampling_draw(thread);
	thread->draw_left = 0;
}

/* A thread that has allocated this much is there to stay: its region calls are to have stacks, too. */
#define WARM_UP_BYTES UINT64_C(16384)

void capture_first_draw(struct thread *thread)
{
	uint64_t draw = sampling_draw(thread);
	thread->sample_at_bytes = draw < WARM_UP_BYTES ? draw : WARM_UP_BYTES;
	thread->draw_left = draw - thread->sample_at_bytes;
}

/* The stop for the unwinder's sake. True: the draw goes on, and this allocation is no sample. */
static bool stops_early(struct thread *thread)
{
	if (!thread->draw_left)
		return false;
	thread->sample_at_bytes += thread->draw_left;
	thread->draw_left = 0;
	warm_up(thread);
	return bytes_so_far(thread) < thread->sample_at_bytes;
}

__attribute__((noinline)) void capture_allocation_sampled(struct thread *thread, enum event_kind kind,
							  uint64_t address, uint64_t size_bytes,
							  uint64_t alignment_bytes)
{
	if (stops_early(thread))
		return;
	draw_next(thread);
	if (!sample_set_insert(address)) {
		thread_count(thread, COUNTER_LOST_SAMPLE_SET);
		return;
	}
	capture_allocation_general(thread, kind, address, size_bytes, alignment_bytes);
}

void capture_aligned_allocation(struct thread *thread, enum event_kind kind, uint64_t address,
				uint64_t size_bytes, uint64_t alignment_bytes)
{
	if (thread->mode == MODE_SAMPLE) {
		cpucount_check(thread);
		if (capture_count_sampling(thread, kind, size_bytes))
			capture_allocation_sampled(thread, kind, address, size_bytes, alignment_bytes);
		return;
	}
	thread_count(thread, capture_counter(kind));
	thread_count_n(thread, COUNTER_ALLOC_BYTES, size_bytes);
	capture_allocation_general(thread, kind, address, size_bytes, alignment_bytes);
}

void capture_allocation(struct thread *thread, enum event_kind kind, uint64_t address, uint64_t size_bytes)
{
	if (thread->mode != MODE_SAMPLE) {
		capture_allocation_full(thread, kind, address, size_bytes);
		return;
	}
	cpucount_check(thread);
	if (capture_count_sampling(thread, kind, size_bytes))
		capture_allocation_sampled(thread, kind, address, size_bytes, 0);
}

void capture_free(struct thread *thread, enum event_kind kind, uint64_t address)
{
	if (thread->mode != MODE_SAMPLE) {
		capture_free_full(thread, kind, address);
		return;
	}
	cpucount_check(thread);
	thread_count(thread, capture_counter(kind));
	if (sample_set_maybe(address))
		capture_free_sampled(thread, kind, address);
}

__attribute__((noinline)) void capture_free_general(struct thread *thread, enum event_kind kind,
						    uint64_t address)
{
	write_extended(thread,
		       &(struct trace_event){.kind = (uint8_t)kind, .time = clock_now(), .address = address});
}

bool capture_free_is_own(struct thread *thread, enum event_kind kind, uint64_t address)
{
	if (!sample_set_remove_own(address))
		return false;
	thread_count_n(thread, capture_counter(kind), UINT64_MAX); /* one less: it was none of the guest's */
	return true;
}

__attribute__((noinline)) void capture_free_sampled(struct thread *thread, enum event_kind kind,
						    uint64_t address)
{
	if (sample_set_remove(address))
		capture_free_general(thread, kind, address);
	else
		capture_free_is_own(thread, kind, address);
}

__attribute__((noinline)) void capture_failed(struct thread *thread, enum event_kind kind,
					      uint64_t size_bytes, int error)
{
	thread_count(thread, COUNTER_FAILED);
	write_extended(thread, &(struct trace_event){.kind = EVENT_FAILED,
						     .time = clock_now(),
						     .size_bytes = size_bytes,
						     .args = {kind, (uint64_t)error}});
}

static void count_unrecorded(void (*count)(enum counter, uint64_t), enum event_kind kind, uint64_t address,
			     uint64_t size_bytes)
{
	if (event_is_free((uint8_t)kind)) {
		count(address ? capture_counter(kind) : COUNTER_NULL_FREE, 1);
	} else if (kind == EVENT_REALLOC) {
		count(COUNTER_REALLOC, 1);
		count(COUNTER_REALLOC_BYTES, size_bytes);
	} else {
		count(address ? capture_counter(kind) : COUNTER_FAILED, 1);
		count(COUNTER_ALLOC_BYTES, address ? size_bytes : 0);
	}
}

/* free(NULL) is no event. */
static bool would_be_event(enum event_kind kind, uint64_t address)
{
	return address || !event_is_free((uint8_t)kind);
}

/* Made while the unwinder warms up: the shim's own. */
static void note_own(enum event_kind kind, uint64_t address)
{
	if (event_is_free((uint8_t)kind))
		sample_set_remove_own(address);
	else if (address)
		sample_set_insert_own(address);
}

__attribute__((noinline)) void capture_unrecorded(enum event_kind kind, uint64_t address, uint64_t size_bytes)
{
	struct thread *thread = hooks_ready ? thread_self : NULL;
	if (thread && thread->warming) {
		note_own(kind, address);
		return;
	}
	bool without_slot = !thread && lifecycle_mode() != MODE_CLOSED;
	bool interrupted = thread && thread->mode != MODE_CLOSED && thread->guard == GUARD_WRITE;
	/* It was closed when the call came in, and is open again. */
	bool resumed = thread && thread->mode != MODE_CLOSED && thread->guard == GUARD_NONE;
	/* Without a guard nobody knows that malloc was called by operator new: that one is left to it. */
	bool stopped = kind != EVENT_NEW && kind != EVENT_DELETE && (resumed || lifecycle_is_suspended()) &&
		       (!thread || resumed || (thread->mode == MODE_CLOSED && thread->guard == GUARD_NONE));
	if (stopped)
		count_unrecorded(lifecycle_count_stopped, kind, address, size_bytes);
	else if (without_slot || interrupted)
		count_unrecorded(rings_count_shared, kind, address, size_bytes);
	if (stopped && lifecycle_mode_suspended() == MODE_FULL && would_be_event(kind, address))
		lifecycle_count_stopped(COUNTER_LOST_STOPPED, 1);
	if (interrupted && thread->mode == MODE_FULL && would_be_event(kind, address))
		rings_count_shared(COUNTER_LOST_REENTRY, 1);
}

/* ---- realloc
 * ------------------------------------------------------------------------------------------------------ */

struct realloc_start capture_realloc_before(struct thread *thread, uint64_t old_address)
{
	struct realloc_start start = {.old_address = old_address};
	if (thread->mode == MODE_FULL || !thread->draw_left)
		warm_up(thread);
	if (thread->mode == MODE_SAMPLE)
		start.sampled_old =
			old_address && sample_set_maybe(old_address) && sample_set_remove(old_address);
	if (thread->mode == MODE_FULL || start.sampled_old)
		start.time = clock_now();
	return start;
}

static void realloc_full(struct thread *thread, const struct realloc_start *start, uint64_t address,
			 uint64_t size_bytes)
{
	uint64_t end_time = clock_now();
	uint32_t stack_id = stack_now(thread, start->time);
	bool hot = start->old_address && address && codec_address_fits(start->old_address) &&
		   codec_address_fits(address);
	if (!hot) {
		write_extended(thread, &(struct trace_event){.kind = EVENT_REALLOC,
							     .time = start->time,
							     .end_time = end_time,
							     .old_address = start->old_address,
							     .address = address,
							     .size_bytes = size_bytes,
							     .stack_id = stack_id});
		return;
	}
	uint8_t *at = ring_begin(thread, start->time);
	if (at)
		ring_commit(thread, encode_realloc(&thread->codec, at, start->time, end_time,
						   start->old_address, address, size_bytes, stack_id));
}

/* A realloc's bytes are counted apart, so they bring the next sample nearer instead of moving the counter. */
static bool crosses_sample(struct thread *thread, uint64_t size_bytes)
{
	uint64_t bytes = bytes_so_far(thread);
	uint64_t left = thread->sample_at_bytes + thread->draw_left - bytes;
	if (size_bytes >= left) {
		draw_next(thread);
		return true;
	}
	left -= size_bytes;
	uint64_t stop = thread->draw_left && left > WARM_UP_BYTES ? WARM_UP_BYTES : left;
	thread->sample_at_bytes = bytes + stop;
	thread->draw_left = left - stop;
	return false;
}

static void realloc_sample(struct thread *thread, const struct realloc_start *start, uint64_t address,
			   uint64_t size_bytes)
{
	bool sampled_new = address && crosses_sample(thread, size_bytes);
	if (sampled_new && !sample_set_insert(address)) {
		sampled_new = false;
		thread_count(thread, COUNTER_LOST_SAMPLE_SET);
	}
	if (!sampled_new && !start->sampled_old)
		return;
	uint64_t end_time = clock_now();
	struct trace_event event = {.kind = EVENT_REALLOC,
				    .time = start->time ? start->time : end_time,
				    .end_time = end_time,
				    .old_address = start->old_address,
				    .address = address,
				    .size_bytes = size_bytes,
				    .sampled_old = start->sampled_old,
				    .sampled_new = sampled_new};
	event.stack_id = sampled_new ? stack_now(thread, event.time) : 0;
	write_extended(thread, &event);
}

/* realloc(p, 0) that returns nothing has freed p; any other that returns nothing has failed, and p lives on.
 */
void capture_realloc_after(struct thread *thread, const struct realloc_start *start, uint64_t address,
			   uint64_t size_bytes, int error)
{
	bool freed = !address && size_bytes == 0 && start->old_address;
	if (!address && !freed) {
		if (start->sampled_old && !sample_set_insert(start->old_address))
			thread_count(thread, COUNTER_LOST_SAMPLE_SET);
		capture_failed(thread, EVENT_REALLOC, size_bytes, error);
		return;
	}
	if (thread->mode == MODE_SAMPLE)
		cpucount_check(thread);
	thread_count(thread, COUNTER_REALLOC);
	thread_count_n(thread, COUNTER_REALLOC_BYTES, size_bytes);
	if (thread->mode == MODE_FULL)
		realloc_full(thread, start, address, size_bytes);
	else
		realloc_sample(thread, start, address, size_bytes);
}

uint32_t capture_stack(struct thread *thread, uint64_t time)
{
	return stack_now(thread, time);
}

void capture_told_event(struct thread *thread, const struct trace_event *event)
{
	write_extended(thread, event);
}

void capture_warm_up(struct thread *thread)
{
	warm_up(thread);
}

/* ---- everything else
 * ---------------------------------------------------------------------------------------------- */

static bool wants_stack(uint8_t kind)
{
	return kind >= EVENT_MMAP && kind <= EVENT_BRK;
}

void capture_event(struct thread *thread, enum counter counter, struct trace_event *event)
{
	struct outer_guard outer = thread_guard_inside(thread, GUARD_WRITE);
	thread_count(thread, counter);
	if (event->time == 0)
		event->time = clock_now();
	if (event->end_time < event->time)
		event->end_time = event->time;
	if (wants_stack(event->kind))
		event->stack_id = stack_now(thread, event->time);
	write_extended(thread, event);
	thread_guard_back(thread, outer);
}
