/*
 * What the lock hooks share. Each exported function is a look at locks_state and a jump to the next
 * definition; where locks are recorded, to its `_on` function, which goes the plain way if it can.
 *
 * An acquisition tries first, so that "had to wait" is known without a clock. Where the try says busy, the
 * call itself is made and decides; what else it says is what the call would have said, and is not asked for
 * twice. Mutexes that a try may harm are not tried (interpose_lock.c). A release is made, then counted.
 */
#ifndef MTRACE_LOCK_HOOK_H
#define MTRACE_LOCK_HOOK_H

#include <errno.h>

#include "shim/hook.h"
#include "shim/lock_next.h"
#include "shim/locks.h"

#define NOINLINE static __attribute__((noinline))

/* EOWNERDEAD: acquired, and to be made consistent. C11's values (0 to 4) mean nothing among the error numbers
 * of these calls, so both are told apart here. */
ALWAYS_INLINE bool lock_is_acquired(int result)
{
	return result == 0 || result == EOWNERDEAD;
}

ALWAYS_INLINE enum lock_outcome lock_outcome(int result)
{
	if (lock_is_acquired(result))
		return LOCK_ACQUIRED;
	return result == ETIMEDOUT || result == thrd_timedout ? LOCK_GAVE_UP : LOCK_FAILED;
}

ALWAYS_INLINE bool lock_call_reads(enum lock_call call)
{
	return call >= LOCK_CALL_READ;
}

/* What a try says where the call itself would wait; C11's is another. A try form waits for nothing. */
#define LOCK_NEVER_WAITS (-2)

/* The long way of an acquisition. */
#define LOCK_ACQUIRE_OTHER(kind_, call_, lock_, try, wait, busy)                                             \
	({                                                                                                   \
		struct lock_use use_ = {.kind = (kind_), .call = (call_), .lock = (lock_)};                  \
		int got_ = 0;                                                                                \
		if (locks_begin(&use_)) {                                                                    \
			got_ = (try);                                                                        \
			if (got_ == (busy)) {                                                                \
				locks_wait(&use_);                                                           \
				got_ = (wait);                                                               \
			}                                                                                    \
			locks_end(&use_, lock_outcome(got_), got_);                                          \
		}                                                                                            \
		got_;                                                                                        \
	})

#define LOCK_ACQUIRE(kind, call, lock, try, wait, busy)                                                      \
	({                                                                                                   \
		struct thread *thread_ = locks_enter_plain();                                                \
		int result_ = likely(thread_ != NULL) ? (try) : -1;                                          \
		if (likely(result_ == 0))                                                                    \
			locks_count_acquired(thread_, kind, lock, lock_call_reads(call));                    \
		else                                                                                         \
			result_ =                                                                            \
				LOCK_ACQUIRE_OTHER(kind, call, lock, thread_ ? result_ : (try), wait, busy); \
		result_;                                                                                     \
	})

#define LOCK_RELEASE(kind_, lock_, call)                                                                     \
	({                                                                                                   \
		struct thread *thread_ = locks_enter_release();                                              \
		int result_ = likely(thread_ != NULL) ? (call) : 0;                                          \
		if (likely(thread_ && result_ == 0)) {                                                       \
			locks_count_released(thread_, kind_, lock_);                                         \
		} else {                                                                                     \
			struct lock_use use_ = {.kind = (kind_), .lock = (lock_)};                           \
			if (locks_begin(&use_)) {                                                            \
				result_ = thread_ ? result_ : (call);                                        \
				locks_end(&use_, result_ == 0 ? LOCK_RELEASED : LOCK_FAILED, result_);       \
			}                                                                                    \
		}                                                                                            \
		result_;                                                                                     \
	})

/* glibc looks at the clock's number before it looks at the lock: the call itself is to refuse it. */
ALWAYS_INLINE bool lock_clock_is_known(clockid_t clock)
{
	return clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC;
}

#endif
