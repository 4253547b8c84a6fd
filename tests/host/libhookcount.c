/*
 * Counts what gperftools inside the program reports through its exported hooks, and writes the totals to the
 * file that HOOK_COUNTS names, at exit: a second account of the same run. To be preloaded before the shim, so
 * that its constructor comes after the shim's.
 */
#include "tests/host/guest.h"

#include <dlfcn.h>
#include <stdatomic.h>

static _Atomic unsigned long taken, given;

static void on_new(const void *block, size_t bytes)
{
	(void)bytes;
	taken += block != NULL;
}

static void on_delete(const void *block)
{
	given += block != NULL;
}

static void write_counts(void)
{
	char text[128];
	const char *path = getenv("HOOK_COUNTS");
	int fd = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644) : -1;
	int bytes = snprintf(text, sizeof text, "{\"taken\": %lu, \"given\": %lu}\n", taken, given);
	if (fd < 0)
		return;
	guest_write(fd, text, (size_t)bytes);
	close(fd);
}

__attribute__((constructor)) static void start(void)
{
	int (*add_new)(void (*)(const void *, size_t));
	int (*add_delete)(void (*)(const void *));
	*(void **)&add_new = dlsym(RTLD_DEFAULT, "MallocHook_AddNewHook");
	*(void **)&add_delete = dlsym(RTLD_DEFAULT, "MallocHook_AddDeleteHook");
	if (!add_new || !add_delete || !add_new(on_new) || !add_delete(on_delete))
		return;
	atexit(write_counts);
}
