/*
 * Known numbers of calls on every kind of lock, and every type of mutex: `locks`. Ends after some of them in
 * the way that is asked for: `locks exit|_exit|quick_exit|exec|thread`.
 */
#include "tests/host/lockguest.h"

#include <semaphore.h>
#include <threads.h>

enum { TIMES = 1000 };

/* ---- mutexes ------------------------------------------------------------------------------------------- */

static int lock_mutex(void *mutex)
{
	return pthread_mutex_lock(mutex);
}

static int unlock_mutex(void *mutex)
{
	return pthread_mutex_unlock(mutex);
}

static int try_mutex(void *mutex)
{
	return pthread_mutex_trylock(mutex);
}

static int time_out_mutex(void *mutex)
{
	struct timespec until = in_ms(CLOCK_REALTIME, 2);
	return pthread_mutex_timedlock(mutex, &until);
}

static int time_out_mutex_by_clock(void *mutex)
{
	struct timespec until = in_ms(CLOCK_MONOTONIC, 2);
	return pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, &until);
}

static int clock_mutex_wrongly(void *mutex)
{
	struct timespec until = in_ms(CLOCK_REALTIME, 1000);
	return pthread_mutex_clocklock(mutex, CLOCK_PROCESS_CPUTIME_ID, &until);
}

static void init_mutex(pthread_mutex_t *mutex, int type, int protocol)
{
	pthread_mutexattr_t attributes;
	pthread_mutexattr_init(&attributes);
	check(pthread_mutexattr_settype(&attributes, type) == 0);
	check(pthread_mutexattr_setprotocol(&attributes, protocol) == 0);
	check(pthread_mutex_init(mutex, &attributes) == 0);
	pthread_mutexattr_destroy(&attributes);
}

/* What every type does alike. With it 3 acquisitions by a time limit, 1 contended one, and 3 that fail while
 * the lock is held: busy, and two that waited in vain. */
static void use_mutex(pthread_mutex_t *mutex, struct lock_counts extra)
{
	struct timespec until = in_ms(CLOCK_REALTIME, 1000), monotonic = in_ms(CLOCK_MONOTONIC, 1000);
	for (int i = 0; i < TIMES; i++) {
		check(pthread_mutex_lock(mutex) == 0);
		check(pthread_mutex_unlock(mutex) == 0);
	}
	check(pthread_mutex_trylock(mutex) == 0 && pthread_mutex_unlock(mutex) == 0);
	check(pthread_mutex_timedlock(mutex, &until) == 0 && pthread_mutex_unlock(mutex) == 0);
	check(pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, &monotonic) == 0);
	check(in_thread(try_mutex, mutex) == EBUSY);
	check(in_thread(time_out_mutex, mutex) == ETIMEDOUT);
	say("clocklock of a held mutex: %d", in_thread(time_out_mutex_by_clock, mutex));
	check(pthread_mutex_unlock(mutex) == 0);
	contend(lock_mutex, unlock_mutex, mutex, false);
	lock_fact("mutex", mutex,
		  (struct lock_counts){TIMES + 5 + extra.acquired, TIMES + 5 + extra.released, 0,
				       extra.contended == ANY ? ANY : 3 + extra.contended, 3 + extra.failed});
}

static int use_ceiling_in_time(void *mutex)
{
	struct sched_param first = {.sched_priority = 1};
	int error = pthread_setschedparam(pthread_self(), SCHED_FIFO, &first);
	say("a priority in real time: %d", error);
	if (error)
		return 0;
	for (int i = 0; i < TIMES; i++)
		check(pthread_mutex_lock(mutex) == 0 && pthread_mutex_unlock(mutex) == 0);
	return TIMES;
}

/* The policy that most programs run with has no priorities: there the ceiling is refused, and glibc 2.36
 * gives another answer to whoever asks twice. */
static void use_ceiling(pthread_mutex_t *mutex)
{
	init_mutex(mutex, PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_PROTECT);
	int refused = pthread_mutex_lock(mutex);
	say("a mutex with a ceiling: %d", refused);
	if (!refused)
		check(pthread_mutex_unlock(mutex) == 0);
	int times = in_thread(use_ceiling_in_time, mutex) + !refused;
	lock_fact("mutex", mutex, (struct lock_counts){times, times, 0, 0, !!refused});
}

static void use_mutexes(void)
{
	static pthread_mutex_t normal = PTHREAD_MUTEX_INITIALIZER, adaptive, recursive, checking, inherit,
			       protect;

	use_mutex(&normal, (struct lock_counts){0});
	init_mutex(&adaptive, PTHREAD_MUTEX_ADAPTIVE_NP, PTHREAD_PRIO_NONE);
	use_mutex(&adaptive, (struct lock_counts){0});

	init_mutex(&recursive, PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_NONE);
	for (int i = 0; i < TIMES; i++)
		check(pthread_mutex_lock(&recursive) == 0);
	check(in_thread(try_mutex, &recursive) == EBUSY);
	for (int i = 0; i < TIMES; i++)
		check(pthread_mutex_unlock(&recursive) == 0);
	check(pthread_mutex_unlock(&recursive) == EPERM);
	use_mutex(&recursive, (struct lock_counts){TIMES, TIMES, 0, 0, 2});

	init_mutex(&checking, PTHREAD_MUTEX_ERRORCHECK, PTHREAD_PRIO_NONE);
	check(pthread_mutex_lock(&checking) == 0);
	check(pthread_mutex_lock(&checking) == EDEADLK);
	check(in_thread(unlock_mutex, &checking) == EPERM);
	check(pthread_mutex_unlock(&checking) == 0);
	check(pthread_mutex_unlock(&checking) == EPERM);
	use_mutex(&checking, (struct lock_counts){1, 1, 0, 0, 3});

	init_mutex(&inherit, PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_INHERIT);
	/* Before its kernel part learnt of clocks, glibc refused the monotonic one at once for these. */
	use_mutex(&inherit, (struct lock_counts){0, 0, 0, ANY, 0});
	use_ceiling(&protect);
}

static void refuse_clocks(void)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	check(clock_mutex_wrongly(&mutex) == EINVAL);
	lock_fact("mutex", &mutex, (struct lock_counts){0, 0, 0, 0, 1});
}

/* ---- read-write locks and spin locks ------------------------------------------------------------------- */

static int lock_write(void *lock)
{
	return pthread_rwlock_wrlock(lock);
}

static int lock_read(void *lock)
{
	return pthread_rwlock_rdlock(lock);
}

static int unlock_rwlock(void *lock)
{
	return pthread_rwlock_unlock(lock);
}

static int try_read(void *lock)
{
	return pthread_rwlock_tryrdlock(lock);
}

static int try_write(void *lock)
{
	return pthread_rwlock_trywrlock(lock);
}

static int time_out_read(void *lock)
{
	struct timespec until = in_ms(CLOCK_MONOTONIC, 2);
	return pthread_rwlock_clockrdlock(lock, CLOCK_MONOTONIC, &until);
}

static int time_out_write(void *lock)
{
	struct timespec until = in_ms(CLOCK_REALTIME, 2);
	return pthread_rwlock_timedwrlock(lock, &until);
}

static void use_rwlock(void)
{
	static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
	struct timespec until = in_ms(CLOCK_REALTIME, 1000);
	for (int i = 0; i < TIMES; i++) {
		check(pthread_rwlock_rdlock(&lock) == 0 && pthread_rwlock_unlock(&lock) == 0);
		check(pthread_rwlock_wrlock(&lock) == 0 && pthread_rwlock_unlock(&lock) == 0);
	}
	check(pthread_rwlock_timedrdlock(&lock, &until) == 0 && pthread_rwlock_unlock(&lock) == 0);
	check(pthread_rwlock_tryrdlock(&lock) == 0);
	check(in_thread(try_write, &lock) == EBUSY && in_thread(time_out_write, &lock) == ETIMEDOUT);
	check(pthread_rwlock_unlock(&lock) == 0);
	check(pthread_rwlock_trywrlock(&lock) == 0);
	check(pthread_rwlock_rdlock(&lock) == EDEADLK && pthread_rwlock_wrlock(&lock) == EDEADLK);
	check(in_thread(try_read, &lock) == EBUSY && in_thread(time_out_read, &lock) == ETIMEDOUT);
	check(pthread_rwlock_unlock(&lock) == 0);
	contend(lock_write, unlock_rwlock, &lock, false);

	struct waiter reader = {.lock = lock_read, .unlock = unlock_rwlock, .object = &lock};
	check(pthread_rwlock_wrlock(&lock) == 0);
	wait_until_asleep(waiter_start(&reader));
	check(pthread_rwlock_unlock(&lock) == 0);
	pthread_join(reader.thread, NULL);
	lock_fact("rwlock", &lock, (struct lock_counts){2 * TIMES + 7, 2 * TIMES + 7, TIMES + 3, 4, 6});
}

static int lock_spin(void *lock)
{
	return pthread_spin_lock(lock);
}

static int unlock_spin(void *lock)
{
	return pthread_spin_unlock(lock);
}

static void use_spin(void)
{
	static pthread_spinlock_t lock;
	pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE);
	for (int i = 0; i < TIMES; i++)
		check(pthread_spin_lock(&lock) == 0 && pthread_spin_unlock(&lock) == 0);
	check(pthread_spin_trylock(&lock) == 0 && pthread_spin_trylock(&lock) == EBUSY);
	check(pthread_spin_unlock(&lock) == 0);
	contend(lock_spin, unlock_spin, (void *)&lock, true);
	lock_fact("spin", &lock, (struct lock_counts){TIMES + 3, TIMES + 3, 0, 1, 1});
}

/* ---- C11 ----------------------------------------------------------------------------------------------- */

static int lock_mtx(void *mutex)
{
	return mtx_lock(mutex);
}

static int unlock_mtx(void *mutex)
{
	return mtx_unlock(mutex);
}

static int try_mtx(void *mutex)
{
	return mtx_trylock(mutex);
}

static int time_out_mtx(void *mutex)
{
	struct timespec until = in_ms(CLOCK_REALTIME, 2);
	return mtx_timedlock(mutex, &until);
}

static void use_c11(void)
{
	static mtx_t mutex;
	static cnd_t condition;
	struct timespec until = in_ms(CLOCK_REALTIME, 2);
	check(mtx_init(&mutex, mtx_timed) == thrd_success && cnd_init(&condition) == thrd_success);
	for (int i = 0; i < TIMES; i++)
		check(mtx_lock(&mutex) == thrd_success && mtx_unlock(&mutex) == thrd_success);
	check(mtx_lock(&mutex) == thrd_success);
	check(in_thread(try_mtx, &mutex) == thrd_busy && in_thread(time_out_mtx, &mutex) == thrd_timedout);
	check(cnd_timedwait(&condition, &mutex, &until) == thrd_timedout);
	check(cnd_signal(&condition) == thrd_success && cnd_broadcast(&condition) == thrd_success);
	check(mtx_unlock(&mutex) == thrd_success);
	contend(lock_mtx, unlock_mtx, &mutex, false);
	lock_fact("mutex", &mutex, (struct lock_counts){TIMES + 3, TIMES + 3, 0, 2, 2});
	lock_fact("cond", &condition, (struct lock_counts){0, 2, 0, 1, 1});
}

/* ---- ends ---------------------------------------------------------------------------------------------- */

static pthread_mutex_t last = PTHREAD_MUTEX_INITIALIZER;

static void use_last(int times)
{
	for (int i = 0; i < times; i++)
		check(pthread_mutex_lock(&last) == 0 && pthread_mutex_unlock(&last) == 0);
}

static void *leave_thread(void *argument)
{
	use_last(TIMES);
	pthread_exit(argument);
}

static void end_by(const char *way, char **argv)
{
	lock_fact("mutex", &last, (struct lock_counts){TIMES, TIMES, 0, 0, 0});
	if (!strcmp(way, "thread")) {
		pthread_t thread;
		require(pthread_create(&thread, NULL, leave_thread, NULL) == 0);
		pthread_detach(thread);
		pthread_exit(NULL);
	}
	use_last(TIMES);
	if (!strcmp(way, "_exit"))
		_exit(3);
	if (!strcmp(way, "quick_exit"))
		quick_exit(3);
	if (!strcmp(way, "exec"))
		execl("/bin/true", "true", (char *)NULL);
	exit(argv[1] ? 3 : 4);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		end_by(argv[1], argv);
	use_mutexes();
	refuse_clocks();
	use_rwlock();
	use_spin();
	use_c11();
	say("done");
	return 0;
}
