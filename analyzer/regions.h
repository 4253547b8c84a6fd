/*
 * The memory regions of a traced process over time: what was mapped, by whom, and in which state, from the
 * region calls that the hooks recorded and from the readings of /proc/self/maps that fill in what passes no
 * hook. Fed with the events of a trace in order of time; memory follows the number of live regions.
 *
 * Words:
 *   reserved   mapped without access: TCMalloc's 1 GiB reservations, the unused end of an arena, guard pages
 *   committed  mapped with access, whether touched or not
 *   released   given back by madvise (MADV_DONTNEED, MADV_FREE, MADV_REMOVE) and not asked for again by a
 *              call: an upper bound, since memory that is merely touched again comes back unseen
 * The three are disjoint; their sum is what is mapped.
 *
 * A reading is applied as of the moment it began, before the events from then on: an event that it has seen
 * already changes nothing when it comes a second time (trace/FORMAT.md).
 */
#ifndef MTRACE_REGIONS_H
#define MTRACE_REGIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/error.h"
#include "analyzer/regions_owner.h"

struct regions;

/* `trace` and `options` (which may be NULL) must outlive it. NULL when out of memory. */
struct regions *regions_open(struct trace *trace, const struct symbol_options *options);
void regions_close(struct regions *regions); /* NULL is fine */

/* The next event, of any kind. False on an error, which is set. */
bool regions_event(struct regions *regions, const struct trace_event *event, struct error *error);

/* There are no more events up to `time`, in time units; UINT64_MAX: none at all. False on an error. */
bool regions_until(struct regions *regions, uint64_t time, struct error *error);

/* False: the trace holds nothing about regions up to now, so that 0 bytes would be no answer. */
bool regions_known(const struct regions *regions);

/* With the bytes of each now and at most; *count is set. Valid until the next call that changes something. */
const struct region_owner *regions_owners(const struct regions *regions, size_t *count);

/* Over all owners but the shim. */
struct region_totals {
	uint64_t bytes[REGION_STATES];
	uint64_t peak_bytes[REGION_STATES];
};
const struct region_totals *regions_totals(const struct regions *regions);

/* Neighbouring regions of one owner. */
struct region_span {
	uint64_t start;
	uint64_t end;
	uint32_t owner; /* index into the owners */
	uint64_t bytes[REGION_STATES];
};

/* All of them by rising address: *spans is owned by the caller (free). False when out of memory. */
bool regions_spans(const struct regions *regions, struct region_span **spans, size_t *count);

/* What lies at an address, and the map itself, for who asks region by region. */
const struct regionmap *regions_map(const struct regions *regions);

#endif
