/* What regions.c (sums, stream), regions_calls.c and regions_reading.c (lists of mappings) share; nobody else
 * includes this. */
#ifndef MTRACE_REGIONS_INTERNAL_H
#define MTRACE_REGIONS_INTERNAL_H

#include "analyzer/regions.h"

/* An address that tells what the mapping around it is. */
struct region_hint {
	uint64_t address;
	uint64_t bytes; /* from the page of the address on; 0: all of the mapping */
	enum owner_kind kind;
};

/* More than this between two readings: the rest is not asked. */
#define HINTS_MAX 4096u

/* An mremap that has taken its old range away, and gives the new one when it returns. */
struct region_move {
	uint64_t end_time;
	uint64_t address;
	uint64_t bytes;
	struct region_list parts; /* addresses relative to the old start */
};

struct regions {
	struct trace *trace;
	uint64_t page_bytes;
	uint64_t huge_bytes;
	struct regionmap map;
	struct region_owners owners;
	struct region_totals totals;
	struct region_list cut; /* of the last regions_cut() */

	struct maps_reader *readings;
	uint64_t next_reading; /* time; UINT64_MAX: none */
	bool known;

	struct region_hint hints[HINTS_MAX];
	size_t hint_count;
	struct region_move *moves;
	size_t moves_count, moves_capacity;
};

/* Takes [start, end) out of the map into regions->cut. False when out of memory. */
bool regions_cut(struct regions *regions, uint64_t start, uint64_t end);

/* Puts a region where none is. False when out of memory, or where its owner is OWNER_NONE. */
bool regions_put(struct regions *regions, const struct region *region);

/* Raises the owners' peaks to what they have now: of guesses that is not done before a reading is through,
 * which may find a better owner. */
void regions_peaks(struct regions *regions);

/* Memory of which nothing more is known; `start` and `end` are to be filled in. */
bool regions_unknown(struct regions *regions, struct region *out);

void regions_hint(struct regions *regions, uint64_t address, uint64_t bytes, enum owner_kind kind);

/* The end of a range in whole pages; never below its start, whatever the trace says. */
uint64_t regions_end_of(uint64_t start, uint64_t bytes, uint64_t page_bytes);

/* ---- regions_calls.c ---------------------------------------------------------------------------------- */

/* A call that succeeded; kinds that are no region calls change nothing. False when out of memory. */
bool regions_call(struct regions *regions, const struct trace_event *event);

/* What mremap calls that have returned by `time` have moved comes to its new place. Likewise. */
bool regions_put_moves(struct regions *regions, uint64_t time);

/* ---- regions_reading.c -------------------------------------------------------------------------------- */

/* Applies the readings up to `time`. False on an error, which is set. */
bool regions_read_until(struct regions *regions, uint64_t time, struct error *error);

/* The mapping around `address` is the stack of a thread: settles that where it is known already. */
bool regions_settle_stack(struct regions *regions, uint64_t address);

#endif
