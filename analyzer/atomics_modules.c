/* The files of a process, and of a trace. */
#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "analyzer/array.h"
#include "analyzer/atomics_files.h"
#include "analyzer/openfile.h"
#include "analyzer/reader.h"

#define HWCAP_BIT_ATOMICS 8 /* Linux, arch/arm64: HWCAP_ATOMICS */

/* ---- a process ----------------------------------------------------------------------------------------- */

struct place {
	uint64_t start, end, inode;
	unsigned major, minor;
	const char *path; /* "" where the mapping has none */
};

/* Steps over a number and the character behind it. */
static uint64_t take_number(char **at, int base)
{
	uint64_t value = strtoull(*at, at, base);
	if (**at)
		++*at;
	return value;
}

/*
 * Whether a line of /proc/PID/maps, "start-end rwxp offset major:minor inode   path" (proc_pid_maps(5)), is
 * an executable mapping. The line loses its newline.
 */
static bool parse_place(char *line, struct place *place)
{
	char *at = line;
	line[strcspn(line, "\n")] = '\0';
	place->start = take_number(&at, 16);
	place->end = take_number(&at, 16);
	if (strlen(at) < 5 || at[2] != 'x')
		return false;
	at += 5;
	take_number(&at, 16);
	place->major = (unsigned)take_number(&at, 16);
	place->minor = (unsigned)take_number(&at, 16);
	place->inode = take_number(&at, 10);
	place->path = at + strspn(at, " ");
	return true;
}

struct seen_files {
	struct seen_file {
		uint64_t inode;
		unsigned major, minor;
	} * items;
	size_t count, capacity;
};

static bool seen_before(struct seen_files *seen, const struct place *place)
{
	for (size_t i = 0; i < seen->count; i++)
		if (seen->items[i].inode == place->inode && seen->items[i].major == place->major &&
		    seen->items[i].minor == place->minor)
			return true;
	if (array_reserve(&seen->items, &seen->capacity, seen->count + 1, sizeof *seen->items))
		seen->items[seen->count++] = (struct seen_file){place->inode, place->major, place->minor};
	return false;
}

/* As it is mapped, also where it was removed or replaced since; where that takes rights, by its name. */
static int open_mapped(const char *pid, const struct place *place)
{
	char path[4200];
	snprintf(path, sizeof path, "/proc/%s/map_files/%" PRIx64 "-%" PRIx64, pid, place->start, place->end);
	int fd = open_regular(path);
	if (fd >= 0)
		return fd;
	snprintf(path, sizeof path, "/proc/%s/root%s", pid, place->path);
	return open_regular(path);
}

static bool add_mapped(struct atomics_files *files, const char *pid, const struct place *place)
{
	struct atomics_file *item = atomics_files_item(files, place->path);
	if (!item)
		return false;
	int fd = open_mapped(pid, place);
	if (fd < 0) {
		atomics_file_problem(item, strerror(errno));
		return true;
	}
	atomics_file_count(files, item, fd);
	close(fd);
	return true;
}

/* On another machine's kernel, or under an emulator, the bit means something else. */
static enum atomics_hwcap read_hwcap(const char *pid)
{
	struct utsname machine;
	char path[64];
	uint64_t entry[2];
	enum atomics_hwcap found = ATOMICS_HWCAP_UNKNOWN;
	if (uname(&machine) != 0 || strcmp(machine.machine, "aarch64") != 0)
		return found;
	snprintf(path, sizeof path, "/proc/%s/auxv", pid);
	FILE *file = fopen(path, "re");
	while (file && fread(entry, sizeof entry, 1, file) == 1)
		if (entry[0] == AT_HWCAP)
			found = entry[1] >> HWCAP_BIT_ATOMICS & 1 ? ATOMICS_HWCAP_PRESENT
								  : ATOMICS_HWCAP_ABSENT;
	if (file)
		fclose(file);
	return found;
}

static bool visit_maps(struct atomics_files *files, const char *pid, FILE *maps)
{
	struct seen_files seen = {0};
	char *line = NULL;
	size_t room = 0;
	bool good = true;
	while (good && getline(&line, &room, maps) > 0) {
		struct place place;
		if (!parse_place(line, &place))
			continue;
		if (place.inode == 0 && place.path[0] != '[')
			files->anonymous_bytes += place.end - place.start;
		else if (place.inode != 0 && !seen_before(&seen, &place))
			good = add_mapped(files, pid, &place);
	}
	free(line);
	free(seen.items);
	return good;
}

bool atomics_process(struct atomics_files *files, const char *pid, struct error *error)
{
	char path[64];
	size_t before = files->count;
	snprintf(path, sizeof path, "/proc/%s/maps", pid);
	FILE *maps = fopen(path, "re");
	if (!maps && errno == ENOENT)
		return error_set(error, ERROR_INPUT, pid, ERROR_NO_OFFSET,
				 "there is neither a file nor a process of that name");
	if (!maps)
		return error_set(error, ERROR_INPUT, path, ERROR_NO_OFFSET, "%s", strerror(errno));
	bool good = visit_maps(files, pid, maps);
	fclose(maps);
	files->hwcap = read_hwcap(pid);
	if (!good)
		return error_set(error, ERROR_INTERNAL, NULL, ERROR_NO_OFFSET, "out of memory");
	return files->count > before || error_set(error, ERROR_INPUT, pid, ERROR_NO_OFFSET,
						  "has no file mapped that this user may see: another user's "
						  "process, or a kernel thread");
}

/* ---- a trace ------------------------------------------------------------------------------------------- */

static bool same_module(const struct trace_module *a, const struct trace_module *b)
{
	return strcmp(a->path, b->path) == 0 && a->build_id_bytes == b->build_id_bytes &&
	       memcmp(a->build_id, b->build_id, a->build_id_bytes) == 0;
}

static bool listed_before(const struct trace_module *modules, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (same_module(&modules[i], &modules[index]))
			return true;
	return false;
}

static void count_module(const struct atomics_files *files, struct atomics_file *item,
			 const struct trace_module *module)
{
	char path[4200];
	const struct atomics_census *census = &item->census;
	bool whole_root = !files->sysroot || strcmp(files->sysroot, "/") == 0;
	snprintf(path, sizeof path, "%s%s", whole_root ? "" : files->sysroot, module->path);
	int fd = open_regular(path);
	if (fd < 0) {
		atomics_file_problem(item, errno == ENOEXEC ? "is no regular file" : strerror(errno));
		return;
	}
	atomics_file_count(files, item, fd);
	close(fd);
	if (!item->problem && module->build_id_bytes &&
	    (module->build_id_bytes != census->build_id_bytes ||
	     memcmp(module->build_id, census->build_id, census->build_id_bytes) != 0))
		atomics_file_problem(item, "has another build-id than the traced file");
}

bool atomics_trace(struct atomics_files *files, const char *path, struct error *error)
{
	struct trace *trace = trace_open(path, error);
	if (!trace)
		return false;
	size_t count, before = files->count;
	const struct trace_module *modules = trace_modules(trace, &count);
	bool good = true;
	for (size_t i = 0; good && i < count; i++) {
		if (modules[i].path[0] != '/' || listed_before(modules, i))
			continue;
		struct atomics_file *item = atomics_files_item(files, modules[i].path);
		if (item)
			count_module(files, item, &modules[i]);
		good = item != NULL;
	}
	trace_close(trace);
	if (!good)
		return error_set(error, ERROR_INTERNAL, NULL, ERROR_NO_OFFSET, "out of memory");
	return files->count > before ||
	       error_set(error, ERROR_INPUT, path, ERROR_NO_OFFSET, "the trace lists no modules");
}
