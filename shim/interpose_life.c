/*
 * Threads, forks, objects coming and going, and the ways out that pass by exit handlers. (exit and quick_exit
 * are seen through handlers: lifecycle.c.)
 */
#include "shim/hook.h"

#include <stdlib.h>

#include "shim/free_stack.h"
#include "shim/locks.h"
#include "shim/modules.h"
#include "shim/raw.h"
#include "shim/registry.h"
#include "shim/ring.h"
#include "shim/tcmalloc.h"
#include "shim/unwind.h"

/* ---- threads
 * -----------------------------------------------------------------------------------------------------------
 */

#define STARTS_MAX 1024u

/* What a new thread is to run, handed from its creator. Beyond STARTS_MAX threads in the making at once, a
 * thread starts without us and is attached at its first hook. */
struct thread_start {
	void *(*function)(void *);
	void *argument;
};

static struct thread_start starts[STARTS_MAX];
static _Atomic uint32_t starts_next[STARTS_MAX];
static struct free_stack free_starts = {.next = starts_next};
static _Atomic uint32_t starts_used;

static struct thread_start *take_start(void)
{
	uint32_t index;
	if (free_stack_take(&free_starts, &index))
		return &starts[index];
	if (atomic_load_explicit(&starts_used, memory_order_relaxed) >= STARTS_MAX)
		return NULL;
	index = atomic_fetch_add_explicit(&starts_used, 1, memory_order_relaxed);
	return index < STARTS_MAX ? &starts[index] : NULL;
}

static void give_start(struct thread_start *start)
{
	free_stack_give(&free_starts, (uint32_t)(start - starts));
}

static void *run_thread(void *argument)
{
	struct thread_start start = *(struct thread_start *)argument;
	give_start(argument);
	thread_attach_new();
	if (thread_self)
		locks_thread_begins(thread_self);
	else
		registry_thread_gone(); /* without a slot nobody would count it out */
	return start.function(start.argument);
}

HOOK int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *),
			void *argument)
{
	hook_resolve();
	struct thread_start *start = lifecycle_phase() == PHASE_RECORDING ? take_start() : NULL;
	if (!start)
		return real.pthread_create(thread, attributes, function, argument);
	*start = (struct thread_start){function, argument};
	registry_thread_created();
	int error = real.pthread_create(thread, attributes, run_thread, start);
	if (error) {
		give_start(start);
		registry_thread_gone();
	}
	return error;
}

/* ---- forks
 * -------------------------------------------------------------------------------------------------------------
 */

static pid_t fork_recorded(pid_t (*next)(void))
{
	bool detaching = lifecycle_is_detaching();
	modules_hold();
	tcmalloc_hold();
	pid_t child = next();
	if (child == 0) {
		modules_after_fork();
		tcmalloc_after_fork();
		lifecycle_after_fork(detaching);
		return 0;
	}
	modules_release();
	tcmalloc_release();
	struct thread *thread = thread_enter_region();
	if (thread)
		capture_event(
			thread, COUNTER_FORK,
			&(struct trace_event){.kind = EVENT_FORK, .result = child < 0 ? -errno : child});
	return child;
}

HOOK pid_t fork(void)
{
	hook_resolve();
	return fork_recorded(real.fork);
}

/* Since glibc 2.34; a guest that calls it has it. */
HOOK pid_t _Fork(void)
{
	hook_resolve();
	return fork_recorded(real._Fork);
}

HOOK pid_t setsid(void)
{
	hook_resolve();
	pid_t session = real.setsid();
	if (session >= 0)
		lifecycle_after_detach();
	return session;
}

/* The parent leaves inside daemon(), by a call of _exit that we do not see: its trace ends before. */
HOOK int daemon(int keep_directory, int keep_descriptors)
{
	hook_resolve();
	bool finished = lifecycle_finish(END_UNDERSCORE_EXIT, 0);
	int parent = raw_pid();
	int result = real.daemon(keep_directory, keep_descriptors);
	if (result == 0)
		lifecycle_after_detach();
	else if (finished && raw_pid() == parent)
		lifecycle_resume();
	return result;
}

/* ---- objects
 * -----------------------------------------------------------------------------------------------------------
 */

/* A jump, not a call: dlopen finds out by its return address who asks, and searches that object's own paths.
 */
HOOK void *dlopen(const char *file, int mode)
{
	hook_resolve();
	struct thread *thread = thread_enter_region();
	if (thread)
		capture_event(thread, COUNTER_DLOPEN,
			      &(struct trace_event){.kind = EVENT_DLOPEN, .args = {(uint64_t)mode}});
	modules_expect_change();
	return real.dlopen(file, mode);
}

/* The list is brought up to date while the object is still there. */
HOOK int dlclose(void *handle)
{
	hook_resolve();
	struct thread *thread = thread_enter_region();
	if (thread) {
		modules_refresh_if_due();
		capture_event(thread, COUNTER_EVENTS_LIFE, &(struct trace_event){.kind = EVENT_DLCLOSE});
	}
	int result = real.dlclose(handle);
	modules_expect_change();
	if (thread)
		unwind_forget();
	return result;
}

/* ---- ways out
 * ----------------------------------------------------------------------------------------------------------
 */

HOOK void _exit(int status)
{
	hook_resolve();
	lifecycle_finish(END_UNDERSCORE_EXIT, status);
	for (;;)
		raw1(SYS_exit_group, status);
}

HOOK void _Exit(int status)
{
	_exit(status);
}
