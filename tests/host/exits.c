/* Every way to end; each guest first makes 1,000 allocations on two threads. Usage: exits HOW */
#include "tests/host/guest.h"

#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>

enum { ALLOCS = 1000 };

static char *leftover;

static void allocate(int times)
{
	for (int i = 0; i < times; i++) {
		char *p = malloc((size_t)(1 + i % 300));
		require(p);
		*p = 1;
		free(p);
	}
}

static void at_exit_first(void)
{
	allocate(100);
	free(leftover);
	say("first handler");
}

static void at_exit_second(void)
{
	leftover = malloc(12345);
	say("second handler");
}

__attribute__((destructor)) static void destruct(void)
{
	allocate(100);
	say("destructor");
}

static void *do_work(void *argument)
{
	allocate(ALLOCS / 2);
	return argument;
}

static void *do_exit(void *argument)
{
	allocate(10);
	exit(*(int *)argument);
}

static void *do_underscore_exit(void *argument)
{
	_exit(*(int *)argument);
}

static void *outlive_main(void *main_thread)
{
	pthread_join(*(pthread_t *)main_thread, NULL);
	allocate(ALLOCS);
	guest_count("allocs", 2 * ALLOCS, 2 * ALLOCS + 211 + 64); /* and 201 of handlers and destructor */
	say("main is gone");
	return NULL;
}

static void *idle(void *argument)
{
	for (;;)
		pause();
	return argument;
}

static void in_thread(void *(*function)(void *), void *argument)
{
	pthread_t thread;
	require(pthread_create(&thread, NULL, function, argument) == 0);
	pthread_join(thread, NULL);
}

static void end_by_signal(int number)
{
	signal(number, SIG_DFL);
	raise(number);
}

static void end_main_alone(void)
{
	static pthread_t self;
	pthread_t thread;
	self = pthread_self();
	require(pthread_create(&thread, NULL, outlive_main, &self) == 0);
	pthread_exit(NULL);
}

static void end(const char *how)
{
	static int status = 21;
	pthread_t thread;
	if (strcmp(how, "exit") == 0)
		exit(status);
	if (strcmp(how, "_exit") == 0)
		_exit(status);
	if (strcmp(how, "_Exit") == 0)
		_Exit(status);
	if (strcmp(how, "quick_exit") == 0)
		quick_exit(status);
	if (strcmp(how, "syscall") == 0)
		syscall(SYS_exit_group, status);
	if (strcmp(how, "thread-exit") == 0)
		in_thread(do_exit, &status);
	if (strcmp(how, "thread-_exit") == 0)
		in_thread(do_underscore_exit, &status);
	if (strcmp(how, "pthread_exit") == 0)
		end_main_alone();
	if (strcmp(how, "threads-idle") == 0)
		require(pthread_create(&thread, NULL, idle, NULL) == 0);
	if (strcmp(how, "abort") == 0)
		abort();
	if (strcmp(how, "segv") == 0)
		*(volatile int *)(uintptr_t)8 = 1;
	if (strcmp(how, "kill") == 0)
		end_by_signal(SIGKILL);
	if (strcmp(how, "term") == 0)
		end_by_signal(SIGTERM);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "return";
	require(atexit(at_exit_first) == 0 && atexit(at_exit_second) == 0);
	require(at_quick_exit(at_exit_first) == 0 && at_quick_exit(at_exit_second) == 0);
	allocate(ALLOCS / 2);
	in_thread(do_work, NULL);
	if (strcmp(how, "pthread_exit") != 0)
		guest_count("allocs", ALLOCS, ALLOCS + 211 + 64);
	say("ends by %s", how);
	end(how);
	return 22;
}
