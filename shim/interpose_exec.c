/*
 * exec: the trace of this program ends before, and the program that comes starts its own. An attempt that is
 * bound to fail (no such file) leaves the trace alone; one that fails all the same has it continued.
 */
#include "shim/hook.h"

#include <alloca.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "shim/raw.h"

#define EXEC_PATH_BYTES 4096

/* What the kernel starts by itself: an ELF file or a script that names its interpreter. Others fail with
 * ENOEXEC, and a shell then reads them itself. A file that may be executed but not read is taken for good. */
static bool has_known_format(int folder, const char *path)
{
	char magic[4] = {0};
	int fd = (int)raw4(SYS_openat, folder, (long)path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
	if (fd < 0)
		return true;
	raw_read(fd, magic, sizeof magic);
	raw_close(fd);
	return !memcmp(magic, "\177ELF", 4) || !memcmp(magic, "#!", 2);
}

static bool is_executable(int folder, const char *path)
{
	return path && raw3(SYS_faccessat, folder, (long)path, X_OK) == 0 && has_known_format(folder, path);
}

static const char *search_path(char *const environment[])
{
	for (; environment && *environment; environment++)
		if (!strncmp(*environment, "PATH=", 5))
			return *environment + 5;
	return "/bin:/usr/bin";
}

/* As execvp looks: along PATH where the name has no slash. */
static bool is_found(const char *file)
{
	char path[EXEC_PATH_BYTES];
	if (!file || strchr(file, '/'))
		return is_executable(AT_FDCWD, file);
	for (const char *folder = search_path(environ); folder; folder = strchr(folder, ':')) {
		folder += *folder == ':';
		int length = (int)strcspn(folder, ":");
		int used = snprintf(path, sizeof path, "%.*s/%s", length ? length : 1, length ? folder : ".",
				    file);
		if (used < (int)sizeof path && is_executable(AT_FDCWD, path))
			return true;
	}
	return false;
}

/* Returns whether a trace was ended. */
static bool exec_begin(bool will_start)
{
	if (!will_start || lifecycle_phase() != PHASE_RECORDING || lifecycle_is_forked_child())
		return false;
	struct thread *thread = thread_enter_region();
	if (thread)
		capture_event(thread, COUNTER_EVENTS_LIFE, &(struct trace_event){.kind = EVENT_EXEC});
	return lifecycle_finish(END_EXEC, 0);
}

static int exec_failed(bool finished)
{
	int error = errno;
	if (finished)
		lifecycle_resume();
	errno = error;
	return -1;
}

HOOK int execve(const char *path, char *const argv[], char *const environment[])
{
	hook_resolve();
	bool finished = exec_begin(is_executable(AT_FDCWD, path));
	real.execve(path, argv, environment);
	return exec_failed(finished);
}

HOOK int execv(const char *path, char *const argv[])
{
	return execve(path, argv, environ);
}

HOOK int execvp(const char *file, char *const argv[])
{
	hook_resolve();
	bool finished = exec_begin(is_found(file));
	real.execvp(file, argv);
	return exec_failed(finished);
}

HOOK int execvpe(const char *file, char *const argv[], char *const environment[])
{
	hook_resolve();
	bool finished = exec_begin(is_found(file));
	real.execvpe(file, argv, environment);
	return exec_failed(finished);
}

HOOK int fexecve(int fd, char *const argv[], char *const environment[])
{
	hook_resolve();
	bool finished = exec_begin(raw2(SYS_fcntl, fd, F_GETFD) >= 0);
	real.fexecve(fd, argv, environment);
	return exec_failed(finished);
}

HOOK int execveat(int folder, const char *path, char *const argv[], char *const environment[], int flags)
{
	hook_resolve();
	bool finished = exec_begin((flags & AT_EMPTY_PATH) || is_executable(folder, path));
	if (real.execveat)
		real.execveat(folder, path, argv, environment, flags);
	else
		real.syscall(SYS_execveat, folder, (long)path, (long)argv, (long)environment, flags, 0);
	return exec_failed(finished);
}

/* ---- the ones with a list of arguments
 * ----------------------------------------------------------------------------------- */

static size_t count_arguments(const char *first, va_list list)
{
	size_t count = 1;
	for (const char *at = first; at; at = va_arg(list, const char *))
		count++;
	return count;
}

/* Copies the list, NULL included, to `argv`; what follows it stays in `list`. */
static void take_arguments(char **argv, const char *first, va_list *list)
{
	const char *at = first;
	for (; at; at = va_arg(*list, const char *))
		*argv++ = (char *)at;
	*argv = NULL;
}

#define COLLECT_ARGUMENTS(argv, first, list)                                                                 \
	va_start(list, first);                                                                               \
	char **argv = alloca(count_arguments(first, list) * sizeof *argv);                                   \
	va_end(list);                                                                                        \
	va_start(list, first);                                                                               \
	take_arguments(argv, first, &list)

HOOK int execl(const char *path, const char *first, ...)
{
	va_list list;
	COLLECT_ARGUMENTS(argv, first, list);
	va_end(list);
	return execve(path, argv, environ);
}

HOOK int execlp(const char *file, const char *first, ...)
{
	va_list list;
	COLLECT_ARGUMENTS(argv, first, list);
	va_end(list);
	return execvp(file, argv);
}

HOOK int execle(const char *path, const char *first, ...)
{
	va_list list;
	COLLECT_ARGUMENTS(argv, first, list);
	char *const *environment = va_arg(list, char *const *);
	va_end(list);
	return execve(path, argv, environment);
}
