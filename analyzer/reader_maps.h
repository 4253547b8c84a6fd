/*
 * The readings of the process's mappings in a trace (BLOCK_MAPS), one block after the other. A reading may
 * consist of several blocks with the same time.
 */
#ifndef MTRACE_READER_MAPS_H
#define MTRACE_READER_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/error.h"
#include "analyzer/reader.h"
#include "trace/layout.h"

struct trace_mapping {
	uint64_t start;
	uint64_t end;
	uint64_t device;
	uint64_t inode; /* 0: no file */
	uint32_t flags; /* MAPPING_* */
	const char *name;
};

/* One block: within each range exactly these mappings are there, as they were at `time`. */
struct trace_maps {
	uint64_t time; /* time units */
	uint64_t own_stack;
	bool whole;
	const struct maps_range *ranges;
	size_t range_count;
	const struct trace_mapping *mappings; /* by rising address */
	size_t mapping_count;
};

struct maps_reader;

/* NULL when out of memory. `trace` must outlive it. */
struct maps_reader *maps_reader_open(struct trace *trace);
void maps_reader_close(struct maps_reader *reader); /* NULL is fine */

/* When the reading of the next block began; UINT64_MAX: there is none. */
uint64_t maps_reader_due(struct maps_reader *reader);

/*
 * The next block whose reading began at `time` or before; its contents stay valid until the next call. False
 * where there is none, or on an error, which sets error->code. Damaged ones are listed by trace_damage() and
 * passed over.
 */
bool maps_reader_next(struct maps_reader *reader, uint64_t time, struct trace_maps *maps,
		      struct error *error);

#endif
