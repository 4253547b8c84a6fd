/* Archives: libelf reads ordinary ones; of thin ones, which it does not know, only headers and names are read
 * here. */
#include <ar.h>
#include <ctype.h>
#include <errno.h>
#include <libelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/array.h"
#include "analyzer/atomics_files.h"
#include "analyzer/openfile.h"

#define NAMES_BYTES_MAX (64u << 20)

static struct atomics_file *add_member(struct atomics_file *archive, const char *name)
{
	if (!array_reserve(&archive->members, &archive->members_capacity, archive->members_count + 1,
			   sizeof *archive->members))
		return NULL;
	struct atomics_file *member = &archive->members[archive->members_count];
	*member = (struct atomics_file){.file = strdup(name)};
	if (!member->file)
		return NULL;
	archive->members_count++;
	return member;
}

/* The archive's own census: the machine of its members, "mixed" machines being those of AArch64 among them.
 */
static bool sum_up(struct atomics_file *archive)
{
	struct atomics_census *sum = &archive->census;
	for (size_t i = 0; i < archive->members_count; i++) {
		const struct atomics_census *census = &archive->members[i].census;
		if (archive->members[i].problem || (sum->machine && (sum->aarch64 || !census->aarch64)))
			continue;
		free(sum->machine);
		sum->machine = strdup(census->machine);
		if (!sum->machine)
			return false;
		sum->aarch64 = census->aarch64;
	}
	for (size_t i = 0; i < archive->members_count; i++) {
		const struct atomics_census *census = &archive->members[i].census;
		if (!census->aarch64)
			continue;
		atomics_add(&sum->all, &census->all);
		atomics_add(&sum->in_helpers, &census->in_helpers);
		sum->helpers += census->helpers;
		sum->code_bytes += census->code_bytes;
		sum->data_bytes += census->data_bytes;
		if (census->data == ELFSCAN_DATA_LITERALS)
			sum->data = ELFSCAN_DATA_LITERALS;
	}
	sum->verdict = atomics_judge(&sum->all, &sum->in_helpers);
	return true;
}

/* ---- headers ------------------------------------------------------------------------------------------- */

/* A decimal number, filled up with blanks. */
static bool number_in(const char *text, size_t length, uint64_t *value)
{
	size_t i = 0;
	*value = 0;
	for (; i < length && isdigit((unsigned char)text[i]); i++)
		*value = *value * 10 + (uint64_t)(text[i] - '0');
	for (size_t rest = i; rest < length; rest++)
		if (text[rest] != ' ')
			return false;
	return i > 0 && i < 16;
}

/* ---- ordinary archives --------------------------------------------------------------------------------- */

static bool is_index(const char *name)
{
	return strcmp(name, "/") == 0 || strcmp(name, "//") == 0 || strcmp(name, "/SYM64/") == 0;
}

static bool count_member(const struct atomics_files *files, struct atomics_file *archive, Elf *elf,
			 const char *name)
{
	if (is_index(name))
		return true;
	struct atomics_file *member = add_member(archive, name);
	if (!member)
		return false;
	struct error error = {0};
	if (!atomics_census(&member->census, elf, NULL, files->list, name, &error))
		atomics_file_problem(member, error.text);
	return true;
}

/* Behind a member, by its header before `base`; libelf cuts its size to what there is. */
static uint64_t member_end(int fd, uint64_t base)
{
	struct ar_hdr header;
	uint64_t size;
	if (pread(fd, &header, sizeof header, (off_t)(base - sizeof header)) != (ssize_t)sizeof header ||
	    !number_in(header.ar_size, sizeof header.ar_size, &size))
		return base;
	return base + size;
}

/* libelf ends alike at the end of the file and where the next header is damaged: *end, behind the last
 * member, tells. */
static bool read_members(const struct atomics_files *files, struct atomics_file *archive, int fd, Elf *whole,
			 uint64_t *end)
{
	Elf_Cmd command = ELF_C_READ_MMAP;
	Elf *member;
	bool good = true;
	while (good && (member = elf_begin(fd, command, whole))) {
		const Elf_Arhdr *header = elf_getarhdr(member);
		if (header) {
			good = count_member(files, archive, member, header->ar_name ? header->ar_name : "?");
			*end = member_end(fd, (uint64_t)elf_getbase(member));
		}
		command = elf_next(member);
		elf_end(member);
	}
	return good;
}

static bool read_ordinary(const struct atomics_files *files, struct atomics_file *archive, int fd,
			  struct error *error)
{
	struct stat status;
	uint64_t end = SARMAG;
	elf_version(EV_CURRENT);
	Elf *whole = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	bool good = whole && fstat(fd, &status) == 0 && read_members(files, archive, fd, whole, &end);
	elf_end(whole);
	if (!good)
		return error_set(error, ERROR_INTERNAL, archive->file, ERROR_NO_OFFSET, "out of memory");
	uint64_t size = (uint64_t)status.st_size;
	if (end > size)
		return error_set(error, ERROR_INPUT, archive->file, size,
				 "the archive is cut off within a member");
	/* Members begin at even offsets. */
	return size - end <= 1 || error_set(error, ERROR_INPUT, archive->file, end,
					    "damaged archive: no member's header where one is expected");
}

/* ---- thin archives ------------------------------------------------------------------------------------- */

struct thin {
	const struct atomics_files *files;
	struct atomics_file *archive;
	int fd;
	char *names; /* the table that long names are in; NUL behind it */
	size_t names_bytes;
};

/* Names end with a slash: "name.o/" in the header itself, or "/123", a place in the table. */
static bool member_name(const struct thin *thin, const struct ar_hdr *header, char *name, size_t room)
{
	uint64_t at;
	const char *from = header->ar_name, *end;
	if (from[0] == '/') {
		if (!number_in(from + 1, sizeof header->ar_name - 1, &at) || at >= thin->names_bytes)
			return false;
		from = thin->names + at;
		end = strstr(from, "/\n");
	} else {
		end = memchr(from, '/', sizeof header->ar_name);
	}
	if (!end || end == from || (size_t)(end - from) >= room)
		return false;
	memcpy(name, from, (size_t)(end - from));
	name[end - from] = '\0';
	return true;
}

static bool read_names(struct thin *thin, uint64_t offset, uint64_t size)
{
	free(thin->names);
	thin->names_bytes = 0;
	thin->names = size <= NAMES_BYTES_MAX ? malloc(size + 1) : NULL;
	if (!thin->names || pread(thin->fd, thin->names, size, (off_t)offset) != (ssize_t)size)
		return false;
	thin->names[size] = '\0';
	thin->names_bytes = size;
	return true;
}

/* Members lie where their names say, seen from the archive. */
static bool count_outside(const struct thin *thin, const char *name)
{
	const char *slash = strrchr(thin->archive->file, '/');
	char path[4096];
	struct atomics_file *member = add_member(thin->archive, name);
	if (!member)
		return false;
	int folder = slash && name[0] != '/' ? (int)(slash - thin->archive->file) + 1 : 0;
	int length = snprintf(path, sizeof path, "%.*s%s", folder, thin->archive->file, name);
	int fd = length > 0 && (size_t)length < sizeof path ? open_regular(path) : -1;
	if (fd < 0) {
		atomics_file_problem(member, errno == ENOEXEC ? "is no regular file" : strerror(errno));
		return true;
	}
	atomics_file_count(thin->files, member, fd);
	close(fd);
	return true;
}

static bool damaged(const struct thin *thin, uint64_t offset, struct error *error, const char *what)
{
	return error_set(error, ERROR_INPUT, thin->archive->file, offset, "damaged thin archive: %s", what);
}

/* One header; *offset moves behind it, and behind what the archive itself holds of it. */
static bool read_entry(struct thin *thin, const struct ar_hdr *header, uint64_t *offset, struct error *error)
{
	uint64_t size, start = *offset;
	char name[4096];
	if (memcmp(header->ar_fmag, ARFMAG, sizeof header->ar_fmag) != 0 ||
	    !number_in(header->ar_size, sizeof header->ar_size, &size))
		return damaged(thin, start, error, "no header where one is expected");
	*offset += sizeof *header;
	bool table = memcmp(header->ar_name, "// ", 3) == 0;
	if (table || memcmp(header->ar_name, "/ ", 2) == 0 || memcmp(header->ar_name, "/SYM64/ ", 8) == 0) {
		if (table && !read_names(thin, *offset, size))
			return damaged(thin, start, error, "its table of names is cut off");
		*offset += (size + 1) & ~UINT64_C(1);
		return true;
	}
	if (!member_name(thin, header, name, sizeof name))
		return damaged(thin, start, error, "a member without a name");
	return count_outside(thin, name) ||
	       error_set(error, ERROR_INTERNAL, thin->archive->file, ERROR_NO_OFFSET, "out of memory");
}

static bool read_thin(struct thin *thin, struct error *error)
{
	uint64_t offset = SARMAG;
	for (;;) {
		struct ar_hdr header;
		ssize_t length = pread(thin->fd, &header, sizeof header, (off_t)offset);
		if (length == 0)
			return true;
		if (length != (ssize_t)sizeof header)
			return damaged(thin, offset, error, "cut off within a header");
		if (!read_entry(thin, &header, &offset, error))
			return false;
	}
}

bool atomics_archive(const struct atomics_files *files, struct atomics_file *item, int fd, bool thin,
		     struct error *error)
{
	struct thin reading = {.files = files, .archive = item, .fd = fd};
	bool good = thin ? read_thin(&reading, error) : read_ordinary(files, item, fd, error);
	free(reading.names);
	if (good && !item->members_count)
		good = error_set(error, ERROR_INPUT, item->file, ERROR_NO_OFFSET,
				 "an archive without members");
	return sum_up(item) && good;
}
