/*
 * Mutexes, read-write locks and spin locks. Follow pthread_mutex_lock from here: LOCK_ACQUIRE (lock_hook.h),
 * locks_count_acquired (locks.h), and for what waits or is chosen lock_use.c.
 */
#include "shim/lock_hook.h"
#include "shim/raw.h"

/*
 * Mutexes that a failed try does not leave as they were. glibc 2.36's trylock of a robust one that is not
 * recoverable keeps it locked, and whoever then locks it waits for ever; one with a ceiling counts
 * priorities. The bits are glibc's own, in a field that static initialisers have laid down since 2.4.
 */
#define KIND_ROBUST	  0x10
#define KIND_PRIO_PROTECT 0x40
#define CEILING_MASK	  0xfff80000u /* of the lock word, with a ceiling; other types: FUTEX_* */

static inline bool is_touchy(const pthread_mutex_t *mutex)
{
	return mutex->__data.__kind & (KIND_ROBUST | KIND_PRIO_PROTECT);
}

/* No system call where it can be helped: under strict seccomp it would kill. */
static uint32_t own_tid(void)
{
	const struct thread *thread = locks_enter();
	return thread ? thread->slot->kernel_tid : (uint32_t)raw_tid();
}

/* By a look at the lock word: somebody else, who is alive, has it. */
static bool is_taken(pthread_mutex_t *mutex)
{
	uint32_t word = (uint32_t) * (volatile int *)&mutex->__data.__lock;
	if (!(mutex->__data.__kind & KIND_ROBUST))
		return (word & ~CEILING_MASK) && (uint32_t)mutex->__data.__owner != own_tid();
	return (word & FUTEX_TID_MASK) && !(word & FUTEX_OWNER_DIED) && (word & FUTEX_TID_MASK) != own_tid();
}

#define TOUCHY_MUTEX(call_, lock_, wait)                                                                     \
	({                                                                                                   \
		struct lock_use use_ = {.kind = LOCK_MUTEX, .call = (call_), .lock = (lock_)};               \
		int got_ = 0;                                                                                \
		if (locks_begin(&use_)) {                                                                    \
			if (is_taken(lock_))                                                                 \
				locks_wait(&use_);                                                           \
			got_ = (wait);                                                                       \
			locks_end(&use_, lock_outcome(got_), got_);                                          \
		}                                                                                            \
		got_;                                                                                        \
	})

#define MUTEX(call, lock, wait)                                                                              \
	(unlikely(is_touchy(lock))                                                                           \
		 ? TOUCHY_MUTEX(call, lock, wait)                                                            \
		 : LOCK_ACQUIRE(LOCK_MUTEX, call, lock, lock_next.pthread_mutex_trylock(lock), wait, EBUSY))
#define READ(call, lock, wait)                                                                               \
	LOCK_ACQUIRE(LOCK_RWLOCK, call, lock, lock_next.pthread_rwlock_tryrdlock(lock), wait, EBUSY)
#define WRITE(call, lock, wait)                                                                              \
	LOCK_ACQUIRE(LOCK_RWLOCK, call, lock, lock_next.pthread_rwlock_trywrlock(lock), wait, EBUSY)

/* A function whose try is itself. */
#define TRY(kind, call, lock, try) LOCK_ACQUIRE(kind, call, lock, try, 0, LOCK_NEVER_WAITS)

/* ---- mutexes ------------------------------------------------------------------------------------------- */

NOINLINE int mutex_lock_on(pthread_mutex_t *mutex)
{
	return MUTEX(LOCK_CALL_LOCK, mutex, lock_next.pthread_mutex_lock(mutex));
}

HOOK int pthread_mutex_lock(pthread_mutex_t *mutex)
{
	return likely(locks_state == LOCKS_OFF) ? lock_next.pthread_mutex_lock(mutex) : mutex_lock_on(mutex);
}

NOINLINE int mutex_trylock_on(pthread_mutex_t *mutex)
{
	return TRY(LOCK_MUTEX, LOCK_CALL_TRY, mutex, lock_next.pthread_mutex_trylock(mutex));
}

HOOK int pthread_mutex_trylock(pthread_mutex_t *mutex)
{
	return likely(locks_state == LOCKS_OFF) ? lock_next.pthread_mutex_trylock(mutex)
						: mutex_trylock_on(mutex);
}

NOINLINE int mutex_timedlock_on(pthread_mutex_t *mutex, const struct timespec *until)
{
	return MUTEX(LOCK_CALL_TIMED, mutex, lock_next.pthread_mutex_timedlock(mutex, until));
}

HOOK int pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *until)
{
	return likely(locks_state == LOCKS_OFF) ? lock_next.pthread_mutex_timedlock(mutex, until)
						: mutex_timedlock_on(mutex, until);
}

NOINLINE int mutex_clocklock_on(pthread_mutex_t *mutex, clockid_t clock, const struct timespec *until)
{
	if (!lock_clock_is_known(clock))
		return TRY(LOCK_MUTEX, LOCK_CALL_TIMED, mutex,
			   lock_next.pthread_mutex_clocklock(mutex, clock, until));
	return MUTEX(LOCK_CALL_TIMED, mutex, lock_next.pthread_mutex_clocklock(mutex, clock, until));
}

HOOK int pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock, const struct timespec *until)
{
	return likely(locks_state == LOCKS_OFF) ? lock_next.pthread_mutex_clocklock(mutex, clock, until)
						: mutex_clocklock_on(mutex, clock, until);
}

NOINLINE int mutex_unlock_on(pthread_mutex_t *mutex)
{
	return LOCK_RELEASE(LOCK_MUTEX, mutex, lock_next.pthread_mutex_unlock(mutex));
}

HOOK int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	return likely(locks_state == LOCKS_OFF) ? lock_next.pthread_mutex_unlock(mutex)
						: mutex_unlock_on(mutex);
}

/* ---- C11 mutexes: inside glibc they do not pass by the functions above ------------------------------------
 */

#define MTX(call, lock, wait)                                                                                \
	LOCK_ACQUIRE(LOCK_MUTEX, call, lock, lock_next.mtx_trylock(lock), wait, thrd_busy)

NOINLINE int mtx_lock_on(mtx_t *mutex)
{
	return MTX(LOCK_CALL_LOCK, mutex, lock_next.mtx_lock(mutex));
}

HOOK int mtx_lock(mtx_t *mutex)
{
	return likely(locks_state == LOCKS_OFF) ? lock_next.mtx_lock(mutex) : mtx_lock_on(mutex);
}

NOINLINE int mtx_trylock_on(mtx_t *mutex)
{
	return TRY(LOCK_MUTEX, LOCK_CALL_TRY, mutex, lock_next.mtx_trylock(mutex));
}

HOOK int mtx_trylock(mtx_t *mutex)
{
	return likely(locks_state == LOCKS_OFF) ? lock_next.mtx_trylock(mutex) : mtx_trylock_on(mutex);
}

NOINLINE int mtx_timedlock_on(mtx_t *mutex, const struct timespec *until)
{
	return MTX(LOCK_CALL_TIMED, mutex, lock_next.mtx_timedlock(mutex, until));
}

HOOK int mtx_timedlock(mtx_t *restrict mutex, const struct timespec *restrict until)
{
	return likely(locks_state == LOCKS_OFF) ? lock_next.mtx_timedlock(mutex, until)
						: mtx_timedlock_on(mutex, until);
}

NOINLINE int mtx_unlock_on(mtx_t *mutex)
{
	return LOCK_RELEASE(LOCK_MUTEX, mutex, lock_next.mtx_unlock(mutex));
}

HOOK int mtx_unlock(mtx_t *mutex)
{
	return likely(locks_state == LOCKS_OFF) ? lock_next.mtx_unlock(mutex) : mtx_unlock_on(mutex);
}

/* ---- read-write locks ---------------------------------------------------------------------------------- */

NOINLINE int rdlock_on(pthread_rwlock_t *lock)
{
	return READ(LOCK_CALL_READ, lock, lock_next.pthread_rwlock_rdlock(lock));
}

HOOK int pthread_rwlock_rdlock(pthread_rwlock_t *lock)
{
	return likely(locks_state == LOCKS_OFF) ? lock_next.pthread_rwlock_rdlock(lock) : rdlock_on(lock);
}

NOINLINE int tryrdlock_on(pthread_rwlock_t *lock)
{
	return TRY(LOCK_RWLOCK, LOCK_CALL_READ_TRY, lock, lock_next.pthread_rwlock_tryrdlock(lock));
}

HOOK int pthread_rwlock_tryrdlock(pthread_rwlock_t *lock)
{
	return likely(locks_state == LOCKS_OFF) ? lock_next.pthread_rwlock_tryrdlock(lock)
						: tryrdlock_on(lock);
}

NOINLINE int timedrdlock_on(pthread_rwlock_t *lock, const struct timespec *until)
{
	return READ(LOCK_CALL_READ_TIMED, lock, lock_next.pthread_rwlock_timedrdlock(lock, until));
}

HOOK int pthread_rwlock_timedrdlock(pthread_rwlock_t *lock, const struct timespec *until)
{
	return likely(locks_state == LOCKS_OFF) ? lock_next.pthread_rwlock_timedrdlock(lock, until)
						: timedrdlock_on(lock, until);
}

NOINLINE int clockrdlock_on(pthread_rwlock_t *lock, clockid_t clock, const struct timespec *until)
{
	if (!lock_clock_is_known(clock))
		return TRY(LOCK_RWLOCK, LOCK_CALL_READ_TIMED, lock,
			   lock_next.pthread_rwlock_clockrdlock(lock, clock, until));
	return READ(LOCK_CALL_READ_TIMED, lock, lock_next.pthread_rwlock_clockrdlock(lock, clock, until));
}

HOOK int pthread_rwlock_clockrdlock(pthread_rwlock_t *lock, clockid_t clock, const struct timespec *until)
{
	return likely(locks_state == LOCKS_OFF) ? lock_next.pthread_rwlock_clockrdlock(lock, clock, until)
						: clockrdlock_on(lock, clock, until);
}

NOINLINE int wrlock_on(pthread_rwlock_t *lock)
{
	return WRITE(LOCK_CALL_LOCK, lock, lock_next.pthread_rwlock_wrlock(lock));
}

HOOK int pthread_rwlock_wrlock(pthread_rwlock_t *lock)
{
	return likely(locks_state == LOCKS_OFF) ? lock_next.pthread_rwlock_wrlock(lock) : wrlock_on(lock);
}

NOINLINE int trywrlock_on(pthread_rwlock_t *lock)
{
	return TRY(LOCK_RWLOCK, LOCK_CALL_TRY, lock, lock_next.pthread_rwlock_trywrlock(lock));
}

HOOK int pthread_rwlock_trywrlock(pthread_rwlock_t *lock)
{
	return likely(locks_state == LOCKS_OFF) ? lock_next.pthread_rwlock_trywrlock(lock)
						: trywrlock_on(lock);
}

NOINLINE int timedwrlock_on(pthread_rwlock_t *lock, const struct timespec *until)
{
	return WRITE(LOCK_CALL_TIMED, lock, lock_next.pthread_rwlock_timedwrlock(lock, until));
}

HOOK int pthread_rwlock_timedwrlock(pthread_rwlock_t *lock, const struct timespec *until)
{
	return likely(locks_state == LOCKS_OFF) ? lock_next.pthread_rwlock_timedwrlock(lock, until)
						: timedwrlock_on(lock, until);
}

NOINLINE int clockwrlock_on(pthread_rwlock_t *lock, clockid_t clock, const struct timespec *until)
{
	if (!lock_clock_is_known(clock))
		return TRY(LOCK_RWLOCK, LOCK_CALL_TIMED, lock,
			   lock_next.pthread_rwlock_clockwrlock(lock, clock, until));
	return WRITE(LOCK_CALL_TIMED, lock, lock_next.pthread_rwlock_clockwrlock(lock, clock, until));
}

HOOK int pthread_rwlock_clockwrlock(pthread_rwlock_t *lock, clockid_t clock, const struct timespec *until)
{
	return likely(locks_state == LOCKS_OFF) ? lock_next.pthread_rwlock_clockwrlock(lock, clock, until)
						: clockwrlock_on(lock, clock, until);
}

NOINLINE int rwlock_unlock_on(pthread_rwlock_t *lock)
{
	return LOCK_RELEASE(LOCK_RWLOCK, lock, lock_next.pthread_rwlock_unlock(lock));
}

HOOK int pthread_rwlock_unlock(pthread_rwlock_t *lock)
{
	return likely(locks_state == LOCKS_OFF) ? lock_next.pthread_rwlock_unlock(lock)
						: rwlock_unlock_on(lock);
}

/* ---- spin locks ---------------------------------------------------------------------------------------- */

/* The parameters are volatile in the exported functions' declarations alone. */
static pthread_spinlock_t *plain(pthread_spinlock_t *lock)
{
	return lock;
}

NOINLINE int spin_lock_on(pthread_spinlock_t *lock)
{
	return LOCK_ACQUIRE(LOCK_SPIN, LOCK_CALL_LOCK, (const void *)plain(lock),
			    lock_next.pthread_spin_trylock(lock), lock_next.pthread_spin_lock(lock), EBUSY);
}

HOOK int pthread_spin_lock(pthread_spinlock_t *lock)
{
	return likely(locks_state == LOCKS_OFF) ? lock_next.pthread_spin_lock(lock) : spin_lock_on(lock);
}

NOINLINE int spin_trylock_on(pthread_spinlock_t *lock)
{
	return TRY(LOCK_SPIN, LOCK_CALL_TRY, (const void *)plain(lock), lock_next.pthread_spin_trylock(lock));
}

HOOK int pthread_spin_trylock(pthread_spinlock_t *lock)
{
	return likely(locks_state == LOCKS_OFF) ? lock_next.pthread_spin_trylock(lock)
						: spin_trylock_on(lock);
}

NOINLINE int spin_unlock_on(pthread_spinlock_t *lock)
{
	return LOCK_RELEASE(LOCK_SPIN, (const void *)plain(lock), lock_next.pthread_spin_unlock(lock));
}

HOOK int pthread_spin_unlock(pthread_spinlock_t *lock)
{
	return likely(locks_state == LOCKS_OFF) ? lock_next.pthread_spin_unlock(lock) : spin_unlock_on(lock);
}
