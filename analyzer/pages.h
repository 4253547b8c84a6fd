/*
 * The state of a process's pages as the trace knows it at one moment: which are resident, and which are
 * mapped as huge pages. Made of the shim's looks (BLOCK_PAGES) and of the kernel's sums by mapping
 * (BLOCK_SMAPS); memory follows the number of runs, never the length of the trace.
 *
 * Words:
 *   page       the kernel's base page, pages_page_bytes() long
 *   huge page  what one entry of the page middle directory (PMD) maps, pages_huge_bytes() long: 2 MiB where
 *              pages have 4 KiB, 32 MiB where they have 16 KiB, 512 MiB where they have 64 KiB. Read, never
 *              assumed
 *   look       the shim asked the kernel about a range. The picture of the range is as it was then: calls
 * since then are not in it. Whoever wants what is mapped now takes the part of it that lies in regions
 *              (regions.h); memory that was unmapped and mapped again keeps its old picture until the next
 * look run        pages that follow each other in one state
 *
 * A run's flags are PAGE_* of trace/layout.h. PAGE_HUGE means the same whatever the source:
 *   PAGES_FROM_SCAN         the kernel said so, page by page
 *   PAGES_FROM_KPAGEFLAGS   looks give PAGE_FOLIO alone. A reading of smaps of about the same moment decides:
 *                           where the aligned whole folios of a mapping are as large as what smaps says is
 *                           mapped by a PMD, they are huge, and stay so until a look finds them changed.
 *                           Elsewhere the sum is known and the place is not (pages_unplaced())
 *   neither                 no runs at all; pages_smaps() has sums by mapping
 * The kernel's page of zeros (PAGE_ZERO) takes no memory and is in no sum but its own.
 */
#ifndef MTRACE_PAGES_H
#define MTRACE_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/error.h"
#include "analyzer/reader_pages.h"
#include "analyzer/reader_smaps.h"

struct pages;

/* `trace` must outlive it. NULL when out of memory. */
struct pages *pages_open(struct trace *trace);
void pages_close(struct pages *pages); /* NULL is fine */

/*
 * Applies what was looked at up to `time` (UINT64_MAX: all), each look at its own time. To be called before
 * each event and at each snapshot, like regions_until(). False on an error, which is set.
 */
bool pages_until(struct pages *pages, uint64_t time, struct error *error);

/* When there will be something to apply; UINT64_MAX: never. Cheap: for who calls it with each event. */
uint64_t pages_due(const struct pages *pages);

/*
 * A look has been applied, and the picture is whole: only then do the functions on runs and sums say anything
 * about the process. Where a flight recorder has overwritten its beginning that is from the first look on
 * which told everything anew (PAGES_WHOLE).
 */
bool pages_known(const struct pages *pages);

/* Which memory is huge is known, too. PAGES_FROM_KPAGEFLAGS: not between a look that sees new huge folios and
 * the next reading of smaps. */
bool pages_decided(const struct pages *pages);

/* Of the last look; 0 where there was none. */
uint32_t pages_source(const struct pages *pages);

uint64_t pages_page_bytes(const struct pages *pages);
/* By the looks, or before them by the process block; 0 where neither knows. */
uint64_t pages_huge_bytes(const struct pages *pages);

/* ---- runs --------------------------------------------------------------------------------------------- */

/* The first run that ends above `address`, in *run, whole: its start may lie below. False where there is
 * none. */
bool pages_from(const struct pages *pages, uint64_t address, struct page_run *run);

/* The same for the ranges that were looked at, and when. Neighbours have different times. */
struct page_look_age {
	uint64_t start;
	uint64_t end;
	uint64_t time;
};
bool pages_looked_from(const struct pages *pages, uint64_t address, struct page_look_age *look);

/* The run's state at an address: PAGE_*; 0 where nothing is resident or nobody looked. */
uint32_t pages_at(const struct pages *pages, uint64_t address);

size_t pages_run_count(const struct pages *pages);

/* Bytes by state. resident includes huge; zero, swapped and resident are disjoint. */
struct page_sums {
	uint64_t resident_bytes; /* present, without the page of zeros: what Rss counts */
	uint64_t huge_bytes;	 /* resident on huge pages */
	uint64_t zero_bytes;
	uint64_t swapped_bytes;
	uint64_t folio_bytes; /* PAGES_FROM_KPAGEFLAGS alone: resident in folios of at least a huge page */
};

/* Adds the part of `run` that lies in [start, end). */
void page_sums_add(struct page_sums *sums, const struct page_run *run, uint64_t start, uint64_t end);

/* Over [start, end): takes the logarithm of all runs, and the number of those inside. */
struct page_sums pages_sums(const struct pages *pages, uint64_t start, uint64_t end);

/* ---- sums by mapping ---------------------------------------------------------------------------------- */

/* The newest whole reading of smaps; its count is 0 where there is none yet. Valid until the next
 * pages_until(). */
const struct trace_smaps *pages_smaps(const struct pages *pages);

/* The record around `address`, or NULL. */
const struct smaps_record *pages_smaps_at(const struct pages *pages, uint64_t address);

/* PAGES_FROM_KPAGEFLAGS, as of the newest reading of smaps; 0 with the other sources. */
struct pages_unplaced {
	uint64_t huge_bytes; /* mapped by a PMD in mappings whose huge pages have no known place */
	uint64_t folio_mapped_by_page_bytes; /* resident in huge folios that are mapped page by page */
};
struct pages_unplaced pages_unplaced(const struct pages *pages);

/* ---- changes ------------------------------------------------------------------------------------------ */

/* A range has been looked at, or smaps told which of its folios are huge. */
struct pages_change {
	uint64_t start;
	uint64_t end;
	uint64_t time;	/* of this look */
	uint64_t since; /* of the look before it, at whichever part it is longest ago; 0: part of the range
			   was never looked at */
	bool unchanged; /* the lists are then empty: pages_from() has the runs */
	const struct page_run *before; /* by rising address, cut off at both ends of the range */
	size_t before_count;
	const struct page_run *after;
	size_t after_count;
};

/*
 * `visit` is called from within pages_until(), after the picture has changed; it may read the picture.
 * Several may watch. False when out of memory. A visit that returns false (out of memory) ends pages_until()
 * with an error.
 */
bool pages_watch(struct pages *pages, bool (*visit)(void *context, const struct pages_change *change),
		 void *context);

/* The first invariant that does not hold, in words; NULL where all do. */
const char *pages_check(const struct pages *pages);

#endif
