/*
 * The program itself: what is mapped, its allocator, its C library, and what would become of a preloaded
 * libmtrace.so.
 */
#include <elf.h>
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/array.h"
#include "analyzer/atomics.h"
#include "analyzer/doctor_process.h"

/* Above it the kernel has something of its own (x86-64's vsyscall page). */
#define USER_SPACE_END (UINT64_C(1) << 63)

/* ---- what is mapped ------------------------------------------------------------------------------------ */

static struct doctor_module *find_module(const struct doctor_modules *modules, const char *path)
{
	for (size_t i = 0; i < modules->count; i++)
		if (strcmp(modules->items[i].path, path) == 0)
			return &modules->items[i];
	return NULL;
}

static bool add_module(struct doctor_modules *modules, uint64_t start, uint64_t end, const char *path)
{
	if (find_module(modules, path))
		return true;
	if (!array_reserve(&modules->items, &modules->capacity, modules->count + 1, sizeof *modules->items))
		return false;
	struct doctor_module module = {start, end, strdup(path)};
	if (!module.path)
		return false;
	modules->items[modules->count++] = module;
	return true;
}

/* Behind `count` words. */
static const char *skip_words(const char *text, unsigned count)
{
	for (; count; count--) {
		text += strcspn(text, " \n");
		text += strspn(text, " ");
	}
	return text;
}

/* "start-end perms offset device inode   /path"; libraries alone: a database maps its files, too. */
static bool read_mapping(struct doctor_modules *modules, const char *line)
{
	char *dash, *behind, path[4200];
	const uint64_t start = strtoull(line, &dash, 16);
	const uint64_t end = *dash == '-' ? strtoull(dash + 1, &behind, 16) : 0;
	if (end <= start)
		return true;
	if (end < USER_SPACE_END && end > modules->highest)
		modules->highest = end;
	const char *name = skip_words(line, 5);
	if (*name != '/')
		return true;
	snprintf(path, sizeof path, "%.*s", (int)strcspn(name, "\n"), name);
	char *deleted = strstr(path, " (deleted)");
	if (deleted)
		*deleted = '\0';
	return add_module(modules, start, end, path);
}

bool doctor_modules_read(const struct doctor_files *files, struct doctor_modules *modules, int *error)
{
	char *text = files_process_text(files, "maps", NULL);
	bool good = true;
	*modules = (struct doctor_modules){0};
	*error = text ? 0 : errno;
	for (const char *line = text; good && line && *line;
	     line += strcspn(line, "\n"), line += *line == '\n')
		good = read_mapping(modules, line);
	free(text);
	if (!good)
		*error = ENOMEM;
	return *error == 0;
}

void doctor_modules_free(struct doctor_modules *modules)
{
	for (size_t i = 0; i < modules->count; i++)
		free(modules->items[i].path);
	free(modules->items);
	*modules = (struct doctor_modules){0};
}

/* ---- opening ------------------------------------------------------------------------------------------- */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* By its path as the process has it; where that is gone, or another root, by its mapping, which takes root.
 */
static int open_module(const struct doctor_files *files, const struct doctor_module *module)
{
	char path[128];
	int fd = files_guest_fd(files, module->path);
	if (fd >= 0 || *files->root)
		return fd;
	snprintf(path, sizeof path, "proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)files->pid, module->start,
		 module->end);
	return files_fd(files, path);
}

static bool open_image(const struct doctor_files *files, const struct doctor_module *module,
		       struct doctor_elf *image, uint64_t *bias)
{
	if (!module || !doctor_elf_open(image, open_module(files, module)))
		return false;
	*bias = module->start - image->load_address;
	return true;
}

static const struct doctor_module *find_by_pattern(const struct doctor_modules *modules, const char *pattern)
{
	for (size_t i = 0; i < modules->count; i++)
		if (fnmatch(pattern, base_name(modules->items[i].path), 0) == 0)
			return &modules->items[i];
	return NULL;
}

static bool is_loader(const char *path)
{
	return fnmatch("ld-linux*.so*", base_name(path), 0) == 0 ||
	       fnmatch("ld-2.*.so", base_name(path), 0) == 0;
}

/* A program that was started as an argument of its loader (a C library of one's own) is the first mapped file
 * that the command line names. */
static const struct doctor_module *find_argument(const struct doctor_files *files,
						 const struct doctor_modules *modules)
{
	size_t bytes = 0;
	char *block = files_process_text(files, "cmdline", &bytes);
	const struct doctor_module *found = NULL;
	for (size_t at = block ? strlen(block) + 1 : bytes; !found && at < bytes;
	     at += strlen(block + at) + 1)
		for (size_t i = 0; !found && i < modules->count; i++)
			if (!is_loader(modules->items[i].path) && block[at] != '-' &&
			    strcmp(base_name(modules->items[i].path), base_name(block + at)) == 0)
				found = &modules->items[i];
	free(block);
	return found;
}

/* /proc/PID/exe leads to the file itself, also where its path is gone. */
static void open_exe(const struct doctor_files *files, struct facts *facts, struct doctor_program *program)
{
	const char *path = fact_text(facts, FACT_EXE);
	char name[64];
	const struct doctor_module *module = is_loader(path) ? find_argument(files, &program->modules)
							     : find_module(&program->modules, path);
	snprintf(name, sizeof name, "proc/%d/exe", (int)files->pid);
	if (open_image(files, module, &program->exe, &program->exe_bias) || is_loader(path))
		return;
	if (!*files->root && doctor_elf_open(&program->exe, files_fd(files, name)) && module)
		program->exe_bias = module->start - program->exe.load_address;
}

/* ---- allocator ----------------------------------------------------------------------------------------- */

enum {
	SYMBOL_MALLOC,
	SYMBOL_GOOGLE,
	SYMBOL_GOOGLE_STATS,
	SYMBOL_GPERFTOOLS,
	SYMBOL_JEMALLOC,
	SYMBOL_JEMALLOC_PREFIXED,
	SYMBOL_MIMALLOC,
	SYMBOL_COUNT
};

static const char *library_allocator(const struct doctor_modules *modules)
{
	static const struct {
		const char *pattern, *allocator;
	} libraries[] = {{"libtcmalloc*.so*", "gperftools"},
			 {"libjemalloc*.so*", "jemalloc"},
			 {"libmimalloc*.so*", "mimalloc"}};
	for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
		if (find_by_pattern(modules, libraries[i].pattern))
			return libraries[i].allocator;
	return "system";
}

static const char *own_allocator(const struct doctor_symbol *symbols)
{
	if (symbols[SYMBOL_GOOGLE].found || symbols[SYMBOL_GOOGLE_STATS].found)
		return "tcmalloc-google";
	if (symbols[SYMBOL_GPERFTOOLS].found)
		return "gperftools";
	if (symbols[SYMBOL_JEMALLOC].found || symbols[SYMBOL_JEMALLOC_PREFIXED].found)
		return "jemalloc";
	if (symbols[SYMBOL_MIMALLOC].found)
		return "mimalloc";
	return symbols[SYMBOL_MALLOC].found ? "other" : NULL;
}

static void judge_allocator(struct facts *facts, const struct doctor_program *program)
{
	struct doctor_symbol symbols[SYMBOL_COUNT] = {
		[SYMBOL_MALLOC] = {.name = "malloc"},
		[SYMBOL_GOOGLE] = {.name = "MallocExtension_Internal_GetNumericProperty"},
		[SYMBOL_GOOGLE_STATS] = {.name = "TCMalloc_Internal_GetStats"},
		[SYMBOL_GPERFTOOLS] = {.name = "MallocExtension_GetNumericProperty"},
		[SYMBOL_JEMALLOC] = {.name = "mallctl"},
		[SYMBOL_JEMALLOC_PREFIXED] = {.name = "je_mallctl"},
		[SYMBOL_MIMALLOC] = {.name = "mi_malloc"},
	};
	if (!program->exe.elf) {
		facts_unknown(facts, FACT_ALLOCATOR, "its program file cannot be read");
		facts_unknown(facts, FACT_OWN_MALLOC, "its program file cannot be read");
		return;
	}
	doctor_elf_symbols(&program->exe, symbols, SYMBOL_COUNT);
	const char *own = own_allocator(symbols);
	facts_number(facts, FACT_OWN_MALLOC, symbols[SYMBOL_MALLOC].found, "its symbols");
	facts_text(facts, FACT_ALLOCATOR, own ? own : library_allocator(&program->modules),
		   own ? "symbols of the program" : "libraries of the process");
}

/* ---- C library and preloading -------------------------------------------------------------------------- */

static void judge_libc(struct facts *facts, const struct doctor_program *program)
{
	const struct doctor_modules *modules = &program->modules;
	struct doctor_symbol rseq = {.name = "__rseq_size"};
	bool musl = find_by_pattern(modules, "ld-musl-*") || find_by_pattern(modules, "libc.musl-*");
	facts_text(facts, FACT_LIBC,
		   musl					      ? "musl"
		   : program->loader.elf || program->libc.elf ? "glibc"
							      : "other",
		   "its libraries");
	if (musl)
		facts_number(facts, FACT_LIBC_RSEQ, 0, "musl");
	if (!program->loader.elf)
		return;
	doctor_elf_symbols(&program->loader, &rseq, 1);
	facts_number(facts, FACT_LIBC_RSEQ, rseq.found, "symbol __rseq_size of its loader");
}

static void judge_atomics(struct facts *facts, const struct doctor_program *program)
{
	if (!program->libc.elf || program->libc.machine != EM_AARCH64)
		return;
	struct atomics_census census;
	struct error error = {0};
	if (atomics_census(&census, program->libc.elf, NULL, false, "its C library", &error)) {
		facts_number(facts, FACT_LIBC_LSE_COUNT, (int64_t)atomics_lse(&census.all), "its C library");
		facts_number(facts, FACT_LIBC_EXCLUSIVE_COUNT, (int64_t)atomics_exclusive(&census.all),
			     "its C library");
		facts_text(facts, FACT_LIBC_ATOMICS, atomics_verdict_name(census.verdict), "its C library");
	} else {
		facts_unknown(facts, FACT_LIBC_ATOMICS, "its C library: %s", error.text);
	}
	atomics_census_free(&census);
}

static void judge_loading(struct facts *facts, const struct doctor_program *program)
{
	if (program->exe.elf)
		facts_number(facts, FACT_STATIC, !program->exe.interpreter[0], "its program headers");
	else
		facts_unknown(facts, FACT_STATIC, "its program file cannot be read");
	facts_number(facts, FACT_SHIM_LOADED, find_by_pattern(&program->modules, "libmtrace.so*") != NULL,
		     "its mappings");
}

static void judge_address_space(struct facts *facts, const struct doctor_modules *modules)
{
	int bits = 0;
	for (uint64_t end = modules->highest ? modules->highest - 1 : 0; end; end >>= 1)
		bits++;
	if (bits)
		facts_number(facts, FACT_ADDRESS_BITS, bits, "its highest mapping");
}

static void without_maps(struct facts *facts, const char *reason)
{
	static const enum fact_id ids[] = {FACT_ALLOCATOR,  FACT_OWN_MALLOC,	 FACT_STATIC,
					   FACT_LIBC,	    FACT_LIBC_RSEQ,	 FACT_SHIM_LOADED,
					   FACT_RSEQ_OWNER, FACT_PER_CPU_ACTIVE, FACT_LIBC_ATOMICS};
	for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
		facts_unknown(facts, ids[i], "its mappings: %s", reason);
}

void doctor_process_program(const struct doctor_files *files, struct facts *facts,
			    struct doctor_program *program)
{
	int error;
	*program = (struct doctor_program){.exe.fd = -1, .libc.fd = -1, .loader.fd = -1};
	if (!doctor_modules_read(files, &program->modules, &error)) {
		without_maps(facts, files_error_text(error));
		return;
	}
	const struct doctor_module *libc = find_by_pattern(&program->modules, "libc.so.6"),
				   *loader = find_by_pattern(&program->modules, "ld-linux*.so*");
	if (!libc)
		libc = find_by_pattern(&program->modules, "libc-2.*.so");
	if (!loader)
		loader = find_by_pattern(&program->modules, "ld-2.*.so");
	open_exe(files, facts, program);
	open_image(files, libc, &program->libc, &program->libc_bias);
	open_image(files, loader, &program->loader, &program->loader_bias);
	judge_allocator(facts, program);
	judge_libc(facts, program);
	judge_atomics(facts, program);
	judge_loading(facts, program);
	judge_address_space(facts, &program->modules);
}

void doctor_program_close(struct doctor_program *program)
{
	doctor_elf_close(&program->exe);
	doctor_elf_close(&program->libc);
	doctor_elf_close(&program->loader);
	doctor_modules_free(&program->modules);
}
