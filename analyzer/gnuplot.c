#include "analyzer/gnuplot.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int spawn(const char *program, const char *directory, const char *script, int output, pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	char *const argv[] = {(char *)program, "-d", (char *)script, NULL};
	int failed = posix_spawn_file_actions_init(&actions);
	if (failed)
		return failed;
	failed = posix_spawn_file_actions_addchdir_np(&actions, directory);
	if (!failed)
		failed = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	if (!failed)
		failed = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
	if (!failed)
		failed = posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
	if (!failed)
		failed = posix_spawnp(pid, program, &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return failed;
}

/* The first line with a letter or digit in it: gnuplot points at the place with lines of blanks and '^'. */
static void first_line(FILE *output, char *message, size_t message_bytes)
{
	char line[512];
	while (fgets(line, sizeof line, output)) {
		char *start = line + strspn(line, " \t^");
		start[strcspn(start, "\r\n")] = 0;
		if (*start) {
			snprintf(message, message_bytes, "%s", start);
			return;
		}
	}
}

static int wait_for(pid_t pid)
{
	int status;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return status;
}

enum gnuplot_result gnuplot_run(const char *program, const char *directory, const char *script, char *message,
				size_t message_bytes)
{
	pid_t pid;
	snprintf(message, message_bytes, "no temporary file for its messages: %s", strerror(errno));
	FILE *output = tmpfile();
	if (!output)
		return GNUPLOT_FAILED;
	int failed = spawn(program, directory, script, fileno(output), &pid);
	enum gnuplot_result result = GNUPLOT_DONE;
	if (failed) {
		snprintf(message, message_bytes, "%s", strerror(failed));
		result = failed == ENOENT ? GNUPLOT_MISSING : GNUPLOT_FAILED;
	} else {
		int status = wait_for(pid);
		if (status != 0) {
			snprintf(message, message_bytes, "ended with status %d", status);
			rewind(output);
			first_line(output, message, message_bytes);
			result = GNUPLOT_FAILED;
		}
	}
	fclose(output);
	return result;
}
