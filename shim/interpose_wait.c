/*
 * Condition variables, semaphores and barriers. Their waits are cancellation points but the barrier's: a
 * cancelled thread unwinds through these frames, which hold nothing. Such a wait stays counted as contended,
 * and as neither acquired nor failed.
 */
#include "shim/lock_hook.h"

/* ---- condition variables ------------------------------------------------------------------------------- */

/* The mutex is given up and taken again inside: none of that is a call of its own. */
#define CONDITION_WAIT(condition, mutex, call_, wait)                                                        \
	({                                                                                                   \
		struct lock_use use_ = {.kind = LOCK_COND, .call = (call_), .lock = (condition)};            \
		int result_ = 0;                                                                             \
		if (locks_begin(&use_)) {                                                                    \
			locks_pause(mutex);                                                                  \
			locks_wait(&use_);                                                                   \
			result_ = (wait);                                                                    \
			locks_continue(mutex);                                                               \
			locks_end(&use_, lock_outcome(result_), result_);                                    \
		}                                                                                            \
		result_;                                                                                     \
	})

NOINLINE int cond_wait_on(pthread_cond_t *condition, pthread_mutex_t *mutex)
{
	return CONDITION_WAIT(condition, mutex, LOCK_CALL_LOCK,
			      lock_next.pthread_cond_wait(condition, mutex));
}

HOOK int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex)
{
	return likely(locks_state == LOCKS_OFF) ? lock_next.pthread_cond_wait(condition, mutex)
						: cond_wait_on(condition, mutex);
}

NOINLINE int cond_timedwait_on(pthread_cond_t *condition, pthread_mutex_t *mutex,
			       const struct timespec *until)
{
	return CONDITION_WAIT(condition, mutex, LOCK_CALL_TIMED,
			      lock_next.pthread_cond_timedwait(condition, mutex, until));
}

HOOK int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
				const struct timespec *until)
{
	return likely(locks_state == LOCKS_OFF) ? lock_next.pthread_cond_timedwait(condition, mutex, until)
						: cond_timedwait_on(condition, mutex, until);
}

NOINLINE int cond_clockwait_on(pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t clock,
			       const struct timespec *until)
{
	return CONDITION_WAIT(condition, mutex, LOCK_CALL_TIMED,
			      lock_next.pthread_cond_clockwait(condition, mutex, clock, until));
}

HOOK int pthread_cond_clockwait(pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t clock,
				const struct timespec *until)
{
	return likely(locks_state == LOCKS_OFF)
		       ? lock_next.pthread_cond_clockwait(condition, mutex, clock, until)
		       : cond_clockwait_on(condition, mutex, clock, until);
}

NOINLINE int cond_signal_on(pthread_cond_t *condition)
{
	return LOCK_RELEASE(LOCK_COND, condition, lock_next.pthread_cond_signal(condition));
}

HOOK int pthread_cond_signal(pthread_cond_t *condition)
{
	return likely(locks_state == LOCKS_OFF) ? lock_next.pthread_cond_signal(condition)
						: cond_signal_on(condition);
}

NOINLINE int cond_broadcast_on(pthread_cond_t *condition)
{
	return LOCK_RELEASE(LOCK_COND, condition, lock_next.pthread_cond_broadcast(condition));
}

HOOK int pthread_cond_broadcast(pthread_cond_t *condition)
{
	return likely(locks_state == LOCKS_OFF) ? lock_next.pthread_cond_broadcast(condition)
						: cond_broadcast_on(condition);
}

/* ---- C11 condition variables --------------------------------------------------------------------------- */

NOINLINE int cnd_wait_on(cnd_t *condition, mtx_t *mutex)
{
	return CONDITION_WAIT(condition, mutex, LOCK_CALL_LOCK, lock_next.cnd_wait(condition, mutex));
}

HOOK int cnd_wait(cnd_t *condition, mtx_t *mutex)
{
	return likely(locks_state == LOCKS_OFF) ? lock_next.cnd_wait(condition, mutex)
						: cnd_wait_on(condition, mutex);
}

NOINLINE int cnd_timedwait_on(cnd_t *condition, mtx_t *mutex, const struct timespec *until)
{
	return CONDITION_WAIT(condition, mutex, LOCK_CALL_TIMED,
			      lock_next.cnd_timedwait(condition, mutex, until));
}

HOOK int cnd_timedwait(cnd_t *restrict condition, mtx_t *restrict mutex,
		       const struct timespec *restrict until)
{
	return likely(locks_state == LOCKS_OFF) ? lock_next.cnd_timedwait(condition, mutex, until)
						: cnd_timedwait_on(condition, mutex, until);
}

NOINLINE int cnd_signal_on(cnd_t *condition)
{
	return LOCK_RELEASE(LOCK_COND, condition, lock_next.cnd_signal(condition));
}

HOOK int cnd_signal(cnd_t *condition)
{
	return likely(locks_state == LOCKS_OFF) ? lock_next.cnd_signal(condition) : cnd_signal_on(condition);
}

NOINLINE int cnd_broadcast_on(cnd_t *condition)
{
	return LOCK_RELEASE(LOCK_COND, condition, lock_next.cnd_broadcast(condition));
}

HOOK int cnd_broadcast(cnd_t *condition)
{
	return likely(locks_state == LOCKS_OFF) ? lock_next.cnd_broadcast(condition)
						: cnd_broadcast_on(condition);
}

/* ---- semaphores ---------------------------------------------------------------------------------------- */

/* These return -1 and set errno: given as an error number. */
static int sem_error(int result)
{
	return result == 0 ? 0 : errno;
}

static enum lock_outcome sem_outcome(int error)
{
	if (error == 0)
		return LOCK_ACQUIRED;
	return error == ETIMEDOUT || error == EINTR ? LOCK_GAVE_UP : LOCK_FAILED;
}

/* A try would not act on a cancellation that is pending, as the call must. So a look at the value says
 * whether it is going to wait; another thread may be faster, and such a wait is not seen as one. */
static bool sem_is_zero(sem_t *semaphore)
{
	int value = 0;
	return lock_next.sem_getvalue(semaphore, &value) == 0 && value <= 0;
}

#define SEM_WAIT(semaphore, call_, wait, may_wait)                                                           \
	({                                                                                                   \
		struct lock_use use_ = {.kind = LOCK_SEM, .call = (call_), .lock = (semaphore)};             \
		int result_ = 0;                                                                             \
		if (locks_begin(&use_)) {                                                                    \
			if ((may_wait) && sem_is_zero(semaphore))                                            \
				locks_wait(&use_);                                                           \
			result_ = (wait);                                                                    \
			int error_ = sem_error(result_);                                                     \
			locks_end(&use_, sem_outcome(error_), error_);                                       \
		}                                                                                            \
		result_;                                                                                     \
	})

NOINLINE int sem_wait_on(sem_t *semaphore)
{
	return SEM_WAIT(semaphore, LOCK_CALL_LOCK, lock_next.sem_wait(semaphore), true);
}

HOOK int sem_wait(sem_t *semaphore)
{
	return likely(locks_state == LOCKS_OFF) ? lock_next.sem_wait(semaphore) : sem_wait_on(semaphore);
}

NOINLINE int sem_trywait_on(sem_t *semaphore)
{
	return SEM_WAIT(semaphore, LOCK_CALL_TRY, lock_next.sem_trywait(semaphore), false);
}

HOOK int sem_trywait(sem_t *semaphore)
{
	return likely(locks_state == LOCKS_OFF) ? lock_next.sem_trywait(semaphore)
						: sem_trywait_on(semaphore);
}

NOINLINE int sem_timedwait_on(sem_t *semaphore, const struct timespec *until)
{
	return SEM_WAIT(semaphore, LOCK_CALL_TIMED, lock_next.sem_timedwait(semaphore, until), true);
}

HOOK int sem_timedwait(sem_t *restrict semaphore, const struct timespec *restrict until)
{
	return likely(locks_state == LOCKS_OFF) ? lock_next.sem_timedwait(semaphore, until)
						: sem_timedwait_on(semaphore, until);
}

NOINLINE int sem_clockwait_on(sem_t *semaphore, clockid_t clock, const struct timespec *until)
{
	return SEM_WAIT(semaphore, LOCK_CALL_TIMED, lock_next.sem_clockwait(semaphore, clock, until), true);
}

HOOK int sem_clockwait(sem_t *restrict semaphore, clockid_t clock, const struct timespec *restrict until)
{
	return likely(locks_state == LOCKS_OFF) ? lock_next.sem_clockwait(semaphore, clock, until)
						: sem_clockwait_on(semaphore, clock, until);
}

NOINLINE int sem_post_on(sem_t *semaphore)
{
	return LOCK_RELEASE(LOCK_SEM, semaphore, lock_next.sem_post(semaphore));
}

HOOK int sem_post(sem_t *semaphore)
{
	return likely(locks_state == LOCKS_OFF) ? lock_next.sem_post(semaphore) : sem_post_on(semaphore);
}

/* ---- barriers ------------------------------------------------------------------------------------------ */

/* glibc gives PTHREAD_BARRIER_SERIAL_THREAD to the last thread that comes: the only one that does not wait.
 */
NOINLINE int barrier_wait_on(pthread_barrier_t *barrier)
{
	struct lock_use use = {.kind = LOCK_BARRIER, .call = LOCK_CALL_LOCK, .lock = barrier};
	if (!locks_begin(&use))
		return 0;
	locks_wait(&use);
	int result = lock_next.pthread_barrier_wait(barrier);
	bool is_last = result == PTHREAD_BARRIER_SERIAL_THREAD;
	use.waits = !is_last;
	locks_end(&use, is_last ? LOCK_ACQUIRED : lock_outcome(result), result);
	return result;
}

HOOK int pthread_barrier_wait(pthread_barrier_t *barrier)
{
	return likely(locks_state == LOCKS_OFF) ? lock_next.pthread_barrier_wait(barrier)
						: barrier_wait_on(barrier);
}
