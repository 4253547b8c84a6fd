/*
 * Regions for tests: a trace with the blocks that the test writes, and region events fed by hand. Times count
 * from SUPPORT_START_TIME, except in trace_event.time, which support_call() takes likewise and shifts itself.
 */
#ifndef MTRACE_SUPPORT_REGIONS_H
#define MTRACE_SUPPORT_REGIONS_H

#include <stdlib.h>

#include "analyzer/regions.h"
#include "tests/unit/support_trace.h"

struct support_regions {
	struct trace *trace;
	struct regions *regions;
};

/* `write`, which may be NULL, puts definitions and readings into the trace before it ends. */
struct support_regions *support_regions_open(void (*write)(struct support_trace *trace));
/* The same with more lines for the process block. */
struct support_regions *support_regions_open_keys(const char *keys,
						  void (*write)(struct support_trace *trace));
void support_regions_close(struct support_regions *world);

/* ---- a reading ---------------------------------------------------------------------------------------- */

struct support_mapping {
	uint64_t start, end;
	uint32_t flags; /* MAPPING_* */
	uint64_t inode;
	const char *name;
};

/* One block: between `start` and `end` exactly these mappings, which end with one whose `end` is 0. */
void support_reading(struct support_trace *trace, uint64_t time, uint64_t start, uint64_t end,
		     const struct support_mapping *mappings);

/* ---- events ------------------------------------------------------------------------------------------- */

void support_call(struct support_regions *world, const struct trace_event *event);
/* Private and anonymous; `flags` are added. */
void support_mmap(struct support_regions *world, uint64_t time, uint64_t address, uint64_t bytes, int prot,
		  int flags);
void support_mmap_from(struct support_regions *world, uint64_t time, uint64_t address, uint64_t bytes,
		       int flags, uint32_t stack_id);
void support_munmap(struct support_regions *world, uint64_t time, uint64_t address, uint64_t bytes);
void support_mprotect(struct support_regions *world, uint64_t time, uint64_t address, uint64_t bytes,
		      int prot);
void support_madvise(struct support_regions *world, uint64_t time, uint64_t address, uint64_t bytes,
		     int advice, int64_t result);
void support_mremap(struct support_regions *world, uint64_t time, uint64_t end_time, uint64_t old_address,
		    uint64_t old_bytes, uint64_t address, uint64_t bytes, int flags);
void support_brk(struct support_regions *world, uint64_t time, uint64_t after, int64_t added_bytes);
void support_until(struct support_regions *world, uint64_t time);

/* ---- answers ------------------------------------------------------------------------------------------ */

const struct region_owner *support_owner(const struct support_regions *world, const char *name);
void support_owner_is(const struct support_regions *world, const char *name, uint64_t reserved_bytes,
		      uint64_t committed_bytes, uint64_t released_bytes);
void support_peak_is(const struct support_regions *world, const char *name, enum region_state state,
		     uint64_t bytes);
const struct region *support_region_at(const struct support_regions *world, uint64_t address);
/* The name of the owner at an address; "nothing" where nothing is mapped. */
const char *support_owner_at(const struct support_regions *world, uint64_t address);
size_t support_region_count(const struct support_regions *world);

#endif
