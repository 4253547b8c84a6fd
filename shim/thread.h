/*
 * struct thread: what the shim keeps for each thread of the guest, and the guard against re-entry.
 *
 * The structures live in one mapping that the kernel wipes in a forked child (MADV_WIPEONFORK): whatever way
 * a process forks, its child finds `mode` closed and records nothing until it is given a trace of its own.
 *
 * The guard says what hook of this thread is at work, and where its stack frame is:
 *   NONE   none
 *   CALL   inside the next allocator function: nested allocator calls belong to it and do not count again,
 * region calls (an allocator growing) do WRITE  writing a record: a call by a signal handler that interrupts
 * it is counted, in full mode its event is lost A frame that is no longer on the stack (a handler left by
 * longjmp) makes the guard stale; thread_enter_slow finds out.
 */
#ifndef MTRACE_THREAD_H
#define MTRACE_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "arch.h"
#include "trace/codec.h"
#include "trace/layout.h"
#include "trace/sizestep.h"

/* Not reached through the global offset table: what hooks touch must also be there before relocation. */
#define SHIM_LOCAL    __attribute__((visibility("hidden")))

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* Where the stack of the enclosing function's caller stands (in an inline function, of the function it is
 * inlined into): the same in a hook and in what it jumps to, and to be had without a frame pointer. */
#define HOOK_FRAME() ((uintptr_t)__builtin_dwarf_cfa())

#define likely(x)    __builtin_expect(!!(x), 1)
#define unlikely(x)  __builtin_expect(!!(x), 0)

enum thread_mode {
	MODE_CLOSED = 0, /* not recorded: the value in a forked child */
	MODE_SAMPLE = 1,
	MODE_FULL = 2,
};

enum guard {
	GUARD_NONE = 0,
	GUARD_CALL = 1,
	GUARD_WRITE = 2,
};

#define STACK_CACHE_ENTRIES 256u

struct stack_cache_entry {
	uint64_t hash;
	uint32_t id;
};

/* Allocations of the sizes of one step (trace/sizestep.h), by one thread. */
struct own_step {
	_Atomic uint64_t allocs, bytes;
};

/* The kernel puts the registers of what it interrupts between a hook's frame and a handler's: at least this
 * much. */
#define SIGNAL_FRAME_BYTES_MIN 512

struct thread {
	/* Two bytes, looked at one by one: a wider load right after a store to one of them would wait for
	 * that store. */
	uint8_t mode;  /* enum thread_mode; cleared by others when recording stops */
	uint8_t guard; /* enum guard */
	bool warm;     /* the unwinder has been here: it will not allocate or open anything any more */
	bool warming;  /* it is here for the first time: what it allocates is recorded without a stack */
	bool sealed;   /* may not call the kernel (strict seccomp): any call of ours would kill it */
	bool in_shim;  /* calls that come by are the shim's own (the unwinder's): the lock hooks count none */
	uint8_t exit_rounds;	/* of thread-specific destructors gone through */
	uintptr_t guard_frame;	/* of the hook at work */
	uintptr_t region_frame; /* of the region hook that is in its next function; 0: none */

	/* The chunk being filled. limit: a record may start at or below it; NULL makes the next one ask for a
	 * new chunk. */
	uint8_t *position;
	_Atomic(uint8_t *) limit; /* set to NULL by the writer thread to have the chunk handed over */
	uint8_t *records;
	_Atomic(struct chunk_header *) chunk; /* read by the writer thread */

	const volatile uint32_t
		*cpu_id;	/* in the registered rseq area; a constant unknown where there is none */
	struct ring_slot *slot; /* counters, in the rings file */
	uint32_t counted_cpu;	/* that `steps` are of, and what the slot has beyond `settled` (cpucount.h) */
	uint64_t sample_at_bytes; /* the next sample is the allocation with which COUNTER_ALLOC_BYTES gets
				     here */
	uint64_t draw_left; /* what sample_at_bytes still lacks: a new thread stops early, for the unwinder */
	uint64_t random;    /* xorshift state, never 0 */

	uintptr_t stack_near; /* a frame of this thread's own stack (not its signal stack); 0: not known */
	uint64_t new_bytes;   /* asked of the operator new that is being called */

	struct lock_table *locks; /* NULL: locks are not recorded, or there is no memory for it */

	uint32_t index; /* of this structure and its slot */
	uint32_t id;	/* the number given out, never used again */
	uint32_t next_sequence;
	bool chunk_filled; /* the last chunk was full when it was handed over: a larger one is due */

	uint64_t settled[CPU_CALLS], arrivals;

	struct codec_state codec;
	struct own_step steps[SIZE_STEPS]; /* of allocations, since the last settlement */
	struct stack_cache_entry stack_cache[STACK_CACHE_ENTRIES];
};

/* Non-zero once the hooks may use thread-local storage and the next functions: not before relocation is done.
 */
extern uint32_t hooks_ready SHIM_LOCAL;

extern __thread struct thread *thread_self SHIM_LOCAL __attribute__((tls_model("initial-exec")));

/* Only the thread itself changes its counters; others read them. */
ALWAYS_INLINE void thread_count_n(struct thread *thread, enum counter counter, uint64_t n)
{
	arch_add_own(&thread->slot->counters[counter], n);
}

ALWAYS_INLINE void thread_count(struct thread *thread, enum counter counter)
{
	thread_count_n(thread, counter, 1);
}

/* The thread with no hook at work, recording in `mode`; NULL: ask thread_enter(). */
ALWAYS_INLINE struct thread *thread_enter_mode(enum thread_mode mode)
{
	if (unlikely(!hooks_ready))
		return NULL;
	struct thread *thread = thread_self;
	return likely(thread && thread->mode == mode && thread->guard == GUARD_NONE) ? thread : NULL;
}

/*
 * The way into every hook. Returns the thread with its guard free, or NULL: then the caller goes the slow
 * way, which asks thread_enter_slow().
 */
ALWAYS_INLINE struct thread *thread_enter(void)
{
	if (unlikely(!hooks_ready))
		return NULL;
	struct thread *thread = thread_self;
	return likely(thread && thread->mode != MODE_CLOSED && thread->guard == GUARD_NONE) ? thread : NULL;
}

/* The signal fences keep the compiler from moving the work out of the guarded stretch. */
ALWAYS_INLINE void thread_guard(struct thread *thread, enum guard reason)
{
	thread->guard_frame = HOOK_FRAME();
	thread->guard = (uint8_t)reason;
	atomic_signal_fence(memory_order_seq_cst);
}

/* The same hook goes on with something else. */
ALWAYS_INLINE void thread_guard_turn(struct thread *thread, enum guard reason)
{
	atomic_signal_fence(memory_order_seq_cst);
	thread->guard = (uint8_t)reason;
	atomic_signal_fence(memory_order_seq_cst);
}

ALWAYS_INLINE void thread_unguard(struct thread *thread)
{
	thread_guard_turn(thread, GUARD_NONE);
}

/* For what may happen inside another hook: the outer guard comes back afterwards. */
struct outer_guard {
	uintptr_t frame;
	uint8_t guard;
};

ALWAYS_INLINE struct outer_guard thread_guard_inside(struct thread *thread, enum guard reason)
{
	struct outer_guard outer = {thread->guard_frame, thread->guard};
	thread_guard(thread, reason);
	return outer;
}

ALWAYS_INLINE void thread_guard_back(struct thread *thread, struct outer_guard outer)
{
	atomic_signal_fence(memory_order_seq_cst);
	thread->guard_frame = outer.frame;
	thread->guard = outer.guard;
}

/*
 * For a hook that thread_enter() refused: attaches a new thread, clears a stale guard. Returns the thread to
 * record with, or NULL: forward the call and record nothing. `nested_ok`: a region or life hook, which is
 * recorded inside an allocator call too, and counted as lost inside a record. `frame`: HOOK_FRAME().
 */
struct thread *thread_enter_slow(bool nested_ok, uintptr_t frame);

/* Clears a guard that was left set by a jump out of a signal handler. False: the hook that set it is still
 * at work. `frame`: HOOK_FRAME(). */
bool thread_clear_stale_guard(struct thread *thread, uintptr_t frame);

/* As the way in for a thread that has just started. */
void thread_attach_new(void);

/* As thread_enter, for region and life hooks: recorded inside an allocator call too. */
ALWAYS_INLINE struct thread *thread_enter_region(void)
{
	struct thread *thread = thread_enter();
	return likely(thread != NULL) ? thread : thread_enter_slow(true, HOOK_FRAME());
}

/* As thread_enter, for an allocator's hook, the slow way included. */
ALWAYS_INLINE struct thread *thread_enter_any(void)
{
	struct thread *thread = thread_enter();
	return likely(thread != NULL) ? thread : thread_enter_slow(false, HOOK_FRAME());
}

#endif
