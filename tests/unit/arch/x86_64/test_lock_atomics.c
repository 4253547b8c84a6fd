/*
 * The table of locks_exposure.h against the C library of this machine: each call is single-stepped in a
 * process with two threads, and its locked instructions are counted.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "analyzer/locks_exposure.h"

#define BREAKPOINT 0xcc

enum call {
	MUTEX_LOCK,
	MUTEX_UNLOCK,
	READ_LOCK,
	READ_UNLOCK,
	WRITE_LOCK, /* and unlock: one operation of each */
	SPIN_LOCK,
	SPIN_UNLOCK,
	SEM_WAIT,
	SEM_TRY_EMPTY,
	SEM_POST,
	COND_NOBODY,
	COND_TIMED_OUT,
	BARRIER,
	CALLS,
};

/* `exactly`: the plain ways have been the same in all versions; the others have grown cheaper since. */
static const struct {
	const char *name;
	unsigned kind;
	struct lock_sums sums;
	bool exactly;
} calls[CALLS] = {
	[MUTEX_LOCK] = {"mutex, lock", LOCK_MUTEX, {.acquired = 1}, true},
	[MUTEX_UNLOCK] = {"mutex, unlock", LOCK_MUTEX, {.released = 1}, true},
	[READ_LOCK] = {"rwlock, for reading", LOCK_RWLOCK, {.acquired = 1, .shared = 1}, true},
	[READ_UNLOCK] = {"rwlock, unlock", LOCK_RWLOCK, {.released = 1}, true},
	[WRITE_LOCK] = {"rwlock, for writing", LOCK_RWLOCK, {.acquired = 1, .released = 1}, true},
	[SPIN_LOCK] = {"spin lock", LOCK_SPIN, {.acquired = 1}, true},
	[SPIN_UNLOCK] = {"spin lock, unlock", LOCK_SPIN, {.released = 1}, true},
	[SEM_WAIT] = {"semaphore, wait", LOCK_SEM, {.acquired = 1}, true},
	[SEM_TRY_EMPTY] = {"semaphore, none left", LOCK_SEM, {.failed = 1}, true},
	[SEM_POST] = {"semaphore, post", LOCK_SEM, {.released = 1}, true},
	[COND_NOBODY] = {"condition, nobody waits", LOCK_COND, {.released = 1}, true},
	[COND_TIMED_OUT] = {"condition, timed out", LOCK_COND, {.failed = 1}, false},
	[BARRIER] = {"barrier, the last one", LOCK_BARRIER, {.acquired = 1}, false},
};

/* ---- the process that makes the calls ------------------------------------------------------------------ */

static volatile int *current; /* shared with the test */

#define STEP(which, made)                                                                                    \
	do {                                                                                                 \
		*current = (which);                                                                          \
		__asm__ volatile("int3" ::: "memory");                                                       \
		made;                                                                                        \
		__asm__ volatile("int3" ::: "memory");                                                       \
	} while (0)

static void *sleeper(void *argument)
{
	for (;;)
		pause();
	return argument;
}

struct locked {
	pthread_mutex_t mutex;
	pthread_rwlock_t readers, writers;
	pthread_spinlock_t spin;
	sem_t semaphore;
	pthread_cond_t condition;
	pthread_barrier_t barrier;
};

static void write_pair(pthread_rwlock_t *lock)
{
	pthread_rwlock_wrlock(lock);
	pthread_rwlock_unlock(lock);
}

static void make_calls(struct locked *locks)
{
	const struct timespec past = {.tv_nsec = 1};
	STEP(MUTEX_LOCK, pthread_mutex_lock(&locks->mutex));
	STEP(COND_TIMED_OUT, pthread_cond_timedwait(&locks->condition, &locks->mutex, &past));
	STEP(MUTEX_UNLOCK, pthread_mutex_unlock(&locks->mutex));
	STEP(READ_LOCK, pthread_rwlock_rdlock(&locks->readers));
	STEP(READ_UNLOCK, pthread_rwlock_unlock(&locks->readers));
	STEP(WRITE_LOCK, write_pair(&locks->writers));
	STEP(SPIN_LOCK, pthread_spin_lock(&locks->spin));
	STEP(SPIN_UNLOCK, pthread_spin_unlock(&locks->spin));
	STEP(SEM_WAIT, sem_wait(&locks->semaphore));
	STEP(SEM_TRY_EMPTY, sem_trywait(&locks->semaphore));
	STEP(SEM_POST, sem_post(&locks->semaphore));
	STEP(COND_NOBODY, pthread_cond_signal(&locks->condition));
	STEP(BARRIER, pthread_barrier_wait(&locks->barrier));
}

/* Twice: names are looked up the first time, and a rwlock begins with its readers. */
static _Noreturn void guest(void)
{
	static struct locked locks = {.mutex = PTHREAD_MUTEX_INITIALIZER,
				      .readers = PTHREAD_RWLOCK_INITIALIZER,
				      .writers = PTHREAD_RWLOCK_INITIALIZER,
				      .condition = PTHREAD_COND_INITIALIZER};
	pthread_t other;
	if (pthread_create(&other, NULL, sleeper, NULL) || pthread_spin_init(&locks.spin, 0) ||
	    sem_init(&locks.semaphore, 0, 1) || pthread_barrier_init(&locks.barrier, NULL, 1) ||
	    ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		_exit(1);
	raise(SIGSTOP);
	make_calls(&locks);
	make_calls(&locks);
	_exit(0);
}

/* ---- the one that counts ------------------------------------------------------------------------------- */

static void peek(pid_t pid, uint64_t address, uint8_t bytes[16])
{
	for (unsigned i = 0; i < 2; i++) {
		long word = ptrace(PTRACE_PEEKTEXT, pid, (void *)(uintptr_t)(address + 8 * i), NULL);
		memcpy(bytes + 8 * i, &word, sizeof word);
	}
}

static bool is_prefix(uint8_t byte)
{
	return byte == 0x66 || byte == 0xf2 || byte == 0xf3 || byte == 0x64 || (byte & 0xf0) == 0x40;
}

/* A lock prefix, or XCHG with memory, which needs none. */
static bool is_atomic(const uint8_t bytes[16])
{
	unsigned at = 0;
	while (at < 8 && is_prefix(bytes[at]))
		at++;
	return bytes[at] == 0xf0 || ((bytes[at] | 1) == 0x87 && bytes[at + 1] >> 6 != 3);
}

static bool step(pid_t pid)
{
	int status;
	return ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) == 0 && waitpid(pid, &status, 0) == pid &&
	       WIFSTOPPED(status);
}

/* From behind one breakpoint to the next, over which it goes; -1 where the process is gone. */
static int count_call(pid_t pid)
{
	for (int count = 0;;) {
		struct user_regs_struct registers;
		uint8_t bytes[16];
		if (ptrace(PTRACE_GETREGS, pid, NULL, &registers))
			return -1;
		peek(pid, registers.rip, bytes);
		count += is_atomic(bytes);
		if (!step(pid))
			return -1;
		if (bytes[0] == BREAKPOINT)
			return count;
	}
}

/* False where this process may trace none. */
static bool count_all(int counts[CALLS])
{
	int status;
	pid_t pid = fork();
	if (pid == 0)
		guest();
	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		return false;
	while (ptrace(PTRACE_CONT, pid, NULL, NULL) == 0 && waitpid(pid, &status, 0) == pid &&
	       WIFSTOPPED(status)) {
		cr_assert_eq(WSTOPSIG(status), SIGTRAP);
		counts[*current] = count_call(pid);
	}
	cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	return true;
}

Test(lock_atomics, calls_take_what_the_table_says)
{
	int counts[CALLS];
	memset(counts, 0xff, sizeof counts);
	current = mmap(NULL, sizeof *current, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	cr_assert_neq(current, MAP_FAILED);
	if (!count_all(counts))
		cr_skip_test("this process may not trace another");
	for (int i = 0; i < CALLS; i++) {
		double table = lock_atomics(calls[i].kind, &calls[i].sums);
		cr_assert(counts[i] >= 0 && (calls[i].exactly ? counts[i] == table : counts[i] <= table),
			  "%s: %d instructions, %.0f in the table", calls[i].name, counts[i], table);
	}
}
