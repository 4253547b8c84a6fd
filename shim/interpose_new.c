/*
 * C++'s replaceable allocation functions (C++17, [new.delete]), under their mangled names: size_t is `m`,
 * std::align_val_t `St11align_val_t`, std::nothrow_t `RKSt9nothrow_t`. Each goes to the next function of the
 * same name, never to malloc: a guest's own operator new, new handlers and exceptions work as without us.
 *
 * An exception that passes through a hook (bad_alloc) leaves it without coming back. The hooks therefore name
 * a personality routine for their frames: the unwinder calls it on its way, and it frees the guard and counts
 * the failure. It needs nothing of any unwinder's library (Itanium C++ ABI: Exception Handling, 2.5.2).
 */
#include "shim/hookset.h"

#define UNWIND_CLEANUP_PHASE 2 /* _UA_CLEANUP_PHASE */
#define UNWIND_CONTINUE	     8 /* _URC_CONTINUE_UNWIND */
#define CFI_PCREL_SDATA4     "0x1b"
#define NAME_PERSONALITY()   __asm__ volatile(".cfi_personality " CFI_PCREL_SDATA4 ", mtrace_new_personality")

int mtrace_new_personality(int version, int actions, uint64_t class, void *exception, void *context);

#ifndef MTRACE_PATCHED_SET
int mtrace_new_personality(int version, int actions, uint64_t class, void *exception, void *context)
{
	(void)version, (void)class, (void)exception, (void)context;
	struct thread *thread = thread_self;
	if (!(actions & UNWIND_CLEANUP_PHASE) || !thread || thread->guard != GUARD_CALL)
		return UNWIND_CONTINUE;
	thread_guard_turn(thread, GUARD_WRITE);
	capture_failed(thread, EVENT_NEW, thread->new_bytes, ENOMEM);
	thread_unguard(thread);
	return UNWIND_CONTINUE;
}
#endif

ALWAYS_INLINE void *record_new(struct thread *thread, void *block, size_t size, size_t alignment)
{
	thread_guard_turn(thread, GUARD_WRITE);
	if (unlikely(!block))
		capture_failed(thread, EVENT_NEW, size, ENOMEM);
	else if (likely(!alignment))
		capture_allocation(thread, EVENT_NEW, (uintptr_t)block, size);
	else
		capture_aligned_allocation(thread, EVENT_NEW, (uintptr_t)block, size, alignment);
	thread_unguard(thread);
	return block;
}

/* Without a C++ library anywhere (a program that only carries the symbol): what such a library does at the
 * least. */
static void *without_library(size_t size, size_t alignment)
{
	if (!hooks_ready)
		return bootstrap_allocate(EVENT_NEW, size, alignment);
	return alignment ? NEXT.aligned_alloc(alignment, (size + alignment - 1) & ~(alignment - 1))
			 : NEXT.malloc(size);
}

/* The next function is looked up once; a look-up that found none is tried again, since a library may come
 * later. */
#define DEFINE_NEW(name, alignment, parameters, arguments)                                                   \
	SET_HOOK void *SET_NAME(name) parameters;                                                            \
	SET_HOOK void *SET_NAME(name) parameters                                                             \
	{                                                                                                    \
		static void *(*next_)parameters;                                                             \
		hook_resolve();                                                                              \
		if (unlikely(!next_ && hooks_ready))                                                         \
			next_ = (void *(*)parameters)NEXT_OPERATOR(#name, __builtin_return_address(0));      \
		struct thread *thread = thread_enter_any();                                                  \
		NAME_PERSONALITY();                                                                          \
		if (likely(thread != NULL)) {                                                                \
			thread_guard(thread, GUARD_CALL);                                                    \
			thread->new_bytes = size;                                                            \
		}                                                                                            \
		void *block = likely(next_ != NULL) ? next_ arguments : without_library(size, alignment);    \
		if (unlikely(!thread))                                                                       \
			capture_unrecorded(EVENT_NEW, (uintptr_t)block, size);                               \
		return likely(thread != NULL) ? record_new(thread, block, size, alignment) : block;          \
	}

DEFINE_NEW(_Znwm, 0, (size_t size), (size))
DEFINE_NEW(_Znam, 0, (size_t size), (size))
DEFINE_NEW(_ZnwmRKSt9nothrow_t, 0, (size_t size, const void *tag), (size, tag))
DEFINE_NEW(_ZnamRKSt9nothrow_t, 0, (size_t size, const void *tag), (size, tag))
DEFINE_NEW(_ZnwmSt11align_val_t, align, (size_t size, size_t align), (size, align))
DEFINE_NEW(_ZnamSt11align_val_t, align, (size_t size, size_t align), (size, align))
DEFINE_NEW(_ZnwmSt11align_val_tRKSt9nothrow_t, align, (size_t size, size_t align, const void *tag),
	   (size, align, tag))
DEFINE_NEW(_ZnamSt11align_val_tRKSt9nothrow_t, align, (size_t size, size_t align, const void *tag),
	   (size, align, tag))

ALWAYS_INLINE void delete_recorded(struct thread *thread, void *block)
{
	thread_guard(thread, GUARD_WRITE);
	if (block)
		capture_free(thread, EVENT_DELETE, (uintptr_t)block);
	else
		thread_count(thread, COUNTER_NULL_FREE);
	thread_guard_turn(thread, GUARD_CALL);
}

#define DEFINE_DELETE(name, parameters, arguments)                                                           \
	SET_HOOK void SET_NAME(name) parameters;                                                             \
	SET_HOOK void SET_NAME(name) parameters                                                              \
	{                                                                                                    \
		static void(*next_) parameters;                                                              \
		hook_resolve();                                                                              \
		if (unlikely(!next_ && hooks_ready))                                                         \
			next_ = (void(*) parameters)NEXT_OPERATOR(#name, __builtin_return_address(0));       \
		struct thread *thread = thread_enter_any();                                                  \
		if (likely(thread != NULL))                                                                  \
			delete_recorded(thread, block);                                                      \
		else                                                                                         \
			capture_unrecorded(EVENT_DELETE, (uintptr_t)block, 0);                               \
		if (unlikely(bootstrap_owns(block)))                                                         \
			bootstrap_free(EVENT_DELETE, block);                                                 \
		else if (likely(next_ != NULL))                                                              \
			next_ arguments;                                                                     \
		else if (hooks_ready)                                                                        \
			NEXT.free(block);                                                                    \
		if (likely(thread != NULL))                                                                  \
			thread_unguard(thread);                                                              \
	}

DEFINE_DELETE(_ZdlPv, (void *block), (block))
DEFINE_DELETE(_ZdaPv, (void *block), (block))
DEFINE_DELETE(_ZdlPvm, (void *block, size_t size), (block, size))
DEFINE_DELETE(_ZdaPvm, (void *block, size_t size), (block, size))
DEFINE_DELETE(_ZdlPvRKSt9nothrow_t, (void *block, const void *tag), (block, tag))
DEFINE_DELETE(_ZdaPvRKSt9nothrow_t, (void *block, const void *tag), (block, tag))
DEFINE_DELETE(_ZdlPvSt11align_val_t, (void *block, size_t align), (block, align))
DEFINE_DELETE(_ZdaPvSt11align_val_t, (void *block, size_t align), (block, align))
DEFINE_DELETE(_ZdlPvmSt11align_val_t, (void *block, size_t size, size_t align), (block, size, align))
DEFINE_DELETE(_ZdaPvmSt11align_val_t, (void *block, size_t size, size_t align), (block, size, align))
DEFINE_DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t, (void *block, size_t align, const void *tag),
	      (block, align, tag))
DEFINE_DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t, (void *block, size_t align, const void *tag),
	      (block, align, tag))
