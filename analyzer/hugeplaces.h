/*
 * What became of each place that a huge page can take, from look to look: which were lost and to whose call,
 * which came back and after how long, and how memory first got onto huge pages.
 *
 * Words:
 *   place    where one huge page can lie: pages_huge_bytes() long, aligned
 *   covered  the place is mapped as a huge page
 *   lost     was covered at a look and is not at the next, while memory stayed, or after calls that took it
 *            piece by piece. A place that one call gave back as a whole is not lost but released. mremap
 *            takes huge pages along where the distance is a multiple of them, and breaks them where it is not
 *   breaker  a call (its stack and what it was) that covered a part of a place, of which the next look found
 *            that it was lost. Of several calls on one place the first is it: it split the mapping
 *
 * Two looks see no more than what is between them: a huge page that came and was broken between two looks
 * leaves no trace here, nor does one that was broken and collapsed again.
 *
 * Memory follows the places that are resident and not covered, or of which a call took a part.
 */
#ifndef MTRACE_HUGEPLACES_H
#define MTRACE_HUGEPLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gsl/gsl_rstat.h>

#include "analyzer/idmap.h"
#include "analyzer/pages.h"
#include "analyzer/regionmap.h"

/* The kind of call that broke a huge page; EVENT_NONE: no call was seen that did (the kernel splits them
 * under memory pressure, and calls that pass no hook are not recorded). */
struct breaker {
	uint32_t stack_id;
	uint8_t kind;	 /* enum event_kind */
	uint32_t advice; /* of EVENT_MADVISE */
	uint32_t next;	 /* another kind of call with this stack; UINT32_MAX: none */
	uint32_t last_serial;
	uint64_t calls; /* that broke at least one huge page; of EVENT_NONE: looks are not calls: 0 */
	uint64_t huge_pages_lost;
	uint64_t came_back; /* of them: covered again at a later look */
	/* Seconds from the look that found them gone to the one that found them back. The median is exact up
	 * to four, from there on by the P2 algorithm (GSL manual, "Running Statistics"), in constant memory.
	 */
	gsl_rstat_workspace *back_s;
};

/* Ways onto huge pages. */
enum coverage_path {
	PATH_FAULT,	 /* covered at the first look that saw anything there */
	PATH_KHUGEPAGED, /* small at first, covered later */
	PATH_COLLAPSE,	 /* the same, after an madvise(MADV_COLLAPSE) that held the place */
	PATH_COUNT,
};

struct coverage_way {
	uint64_t huge_pages;
	/* Seconds from the first look that saw it resident to the first that saw it covered; of PATH_FAULT,
	 * where that is one look, from the look before, which is the longest that it can have been. */
	gsl_rstat_workspace *delay_s;
};

/* State of a place that is not covered, as the tree keeps it. */
enum place_state {
	PLACE_PLAIN,	/* small, seen so since `time` */
	PLACE_FALLBACK, /* the same, and the machine was short of huge pages when it was touched */
	PLACE_BROKEN,	/* lost at `time` */
	PLACE_TOUCHED,	/* covered at the last look; since `time` a call has taken a part of it */
	PLACE_ENDED,	/* was there at the last look; a call has given all of it back at `time` */
	PLACE_MOVED,	/* mremap has brought a whole huge page here at `time`; no look has seen it yet */
};

struct hugeplaces;

/* Watches `pages`, which must outlive it. NULL when out of memory. */
struct hugeplaces *hugeplaces_open(struct trace *trace, struct pages *pages);
void hugeplaces_close(struct hugeplaces *places); /* NULL is fine */

/* The next event, of any kind; the pages have been brought up to its time before. False when out of memory.
 */
bool hugeplaces_event(struct hugeplaces *places, const struct trace_event *event);

/*
 * The settings were read at `time`; the reading before was at `before` (0: there was none). `fell_back`: in
 * between the machine's count of faults that found no huge page has risen. False when out of memory.
 */
bool hugeplaces_settings(struct hugeplaces *places, uint64_t before, uint64_t time, bool fell_back);

/* Nothing is mapped in [start, end) any more. False when out of memory. */
bool hugeplaces_forget(struct hugeplaces *places, uint64_t start, uint64_t end);

/* The state of the place at an address; false where nothing is kept of it. *end is where that may change. */
bool hugeplaces_state(const struct hugeplaces *places, uint64_t address, enum place_state *state,
		      uint64_t *end);

/* In the order in which they were first seen; the first is that of EVENT_NONE. Valid until the next event. */
const struct breaker *hugeplaces_breakers(const struct hugeplaces *places, size_t *count);

/* PATH_COUNT of them. From PAGES_FROM_KPAGEFLAGS, where the moment is not known, they stay empty. */
const struct coverage_way *hugeplaces_ways(const struct hugeplaces *places);

size_t hugeplaces_entries(const struct hugeplaces *places);

#endif
