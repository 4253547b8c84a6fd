/*
 * Where a tracer of locks could do harm: robust mutexes whose owner died, cancellation inside waits, forks
 * with locks held, handlers that post, locks before main. Prints what each call returned.
 */
#include "tests/host/lockguest.h"

#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>

enum { TIMES = 100 };

/* ---- before main --------------------------------------------------------------------------------------- */

static pthread_mutex_t early = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t early_recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static int early_error;

static int do_nothing(void)
{
	return 0;
}

/* Runs while this program is relocated: nobody can be in the way yet, and nobody counts. */
__attribute__((used)) static int (*resolve_nothing(void))(void)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	early_error |= pthread_mutex_lock(&mutex) | pthread_mutex_unlock(&mutex);
	return do_nothing;
}

static int nothing(void) __attribute__((ifunc("resolve_nothing")));

__attribute__((constructor(101))) static void lock_early(void)
{
	for (int i = 0; i < TIMES; i++) {
		early_error |= pthread_mutex_lock(&early) | pthread_mutex_unlock(&early);
		early_error |= pthread_mutex_lock(&early_recursive) | pthread_mutex_lock(&early_recursive);
		early_error |=
			pthread_mutex_unlock(&early_recursive) | pthread_mutex_unlock(&early_recursive);
	}
}

static void check_early(void)
{
	check(early_error == 0 && nothing() == 0);
	lock_fact("mutex", &early, (struct lock_counts){TIMES, TIMES, 0, 0, 0});
	lock_fact("mutex", &early_recursive, (struct lock_counts){2 * TIMES, 2 * TIMES, 0, 0, 0});
}

/* ---- robust mutexes ------------------------------------------------------------------------------------ */

static int lock_and_die(void *mutex)
{
	return pthread_mutex_lock(mutex);
}

static int wait_for_dead(void *mutex)
{
	int result = pthread_mutex_lock(mutex);
	say("the owner died meanwhile: %d", result);
	check(pthread_mutex_consistent(mutex) == 0);
	return result == EOWNERDEAD ? 0 : result;
}

static int unlock_mutex(void *mutex)
{
	return pthread_mutex_unlock(mutex);
}

static _Atomic pid_t dying_tid;
static atomic_bool may_die;

static void *die_when_told(void *mutex)
{
	check(pthread_mutex_lock(mutex) == 0);
	atomic_store(&dying_tid, (pid_t)syscall(SYS_gettid));
	while (!atomic_load(&may_die))
		sched_yield();
	return NULL;
}

static void use_robust(int protocol, pthread_mutex_t *mutex)
{
	pthread_mutexattr_t attributes;
	pthread_t owner;
	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
	pthread_mutexattr_setprotocol(&attributes, protocol);
	check(pthread_mutex_init(mutex, &attributes) == 0);

	check(in_thread(lock_and_die, mutex) == 0);
	check(pthread_mutex_lock(mutex) == EOWNERDEAD);
	check(pthread_mutex_consistent(mutex) == 0);
	check(pthread_mutex_unlock(mutex) == 0);
	check(in_thread(lock_and_die, mutex) == 0);
	check(pthread_mutex_trylock(mutex) == EOWNERDEAD);
	check(pthread_mutex_consistent(mutex) == 0 && pthread_mutex_unlock(mutex) == 0);

	atomic_store(&dying_tid, 0);
	atomic_store(&may_die, false);
	require(pthread_create(&owner, NULL, die_when_told, mutex) == 0);
	while (!atomic_load(&dying_tid))
		sched_yield();
	struct waiter waiter = {.lock = wait_for_dead, .unlock = unlock_mutex, .object = mutex};
	wait_until_asleep(waiter_start(&waiter));
	atomic_store(&may_die, true);
	pthread_join(owner, NULL);
	pthread_join(waiter.thread, NULL);

	check(in_thread(lock_and_die, mutex) == 0);
	check(pthread_mutex_lock(mutex) == EOWNERDEAD && pthread_mutex_unlock(mutex) == 0);
	/* Again and again: glibc's trylock of such a mutex keeps it locked. */
	for (int i = 0; i < 3; i++)
		check(pthread_mutex_lock(mutex) == ENOTRECOVERABLE);
	check(pthread_mutex_trylock(mutex) == ENOTRECOVERABLE);
	lock_fact("mutex", mutex, (struct lock_counts){8, 4, 0, 1, 4});
}

/* ---- cancellation -------------------------------------------------------------------------------------- */

static pthread_mutex_t cancel_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cancel_condition = PTHREAD_COND_INITIALIZER;
static sem_t cancel_semaphore;
static _Atomic pid_t cancel_tid;
static int cleaned;

static void clean_up(void *argument)
{
	cleaned++;
	if (argument)
		check(pthread_mutex_unlock(argument) == 0);
}

static void *wait_condition(void *argument)
{
	check(pthread_mutex_lock(&cancel_mutex) == 0);
	pthread_cleanup_push(clean_up, &cancel_mutex);
	atomic_store(&cancel_tid, (pid_t)syscall(SYS_gettid));
	for (;;)
		pthread_cond_wait(&cancel_condition, &cancel_mutex);
	pthread_cleanup_pop(0);
	return argument;
}

static void *wait_semaphore(void *argument)
{
	pthread_cleanup_push(clean_up, NULL);
	atomic_store(&cancel_tid, (pid_t)syscall(SYS_gettid));
	for (;;)
		sem_wait(&cancel_semaphore);
	pthread_cleanup_pop(0);
	return argument;
}

/* The cancellation is pending when the call comes: it acts although the semaphore could be had. */
static void *take_with_pending(void *argument)
{
	pthread_cleanup_push(clean_up, NULL);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	pthread_cancel(pthread_self());
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
	sem_wait(argument);
	say("a pending cancellation did not act");
	pthread_cleanup_pop(0);
	return NULL;
}

static void cancel(void *(*function)(void *), void *argument, bool asleep)
{
	pthread_t thread;
	void *result;
	atomic_store(&cancel_tid, 0);
	require(pthread_create(&thread, NULL, function, argument) == 0);
	while (asleep && !atomic_load(&cancel_tid))
		sched_yield();
	if (asleep) {
		wait_until_asleep(atomic_load(&cancel_tid));
		check(pthread_cancel(thread) == 0);
	}
	check(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
}

static void use_cancellation(void)
{
	static sem_t free_semaphore;
	check(sem_init(&cancel_semaphore, 0, 0) == 0 && sem_init(&free_semaphore, 0, 1) == 0);
	cancel(wait_condition, NULL, true);
	check(pthread_mutex_trylock(&cancel_mutex) == 0 && pthread_mutex_unlock(&cancel_mutex) == 0);
	cancel(wait_semaphore, NULL, true);
	cancel(take_with_pending, &free_semaphore, false);
	int value = -1;
	check(sem_getvalue(&free_semaphore, &value) == 0);
	say("cleaned %d times, %d left", cleaned, value);
	lock_fact("mutex", &cancel_mutex, (struct lock_counts){2, 2, 0, 0, 0});
	lock_fact("cond", &cancel_condition, (struct lock_counts){0, 0, 0, 1, 0});
	lock_fact("sem", &cancel_semaphore, (struct lock_counts){0, 0, 0, 1, 0});
}

/* ---- waits that are woken ------------------------------------------------------------------------------ */

static pthread_mutex_t wake_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake_condition = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t semaphore;
static bool woken;

static int wait_woken(void *argument)
{
	(void)argument;
	check(pthread_mutex_lock(&wake_mutex) == 0);
	while (!woken)
		check(pthread_cond_wait(&wake_condition, &wake_mutex) == 0);
	return pthread_mutex_unlock(&wake_mutex);
}

static int wait_barrier(void *argument)
{
	int result = pthread_barrier_wait(argument);
	return result == PTHREAD_BARRIER_SERIAL_THREAD ? 0 : result;
}

static int wait_posted(void *argument)
{
	return sem_wait(argument);
}

static void use_waits(void)
{
	struct waiter waiter = {.lock = wait_woken}, at_barrier = {.lock = wait_barrier, .object = &barrier};
	struct waiter posted = {.lock = wait_posted, .object = &semaphore};
	struct timespec until = in_ms(CLOCK_REALTIME, 2), never = {.tv_sec = 0, .tv_nsec = 2000000000};
	wait_until_asleep(waiter_start(&waiter));
	check(pthread_mutex_lock(&wake_mutex) == 0);
	woken = true;
	check(pthread_cond_signal(&wake_condition) == 0);
	check(pthread_cond_timedwait(&wake_condition, &wake_mutex, &until) == ETIMEDOUT);
	check(pthread_mutex_unlock(&wake_mutex) == 0);
	pthread_join(waiter.thread, NULL);
	lock_fact("cond", &wake_condition, (struct lock_counts){1, 1, 0, 2, 1});
	lock_fact("mutex", &wake_mutex, (struct lock_counts){2, 2, 0, 0, 0});

	check(pthread_barrier_init(&barrier, NULL, 2) == 0);
	wait_until_asleep(waiter_start(&at_barrier));
	check(pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD);
	pthread_join(at_barrier.thread, NULL);
	lock_fact("barrier", &barrier, (struct lock_counts){2, 0, 0, 1, 0});

	check(sem_init(&semaphore, 0, 0) == 0);
	for (int i = 0; i < TIMES; i++)
		check(sem_post(&semaphore) == 0 && sem_wait(&semaphore) == 0);
	errno = 0;
	check(sem_trywait(&semaphore) == -1 && errno == EAGAIN);
	check(sem_timedwait(&semaphore, &until) == -1 && errno == ETIMEDOUT);
	check(sem_timedwait(&semaphore, &never) == -1 && errno == EINVAL);
	wait_until_asleep(waiter_start(&posted));
	check(sem_post(&semaphore) == 0);
	pthread_join(posted.thread, NULL);
	lock_fact("sem", &semaphore, (struct lock_counts){TIMES + 1, TIMES + 1, 0, 2, 3});
}

/* ---- forks --------------------------------------------------------------------------------------------- */

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER, at_fork = PTHREAD_MUTEX_INITIALIZER;

static void lock_at_fork(void)
{
	check(pthread_mutex_lock(&at_fork) == 0);
}

static void unlock_at_fork(void)
{
	check(pthread_mutex_unlock(&at_fork) == 0);
}

static void use_forks(void)
{
	int status;
	pthread_atfork(lock_at_fork, unlock_at_fork, unlock_at_fork);
	check(pthread_mutex_lock(&held) == 0);
	pid_t child = fork();
	if (child == 0) {
		int error = pthread_mutex_trylock(&held);
		error = error == EBUSY ? pthread_mutex_unlock(&held) : 1;
		error |= pthread_mutex_lock(&held) | pthread_mutex_unlock(&held);
		error |= pthread_mutex_lock(&at_fork) | pthread_mutex_unlock(&at_fork);
		_exit(error ? 1 : 7);
	}
	require(child > 0 && waitpid(child, &status, 0) == child);
	say("the child ends with %d", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
	check(pthread_mutex_unlock(&held) == 0);
	lock_fact("mutex", &held, (struct lock_counts){1, 1, 0, 0, 0});
	lock_fact("mutex", &at_fork, (struct lock_counts){1, 1, 0, 0, 0});
}

/* ---- handlers ------------------------------------------------------------------------------------------ */

static sem_t from_handler;
static atomic_long posts;

static void post(int signal)
{
	(void)signal;
	int error = errno;
	if (sem_post(&from_handler) == 0)
		atomic_fetch_add(&posts, 1);
	errno = error;
}

/* The handler comes between and inside other calls on locks of the same thread. */
static void use_handlers(void)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	struct itimerval often = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
	long taken = 0, pairs = 0;
	check(sem_init(&from_handler, 0, 0) == 0);
	signal(SIGALRM, post);
	setitimer(ITIMER_REAL, &often, NULL);
	while (atomic_load(&posts) < 1000) {
		check(pthread_mutex_lock(&mutex) == 0 && pthread_mutex_unlock(&mutex) == 0);
		pairs++;
	}
	setitimer(ITIMER_REAL, &never, NULL);
	signal(SIGALRM, SIG_IGN);
	while (sem_trywait(&from_handler) == 0)
		taken++;
	check(taken == atomic_load(&posts));
	lock_fact("mutex", &mutex, (struct lock_counts){pairs, pairs, 0, 0, 0});
	lock_fact("sem+shared", &from_handler, (struct lock_counts){taken, taken, 0, 0, 1});
}

int main(void)
{
	static pthread_mutex_t robust, robust_inherit;
	check_early();
	use_robust(PTHREAD_PRIO_NONE, &robust);
	use_robust(PTHREAD_PRIO_INHERIT, &robust_inherit);
	use_cancellation();
	use_waits();
	use_forks();
	use_handlers();
	say("done");
	return 0;
}
