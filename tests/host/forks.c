/*
 * Every way to a new process. The children allocate 20,000 times, the parent little: its trace must not show
 * theirs. Usage: forks MODE; `forks leaf` is what is executed.
 */
#include "tests/host/guest.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

enum { CHILD_ALLOCS = 20000, PARENT_ALLOCS = 100 };

extern char **environ;
static char self[PATH_MAX];

static void allocate(int times)
{
	for (int i = 0; i < times; i++) {
		char *p = malloc((size_t)(1 + i % 300));
		if (!p)
			_exit(98);
		*p = 1;
		free(p);
	}
}

static void expect_exit(pid_t child, int wanted)
{
	int status;
	require(child > 0);
	require(waitpid(child, &status, 0) == child);
	check(WIFEXITED(status) && WEXITSTATUS(status) == wanted);
}

static void run_fork(void)
{
	for (int i = 0; i < 50; i++) {
		pid_t child = fork();
		if (child == 0) {
			allocate(CHILD_ALLOCS / 10);
			if (i % 2)
				exit(7);
			_exit(7);
		}
		expect_exit(child, 7);
	}
	pid_t child = fork();
	if (child == 0) {
		expect_exit(fork() ?: (allocate(CHILD_ALLOCS), _exit(3), 0), 3);
		_exit(4);
	}
	expect_exit(child, 4);
}

static atomic_bool is_over;

static void *keep_allocating(void *counter)
{
	unsigned long *done = counter;
	const struct timespec breath = {0, 50000};
	while (!atomic_load(&is_over)) {
		allocate(100);
		*done += 100;
		nanosleep(&breath, NULL);
	}
	return NULL;
}

/* glibc lets a child of a program with threads allocate; so must a preloaded object. */
static void run_threaded(void)
{
	unsigned long done[2] = {0, 0};
	pthread_t threads[2];
	for (int i = 0; i < 2; i++)
		require(pthread_create(&threads[i], NULL, keep_allocating, &done[i]) == 0);
	for (int i = 0; i < 200; i++) {
		pid_t child = fork();
		if (child == 0) {
			allocate(200);
			_exit(5);
		}
		expect_exit(child, 5);
	}
	atomic_store(&is_over, true);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	guest_count("allocs", done[0] + done[1], done[0] + done[1] + PARENT_ALLOCS + 64);
}

static void run_fork_exec(void)
{
	pid_t child = fork();
	if (child == 0) {
		allocate(10);
		execl(self, self, "leaf", (char *)NULL);
		_exit(96);
	}
	expect_exit(child, 11);
}

static void run_vfork_exec(void)
{
	for (volatile int i = 0; i < 20; i++) {
		pid_t child = vfork();
		if (child == 0) {
			execl(self, self, "leaf", (char *)NULL);
			_exit(96);
		}
		expect_exit(child, 11);
		allocate(2);
	}
}

/* Also a failing exec in the child, which shares all memory, thread-local state too, with its parent. */
static void run_vfork_exit(void)
{
	for (volatile int i = 0; i < 100; i++) {
		pid_t child = vfork();
		if (child == 0) {
			if (i % 2)
				execl("/nonexistent/program", "program", (char *)NULL);
			_exit(9);
		}
		expect_exit(child, 9);
		allocate(2);
	}
}

static void run_spawn(void)
{
	char *arguments[] = {self, (char *)"leaf", NULL};
	pid_t child;
	for (int i = 0; i < 10; i++) {
		require(posix_spawn(&child, self, NULL, NULL, arguments, environ) == 0);
		expect_exit(child, 11);
	}
	posix_spawn_file_actions_t actions;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 5, "/dev/null", O_RDONLY, 0);
	char *shell[] = {(char *)"sh", (char *)"-c", (char *)"exit 12", NULL};
	require(posix_spawnp(&child, "sh", &actions, NULL, shell, environ) == 0);
	expect_exit(child, 12);
	posix_spawn_file_actions_destroy(&actions);
	check(posix_spawn(&child, "/nonexistent/program", NULL, NULL, arguments, environ) == ENOENT);
}

static void run_system(void)
{
	int status = system("exit 13");
	check(WIFEXITED(status) && WEXITSTATUS(status) == 13);
	char command[PATH_MAX + 16];
	snprintf(command, sizeof command, "%s leaf; echo from the shell: $?", self);
	check(system(command) == 0);
}

static void run_popen(void)
{
	char line[100] = "";
	FILE *pipe = popen("echo through a pipe; exit 3", "r");
	require(pipe);
	check(fgets(line, sizeof line, pipe) && strcmp(line, "through a pipe\n") == 0);
	int status = pclose(pipe);
	check(WIFEXITED(status) && WEXITSTATUS(status) == 3);
}

/* A fork that no handler of pthread_atfork hears of. */
static void run_rawclone(void)
{
	for (int i = 0; i < 20; i++) {
		pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
		if (child == 0) {
			allocate(CHILD_ALLOCS / 10);
			syscall(SYS_exit_group, 6);
		}
		allocate(2);
		expect_exit(child, 6);
	}
	pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (child == 0) {
		allocate(CHILD_ALLOCS);
		exit(8); /* handlers of the parent's image run: they must leave the parent's trace alone */
	}
	expect_exit(child, 8);
	allocate(PARENT_ALLOCS);
}

static int cloned(void *argument)
{
	allocate(10);
	*(int *)argument = 1;
	return 14;
}

/* The child lives in the parent's memory, as that of posix_spawn does. */
static void run_clone_vm(void)
{
	static _Alignas(16) char stack[128 * 1024];
	for (int i = 0; i < 50; i++) {
		int is_done = 0;
		pid_t child = clone(cloned, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, &is_done);
		expect_exit(child, 14);
		check(is_done);
	}
}

/* An exec that fails must leave everything as it was: what comes after it is in the trace. */
static void run_execfail(void)
{
	char *arguments[] = {(char *)"program", NULL};
	check(execv("/nonexistent/program", arguments) == -1 && errno == ENOENT);
	check(execvp("no-such-program-anywhere", arguments) == -1 && errno == ENOENT);
	check(execve("/", arguments, environ) == -1 && errno == EACCES);
	check(execl("/nonexistent", "x", (char *)NULL) == -1 && errno == ENOENT);
	allocate(5000);
	guest_count("allocs", 5000 + PARENT_ALLOCS, 5000 + PARENT_ALLOCS + 64);
}

/* ---- exec that fails late: the kernel refuses what no look at the file could have told --------------- */

static volatile bool stop_allocating;
static unsigned long worker_allocs;

static void *allocate_until_told(void *argument)
{
	while (!stop_allocating) {
		free(malloc(100));
		worker_allocs++;
	}
	return argument;
}

static void fail_late(void)
{
	size_t too_long = 256 << 10; /* the kernel takes 128 KiB an argument */
	char *text = malloc(too_long);
	char *arguments[] = {self, text, NULL};
	require(text);
	memset(text, 'x', too_long - 1);
	text[too_long - 1] = 0;
	check(execv(self, arguments) == -1 && errno == E2BIG);
	free(text);
}

static void fail_without_interpreter_rights(void)
{
	char *arguments[] = {(char *)"script", NULL};
	int fd = open("script", O_WRONLY | O_CREAT | O_TRUNC, 0700);
	require(fd >= 0 && write(fd, "#!/etc/passwd\n", 14) == 14);
	close(fd);
	check(execv("./script", arguments) == -1 && errno == EACCES);
	unlink("script");
}

/* Kills itself afterwards where told so: what came after the failures is in the trace all the same. */
static void run_exec_late(void)
{
	pthread_t thread;
	require(pthread_create(&thread, NULL, allocate_until_told, NULL) == 0);
	for (int i = 0; i < 20; i++) {
		fail_late();
		fail_without_interpreter_rights();
		allocate(250);
	}
	stop_allocating = true;
	pthread_join(thread, NULL);
	/* A call of another thread that is under way when an exec is tried may go uncounted: one for each
	 * of 40. */
	unsigned long long mine = 5000 + PARENT_ALLOCS + 20 + worker_allocs;
	guest_count("allocs", mine - 40, mine + 64);
}

static void run_exec_late_killed(void)
{
	run_exec_late();
	kill(getpid(), SIGKILL);
}

static void run_exec(void)
{
	execl(self, self, "leaf", (char *)NULL);
	_exit(96);
}

static void *execute_leaf(void *argument)
{
	run_exec();
	return argument;
}

static void run_exec_thread(void)
{
	pthread_t thread;
	require(pthread_create(&thread, NULL, execute_leaf, NULL) == 0);
	pthread_join(thread, NULL);
}

static void run_exec_bare(void)
{
	char *arguments[] = {self, (char *)"leaf", NULL};
	char *nothing[] = {NULL};
	execve(self, arguments, nothing);
	_exit(96);
}

static int run_leaf(void)
{
	allocate(CHILD_ALLOCS);
	say("leaf");
	return 11;
}

static const struct {
	const char *name;
	void (*run)(void);
	bool counts_itself;
} modes[] = {
	{"fork", run_fork, false},
	{"threaded", run_threaded, true},
	{"fork-exec", run_fork_exec, false},
	{"vfork-exec", run_vfork_exec, false},
	{"vfork-exit", run_vfork_exit, false},
	{"spawn", run_spawn, false},
	{"system", run_system, false},
	{"popen", run_popen, false},
	{"rawclone", run_rawclone, false},
	{"clone-vm", run_clone_vm, true},
	{"execfail", run_execfail, true},
	{"exec-late", run_exec_late, true},
	{"exec-late-killed", run_exec_late_killed, true},
	{"exec", run_exec, true},
	{"exec-thread", run_exec_thread, true},
	{"exec-bare", run_exec_bare, true},
};

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	if (strcmp(mode, "leaf") == 0)
		return run_leaf();
	ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
	require(length > 0);
	for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
		if (strcmp(mode, modes[i].name) != 0)
			continue;
		allocate(PARENT_ALLOCS);
		modes[i].run();
		if (!modes[i].counts_itself)
			guest_count("allocs", PARENT_ALLOCS, 4 * PARENT_ALLOCS);
		say("%s is back", mode);
		return 0;
	}
	say("no mode %s", mode);
	return 99;
}
