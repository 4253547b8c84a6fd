/*
 * What is recorded of a call: counters in both modes, then a record (full mode) or, for sampled blocks, a
 * record with a stack (sample mode). Called between thread_enter() and the end of the hook. Nothing here
 * allocates, blocks, or changes errno; what finds no room is counted as lost.
 */
#ifndef MTRACE_CAPTURE_H
#define MTRACE_CAPTURE_H

#include "shim/clock.h"
#include "shim/cpucount.h"
#include "shim/ring.h"
#include "shim/sampling.h"
#include "shim/thread.h"

/* MTRACE_STACK_DEPTH, here because the hot path looks at it. */
extern unsigned capture_stack_depth SHIM_LOCAL;

/* Sets a new thread's first sample. */
void capture_first_draw(struct thread *thread);

/* The rare ways, out of line; the counters are up to date. */
void capture_allocation_sampled(struct thread *thread, enum event_kind kind, uint64_t address,
				uint64_t size_bytes, uint64_t alignment_bytes);
void capture_allocation_general(struct thread *thread, enum event_kind kind, uint64_t address,
				uint64_t size_bytes, uint64_t alignment_bytes);
void capture_free_sampled(struct thread *thread, enum event_kind kind, uint64_t address);
void capture_free_general(struct thread *thread, enum event_kind kind, uint64_t address);

/* A free that was counted is of a block of the shim's own: then it is not counted any more. */
bool capture_free_is_own(struct thread *thread, enum event_kind kind, uint64_t address);

/* After a successful allocation with a given alignment (0: a page), counters included. */
void capture_aligned_allocation(struct thread *thread, enum event_kind kind, uint64_t address,
				uint64_t size_bytes, uint64_t alignment_bytes);

/* A call that returned nothing. `error` is errno after it. */
void capture_failed(struct thread *thread, enum event_kind kind, uint64_t size_bytes, int error);

/*
 * For an allocator's hook that found no way in. Where that is because a signal handler interrupted this
 * thread's recording, the call is counted all the same (beside the thread's own counters, which it may be
 * changing), and in full mode its event as lost. `address` is 0 for a free of NULL.
 */
void capture_unrecorded(enum event_kind kind, uint64_t address, uint64_t size_bytes);

/* realloc: before the call (and before the old block can belong to somebody else), and after it. */
struct realloc_start {
	uint64_t time;
	uint64_t old_address;
	bool sampled_old;
};
struct realloc_start capture_realloc_before(struct thread *thread, uint64_t old_address);
void capture_realloc_after(struct thread *thread, const struct realloc_start *start, uint64_t address,
			   uint64_t size_bytes, int error);

/*
 * Region, life and kernel interface events. `event->time` may be set by the caller (a call that takes
 * something away is stamped before it); 0: now. The CPU, the thread and, where it can be had, the stack are
 * added. Works inside an allocator call.
 */
void capture_event(struct thread *thread, enum counter counter, struct trace_event *event);

/*
 * For events whose stack is taken before they are told (locks.c), inside GUARD_WRITE: the present stack's
 * number, 0 where there is none to be had, and the event itself, which no counter but COUNTER_EVENTS counts.
 */
uint32_t capture_stack(struct thread *thread, uint64_t time);
void capture_told_event(struct thread *thread, const struct trace_event *event);

/* The unwinder's first use in this thread, which takes a millisecond and allocates. Not inside GUARD_WRITE,
 * nor where an allocator may be at work. */
void capture_warm_up(struct thread *thread);

ALWAYS_INLINE enum counter capture_counter(enum event_kind kind)
{
	switch (kind) {
	case EVENT_MALLOC:
		return COUNTER_MALLOC;
	case EVENT_CALLOC:
		return COUNTER_CALLOC;
	case EVENT_NEW:
		return COUNTER_NEW;
	case EVENT_ALIGNED:
		return COUNTER_ALIGNED;
	case EVENT_DELETE:
		return COUNTER_DELETE;
	default:
		return COUNTER_FREE;
	}
}

/* Counts an allocation in sample mode, on the CPU that the thread's counts are of. True where it is a sample:
 * the rest is capture_allocation_sampled's. */
ALWAYS_INLINE bool capture_count_sampling(struct thread *thread, enum event_kind kind, uint64_t size_bytes)
{
	_Atomic uint64_t *bytes = &thread->slot->counters[COUNTER_ALLOC_BYTES];
	thread_count(thread, capture_counter(kind));
	arch_add_own(bytes, size_bytes);
	cpucount_allocation(thread, size_bytes);
	return unlikely(atomic_load_explicit(bytes, memory_order_relaxed) >= thread->sample_at_bytes);
}

/* After a successful allocation in full mode, without a given alignment. */
ALWAYS_INLINE void capture_allocation_full(struct thread *thread, enum event_kind kind, uint64_t address,
					   uint64_t size_bytes)
{
	thread_count(thread, capture_counter(kind));
	thread_count_n(thread, COUNTER_ALLOC_BYTES, size_bytes);
	if (unlikely(capture_stack_depth || !codec_address_fits(address))) {
		capture_allocation_general(thread, kind, address, size_bytes, 0);
		return;
	}
	uint64_t time = clock_now();
	uint8_t *at = ring_begin(thread, time);
	if (likely(at != NULL))
		ring_commit(thread,
			    encode_allocation(&thread->codec, at, kind, time, address, size_bytes, 0));
}

/* Before the block is given back, in full mode. `address` is not 0. */
ALWAYS_INLINE void capture_free_full(struct thread *thread, enum event_kind kind, uint64_t address)
{
	thread_count(thread, capture_counter(kind));
	if (unlikely(sample_set_maybe(address)) && capture_free_is_own(thread, kind, address))
		return;
	if (unlikely(!codec_address_fits(address))) {
		capture_free_general(thread, kind, address);
		return;
	}
	uint64_t time = clock_now();
	uint8_t *at = ring_begin(thread, time);
	if (likely(at != NULL))
		ring_commit(thread, encode_free(&thread->codec, at, kind, time, address));
}

/* The same for hooks that are not worth a way of their own for each mode. */
void capture_allocation(struct thread *thread, enum event_kind kind, uint64_t address, uint64_t size_bytes);
void capture_free(struct thread *thread, enum event_kind kind, uint64_t address);

#endif
