#include "analyzer/regions_owner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "analyzer/array.h"

/* google/tcmalloc reserves address space in these, aligned to as much. */
#define TCMALLOC_RESERVE_BYTES (UINT64_C(1) << 30)

static const char *const kind_names[OWNER_KINDS] = {
	[OWNER_TCMALLOC_NORMAL] = "tcmalloc-normal",
	[OWNER_TCMALLOC_SAMPLED] = "tcmalloc-sampled",
	[OWNER_TCMALLOC_COLD] = "tcmalloc-cold",
	[OWNER_TCMALLOC_METADATA] = "tcmalloc-metadata",
	[OWNER_GPERFTOOLS] = "gperftools",
	[OWNER_PTMALLOC_HEAP] = "ptmalloc-heap",
	[OWNER_PTMALLOC_ARENA] = "ptmalloc-arena",
	[OWNER_PTMALLOC_MMAP] = "ptmalloc-mmap",
	[OWNER_WIREDTIGER] = "wiredtiger",
	[OWNER_MMAP] = "mmap",
	[OWNER_THREAD_STACK] = "thread-stack",
	[OWNER_FILE] = "file",
	[OWNER_PROGRAM] = "program",
	[OWNER_LIBRARY] = "library",
	[OWNER_TRACER] = "mtrace",
	[OWNER_OTHER] = "other",
};

const char *owner_kind_name(enum owner_kind kind)
{
	return kind_names[kind];
}

static bool begins(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

/* ---- the table ---------------------------------------------------------------------------------------- */

/* Its statistics can be asked for: then it serves malloc, and moves the break. */
static bool is_allocator_gperftools(const struct trace *trace)
{
	const char *kind = trace_key(trace, "allocator_statistics");
	return kind && strcmp(kind, "gperftools") == 0;
}

void owners_start(struct region_owners *owners, const struct trace *trace, uint64_t page_bytes,
		  const struct symbol_options *options)
{
	*owners = (struct region_owners){.trace = trace,
					 .options = options,
					 .page_bytes = page_bytes,
					 .exe = trace_key(trace, "exe"),
					 .gperftools_seen = is_allocator_gperftools(trace)};
}

void owners_free(struct region_owners *owners)
{
	for (size_t i = 0; i < owners->count; i++)
		free(owners->items[i].name);
	free(owners->items);
	idmap_clear(&owners->by_stack);
	symbols_free(owners->symbols);
}

void owners_end_of_stacks(struct region_owners *owners)
{
	symbols_free(owners->symbols);
	owners->symbols = NULL;
}

/* `function` is NULL for all kinds but OWNER_MMAP. */
static uint32_t owners_find(struct region_owners *owners, enum owner_kind kind, const char *function)
{
	char name[256];
	snprintf(name, sizeof name, "%s%s%.200s", kind_names[kind], function ? ":" : "",
		 function ? function : "");
	for (size_t i = 0; i < owners->count; i++)
		if (strcmp(owners->items[i].name, name) == 0)
			return (uint32_t)i;
	char *copy = strdup(name);
	if (!copy ||
	    !array_reserve(&owners->items, &owners->capacity, owners->count + 1, sizeof *owners->items)) {
		free(copy);
		return OWNER_NONE;
	}
	owners->items[owners->count] = (struct region_owner){.kind = kind, .name = copy};
	return (uint32_t)owners->count++;
}

uint32_t owners_of_kind(struct region_owners *owners, enum owner_kind kind)
{
	if (!owners->by_kind[kind]) {
		uint32_t owner = owners_find(owners, kind, kind == OWNER_MMAP ? "(no stack)" : NULL);
		owners->by_kind[kind] = owner + 1; /* 0 where that failed */
	}
	return owners->by_kind[kind] - 1;
}

/* ---- by stack ----------------------------------------------------------------------------------------- */

static bool is_libc(const char *module)
{
	return begins(module, "libc.so") || begins(module, "libc-2.") || begins(module, "ld-linux") ||
	       begins(module, "ld-2.") || begins(module, "libpthread") || begins(module, "libmtrace");
}

/* An allocator's own doors to the kernel, where it defines them. */
static bool is_door(const char *function)
{
	static const char *const names[] = {"mmap",   "mmap64", "__mmap", "__mmap64", "munmap",
					    "mremap", "sbrk",	"__sbrk", "brk",      "syscall"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(function, names[i]) == 0)
			return true;
	return false;
}

static bool is_gperftools(const struct symbol_frame *frame)
{
	return (frame->module && begins(frame->module, "libtcmalloc")) || begins(frame->name, "tcmalloc::") ||
	       begins(frame->name, "TCMalloc_") || strstr(frame->name, "SysAllocator::") ||
	       begins(frame->name, "LowLevelAlloc::") || begins(frame->name, "MallocHook");
}

static uint32_t owner_of_frame(struct region_owners *owners, const struct symbol_frame *frame)
{
	if (begins(frame->name, "tcmalloc::tcmalloc_internal::"))
		return owners_of_kind(owners, OWNER_TCMALLOC_METADATA);
	if (is_gperftools(frame)) {
		owners->gperftools_seen = true;
		return owners_of_kind(owners, OWNER_GPERFTOOLS);
	}
	if (begins(frame->name, "__wt_") || (frame->module && begins(frame->module, "libwiredtiger")))
		return owners_of_kind(owners, OWNER_WIREDTIGER);
	return owners_find(owners, OWNER_MMAP, frame->name);
}

static uint32_t owner_of_names(struct region_owners *owners, const struct symbol_stack *stack)
{
	for (size_t i = 0; i < stack->depth; i++) {
		const struct symbol_frame *frame = stack->frames[i];
		if (!(frame->module && is_libc(frame->module)) && !is_door(frame->name))
			return owner_of_frame(owners, frame);
	}
	return stack->depth ? owner_of_frame(owners, stack->frames[0]) : owners_of_kind(owners, OWNER_MMAP);
}

/* A definition that is not known yet may still come: then nothing is remembered. */
uint32_t owners_of_stack(struct region_owners *owners, uint32_t stack_id)
{
	struct trace_stack stack;
	struct symbol_stack names;
	uint32_t owner = stack_id ? idmap_get(&owners->by_stack, stack_id) : IDMAP_NONE;
	if (owner != IDMAP_NONE)
		return owner;
	if (!trace_stack(owners->trace, stack_id, &stack) || !stack.depth)
		return owners_of_kind(owners, OWNER_MMAP);
	if (!owners->symbols)
		owners->symbols = symbols_create(owners->trace, owners->options);
	if (!owners->symbols || !symbols_stack(owners->symbols, &stack, &names))
		return OWNER_NONE;
	owner = owner_of_names(owners, &names);
	symbol_stack_free(&names);
	return owner != OWNER_NONE && idmap_add(&owners->by_stack, stack_id, owner) ? owner : OWNER_NONE;
}

uint32_t owners_of_break(struct region_owners *owners, const struct trace_event *event)
{
	uint32_t owner = owners_of_stack(owners, event->stack_id);
	if (owner == OWNER_NONE)
		return owner;
	bool theirs = owners->items[owner].kind == OWNER_GPERFTOOLS || owners->gperftools_seen;
	return owners_of_kind(owners, theirs ? OWNER_GPERFTOOLS : OWNER_PTMALLOC_HEAP);
}

/* ---- by address --------------------------------------------------------------------------------------- */

bool owner_kind_by_tag(uint64_t address, enum owner_kind *kind, bool *strong)
{
	static const int by_tag[8] = {OWNER_TCMALLOC_SAMPLED, OWNER_TCMALLOC_SAMPLED,
				      OWNER_TCMALLOC_COLD,    OWNER_TCMALLOC_METADATA,
				      OWNER_TCMALLOC_NORMAL,  -1,
				      OWNER_TCMALLOC_NORMAL,  -1};
	unsigned tag = address >> 42 & 7;
	if (by_tag[tag] < 0 || address >> 48)
		return false;
	*kind = (enum owner_kind)by_tag[tag];
	*strong = tag == 3 || tag == 4;
	return true;
}

static bool is_tcmalloc_reservation(const struct trace_event *event, enum owner_kind *kind)
{
	bool strong;
	uint64_t flags = event->args[1];
	return event->args[0] == PROT_NONE && (flags & MAP_ANONYMOUS) && (flags & MAP_PRIVATE) &&
	       event->size_bytes >= TCMALLOC_RESERVE_BYTES && event->address % TCMALLOC_RESERVE_BYTES == 0 &&
	       owner_kind_by_tag(event->address, kind, &strong);
}

uint32_t owners_of_mmap(struct region_owners *owners, const struct trace_event *event)
{
	enum owner_kind kind;
	if (is_tcmalloc_reservation(event, &kind))
		return owners_of_kind(owners, kind);
	uint32_t owner = owners_of_stack(owners, event->stack_id);
	if (owner == OWNER_NONE || event->args[1] & MAP_ANONYMOUS)
		return owner;
	bool wiredtiger = owners->items[owner].kind == OWNER_WIREDTIGER;
	return wiredtiger ? owner : owners_of_kind(owners, OWNER_FILE);
}

/* ---- by name ------------------------------------------------------------------------------------------ */

struct named {
	const char *start;
	enum owner_kind kind;
};

/* As the kernel lists them; "[anon:" names come from prctl(PR_SET_VMA_ANON_NAME). */
static const struct named anonymous_names[] = {
	{"[heap]", OWNER_PTMALLOC_HEAP},
	{"[stack", OWNER_THREAD_STACK},
	{"[anon:tcmalloc_region_NORMAL", OWNER_TCMALLOC_NORMAL},
	{"[anon:tcmalloc_region_SAMPLED", OWNER_TCMALLOC_SAMPLED},
	{"[anon:tcmalloc_region_COLD", OWNER_TCMALLOC_COLD},
	{"[anon:tcmalloc_", OWNER_TCMALLOC_METADATA},
	{"[anon: glibc: pthread", OWNER_THREAD_STACK},
	{"[anon: glibc: malloc arena", OWNER_PTMALLOC_ARENA},
	{"[anon: glibc: malloc", OWNER_PTMALLOC_MMAP},
	{"[anon: glibc: ", OWNER_LIBRARY},
	{"[v", OWNER_OTHER}, /* vdso, vvar, vsyscall */
};

/* Modules are listed to the byte; they are mapped to the page. */
static uint64_t end_of_module(const struct region_owners *owners, const struct trace_module *module)
{
	uint64_t pages = owners->page_bytes - 1;
	return module->end > UINT64_MAX - pages ? module->end : (module->end + pages) & ~pages;
}

static const struct trace_module *module_at(const struct region_owners *owners, uint64_t address,
					    uint64_t time)
{
	size_t count;
	const struct trace_module *modules = trace_modules(owners->trace, &count);
	for (size_t i = 0; i < count; i++)
		if (modules[i].start <= address && address < end_of_module(owners, &modules[i]) &&
		    (!modules[i].unloaded_time || modules[i].unloaded_time > time))
			return &modules[i];
	return NULL;
}

static enum owner_kind kind_of_module(const struct region_owners *owners, const char *path)
{
	const char *slash = strrchr(path, '/');
	if (owners->exe && strcmp(owners->exe, path) == 0)
		return OWNER_PROGRAM;
	return begins(slash ? slash + 1 : path, "libmtrace.so") ? OWNER_TRACER : OWNER_LIBRARY;
}

bool owners_module_at(const struct region_owners *owners, uint64_t address, uint64_t time,
		      enum owner_kind *kind, uint64_t *end)
{
	const struct trace_module *module = module_at(owners, address, time);
	if (!module)
		return false;
	*kind = kind_of_module(owners, module->path);
	*end = end_of_module(owners, module);
	return true;
}

/* The loader may know a file by another path than the kernel, so the place counts first. */
static enum owner_kind kind_of_file(const struct region_owners *owners, const struct trace_mapping *mapping,
				    uint64_t time)
{
	enum owner_kind kind;
	uint64_t end;
	if (owners_module_at(owners, mapping->start, time, &kind, &end))
		return kind;
	kind = kind_of_module(owners, mapping->name);
	return kind == OWNER_LIBRARY && !(mapping->flags & MAPPING_EXEC) ? OWNER_FILE : kind;
}

static enum owner_kind kind_of_anonymous(const struct region_owners *owners,
					 const struct trace_mapping *mapping, bool *settled)
{
	for (size_t i = 0; i < sizeof anonymous_names / sizeof *anonymous_names; i++)
		if (begins(mapping->name, anonymous_names[i].start))
			return anonymous_names[i].kind == OWNER_PTMALLOC_HEAP && owners->gperftools_seen
				       ? OWNER_GPERFTOOLS
				       : anonymous_names[i].kind;
	*settled = false;
	return OWNER_OTHER;
}

uint32_t owners_of_mapping(struct region_owners *owners, const struct trace_mapping *mapping, uint64_t time,
			   bool *settled)
{
	*settled = true;
	enum owner_kind kind = mapping->flags & MAPPING_OWN ? OWNER_TRACER
			       : mapping->inode		    ? kind_of_file(owners, mapping, time)
							    : kind_of_anonymous(owners, mapping, settled);
	return owners_of_kind(owners, kind);
}
