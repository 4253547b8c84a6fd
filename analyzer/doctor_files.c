#include "analyzer/doctor_files.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- opening ------------------------------------------------------------------------------------------- */

#define READ_FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

bool files_open(struct doctor_files *files, const char *root, pid_t pid)
{
	char path[64];
	*files = (struct doctor_files){.root = root, .pid = pid, .root_fd = -1, .guest_fd = -1};
	files->root_fd = open(*root ? root : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (files->root_fd < 0)
		return false;
	if (pid == 0)
		return true;
	snprintf(path, sizeof path, "proc/%d/root", (int)pid);
	files->guest_fd = openat(files->root_fd, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	files->guest_error = files->guest_fd < 0 ? errno : 0;
	return true;
}

void files_close(struct doctor_files *files)
{
	if (files->root_fd >= 0)
		close(files->root_fd);
	if (files->guest_fd >= 0)
		close(files->guest_fd);
}

bool files_shares_root(const struct doctor_files *files)
{
	struct stat own, guest;
	return files->guest_fd >= 0 && fstat(files->guest_fd, &guest) == 0 && stat("/", &own) == 0 &&
	       own.st_dev == guest.st_dev && own.st_ino == guest.st_ino;
}

int files_fd(const struct doctor_files *files, const char *path)
{
	return openat(files->root_fd, path, READ_FLAGS);
}

/* Linux before 5.6 has no openat2: links with an absolute target then lead to the reader's own files. */
int files_guest_fd(const struct doctor_files *files, const char *path)
{
	struct open_how how = {.flags = READ_FLAGS, .resolve = RESOLVE_IN_ROOT};
	while (*path == '/')
		path++;
	if (files->guest_fd < 0) {
		errno = files->guest_error ? files->guest_error : ENOENT;
		return -1;
	}
	long fd = syscall(SYS_openat2, files->guest_fd, path, &how, sizeof how);
	if (fd < 0 && errno == ENOSYS)
		fd = openat(files->guest_fd, path, READ_FLAGS);
	return (int)fd;
}

/* ---- reading ------------------------------------------------------------------------------------------- */

/* False with errno; files of /proc have no size, and may give less than was asked for. */
static bool fill(int fd, char **text, size_t *bytes)
{
	size_t room = 4096, used = 0;
	*text = malloc(room + 1);
	for (;;) {
		if (!*text)
			return false;
		ssize_t got = read(fd, *text + used, room - used);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return false;
		used += (size_t)got;
		if (got == 0 || used == FILES_TEXT_MAX_BYTES)
			break;
		if (used < room)
			continue;
		char *grown = realloc(*text, 2 * room + 1);
		if (!grown)
			return false;
		*text = grown;
		room *= 2;
	}
	(*text)[used] = '\0';
	*bytes = used;
	return true;
}

static char *read_all(int fd, size_t *bytes)
{
	char *text = NULL;
	size_t count;
	if (fd < 0)
		return NULL;
	bool good = fill(fd, &text, &count);
	int error = errno;
	close(fd);
	if (!good) {
		free(text);
		errno = error;
		return NULL;
	}
	if (bytes)
		*bytes = count;
	return text;
}

char *files_text(const struct doctor_files *files, const char *path, size_t *bytes)
{
	return read_all(files_fd(files, path), bytes);
}

char *files_guest_text(const struct doctor_files *files, const char *path, size_t *bytes)
{
	return read_all(files_guest_fd(files, path), bytes);
}

char *files_process_text(const struct doctor_files *files, const char *name, size_t *bytes)
{
	char path[96];
	snprintf(path, sizeof path, "proc/%d/%s", (int)files->pid, name);
	return files_text(files, path, bytes);
}

/* ---- facts --------------------------------------------------------------------------------------------- */

bool files_parse_number(const char *text, int64_t *number)
{
	char *end;
	errno = 0;
	long long value = strtoll(text, &end, 10);
	if (end == text || errno || end[strspn(end, " \t\n")])
		return false;
	*number = value;
	return true;
}

char *files_chosen(char *text)
{
	char *open = strchr(text, '['), *close = open ? strchr(open, ']') : NULL;
	if (!close)
		return NULL;
	*close = '\0';
	return open + 1;
}

const char *files_error_text(int error)
{
	if (error == EACCES || error == EPERM)
		return "permission denied: run doctor as root, or as the user of the process";
	return strerror(error);
}

static const char *place(char *text, size_t bytes, const char *path)
{
	snprintf(text, bytes, "/%s", path);
	return text;
}

void files_number(const struct doctor_files *files, struct facts *facts, enum fact_id id, const char *path)
{
	char from[160];
	int64_t number;
	char *text = files_text(files, path, NULL);
	if (!text)
		facts_unknown(facts, id, "/%s: %s", path, files_error_text(errno));
	else if (!files_parse_number(text, &number))
		facts_unknown(facts, id, "/%s holds no number", path);
	else
		facts_number(facts, id, number, place(from, sizeof from, path));
	free(text);
}

void files_choice(const struct doctor_files *files, struct facts *facts, enum fact_id id, const char *path)
{
	char from[160];
	char *text = files_text(files, path, NULL);
	const char *chosen = text ? files_chosen(text) : NULL;
	if (!text)
		facts_unknown(facts, id, "/%s: %s", path, files_error_text(errno));
	else if (!chosen)
		facts_unknown(facts, id, "/%s has no word in brackets", path);
	else
		facts_text(facts, id, chosen, place(from, sizeof from, path));
	free(text);
}
