/*
 * The next definitions of the lock functions (real.h has the others). glibc keeps two sets of condition
 * variables under the same names: the default version is taken, which before glibc 2.36 a plain dlsym need
 * not give.
 */
#ifndef MTRACE_LOCK_NEXT_H
#define MTRACE_LOCK_NEXT_H

#include <pthread.h>
#include <semaphore.h>
#include <threads.h>
#include <time.h>

/* X(result, name, parameters, version); NULL: there is one version. */
#define LOCK_NEXT_FUNCTIONS(X)                                                                               \
	X(int, pthread_mutex_lock, (pthread_mutex_t *), NULL)                                                \
	X(int, pthread_mutex_trylock, (pthread_mutex_t *), NULL)                                             \
	X(int, pthread_mutex_timedlock, (pthread_mutex_t *, const struct timespec *), NULL)                  \
	X(int, pthread_mutex_clocklock, (pthread_mutex_t *, clockid_t, const struct timespec *), NULL)       \
	X(int, pthread_mutex_unlock, (pthread_mutex_t *), NULL)                                              \
	X(int, pthread_rwlock_rdlock, (pthread_rwlock_t *), NULL)                                            \
	X(int, pthread_rwlock_tryrdlock, (pthread_rwlock_t *), NULL)                                         \
	X(int, pthread_rwlock_timedrdlock, (pthread_rwlock_t *, const struct timespec *), NULL)              \
	X(int, pthread_rwlock_clockrdlock, (pthread_rwlock_t *, clockid_t, const struct timespec *), NULL)   \
	X(int, pthread_rwlock_wrlock, (pthread_rwlock_t *), NULL)                                            \
	X(int, pthread_rwlock_trywrlock, (pthread_rwlock_t *), NULL)                                         \
	X(int, pthread_rwlock_timedwrlock, (pthread_rwlock_t *, const struct timespec *), NULL)              \
	X(int, pthread_rwlock_clockwrlock, (pthread_rwlock_t *, clockid_t, const struct timespec *), NULL)   \
	X(int, pthread_rwlock_unlock, (pthread_rwlock_t *), NULL)                                            \
	X(int, pthread_spin_lock, (pthread_spinlock_t *), NULL)                                              \
	X(int, pthread_spin_trylock, (pthread_spinlock_t *), NULL)                                           \
	X(int, pthread_spin_unlock, (pthread_spinlock_t *), NULL)                                            \
	X(int, pthread_cond_wait, (pthread_cond_t *, pthread_mutex_t *), ARCH_COND_VERSION)                  \
	X(int, pthread_cond_timedwait, (pthread_cond_t *, pthread_mutex_t *, const struct timespec *),       \
	  ARCH_COND_VERSION)                                                                                 \
	X(int, pthread_cond_clockwait,                                                                       \
	  (pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *), NULL)                   \
	X(int, pthread_cond_signal, (pthread_cond_t *), ARCH_COND_VERSION)                                   \
	X(int, pthread_cond_broadcast, (pthread_cond_t *), ARCH_COND_VERSION)                                \
	X(int, sem_wait, (sem_t *), NULL)                                                                    \
	X(int, sem_trywait, (sem_t *), NULL)                                                                 \
	X(int, sem_timedwait, (sem_t *, const struct timespec *), NULL)                                      \
	X(int, sem_clockwait, (sem_t *, clockid_t, const struct timespec *), NULL)                           \
	X(int, sem_post, (sem_t *), NULL)                                                                    \
	X(int, sem_getvalue, (sem_t *, int *), NULL)                                                         \
	X(int, pthread_barrier_wait, (pthread_barrier_t *), NULL)                                            \
	X(int, mtx_lock, (mtx_t *), NULL)                                                                    \
	X(int, mtx_trylock, (mtx_t *), NULL)                                                                 \
	X(int, mtx_timedlock, (mtx_t *, const struct timespec *), NULL)                                      \
	X(int, mtx_unlock, (mtx_t *), NULL)                                                                  \
	X(int, cnd_wait, (cnd_t *, mtx_t *), NULL)                                                           \
	X(int, cnd_timedwait, (cnd_t *, mtx_t *, const struct timespec *), NULL)                             \
	X(int, cnd_signal, (cnd_t *), NULL)                                                                  \
	X(int, cnd_broadcast, (cnd_t *), NULL)

struct lock_next {
#define LOCK_NEXT_MEMBER(result, name, parameters, version) result(*name) parameters;
	LOCK_NEXT_FUNCTIONS(LOCK_NEXT_MEMBER)
#undef LOCK_NEXT_MEMBER
};
extern struct lock_next lock_next __attribute__((visibility("hidden")));

/* Looks all of them up. What the host's libc lacks becomes a function that returns ENOSYS: nobody can be
 * linked to it, but a program may look by dlsym and find our hook. */
void lock_next_resolve(void);

/* The same for libatomic, where it is there already (interpose_atomic.c). */
void lock_next_resolve_atomics(void);

#endif
