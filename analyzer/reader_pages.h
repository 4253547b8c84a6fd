/*
 * The looks at the state of pages in a trace (BLOCK_PAGES), one block after the other.
 */
#ifndef MTRACE_READER_PAGES_H
#define MTRACE_READER_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/error.h"
#include "analyzer/reader.h"
#include "trace/layout.h"

/* A stretch of pages in one state. */
struct page_run {
	uint64_t start;
	uint64_t end;	/* greater than start */
	uint32_t flags; /* PAGE_*: PAGE_PRESENT or PAGE_SWAPPED, and what holds besides */
};

/* A range that was looked at. What lies in no run of it is not resident. */
struct page_look {
	uint64_t start;
	uint64_t end;
	uint64_t time; /* before the look, in time units; events from then on may or may not have been seen */
	bool unchanged;	  /* as at the last look at it; has no runs */
	size_t first_run; /* index into trace_pages.runs */
	size_t run_count;
};

/* One block. */
struct trace_pages {
	uint64_t time; /* before the first look */
	uint64_t end_time;
	uint64_t page_bytes;
	uint64_t huge_bytes; /* of one entry of the page middle directory; 0: unknown */
	enum pages_source source;
	bool whole;		       /* ends a look at everything, all of which was told anew */
	const struct page_look *looks; /* by rising address, none overlapping another */
	size_t look_count;
	const struct page_run *runs; /* by rising address, each within its look */
	size_t run_count;
};

struct pages_reader;

/* NULL when out of memory. `trace` must outlive it. */
struct pages_reader *pages_reader_open(struct trace *trace);
void pages_reader_close(struct pages_reader *reader); /* NULL is fine */

/* When the looks of the next block began; UINT64_MAX: there is none. */
uint64_t pages_reader_due(struct pages_reader *reader);

/*
 * The next block whose looks began at `time` or before; its contents stay valid until the next call. False
 * where there is none, or on an error, which sets error->code. Damaged ones are listed by trace_damage() and
 * passed over: page sizes that are no powers of two, ranges or runs that overlap or do not lie on pages,
 * counts beyond the block.
 */
bool pages_reader_next(struct pages_reader *reader, uint64_t time, struct trace_pages *pages,
		       struct error *error);

#endif
