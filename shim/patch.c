#include "shim/patch.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

#include "shim/clock.h"
#include "shim/config.h"
#include "shim/object.h"
#include "shim/patch_memory.h"
#include "shim/patch_entries.h"
#include "shim/patch_site.h"
#include "shim/raw.h"

#define HWCAP2_GUARDED (1u << 17) /* aarch64: HWCAP2_BTI */

struct real patched_next;

/* ---- what is looked for
 * ------------------------------------------------------------------------------------------- */

/* The entries have the parameters of their functions, here they are addresses. */
#define DECLARE(name, hook) extern char entry_##name[] SHIM_LOCAL;
PATCH_ENTRIES_VALUE(DECLARE)
PATCH_ENTRIES_VOID(DECLARE)
#undef DECLARE

enum family {
	FAMILY_ALLOCATOR,
	FAMILY_OPERATOR,
	FAMILY_REGION,
};

struct wanted {
	void *hook;
	void **next; /* where the hook finds what it forwards to; NULL: it asks patch_trampoline() */
	enum family family;
};

#define COUNT(name) +1
#define ALLOCATORS  (0 PATCH_ALLOCATOR(COUNT))
#define NAMES	    (ALLOCATORS PATCH_OPERATORS(COUNT) PATCH_REGIONS(COUNT))

static const char *const plain_names[NAMES] = {
#define NAME(name) #name,
	PATCH_ALLOCATOR(NAME) PATCH_OPERATORS(NAME) PATCH_REGIONS(NAME)
#undef NAME
};

enum {
#define INDEX(name) INDEX_##name,
	PATCH_ALLOCATOR(INDEX)
#undef INDEX
};

/* jemalloc beside libc's malloc carries a prefix (Redis). Names alone prove little: je_mallctl must be there,
 * too. */
static const struct {
	const char *prefix, *witness;
} prefixes[] = {{"", NULL}, {"je_", "je_mallctl"}};
#define PREFIXES   (sizeof prefixes / sizeof *prefixes)
#define NAME_BYTES 48

static const struct wanted wanted[NAMES] = {
#define ALLOCATOR(name) {entry_##name, (void **)&patched_next.name, FAMILY_ALLOCATOR},
#define OPERATOR(name)	{entry_##name, NULL, FAMILY_OPERATOR},
#define REGION(name)	{entry_##name, (void **)&real.name, FAMILY_REGION},
	PATCH_ALLOCATOR(ALLOCATOR) PATCH_OPERATORS(OPERATOR) PATCH_REGIONS(REGION)
#undef ALLOCATOR
#undef OPERATOR
#undef REGION
};

static struct {
	struct object object;
	bool started, found, is_program;
	char names[NAMES][NAME_BYTES]; /* as this program's allocator calls them */
	struct object_symbol symbols[NAMES];
	const char *failure;
	uint64_t time;
	unsigned count;
	struct patch_entry entries[NAMES];
	struct patch_site sites[NAMES];
	unsigned wanted[NAMES]; /* index of what the entry is */
} patch;

/* ---- finding the object
 * ------------------------------------------------------------------------------------------- */

static bool is_ours_or_libc(const struct object *object)
{
	uintptr_t here = (uintptr_t)&patch;
	return (here >= object->start && here < object->end) ||
	       object_exported(object, "__libc_start_main").address ||
	       object_exported(object, "_dl_argv").address ||
	       object_exported(object, "__libc_memalign").address;
}

static void make_names(const char *prefix)
{
	for (unsigned i = 0; i < NAMES; i++)
		snprintf(patch.names[i], NAME_BYTES, "%s%s", i < ALLOCATORS ? prefix : "", plain_names[i]);
}

static bool has(const struct object *object, const char *name)
{
	struct object_symbol symbol;
	object_find(object, &name, 1, &symbol);
	return symbol.address != 0;
}

static bool find_functions(const struct object *object)
{
	for (unsigned i = 0; i < PREFIXES; i++) {
		const char *list[NAMES];
		make_names(prefixes[i].prefix);
		for (unsigned n = 0; n < NAMES; n++)
			list[n] = patch.names[n];
		object_find(object, list, NAMES, patch.symbols);
		if (patch.symbols[INDEX_malloc].address && patch.symbols[INDEX_free].address &&
		    (!prefixes[i].witness || has(object, prefixes[i].witness)))
			return true;
	}
	return false;
}

/* A library that is not linked with -Bsymbolic calls its malloc as everybody does: through the first
 * definition.
 */
static bool keeps_its_calls(const struct object *object, bool is_program)
{
	return is_program ||
	       (object->symbolic && object_exported(object, "malloc").address && !is_ours_or_libc(object));
}

/* The first object is the program. */
static int look_at(struct dl_phdr_info *info, size_t bytes, void *argument)
{
	unsigned *index = argument;
	struct object object;
	(void)bytes;
	bool is_program = (*index)++ == 0;
	object_describe(&object, info, is_program ? config_exe_path() : info->dlpi_name);
	if (!keeps_its_calls(&object, is_program) || !find_functions(&object))
		return 0;
	object.guarded = object.guarded && (getauxval(AT_HWCAP2) & HWCAP2_GUARDED);
	patch.object = object;
	patch.found = true;
	patch.is_program = is_program;
	return 1;
}

/* ---- planning
 * ---------------------------------------------------------------------------------------------------- */

/* The name under which an entry is listed already, or NULL. */
static const char *listed_as(uintptr_t entry)
{
	for (unsigned i = 0; i < patch.count; i++)
		if (!patch.entries[i].alias && patch.sites[i].entry == entry)
			return patch.entries[i].name;
	return NULL;
}

/* Another entry within what the jump displaces: whoever comes in there would find half of it. */
static bool holds_another_entry(const struct patch_site *site)
{
	for (unsigned i = 0; i < NAMES; i++)
		if (patch.symbols[i].address > site->entry &&
		    patch.symbols[i].address < site->entry + site->pad + site->displaced)
			return true;
	return false;
}

/* As the program headers say: a damaged symbol table may say anything. */
static bool find_text(const struct object *object, struct patch_site *site)
{
	for (unsigned i = 0; i < object->phdr_count; i++) {
		const ElfW(Phdr) *phdr = &object->phdrs[i];
		uintptr_t start = object->bias + phdr->p_vaddr, offset = site->entry - start;
		if (phdr->p_type != PT_LOAD || (phdr->p_flags & (PF_R | PF_X)) != (PF_R | PF_X) ||
		    offset >= phdr->p_memsz || site->bytes > phdr->p_memsz - offset)
			continue;
		site->text_start = start;
		site->text_end = start + phdr->p_memsz;
		return true;
	}
	return false;
}

static const char *plan(struct patch_site *site, const struct object_symbol *symbol,
			const struct wanted *what)
{
	if (symbol->indirect)
		return "it is an indirect function: what it resolves to has no entry in the symbol table";
	if (what->family == FAMILY_REGION && !symbol->exported)
		return "the program keeps it to itself, and its libraries use another";
	if (!symbol->bytes)
		return "the symbol table does not say how long it is";
	if (!find_text(&patch.object, site))
		return "its address is not readable code";
	const char *problem = patch_site_plan(site);
	if (!problem && holds_another_entry(site))
		problem = "another function begins in its first bytes";
	return problem;
}

static void build(struct patch_site *site, struct patch_entry *entry, const struct wanted *what)
{
	site->slot = patch_memory_slot(&patch.object, site->entry, patch_site_reach_bytes);
	entry->skipped = site->slot ? patch_site_build(site, what->hook) : "there is no free memory near it";
}

static void add(unsigned index)
{
	struct patch_entry *entry = &patch.entries[patch.count];
	struct patch_site *site = &patch.sites[patch.count];
	const struct object_symbol *symbol = &patch.symbols[index];
	*entry = (struct patch_entry){.name = patch.names[index], .module = patch.object.path};
	*site = (struct patch_site){
		.entry = symbol->address, .bytes = symbol->bytes, .guarded = patch.object.guarded};
	patch.wanted[patch.count] = index;
	entry->alias = listed_as(symbol->address);
	if (!entry->alias) {
		entry->skipped = plan(site, symbol, &wanted[index]);
		if (!entry->skipped)
			build(site, entry, &wanted[index]);
	}
	patch.count++;
}

/* ---- doing it
 * ---------------------------------------------------------------------------------------------------- */

static bool is_to_be_written(unsigned index)
{
	return !patch.entries[index].alias && !patch.entries[index].skipped;
}

static const char *write_one(unsigned index)
{
	const struct patch_site *site = &patch.sites[index];
	const struct wanted *what = &wanted[patch.wanted[index]];
	struct patch_pages pages;
	const char *problem =
		patch_memory_open(&patch.object, site->entry, site->pad + site->jump_bytes, &pages);
	if (problem)
		return problem;
	if (what->next)
		*what->next = site->trampoline;
	patch_site_write(site);
	patch_memory_close(&pages);
	return NULL;
}

static void write_all(void)
{
	uint64_t before;
	raw_block_signals(&before); /* a handler may allocate */
	for (unsigned i = 0; i < patch.count; i++)
		if (is_to_be_written(i))
			patch.entries[i].skipped = write_one(i);
	raw_restore_signals(&before);
	patch.time = clock_now();
}

/*
 * Another thread may stand in the bytes that are replaced. libc knows of its own threads (2.32 on); before
 * that the kernel says how many tasks there are.
 */
static bool is_single_threaded(void)
{
	const char *single = dlsym(RTLD_DEFAULT, "__libc_single_threaded");
	struct stat tasks;
	if (single)
		return *single;
	/* A folder has two links, and one more for each folder in it: one task, three links. */
	return raw4(SYS_newfstatat, AT_FDCWD, (long)"/proc/self/task", (long)&tasks, 0) == 0 &&
	       tasks.st_nlink == 3;
}

static const char *give_up_early(bool allowed)
{
	if (!allowed)
		return "MTRACE_PATCH is off";
	if (!is_single_threaded())
		return "another thread runs already";
	return patch_site_start();
}

static const char *first_reason(void)
{
	const char *reason = NULL;
	for (unsigned i = 0; i < patch.count; i++) {
		if (is_to_be_written(i))
			return NULL;
		if (!reason && !patch.entries[i].alias)
			reason = patch.entries[i].skipped;
	}
	return reason;
}

static void skip_all(const char *reason)
{
	for (unsigned i = 0; i < patch.count; i++)
		if (is_to_be_written(i))
			patch.entries[i].skipped = reason;
}

void patch_start(bool allowed)
{
	unsigned index = 0;
	if (patch.started)
		return; /* a forked child has its parent's code */
	patch.started = true;
	dl_iterate_phdr(look_at, &index);
	if (!patch.found)
		return;
	patch.failure = give_up_early(allowed);
	if (patch.failure)
		return;
	for (unsigned i = 0; i < NAMES; i++)
		if (patch.symbols[i].address)
			add(i);
	const char *problem = patch_memory_seal();
	if (problem)
		skip_all(problem);
	else
		write_all();
	patch.failure = first_reason();
}

/* ---- what came of it
 * ---------------------------------------------------------------------------------------------- */

void *patch_trampoline(const char *name)
{
	for (unsigned i = 0; i < patch.count; i++)
		if (is_to_be_written(i) && !strcmp(plain_names[patch.wanted[i]], name))
			return patch.sites[i].trampoline;
	return NULL;
}

const char *patch_module(void)
{
	return patch.found ? patch.object.path : NULL;
}

bool patch_is_program(void)
{
	return patch.is_program;
}

const char *patch_failure(void)
{
	return patch.failure;
}

bool patch_sees_allocations(void)
{
	return patched_next.malloc && patched_next.free;
}

uint64_t patch_time(void)
{
	return patch.failure ? 0 : patch.time;
}

const struct patch_entry *patch_entry(unsigned index)
{
	return index < patch.count ? &patch.entries[index] : NULL;
}
