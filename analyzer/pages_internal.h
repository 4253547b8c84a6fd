/* What pages.c (stream, answers) and pages_folios.c (huge folios and smaps) share; nobody else includes this.
 */
#ifndef MTRACE_PAGES_INTERNAL_H
#define MTRACE_PAGES_INTERNAL_H

#include "analyzer/pages.h"
#include "analyzer/regionmap.h"

/* Zero-initialize; free `items` at the end. */
struct run_list {
	struct page_run *items;
	size_t count, capacity;
};

struct pages_watcher {
	bool (*visit)(void *context, const struct pages_change *change);
	void *context;
};

struct pages {
	struct trace *trace;
	uint64_t page_bytes, huge_bytes;
	uint32_t source; /* enum pages_source; 0: no look yet */
	bool complete;	 /* all has been told since the start of what can be read */

	struct pages_reader *looks;
	struct trace_pages block;      /* the one whose looks are being applied */
	struct page_look_order *order; /* its looks by time */
	size_t order_capacity, next_look;

	struct smaps_reader *readings;
	struct trace_smaps smaps; /* the newest; its records are in `records` */
	struct smaps_record *records;
	size_t records_capacity;
	struct pages_unplaced unplaced;
	bool undecided; /* new huge folios, and no reading of smaps since */

	/* Both are trees of ranges that join with neighbours alike, and are kept as regions are: of a run,
	 * the region's `owner` holds the flags; of a look, its `file` the time. */
	struct regionmap runs;
	struct regionmap looked;
	struct region_list cut;
	struct run_list before, after; /* of the change being made */

	struct pages_watcher *watchers;
	size_t watcher_count, watcher_capacity;
};

/* Adds a run; one that continues the last is joined with it. False when out of memory. */
bool run_list_add(struct run_list *list, uint64_t start, uint64_t end, uint32_t flags);

/* The runs of [start, end), which go out of the picture, into pages->before. False when out of memory. */
bool pages_take(struct pages *pages, uint64_t start, uint64_t end);

/* The runs of pages->after into the picture, where nothing is. False when out of memory. */
bool pages_give(struct pages *pages);

/* Tells the watchers; pages->before and ->after are the lists, unless unchanged. False when out of memory. */
bool pages_tell(struct pages *pages, struct pages_change change);

/* ---- pages_folios.c ----------------------------------------------------------------------------------- */

/* In pages->after: marks as huge what was so in pages->before and is still a whole folio. False when out of
 * memory. */
bool pages_keep_huge(struct pages *pages);

/* A new reading of smaps: which folios are huge. False when out of memory. */
bool pages_place_huge(struct pages *pages);

#endif
