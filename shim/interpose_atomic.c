/*
 * libatomic's functions, which compilers call for what a processor's instructions do not cover (16 bytes,
 * odd sizes). Each is counted and goes on to the next definition. Compilers know these names as their own, so
 * they are defined under others and named in assembler.
 *
 * Where the program brings libatomic, the next definitions are looked up before it runs: a lookup takes the
 * loader's lock. A library that was opened without RTLD_GLOBAL may have brought libatomic later, and its
 * calls come here first: the next definition is then asked of libatomic itself. Where there is none at all (a
 * program looked for the name by dlsym, or this object is not relocated yet) the work is done here, under a
 * lock.
 */
#include "shim/hook.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>

#include "shim/lock_next.h"
#include "shim/locks.h"

typedef uint8_t word1;
typedef uint16_t word2;
typedef uint32_t word4;
typedef uint64_t word8;
typedef unsigned __int128 word16;

/* X(bytes, name) for what each size has. */
#define ATOMIC_FETCHES(X, bytes)                                                                             \
	X(bytes, add) X(bytes, sub) X(bytes, and) X(bytes, or) X(bytes, xor) X(bytes, nand)
#define ATOMIC_SIZES(X) X(1) X(2) X(4) X(8) X(16)

/* ---- the next definitions ------------------------------------------------------------------------------ */

enum atomic_id {
#define FETCH_IDS(bytes, name) ID_fetch_##name##_##bytes, ID_##name##_fetch_##bytes,
#define SIZED_IDS(bytes)                                                                                     \
	ID_load_##bytes, ID_store_##bytes, ID_exchange_##bytes, ID_compare_exchange_##bytes,                 \
		ID_test_and_set_##bytes, ATOMIC_FETCHES(FETCH_IDS, bytes)
	ATOMIC_SIZES(SIZED_IDS) ID_load,
	ID_store,
	ID_exchange,
	ID_compare_exchange,
	ID_COUNT,
};

/* Longest: compare_exchange_16. An array of arrays needs no relocation. */
static const char names[ID_COUNT][20] = {
#define FETCH_NAMES(bytes, name)                                                                             \
	[ID_fetch_##name##_##bytes] = "fetch_" #name "_" #bytes,                                             \
	[ID_##name##_fetch_##bytes] = #name "_fetch_" #bytes,
#define SIZED_NAMES(bytes)                                                                                   \
	[ID_load_##bytes] = "load_" #bytes, [ID_store_##bytes] = "store_" #bytes,                            \
	[ID_exchange_##bytes] = "exchange_" #bytes,                                                          \
	[ID_compare_exchange_##bytes] = "compare_exchange_" #bytes,                                          \
	[ID_test_and_set_##bytes] = "test_and_set_" #bytes, ATOMIC_FETCHES(FETCH_NAMES, bytes)
	ATOMIC_SIZES(SIZED_NAMES)[ID_load] = "load",
	[ID_store] = "store",
	[ID_exchange] = "exchange",
	[ID_compare_exchange] = "compare_exchange",
};

static _Atomic(void *) nexts[ID_COUNT];

static void *look_up(const char *name)
{
	static const char libatomic[] = "libatomic.so.1";
	char full[32] = "__atomic_";
	memcpy(full + strlen(full), name, strlen(name) + 1);
	__asm__ volatile("" ::: "memory"); /* see real.c */
	void *function = dlsym(RTLD_NEXT, full);
	if (function)
		return function;
	void *handle = real.dlopen(libatomic, RTLD_LAZY | RTLD_NOLOAD);
	if (!handle)
		handle = real.dlopen(libatomic, RTLD_LAZY);
	return handle ? dlsym(handle, full) : NULL; /* the handle is kept: so is the function */
}

void lock_next_resolve_atomics(void)
{
	if (!real.dlopen("libatomic.so.1", RTLD_LAZY | RTLD_NOLOAD))
		return;
	for (unsigned id = 0; id < ID_COUNT; id++)
		atomic_store_explicit(&nexts[id], look_up(names[id]), memory_order_relaxed);
}

/* NULL: there is none. */
static __attribute__((noinline)) void *find_next(enum atomic_id id)
{
	if (!hooks_ready && !lifecycle_start_early())
		return NULL;
	int error = errno;
	void *function = look_up(names[id]);
	atomic_store_explicit(&nexts[id], function, memory_order_relaxed);
	errno = error;
	return function;
}

ALWAYS_INLINE void *next_of(enum atomic_id id)
{
	void *function = atomic_load_explicit(&nexts[id], memory_order_relaxed);
	return likely(function != NULL) ? function : find_next(id);
}

/* A frame as high as the one that entered libatomic: that one was left by a jump. */
static bool is_nested(struct thread *thread, uintptr_t frame)
{
	if (frame >= thread->locks->atomic_frame)
		thread->locks->atomic_frame = 0;
	return thread->locks->atomic_frame;
}

ALWAYS_INLINE void count_call(void)
{
	if (likely(locks_state == LOCKS_OFF))
		return;
	struct thread *thread = locks_enter();
	if (unlikely(thread && thread->locks->atomic_frame) && is_nested(thread, HOOK_FRAME()))
		return;
	if (unlikely(!thread || thread->locks->countdown <= 1)) {
		locks_count_atomic_other();
		return;
	}
	thread->locks->countdown--;
	arch_add_own(locks_sum(&thread->locks->other[LOCK_ATOMIC].acquired), 1);
}

/* ---- without libatomic --------------------------------------------------------------------------------- */

static _Atomic uint32_t own_lock;

static void own_begin(void)
{
	while (atomic_exchange_explicit(&own_lock, 1, memory_order_acquire))
		;
}

static void own_end(void)
{
	atomic_store_explicit(&own_lock, 0, memory_order_release);
}

static bool own_compare_exchange(void *at, void *expected, const void *wanted, size_t bytes)
{
	own_begin();
	bool same = memcmp(at, expected, bytes) == 0;
	memcpy(same ? at : expected, same ? wanted : at, bytes);
	own_end();
	return same;
}

/* ---- the functions ------------------------------------------------------------------------------------- */

#define ADD(a, b)  ((a) + (b))
#define SUB(a, b)  ((a) - (b))
#define AND(a, b)  ((a) & (b))
#define OR(a, b)   ((a) | (b))
#define XOR(a, b)  ((a) ^ (b))
#define NAND(a, b) (~((a) & (b)))

/* A function named `name` in assembler, its next definition in `next`, NULL where there is none. */
#define ATOMIC_HOOK(result, name, parameters)                                                                \
	HOOK result hook_##name parameters __asm__("__atomic_" #name);                                       \
	HOOK result hook_##name parameters

#define NEXT_FUNCTION(result, name, parameters)                                                              \
	count_call();                                                                                        \
	result(*next) parameters = (result(*) parameters)next_of(ID_##name)

#define DEFINE_FETCH(word, name, value_of_call, operation)                                                   \
	ATOMIC_HOOK(word, name, (word * at, word value, int order))                                          \
	{                                                                                                    \
		NEXT_FUNCTION(word, name, (word *, word, int));                                              \
		if (likely(next != NULL))                                                                    \
			return next(at, value, order);                                                       \
		own_begin();                                                                                 \
		word old = *at, new = (word)operation(old, value);                                           \
		*at = new;                                                                                   \
		own_end();                                                                                   \
		(void)old;                                                                                   \
		return value_of_call;                                                                        \
	}

#define DEFINE_FETCHES(bytes, name, operation)                                                               \
	DEFINE_FETCH(word##bytes, fetch_##name##_##bytes, old, operation)                                    \
	DEFINE_FETCH(word##bytes, name##_fetch_##bytes, new, operation)

#define SECOND(a, b) (b)

#define DEFINE_SIZE(bytes)                                                                                   \
	ATOMIC_HOOK(word##bytes, load_##bytes, (const word##bytes *at, int order))                           \
	{                                                                                                    \
		NEXT_FUNCTION(word##bytes, load_##bytes, (const word##bytes *, int));                        \
		if (likely(next != NULL))                                                                    \
			return next(at, order);                                                              \
		own_begin();                                                                                 \
		word##bytes value = *at;                                                                     \
		own_end();                                                                                   \
		return value;                                                                                \
	}                                                                                                    \
	ATOMIC_HOOK(void, store_##bytes, (word##bytes * at, word##bytes value, int order))                   \
	{                                                                                                    \
		NEXT_FUNCTION(void, store_##bytes, (word##bytes *, word##bytes, int));                       \
		if (likely(next != NULL)) {                                                                  \
			next(at, value, order);                                                              \
			return;                                                                              \
		}                                                                                            \
		own_begin();                                                                                 \
		*at = value;                                                                                 \
		own_end();                                                                                   \
	}                                                                                                    \
	DEFINE_FETCH(word##bytes, exchange_##bytes, old, SECOND)                                             \
	ATOMIC_HOOK(bool, compare_exchange_##bytes,                                                          \
		    (word##bytes * at, word##bytes * expected, word##bytes wanted, int order, int failed))   \
	{                                                                                                    \
		NEXT_FUNCTION(bool, compare_exchange_##bytes,                                                \
			      (word##bytes *, word##bytes *, word##bytes, int, int));                        \
		return likely(next != NULL) ? next(at, expected, wanted, order, failed)                      \
					    : own_compare_exchange(at, expected, &wanted, bytes);            \
	}                                                                                                    \
	ATOMIC_HOOK(bool, test_and_set_##bytes, (word##bytes * at, int order))                               \
	{                                                                                                    \
		NEXT_FUNCTION(bool, test_and_set_##bytes, (word##bytes *, int));                             \
		if (likely(next != NULL))                                                                    \
			return next(at, order);                                                              \
		own_begin();                                                                                 \
		bool old = *(uint8_t *)at;                                                                   \
		*(uint8_t *)at = 1;                                                                          \
		own_end();                                                                                   \
		return old;                                                                                  \
	}                                                                                                    \
	DEFINE_FETCHES(bytes, add, ADD)                                                                      \
	DEFINE_FETCHES(bytes, sub, SUB)                                                                      \
	DEFINE_FETCHES(bytes, and, AND)                                                                      \
	DEFINE_FETCHES(bytes, or, OR)                                                                        \
	DEFINE_FETCHES(bytes, xor, XOR)                                                                      \
	DEFINE_FETCHES(bytes, nand, NAND)

ATOMIC_SIZES(DEFINE_SIZE)

/* ---- any size ------------------------------------------------------------------------------------------ */

/* The next function may call those for single sizes, by their names: one call of the program's. */
ALWAYS_INLINE struct lock_table *enter_libatomic(void)
{
	struct thread *thread = locks_enter();
	if (!thread || thread->locks->atomic_frame)
		return NULL;
	thread->locks->atomic_frame = HOOK_FRAME();
	return thread->locks;
}

/* Recording may have ended meanwhile; the table stays. */
static void leave_libatomic(struct lock_table *table)
{
	if (table)
		table->atomic_frame = 0;
}

ATOMIC_HOOK(void, load, (size_t bytes, const void *at, void *value, int order))
{
	NEXT_FUNCTION(void, load, (size_t, const void *, void *, int));
	if (likely(next != NULL)) {
		struct lock_table *table = enter_libatomic();
		next(bytes, at, value, order);
		leave_libatomic(table);
		return;
	}
	own_begin();
	memcpy(value, at, bytes);
	own_end();
}

ATOMIC_HOOK(void, store, (size_t bytes, void *at, const void *value, int order))
{
	NEXT_FUNCTION(void, store, (size_t, void *, const void *, int));
	if (likely(next != NULL)) {
		struct lock_table *table = enter_libatomic();
		next(bytes, at, value, order);
		leave_libatomic(table);
		return;
	}
	own_begin();
	memcpy(at, value, bytes);
	own_end();
}

/* `value` and `old` may be the same. */
ATOMIC_HOOK(void, exchange, (size_t bytes, void *at, const void *value, void *old, int order))
{
	NEXT_FUNCTION(void, exchange, (size_t, void *, const void *, void *, int));
	if (likely(next != NULL)) {
		struct lock_table *table = enter_libatomic();
		next(bytes, at, value, old, order);
		leave_libatomic(table);
		return;
	}
	own_begin();
	for (size_t i = 0; i < bytes; i++) {
		uint8_t byte = ((const uint8_t *)value)[i];
		((uint8_t *)old)[i] = ((uint8_t *)at)[i];
		((uint8_t *)at)[i] = byte;
	}
	own_end();
}

ATOMIC_HOOK(bool, compare_exchange,
	    (size_t bytes, void *at, void *expected, const void *wanted, int order, int failed))
{
	NEXT_FUNCTION(bool, compare_exchange, (size_t, void *, void *, const void *, int, int));
	if (unlikely(!next))
		return own_compare_exchange(at, expected, wanted, bytes);
	struct lock_table *table = enter_libatomic();
	bool done = next(bytes, at, expected, wanted, order, failed);
	leave_libatomic(table);
	return done;
}
