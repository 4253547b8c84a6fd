#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/openfile.h"
#include "analyzer/symbols_internal.h"

/* From libstdc++ (Itanium C++ ABI, 3.4): NULL where the name is not mangled; otherwise malloc()ed. */
char *__cxa_demangle(const char *mangled, char *buffer, size_t *length, int *status);

static char *readable_name(const char *name)
{
	int status;
	char *demangled = strncmp(name, "_Z", 2) == 0 ? __cxa_demangle(name, NULL, NULL, &status) : NULL;
	return demangled ? demangled : strdup(name);
}

/* ---- files --------------------------------------------------------------------------------------------- */

static bool build_id_matches(int fd, const struct trace_module *traced, bool *is_elf)
{
	elf_version(EV_CURRENT);
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	const void *id = NULL;
	*is_elf = elf && elf_kind(elf) == ELF_K_ELF;
	ssize_t bytes = *is_elf ? dwelf_elf_gnu_build_id(elf, &id) : -1;
	bool matches = *is_elf && (traced->build_id_bytes == 0 ||
				   (bytes == (ssize_t)traced->build_id_bytes &&
				    memcmp(id, traced->build_id, traced->build_id_bytes) == 0));
	elf_end(elf);
	return matches;
}

static void set_reason(struct symbol_module *module, const char *text)
{
	free(module->reason);
	module->reason = strdup(text);
}

/* An open descriptor of the file where it is the one that was traced; -1 with the reason set. */
static int open_matching(struct symbol_module *module, const char *path)
{
	int fd = open_regular(path);
	bool is_elf;
	if (fd < 0) {
		set_reason(module, errno == ENOEXEC ? "is no regular file" : strerror(errno));
		return -1;
	}
	if (build_id_matches(fd, module->traced, &is_elf))
		return fd;
	set_reason(module, is_elf ? "has another build-id than the traced file" : "is no ELF file");
	close(fd);
	return -1;
}

/* DIR/.build-id/ab/cdef....debug */
static char *debug_file_path(const struct symbol_paths *paths, const struct trace_module *traced)
{
	size_t room = strlen(paths->sysroot) + strlen(paths->debug_dir) + 2 * traced->build_id_bytes + 32;
	char *path = malloc(room);
	if (!path || traced->build_id_bytes < 2) {
		free(path);
		return NULL;
	}
	int at = snprintf(path, room, "%s/.build-id/%02x/", paths->debug_dir, traced->build_id[0]);
	for (size_t i = 1; i < traced->build_id_bytes; i++)
		at += snprintf(path + at, room - (size_t)at, "%02x", traced->build_id[i]);
	snprintf(path + at, room - (size_t)at, ".debug");
	return path;
}

static int open_debug_file(struct symbol_module *module, const struct symbol_paths *paths)
{
	char *path = debug_file_path(paths, module->traced);
	char *reason = module->reason;
	module->reason = NULL;
	int fd = path ? open_matching(module, path) : -1;
	free(path);
	/* What was wrong with the module's own file says more. */
	free(module->reason);
	module->reason = reason;
	return fd;
}

/* ---- libdw --------------------------------------------------------------------------------------------- */

void symbol_module_open(struct symbol_module *module, const struct symbol_paths *paths)
{
	char *path = NULL;
	module->tried = true;
	if (module->traced->path[0] != '/' ||
	    asprintf(&path, "%s%s", paths->sysroot, module->traced->path) < 0) {
		set_reason(module, "has no file");
		return;
	}
	int fd = open_matching(module, path);
	if (fd < 0)
		fd = open_debug_file(module, paths);
	if (fd >= 0) {
		/* Addresses are those of the ELF file: the session's base is 0. */
		module->dwfl = dwfl_begin(&paths->callbacks);
		module->loaded = module->dwfl ? dwfl_report_elf(module->dwfl, path, path, fd, 0, true) : NULL;
		if (!module->loaded) {
			close(fd);
			set_reason(module, "cannot be used by libdw");
		} else {
			dwfl_report_end(module->dwfl, NULL, NULL);
		}
	}
	free(path);
}

void symbol_module_close(struct symbol_module *module)
{
	if (module->dwfl)
		dwfl_end(module->dwfl);
	free(module->reason);
}

/* ---- lookup -------------------------------------------------------------------------------------------- */

static bool is_function(Dwarf_Die *die)
{
	int tag = dwarf_tag(die);
	return tag == DW_TAG_inlined_subroutine || tag == DW_TAG_subprogram || tag == DW_TAG_entry_point;
}

static const char *die_name(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	const char *name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute));
	return name ? name : dwarf_diename(die);
}

/* Where the inlined function was called: the line of the function around it. */
static void call_site(Dwarf_Die *unit, Dwarf_Die *inlined, struct symbol_frame *caller)
{
	Dwarf_Attribute attribute;
	Dwarf_Word file, line;
	Dwarf_Files *files;
	size_t count;
	if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_line, &attribute), &line) == 0)
		caller->line = (unsigned)line;
	if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_file, &attribute), &file) == 0 &&
	    dwarf_getsrcfiles(unit, &files, &count) == 0 && file < count)
		caller->source_file = dwarf_filesrc(files, file, NULL, NULL);
}

/* The chain of functions around `scopes[0]`, innermost first; frames[0] has its source line already. */
static size_t inline_chain(Dwarf_Die *unit, Dwarf_Die *scopes, int scopes_count, struct symbol_frame *frames)
{
	size_t count = 0;
	for (int i = 0; i < scopes_count && count < SYMBOL_INLINE_MAX; i++) {
		if (!is_function(&scopes[i]))
			continue;
		const char *name = die_name(&scopes[i]);
		if (!name)
			break;
		frames[count].name = readable_name(name);
		frames[count].inlined = dwarf_tag(&scopes[i]) == DW_TAG_inlined_subroutine;
		if (!frames[count].name)
			break;
		if (!frames[count++].inlined)
			return count;
		if (count < SYMBOL_INLINE_MAX)
			call_site(unit, &scopes[i], &frames[count]);
	}
	return count;
}

/* Functions by DWARF; 0 where the address has none. */
static size_t dwarf_frames(Dwfl_Module *loaded, uint64_t address, struct symbol_frame *frames)
{
	Dwarf_Addr bias;
	Dwarf_Die *unit = dwfl_module_addrdie(loaded, address, &bias);
	Dwarf_Die *around = NULL, *scopes = NULL;
	if (!unit || dwarf_getscopes(unit, address - bias, &around) <= 0)
		return 0;
	/* dwarf_getscopes() goes on from an inlined function to where it was written, this to where it was
	 * called. */
	int scopes_count = dwarf_getscopes_die(&around[0], &scopes);
	size_t count = scopes_count > 0 ? inline_chain(unit, scopes, scopes_count, frames) : 0;
	free(around);
	free(scopes);
	return count;
}

size_t symbol_module_lookup(struct symbol_module *module, uint64_t address, struct symbol_frame *frames)
{
	uint64_t in_file = address - module->traced->bias;
	Dwfl_Line *line = dwfl_module_getsrc(module->loaded, in_file);
	if (line) {
		int number = 0;
		frames[0].source_file = dwfl_lineinfo(line, NULL, &number, NULL, NULL, NULL);
		frames[0].line = number > 0 ? (unsigned)number : 0;
	}
	size_t count = dwarf_frames(module->loaded, in_file, frames);
	if (count)
		return count;
	GElf_Off offset;
	GElf_Sym symbol;
	const char *name = dwfl_module_addrinfo(module->loaded, in_file, &offset, &symbol, NULL, NULL, NULL);
	frames[0].name = name ? readable_name(name) : NULL;
	return frames[0].name ? 1 : 0;
}

/* libdw gives the nearest symbol before where none is around. */
char *symbol_module_data(struct symbol_module *module, uint64_t in_file, uint64_t *offset_bytes)
{
	GElf_Off offset;
	GElf_Sym symbol;
	const char *name = dwfl_module_addrinfo(module->loaded, in_file, &offset, &symbol, NULL, NULL, NULL);
	if (!name || (symbol.st_size && offset >= symbol.st_size))
		return NULL;
	*offset_bytes = offset;
	return readable_name(name);
}
