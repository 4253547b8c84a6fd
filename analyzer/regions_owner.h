/*
 * Who owns a region of memory, and how that is found out: by the stack of the call that mapped it, by the
 * name that the kernel lists, or by the address.
 */
#ifndef MTRACE_REGIONS_OWNER_H
#define MTRACE_REGIONS_OWNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/idmap.h"
#include "analyzer/reader_maps.h"
#include "analyzer/regionmap.h"
#include "analyzer/symbols.h"

/* google/tcmalloc's four kinds go by the tag in its addresses, and by the names that it gives its regions. */
enum owner_kind {
	OWNER_TCMALLOC_NORMAL,
	OWNER_TCMALLOC_SAMPLED,
	OWNER_TCMALLOC_COLD,
	OWNER_TCMALLOC_METADATA,
	OWNER_GPERFTOOLS,
	OWNER_PTMALLOC_HEAP,  /* the break */
	OWNER_PTMALLOC_ARENA, /* heaps of the other arenas */
	OWNER_PTMALLOC_MMAP,  /* large blocks, each with a mapping of its own */
	OWNER_WIREDTIGER,
	OWNER_MMAP, /* another mapping of the program's, named by the function that made it */
	OWNER_THREAD_STACK,
	OWNER_FILE,
	OWNER_PROGRAM,
	OWNER_LIBRARY,
	OWNER_TRACER, /* the shim's own memory */
	OWNER_OTHER,
	OWNER_KINDS,
};

/* "tcmalloc-normal", ..., "other". */
const char *owner_kind_name(enum owner_kind kind);

struct region_owner {
	enum owner_kind kind;
	char *name; /* as printed: the kind's, and "mmap:FUNCTION" for OWNER_MMAP */
	uint64_t bytes[REGION_STATES];
	uint64_t peak_bytes[REGION_STATES];
};

struct region_owners {
	const struct trace *trace;
	struct symbols *symbols; /* NULL until a stack is to be named */
	const struct symbol_options *options;
	struct region_owner *items;
	size_t count, capacity;
	struct idmap by_stack;	       /* stack id to index */
	uint32_t by_kind[OWNER_KINDS]; /* index plus 1 of the owner without a function; 0: none yet */
	const char *exe;
	uint64_t page_bytes;
	bool gperftools_seen; /* it owns a mapping: then the break is its, too */
};

#define OWNER_NONE UINT32_MAX

/* `trace` and `options` (which may be NULL) must outlive it. */
void owners_start(struct region_owners *owners, const struct trace *trace, uint64_t page_bytes,
		  const struct symbol_options *options);
void owners_free(struct region_owners *owners);

/* No stack will be asked for any more: lets go of the symbols, which are large. */
void owners_end_of_stacks(struct region_owners *owners);

/* All of these give an index into `items`, or OWNER_NONE when out of memory. */

uint32_t owners_of_kind(struct region_owners *owners, enum owner_kind kind);

/* Of a successful mmap. */
uint32_t owners_of_mmap(struct region_owners *owners, const struct trace_event *event);

/* Of memory that the break was moved over. */
uint32_t owners_of_break(struct region_owners *owners, const struct trace_event *event);

/* By the stack alone: WiredTiger, gperftools, or the function. */
uint32_t owners_of_stack(struct region_owners *owners, uint32_t stack_id);

/* Of a mapping in a reading, by its name and place. *settled: it says so itself; otherwise OWNER_OTHER is a
 * guess. */
uint32_t owners_of_mapping(struct region_owners *owners, const struct trace_mapping *mapping, uint64_t time,
			   bool *settled);

/* The module around an address, in whole pages: what it maps behind its file, too, for data that begins as
 * zeros. False where there is none at that time. */
bool owners_module_at(const struct region_owners *owners, uint64_t address, uint64_t time,
		      enum owner_kind *kind, uint64_t *end);

/*
 * By the tag in bits 42 to 44 of google/tcmalloc's addresses (its common.h, kTagShift with 48 address bits).
 * False where there is none. *strong: no ordinary address has this tag.
 */
bool owner_kind_by_tag(uint64_t address, enum owner_kind *kind, bool *strong);

#endif
