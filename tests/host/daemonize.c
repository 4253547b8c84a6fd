/*
 * Programs that detach themselves; what is left says so on standard output, which the runner reads to its
 * end. call      daemon(3) session   fork, setsid, work double    fork, setsid, fork, as `mongod --fork` does
 * it closing   double, and all descriptors but the first three closed
 */
#include "tests/host/guest.h"

#include <signal.h>
#include <sys/wait.h>

enum { DAEMON_ALLOCS = 30000, BEFORE_ALLOCS = 300, TIME_LIMIT_S = 60 };

static void allocate(int times)
{
	for (int i = 0; i < times; i++) {
		char *p = malloc((size_t)(1 + i % 300));
		require(p);
		*p = 1;
		free(p);
	}
}

/* The child goes on; the parent waits for it where it is one in between, and ends. */
static void fork_and_leave(bool waits)
{
	pid_t child = fork();
	require(child >= 0);
	if (child == 0)
		return;
	int status = 0;
	if (waits)
		waitpid(child, &status, 0);
	_exit(WEXITSTATUS(status));
}

static void close_all(void)
{
	for (int fd = 3; fd < 1024; fd++)
		close(fd);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "call";
	allocate(BEFORE_ALLOCS);
	if (strcmp(mode, "call") == 0) {
		require(daemon(0, 1) == 0);
	} else {
		fork_and_leave(strcmp(mode, "session") != 0);
		require(chdir("/") == 0);
		require(setsid() >= 0);
		if (strcmp(mode, "session") != 0)
			fork_and_leave(false);
	}
	alarm(TIME_LIMIT_S);
	if (strcmp(mode, "closing") == 0)
		close_all();
	allocate(DAEMON_ALLOCS);
	say("%s: the daemon has worked", mode);
	return 0;
}
