/*
 * The C allocator's functions. Follow `malloc` from here: thread_enter (thread.h), capture_allocation
 * (capture.h), ring_begin and ring_commit (ring.h), encode_allocation (trace/codec.h).
 */
#include "shim/hookset.h"

/* ---- allocations
 * ----------------------------------------------------------------------------------------------------- */

/*
 * Sample mode goes straight down in each hook; full mode and everything rare in its `_other` function, by a
 * jump. `call` is the next function's call. A call that returned nothing is counted apart.
 */
#define RECORD_ALLOCATION(thread, kind, size, call)                                                          \
	({                                                                                                   \
		thread_guard(thread, GUARD_CALL);                                                            \
		void *block_ = (call);                                                                       \
		thread_guard_turn(thread, GUARD_WRITE);                                                      \
		if (unlikely(block_ == NULL))                                                                \
			capture_failed(thread, kind, size, errno);                                           \
		else if (likely(thread->mode == MODE_FULL))                                                  \
			capture_allocation_full(thread, kind, (uintptr_t)block_, size);                      \
		else                                                                                         \
			capture_allocation(thread, kind, (uintptr_t)block_, size);                           \
		thread_unguard(thread);                                                                      \
		block_;                                                                                      \
	})

#define RECORD_ALIGNED(thread, kind, size, alignment, call)                                                  \
	({                                                                                                   \
		thread_guard(thread, GUARD_CALL);                                                            \
		void *block_ = (call);                                                                       \
		thread_guard_turn(thread, GUARD_WRITE);                                                      \
		if (likely(block_ != NULL))                                                                  \
			capture_aligned_allocation(thread, kind, (uintptr_t)block_, size, alignment);        \
		else                                                                                         \
			capture_failed(thread, kind, size, errno);                                           \
		thread_unguard(thread);                                                                      \
		block_;                                                                                      \
	})

/* See capture_unrecorded. Returns the block. */
static void *unrecorded(enum event_kind kind, void *block, size_t size)
{
	capture_unrecorded(kind, (uintptr_t)block, size);
	return block;
}

static void *out_of_memory(void *block)
{
	if (!block)
		errno = ENOMEM;
	return block;
}

/* Sample mode's rest: the allocation is a sample, or failed. */
static __attribute__((noinline)) void *sampled(struct thread *thread, enum event_kind kind, void *block,
					       size_t size)
{
	thread_guard(thread, GUARD_WRITE);
	if (block)
		capture_allocation_sampled(thread, kind, (uintptr_t)block, size, 0);
	else
		capture_failed(thread, kind, size, errno);
	thread_unguard(thread);
	return block;
}

static __attribute__((noinline)) void *malloc_other(size_t size)
{
	struct thread *thread = thread_enter_any();
	if (likely(thread != NULL))
		return RECORD_ALLOCATION(thread, EVENT_MALLOC, size, NEXT.malloc(size));
	void *block = hooks_ready ? NEXT.malloc(size) : bootstrap_allocate(EVENT_MALLOC, size, 16);
	return unrecorded(EVENT_MALLOC, block, size);
}

SET_HOOK void *SET_NAME(malloc)(size_t size)
{
	struct thread *thread = hook_enter_sampling();
	if (unlikely(!thread))
		return malloc_other(size);
	thread_guard(thread, GUARD_CALL);
	void *block = NEXT.malloc(size);
	bool rare = !block || capture_count_sampling(thread, EVENT_MALLOC, size);
	thread_unguard(thread);
	if (unlikely(rare))
		return sampled(thread, EVENT_MALLOC, block, size);
	return block;
}

#ifndef MTRACE_PATCHED_SET
/* Ours by a name that nobody can interpose, to compare with what the program binds to. */
extern __typeof__(malloc) malloc_hook
	__attribute__((alias("malloc"), visibility("hidden"), leaf, nothrow, malloc));
#endif

static __attribute__((noinline)) void *calloc_other(size_t count, size_t size)
{
	size_t bytes;
	struct thread *thread = thread_enter_any();
	bool overflow = __builtin_mul_overflow(count, size, &bytes);
	if (likely(thread != NULL))
		return RECORD_ALLOCATION(thread, EVENT_CALLOC, overflow ? SIZE_MAX : bytes,
					 NEXT.calloc(count, size));
	if (hooks_ready)
		return unrecorded(EVENT_CALLOC, NEXT.calloc(count, size), bytes);
	return overflow ? NULL : bootstrap_allocate(EVENT_CALLOC, bytes, 16);
}

SET_HOOK void *SET_NAME(calloc)(size_t count, size_t size)
{
	size_t bytes;
	struct thread *thread = hook_enter_sampling();
	if (unlikely(!thread || __builtin_mul_overflow(count, size, &bytes)))
		return calloc_other(count, size);
	thread_guard(thread, GUARD_CALL);
	void *block = NEXT.calloc(count, size);
	bool rare = !block || capture_count_sampling(thread, EVENT_CALLOC, bytes);
	thread_unguard(thread);
	if (unlikely(rare))
		return sampled(thread, EVENT_CALLOC, block, bytes);
	return block;
}

/* ---- frees
 * -----------------------------------------------------------------------------------------------------------
 */

/* Any free but the common one: free(NULL), blocks of the arena, threads that are not (yet) recorded. Between
 * free_begin and free_end the next function is called, where free_begin says so. Inline, since the guard
 * holds for what lies below the frame that sets it: below the hook's. */
ALWAYS_INLINE bool free_begin(void *block, struct thread **recorded)
{
	struct thread *thread = thread_enter_any();
	bool own = bootstrap_owns(block);
	*recorded = thread;
	if (thread) {
		thread_guard(thread, GUARD_WRITE);
		if (block)
			capture_free(thread, EVENT_FREE, (uintptr_t)block);
		else
			thread_count(thread, COUNTER_NULL_FREE);
		thread_guard_turn(thread, GUARD_CALL);
	} else if (own) {
		bootstrap_free(EVENT_FREE, block);
	} else {
		capture_unrecorded(EVENT_FREE, (uintptr_t)block, 0);
	}
	return block && !own && hooks_ready;
}

static void free_end(struct thread *recorded)
{
	if (recorded)
		thread_unguard(recorded);
}

static __attribute__((noinline)) void free_rare(void *block)
{
	struct thread *recorded;
	if (free_begin(block, &recorded))
		NEXT.free(block);
	free_end(recorded);
}

static __attribute__((noinline)) void free_other(void *block)
{
	struct thread *thread = thread_enter_mode(MODE_FULL);
	if (unlikely(!thread || !block || bootstrap_owns(block))) {
		free_rare(block);
		return;
	}
	thread_guard(thread, GUARD_WRITE);
	capture_free_full(thread, EVENT_FREE, (uintptr_t)block);
	thread_guard_turn(thread, GUARD_CALL);
	NEXT.free(block);
	thread_unguard(thread);
}

static __attribute__((noinline)) void free_perhaps_sampled(struct thread *thread, void *block)
{
	thread_guard(thread, GUARD_WRITE);
	capture_free_sampled(thread, EVENT_FREE, (uintptr_t)block);
	thread_unguard(thread);
}

SET_HOOK void SET_NAME(free)(void *block)
{
	struct thread *thread = hook_enter_sampling();
	if (unlikely(!thread || !block || bootstrap_owns(block))) {
		free_other(block);
		return;
	}
	thread_count(thread, COUNTER_FREE);
	if (unlikely(sample_set_maybe((uintptr_t)block)))
		free_perhaps_sampled(thread, block);
	thread_guard(thread, GUARD_CALL);
	NEXT.free(block);
	thread_unguard(thread);
}

/* Gone from glibc 2.26 on, but for old binaries. */
SET_HOOK void SET_NAME(cfree)(void *block)
{
	struct thread *recorded;
	if (free_begin(block, &recorded))
		(NEXT.cfree ? NEXT.cfree : NEXT.free)(block);
	free_end(recorded);
}

/* C23. Where the next allocator lacks them, a sized free is a free. */
SET_HOOK void SET_NAME(free_sized)(void *block, size_t size)
{
	struct thread *recorded;
	if (free_begin(block, &recorded))
		NEXT.free_sized ? NEXT.free_sized(block, size) : NEXT.free(block);
	free_end(recorded);
}

SET_HOOK void SET_NAME(free_aligned_sized)(void *block, size_t alignment, size_t size)
{
	struct thread *recorded;
	if (free_begin(block, &recorded))
		NEXT.free_aligned_sized ? NEXT.free_aligned_sized(block, alignment, size) : NEXT.free(block);
	free_end(recorded);
}

/* ---- realloc
 * ---------------------------------------------------------------------------------------------------------
 */

/* `call` is the next function's call. */
#define RECORD_REALLOC(thread, old, size, call)                                                              \
	({                                                                                                   \
		thread_guard(thread, GUARD_WRITE);                                                           \
		struct realloc_start start_ = capture_realloc_before(thread, (uintptr_t)(old));              \
		thread_guard_turn(thread, GUARD_CALL);                                                       \
		void *block_ = (call);                                                                       \
		thread_guard_turn(thread, GUARD_WRITE);                                                      \
		capture_realloc_after(thread, &start_, (uintptr_t)block_, size, errno);                      \
		thread_unguard(thread);                                                                      \
		block_;                                                                                      \
	})

/* A block of the arena moves to the real allocator as soon as there is one. */
static void *realloc_bootstrap(void *old, size_t size)
{
	size_t old_size = bootstrap_size(old);
	char *block = hooks_ready ? NEXT.malloc(size) : bootstrap_allocate(EVENT_MALLOC, size, 16);
	if (!block)
		return NULL;
	for (size_t i = 0; i < size && i < old_size; i++)
		((volatile char *)block)[i] = ((char *)old)[i];
	if (!hooks_ready)
		bootstrap_free(EVENT_FREE, old);
	return block;
}

static void *realloc_next(void *old, size_t size)
{
	return bootstrap_owns(old) ? realloc_bootstrap(old, size) : NEXT.realloc(old, size);
}

SET_HOOK void *SET_NAME(realloc)(void *old, size_t size)
{
	struct thread *thread = thread_enter_any();
	if (likely(thread != NULL))
		return RECORD_REALLOC(thread, old, size, realloc_next(old, size));
	if (hooks_ready || bootstrap_owns(old))
		return unrecorded(EVENT_REALLOC, realloc_next(old, size), size);
	return bootstrap_allocate(EVENT_MALLOC, size, 16);
}

static void *reallocarray_overflow(void)
{
	struct thread *thread = thread_enter_any();
	errno = ENOMEM;
	if (thread) {
		thread_guard(thread, GUARD_WRITE);
		capture_failed(thread, EVENT_REALLOC, SIZE_MAX, ENOMEM);
		thread_unguard(thread);
	}
	return NULL;
}

/* Where the next allocator lacks it, or a block of the arena is to move, it is a realloc. */
SET_HOOK void *SET_NAME(reallocarray)(void *old, size_t count, size_t size)
{
	size_t bytes;
	if (__builtin_mul_overflow(count, size, &bytes))
		return reallocarray_overflow();
	struct thread *thread = thread_enter_any();
	if (!NEXT.reallocarray || bootstrap_owns(old))
		return SET_NAME(realloc)(old, bytes);
	if (!thread)
		return unrecorded(EVENT_REALLOC, NEXT.reallocarray(old, count, size), bytes);
	return RECORD_REALLOC(thread, old, bytes, NEXT.reallocarray(old, count, size));
}

/* ---- the memalign family
 * ---------------------------------------------------------------------------------------------- */

SET_HOOK int SET_NAME(posix_memalign)(void **result, size_t alignment, size_t size)
{
	struct thread *thread = thread_enter_any();
	int error = 0;
	if (!hooks_ready) {
		*result = bootstrap_allocate(EVENT_ALIGNED, size, alignment);
		return *result ? 0 : ENOMEM;
	}
	if (!thread) {
		error = NEXT.posix_memalign(result, alignment, size);
		capture_unrecorded(EVENT_ALIGNED, error ? 0 : (uintptr_t)*result, size);
		return error;
	}
	thread_guard(thread, GUARD_CALL);
	error = NEXT.posix_memalign(result, alignment, size);
	thread_guard_turn(thread, GUARD_WRITE);
	if (error)
		capture_failed(thread, EVENT_ALIGNED, size, error);
	else if (*result)
		capture_aligned_allocation(thread, EVENT_ALIGNED, (uintptr_t)*result, size, alignment);
	thread_unguard(thread);
	return error;
}

SET_HOOK void *SET_NAME(aligned_alloc)(size_t alignment, size_t size)
{
	struct thread *thread = thread_enter_any();
	if (!hooks_ready)
		return out_of_memory(bootstrap_allocate(EVENT_ALIGNED, size, alignment));
	if (!thread)
		return unrecorded(EVENT_ALIGNED, NEXT.aligned_alloc(alignment, size), size);
	return RECORD_ALIGNED(thread, EVENT_ALIGNED, size, alignment, NEXT.aligned_alloc(alignment, size));
}

SET_HOOK void *SET_NAME(memalign)(size_t alignment, size_t size)
{
	struct thread *thread = thread_enter_any();
	if (!hooks_ready)
		return out_of_memory(bootstrap_allocate(EVENT_ALIGNED, size, alignment));
	if (!thread)
		return unrecorded(EVENT_ALIGNED, NEXT.memalign(alignment, size), size);
	return RECORD_ALIGNED(thread, EVENT_ALIGNED, size, alignment, NEXT.memalign(alignment, size));
}

#define PAGE_GUESS 65536 /* before libc can be asked: no page is larger where this is needed */

SET_HOOK void *SET_NAME(valloc)(size_t size)
{
	struct thread *thread = thread_enter_any();
	if (!hooks_ready)
		return out_of_memory(bootstrap_allocate(EVENT_ALIGNED, size, PAGE_GUESS));
	if (!thread)
		return unrecorded(EVENT_ALIGNED, NEXT.valloc(size), size);
	return RECORD_ALIGNED(thread, EVENT_ALIGNED, size, 0, NEXT.valloc(size));
}

SET_HOOK void *SET_NAME(pvalloc)(size_t size)
{
	struct thread *thread = thread_enter_any();
	if (!hooks_ready)
		return out_of_memory(bootstrap_allocate(EVENT_ALIGNED, size, PAGE_GUESS));
	if (!thread)
		return unrecorded(EVENT_ALIGNED, NEXT.pvalloc(size), size);
	return RECORD_ALIGNED(thread, EVENT_ALIGNED, size, 0, NEXT.pvalloc(size));
}

SET_HOOK size_t SET_NAME(malloc_usable_size)(void *block)
{
	struct thread *thread = thread_enter_any();
	if (bootstrap_owns(block))
		return bootstrap_size(block);
	if (thread)
		thread_count(thread, COUNTER_USABLE_SIZE);
	return hooks_ready ? NEXT.malloc_usable_size(block) : 0;
}
