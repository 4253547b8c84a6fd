/*
 * Huge page coverage of a process over time: how much is resident, how much of it lies on huge pages, how
 * much could, and why the rest does not. By owner of the memory and by the call that mapped it.
 *
 * Fed with the same stream as regions and pages, which its caller owns and brings up to each moment first:
 *
 *     with each event regions_event(), pages_until(event->time), coverage_event()
 *     at a snapshot regions_until(), pages_until(snapshot->mark.time), coverage_snapshot()
 *     at the end regions_until(), pages_until(UINT64_MAX), coverage_finish()
 *
 * Words (and those of pages.h, vmas.h, hugecause.h, hugeplaces.h):
 *   resident  what Rss counts, without hugetlb pages
 *   huge      of it, what is mapped by PMD entries
 *   eligible  whole huge pages at their natural places, in mappings that the kernel would give huge pages
 *   moment    a snapshot at which all memory was gone through; its figures are those of the looks before it
 *
 * All figures leave out the shim's own memory. They are as of the looks: of memory that was unmapped since
 * nothing is counted, of memory that was released or touched since the picture is as old as `age_s`.
 *
 * Where the shim could look at no pages, moments are the readings of smaps, and only sums by mapping are
 * known: what could be huge and is not is CAUSE_UNKNOWN, and there are neither breakers nor ways.
 *
 * A moment costs as many steps as there are regions, runs and looks. Where that is more than
 * COVERAGE_STEPS a snapshot, moments become rarer, so that all together stay linear in the trace.
 */
#ifndef MTRACE_COVERAGE_H
#define MTRACE_COVERAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/hugecause.h"
#include "analyzer/hugeplaces.h"
#include "analyzer/pages.h"
#include "analyzer/regions.h"
#include "analyzer/thpstate.h"

#define COVERAGE_STEPS	   20000u /* a snapshot, besides one for each event */
#define COVERAGE_ROW_SITES 8u	  /* largest mapping sites kept with each moment */

struct coverage;

/* `regions` and `pages` must outlive it. NULL when out of memory. */
struct coverage *coverage_open(struct trace *trace, const struct regions *regions, struct pages *pages);
void coverage_close(struct coverage *coverage); /* NULL is fine */

/* All three: false on an error, which is set. */
bool coverage_event(struct coverage *coverage, const struct trace_event *event, struct error *error);
bool coverage_snapshot(struct coverage *coverage, const struct snapshot *snapshot, struct error *error);
bool coverage_finish(struct coverage *coverage, struct error *error);

/* False: the trace holds neither looks nor readings of smaps up to now, so that 0 bytes would be no answer.
 */
bool coverage_known(const struct coverage *coverage);

/* ---- sums --------------------------------------------------------------------------------------------- */

struct coverage_sums {
	uint64_t resident_bytes;
	uint64_t huge_bytes;
	uint64_t huge_eligible_bytes; /* of them, in eligible memory: MADV_COLLAPSE needs no eligibility, and
					 settings change */
	uint64_t eligible_bytes;
	uint64_t eligible_predicted_bytes; /* of them, in mappings younger than the last reading of smaps */
	uint64_t eligible_reserved_bytes;  /* of them, not there, and without access */
	uint64_t eligible_swapped_bytes;
	uint64_t swapped_bytes;
	uint64_t zero_bytes;	/* mapped to the kernel's page of zeros: not resident */
	uint64_t hugetlb_bytes; /* in none of the others */
	uint64_t causes[CAUSE_COUNT];
};

/* What is eligible and has access: address space that an allocator only reserves is eligible as well. */
static inline uint64_t coverage_usable_bytes(const struct coverage_sums *sums)
{
	return sums->eligible_bytes - sums->eligible_reserved_bytes;
}

/* The first invariant of hugecause.h that does not hold, in words; NULL where all do. `looked`: of the
 * row that they belong to. */
const char *coverage_sums_check(const struct coverage_sums *sums, bool looked);

/* ---- over time ---------------------------------------------------------------------------------------- */

/* Of one owner or site at one moment. */
struct coverage_level {
	uint32_t index; /* of coverage_owners(), or of coverage_sites() */
	uint64_t resident_bytes;
	uint64_t huge_bytes;
	uint64_t eligible_bytes;
	uint64_t eligible_reserved_bytes;
};

struct coverage_row {
	uint64_t time;
	bool looked;  /* by looks at pages; otherwise by smaps alone, before the first look or without any */
	double age_s; /* of the oldest look at memory that was resident; NaN where nothing was */
	/* By the kernel's count, the tracer's own included: much more than sums.resident_bytes says that
	 * memory was touched since its last look. SNAPSHOT_UNKNOWN: not known. */
	uint64_t rss_bytes;
	struct coverage_sums sums;
	struct pages_unplaced unplaced; /* sums.huge_bytes holds unplaced.huge_bytes, no owner does */
	size_t owners_at, owners_count; /* in coverage_levels(): owners that have something */
	size_t sites_at, sites_count;	/* largest first */
};

const struct coverage_row *coverage_rows(const struct coverage *coverage, size_t *count);
/* The row that was made at the last snapshot or since the one before it; NULL where none was. */
const struct coverage_row *coverage_fresh_row(const struct coverage *coverage);
const struct coverage_level *coverage_levels(const struct coverage *coverage);

/* ---- at the last moment ------------------------------------------------------------------------------- */

/* An owner (by index of regions_owners()) or a mapping site. */
struct coverage_part {
	uint32_t stack_id; /* of a site: the call that mapped the memory; 0: no call is known */
	struct coverage_sums sums;
	uint64_t resident_bytes_peak; /* over all moments */
	uint64_t huge_bytes_peak;
};
const struct coverage_part *coverage_owners(const struct coverage *coverage, size_t *count);
const struct coverage_part *coverage_sites(const struct coverage *coverage, size_t *count);

/* Neighbouring memory of one owner in one mapping of the kernel, by rising address. */
struct coverage_region {
	uint64_t start;
	uint64_t end;
	uint32_t owner;
	bool eligible; /* its inner part is */
	bool predicted;
	struct coverage_sums sums;
};
const struct coverage_region *coverage_regions(const struct coverage *coverage, size_t *count);

/* NULL where the trace has no looks, or the size of huge pages is not known. */
const struct hugeplaces *coverage_places(const struct coverage *coverage);
const struct thpstate *coverage_settings(const struct coverage *coverage);

/* Page faults of the process between the first snapshot and the last; SNAPSHOT_UNKNOWN where it is not known.
 */
struct coverage_faults {
	uint64_t minor, major;
};
struct coverage_faults coverage_faults(const struct coverage *coverage);

/*
 * Looks against the kernel's own sums: at each reading of smaps, the huge bytes of each mapping by the looks
 * and by smaps. The two are not of one moment, so a difference is no proof of an error.
 */
struct coverage_check {
	uint64_t readings;
	uint64_t mappings; /* compared, over all readings */
	uint64_t mappings_differing;
	uint64_t last_looks_bytes; /* of the last reading, over all mappings */
	uint64_t last_smaps_bytes;
};
struct coverage_check coverage_check(const struct coverage *coverage);

#endif
