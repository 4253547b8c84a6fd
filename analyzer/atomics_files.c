#include "analyzer/atomics_files.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/array.h"
#include "analyzer/openfile.h"
#include "trace/layout.h"

/* ---- items --------------------------------------------------------------------------------------------- */

struct atomics_file *atomics_files_item(struct atomics_files *files, const char *name)
{
	if (!array_reserve(&files->items, &files->capacity, files->count + 1, sizeof *files->items))
		return NULL;
	struct atomics_file *item = &files->items[files->count];
	*item = (struct atomics_file){.file = strdup(name)};
	if (!item->file)
		return NULL;
	files->count++;
	return item;
}

void atomics_file_problem(struct atomics_file *item, const char *text)
{
	if (!item->problem)
		item->problem = strdup(text);
}

static void file_free(struct atomics_file *item)
{
	for (size_t i = 0; i < item->members_count; i++) {
		free(item->members[i].file);
		free(item->members[i].problem);
		atomics_census_free(&item->members[i].census);
	}
	free(item->members);
	free(item->file);
	free(item->problem);
	atomics_census_free(&item->census);
}

void atomics_files_free(struct atomics_files *files)
{
	for (size_t i = 0; i < files->count; i++)
		file_free(&files->items[i]);
	free(files->items);
	files->items = NULL;
	files->count = files->capacity = 0;
}

bool atomics_files_problems(const struct atomics_files *files)
{
	for (size_t i = 0; i < files->count; i++) {
		const struct atomics_file *item = &files->items[i];
		if (item->problem)
			return true;
		for (size_t j = 0; j < item->members_count; j++)
			if (item->members[j].problem)
				return true;
	}
	return false;
}

/* ---- ELF files ----------------------------------------------------------------------------------------- */

static bool has_symtab(Elf *elf)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	while ((section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, &header) && header.sh_type == SHT_SYMTAB)
			return true;
	return false;
}

/* DIR/.build-id/ab/cdef....debug: names and mapping symbols of a stripped file. -1 where there is none. */
static int open_debug_file(const struct atomics_files *files, Elf *elf)
{
	const void *found = NULL;
	ssize_t bytes = dwelf_elf_gnu_build_id(elf, &found);
	const uint8_t *id = found;
	char path[4096];
	if (bytes < 2 || bytes > 32)
		return -1;
	int at = snprintf(path, sizeof path, "%s/.build-id/%02x/",
			  files->debug_dir ? files->debug_dir : "/usr/lib/debug", id[0]);
	if (at < 0 || (size_t)at + 2 * (size_t)bytes + 8 > sizeof path)
		return -1;
	for (ssize_t i = 1; i < bytes; i++)
		at += snprintf(path + at, sizeof path - (size_t)at, "%02x", id[i]);
	snprintf(path + at, sizeof path - (size_t)at, ".debug");
	return open_regular(path);
}

static void count_with_debug(const struct atomics_files *files, struct atomics_file *item, Elf *elf)
{
	bool is_elf = elf && elf_kind(elf) == ELF_K_ELF;
	int fd = is_elf && !has_symtab(elf) ? open_debug_file(files, elf) : -1;
	Elf *debug = fd >= 0 ? elf_begin(fd, ELF_C_READ_MMAP, NULL) : NULL;
	struct error error = {0};
	if (!atomics_census(&item->census, elf, debug, files->list, item->file, &error))
		atomics_file_problem(item, error.text);
	elf_end(debug);
	if (fd >= 0)
		close(fd);
}

void atomics_file_count(const struct atomics_files *files, struct atomics_file *item, int fd)
{
	elf_version(EV_CURRENT);
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	count_with_debug(files, item, elf);
	elf_end(elf);
}

/* ---- what an operand is -------------------------------------------------------------------------------- */

static bool is_number(const char *text)
{
	return text[0] && strspn(text, "0123456789") == strlen(text) && strlen(text) < 10;
}

static bool add_elf(struct atomics_files *files, const char *path, int fd, struct error *error)
{
	struct atomics_file *item = atomics_files_item(files, path);
	if (!item)
		return error_set(error, ERROR_INTERNAL, path, ERROR_NO_OFFSET, "out of memory");
	atomics_file_count(files, item, fd);
	return true;
}

static bool add_archive(struct atomics_files *files, const char *path, int fd, bool thin, struct error *error)
{
	struct atomics_file *item = atomics_files_item(files, path);
	if (!item)
		return error_set(error, ERROR_INTERNAL, path, ERROR_NO_OFFSET, "out of memory");
	item->archive = true;
	struct error reading = {0};
	if (!atomics_archive(files, item, fd, thin, &reading))
		atomics_file_problem(item, reading.text);
	return true;
}

static bool add_file(struct atomics_files *files, const char *path, int fd, struct error *error)
{
	char magic[8] = "";
	ssize_t length = pread(fd, magic, sizeof magic, 0);
	if (length >= 4 && memcmp(magic, "\177ELF", 4) == 0)
		return add_elf(files, path, fd, error);
	if (length == 8 && memcmp(magic, "!<arch>\n", 8) == 0)
		return add_archive(files, path, fd, false, error);
	if (length == 8 && memcmp(magic, "!<thin>\n", 8) == 0)
		return add_archive(files, path, fd, true, error);
	if (length == 8 && memcmp(magic, TRACE_MAGIC, 8) == 0)
		return atomics_trace(files, path, error);
	return error_set(error, ERROR_INPUT, path, ERROR_NO_OFFSET,
			 "is neither an ELF file nor an archive of them nor a trace");
}

bool atomics_files_add(struct atomics_files *files, const char *operand, struct error *error)
{
	int fd = open_regular(operand);
	if (fd < 0 && errno == ENOENT && is_number(operand))
		return atomics_process(files, operand, error);
	if (fd < 0)
		return error_set(error, ERROR_INPUT, operand, ERROR_NO_OFFSET, "%s",
				 errno == ENOEXEC ? "is no regular file" : strerror(errno));
	bool good = add_file(files, operand, fd, error);
	close(fd);
	return good;
}
