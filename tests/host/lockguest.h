/*
 * What the guests that lock share: contention that is forced, and facts about single locks for the trace.
 *
 * A fact is a line in the file named by GUEST_COUNTS with .locks behind it: kind, address, then acquired,
 * released, shared, contended, failed; ANY where the run does not determine it.
 */
#ifndef TESTS_HOST_LOCKGUEST_H
#define TESTS_HOST_LOCKGUEST_H

#include "tests/host/guest.h"

#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>

#define ANY (-1)

struct lock_counts {
	long acquired, released, shared, contended, failed;
};

static inline void lock_fact(const char *kind, const volatile void *lock, struct lock_counts counts)
{
	const char *base = getenv("GUEST_COUNTS");
	if (!base)
		return;
	char path[PATH_MAX], line[256];
	snprintf(path, sizeof path, "%s.locks", base);
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (fd < 0)
		return;
	int n = snprintf(line, sizeof line, "%s %lu %ld %ld %ld %ld %ld\n", kind,
			 (unsigned long)(uintptr_t)lock, counts.acquired, counts.released, counts.shared,
			 counts.contended, counts.failed);
	guest_write(fd, line, (size_t)n);
	close(fd);
}

/* The thread's state letter, and the ticks that it has run; from /proc. */
static inline char thread_state(pid_t tid, unsigned long *ticks)
{
	char path[64], text[512];
	snprintf(path, sizeof path, "/proc/self/task/%d/stat", tid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	require(fd >= 0);
	ssize_t n = read(fd, text, sizeof text - 1);
	close(fd);
	require(n > 0);
	text[n] = '\0';
	char *field = strrchr(text, ')') + 2, state = *field;
	for (int i = 3; i < 14; i++)
		field = strchr(field, ' ') + 1;
	*ticks = strtoul(field, NULL, 10);
	return state;
}

/* Until the thread sleeps: in the call that it announced. */
static inline void wait_until_asleep(pid_t tid)
{
	unsigned long ticks;
	while (thread_state(tid, &ticks) != 'S')
		sched_yield();
}

/* Until it has spun for some time. */
static inline void wait_until_busy(pid_t tid)
{
	unsigned long start, ticks;
	thread_state(tid, &start);
	do {
		sched_yield();
		thread_state(tid, &ticks);
	} while (ticks < start + 3);
}

struct waiter {
	int (*lock)(void *), (*unlock)(void *);
	void *object;
	pid_t tid; /* 0: not running yet */
	pthread_t thread;
};

static inline void *waiter_main(void *argument)
{
	struct waiter *waiter = (struct waiter *)argument;
	__atomic_store_n(&waiter->tid, (pid_t)syscall(SYS_gettid), __ATOMIC_SEQ_CST);
	check(waiter->lock(waiter->object) == 0);
	if (waiter->unlock)
		check(waiter->unlock(waiter->object) == 0);
	return NULL;
}

/* A thread that is about to lock; returns its kernel id. */
static inline pid_t waiter_start(struct waiter *waiter)
{
	require(pthread_create(&waiter->thread, NULL, waiter_main, waiter) == 0);
	while (!__atomic_load_n(&waiter->tid, __ATOMIC_SEQ_CST))
		sched_yield();
	return waiter->tid;
}

/* One acquisition that has to wait: 2 acquired, 2 released, 1 contended. */
static inline void contend(int (*lock)(void *), int (*unlock)(void *), void *object, bool spins)
{
	struct waiter waiter = {lock, unlock, object, 0, 0};
	check(lock(object) == 0);
	pid_t tid = waiter_start(&waiter);
	if (spins)
		wait_until_busy(tid);
	else
		wait_until_asleep(tid);
	check(unlock(object) == 0);
	pthread_join(waiter.thread, NULL);
}

static inline struct timespec in_ms(clockid_t clock, long ms)
{
	struct timespec at;
	clock_gettime(clock, &at);
	at.tv_nsec += ms * 1000000;
	at.tv_sec += at.tv_nsec / 1000000000;
	at.tv_nsec %= 1000000000;
	return at;
}

/* What `call` returns in a thread of its own. */
struct elsewhere {
	int (*call)(void *);
	void *object;
	int result;
};

static inline void *elsewhere_main(void *argument)
{
	struct elsewhere *elsewhere = (struct elsewhere *)argument;
	elsewhere->result = elsewhere->call(elsewhere->object);
	return NULL;
}

static inline int in_thread(int (*call)(void *), void *object)
{
	struct elsewhere elsewhere = {call, object, -1};
	pthread_t thread;
	require(pthread_create(&thread, NULL, elsewhere_main, &elsewhere) == 0);
	pthread_join(thread, NULL);
	return elsewhere.result;
}

#endif
