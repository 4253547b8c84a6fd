/*
 * What a process can see of itself at start, in a second thread, and after much allocation: descriptors,
 * signals, limits, environment, children. None of it may change.
 */
#include "tests/host/guest.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>

enum { SIGNALS = 64, LOW_DESCRIPTORS = 64 };

extern char **environ;

static void show_environment(void)
{
	for (char **entry = environ; *entry; entry++)
		if (strncmp(*entry, "MTRACE_", 7) != 0 && strncmp(*entry, "LD_", 3) != 0 &&
		    strncmp(*entry, "GUEST_", 6) != 0)
			say("environment: %.200s", *entry);
}

static void show_descriptors(const char *when)
{
	char list[400] = "";
	for (int fd = 0; fd < LOW_DESCRIPTORS; fd++) {
		char one[8];
		snprintf(one, sizeof one, " %d", fd);
		if (fcntl(fd, F_GETFD) >= 0)
			strcat(list, one);
	}
	int next = open("/dev/null", O_RDONLY | O_CLOEXEC);
	say("%s: open%s, next %d", when, list, next);
	close(next);
}

static void show_mask(const char *when)
{
	sigset_t blocked, waiting;
	unsigned long long mask = 0, pending = 0;
	sigprocmask(SIG_BLOCK, NULL, &blocked);
	sigpending(&waiting);
	for (int i = 1; i <= SIGNALS; i++) {
		mask |= (unsigned long long)(sigismember(&blocked, i) == 1) << (i - 1);
		pending |= (unsigned long long)(sigismember(&waiting, i) == 1) << (i - 1);
	}
	say("%s: blocked %llx, pending %llx", when, mask, pending);
}

static void show_actions(void)
{
	for (int i = 1; i <= SIGNALS; i++) {
		struct sigaction action;
		if (sigaction(i, NULL, &action) == 0 &&
		    (action.sa_handler != SIG_DFL || action.sa_flags != 0))
			say("signal %d: %s, flags %x", i,
			    action.sa_handler == SIG_IGN ? "ignored" : "handled", (unsigned)action.sa_flags);
	}
}

static void show_limits(void)
{
	for (int i = 0; i < RLIM_NLIMITS; i++) {
		struct rlimit limit;
		if (getrlimit((__rlimit_resource_t)i, &limit) == 0)
			say("limit %d: %llx %llx", i, (unsigned long long)limit.rlim_cur,
			    (unsigned long long)limit.rlim_max);
	}
}

static void show_rest(const char *when)
{
	struct itimerval timer;
	stack_t stack;
	char name[17] = "", folder[PATH_MAX] = "";
	cpu_set_t cpus;
	mode_t mask = umask(0);
	umask(mask);
	sigaltstack(NULL, &stack);
	prctl(PR_GET_NAME, name);
	check(getcwd(folder, sizeof folder) != NULL);
	sched_getaffinity(0, sizeof cpus, &cpus);
	say("%s: umask %o, folder %s, name %s, dumpable %d, huge pages off %d, keeps capabilities %d", when,
	    mask, folder, name, prctl(PR_GET_DUMPABLE), prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0),
	    prctl(PR_GET_KEEPCAPS));
	say("%s: alternate stack %d, policy %d, nice %d, cpus %d, no new privileges %d", when, stack.ss_flags,
	    sched_getscheduler(0), getpriority(PRIO_PROCESS, 0), CPU_COUNT(&cpus),
	    prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
	for (int which = ITIMER_REAL; which <= ITIMER_PROF; which++) {
		getitimer((__itimer_which_t)which, &timer);
		check(timer.it_value.tv_sec == 0 && timer.it_value.tv_usec == 0);
	}
	errno = 0;
	check(waitpid(-1, NULL, WNOHANG | __WALL) == -1 && errno == ECHILD);
	check(getpgrp() == getpgid(0));
}

static void *look_from_thread(void *argument)
{
	show_mask("thread");
	show_rest("thread");
	return argument;
}

static void allocate(void)
{
	for (int i = 0; i < 200000; i++) {
		char *p = malloc((size_t)(1 + i % 5000));
		require(p);
		*p = 1;
		free(p);
	}
}

__attribute__((constructor)) static void before_main(void)
{
	show_mask("constructor");
	show_descriptors("constructor");
	show_actions();
}

int main(int argc, char **argv)
{
	say("errno %d, %d arguments, %s", errno, argc, strrchr(argv[0], '/') + 1);
	show_environment();
	show_descriptors("start");
	show_mask("start");
	show_actions();
	show_limits();
	show_rest("start");
	pthread_t thread;
	require(pthread_create(&thread, NULL, look_from_thread, NULL) == 0);
	pthread_join(thread, NULL);
	allocate();
	show_descriptors("end");
	show_mask("end");
	show_actions();
	show_rest("end");
	return 0;
}
