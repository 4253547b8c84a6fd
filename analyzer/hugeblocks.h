/*
 * Live blocks on resident memory: which allocation sites sit on huge pages, and how much memory of the
 * allocator no live block covers.
 *
 * Words (and those of hugeblocks_sweep.h):
 *   look      a moment of the replay at which all live blocks were laid over the picture of the
 *             pages: at a snapshot, right before which the shim goes through the pages. One is left
 *             out unless as many events have passed since the last one as there are blocks, runs
 *             and regions to go through, or a part of the trace's time (HUGEBLOCKS_SPREAD), so that
 *             all looks together stay linear in the trace. Where there is little to go through,
 *             every snapshot has one; and so has the end
 *   unused    resident bytes of the allocator's regions that no live block covers: fragmentation
 *   bloat     the part of it that lies on huge pages
 *
 * The allocator's regions are those whose owner is tcmalloc-normal, -sampled or -cold, gperftools or
 * ptmalloc-*: only there does it mean anything that no block covers a byte. WiredTiger's own mappings and
 * those of mmap hold no blocks of malloc and are left out, and so is tcmalloc-metadata. Live bytes elsewhere
 * (another allocator) are given apart.
 *
 * Blocks that were allocated before the trace began, or before an executable was patched, are not known: what
 * they cover counts as unused.
 *
 * Full mode: exact, as of the picture of the pages. Sample mode: live bytes are estimated (estimate.h), and
 * what is unused is the exact resident bytes minus that estimate, with the interval that follows from it.
 */
#ifndef MTRACE_HUGEBLOCKS_H
#define MTRACE_HUGEBLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/error.h"
#include "analyzer/hugeblocks_sweep.h"
#include "analyzer/livemap.h"
#include "analyzer/pages.h"
#include "analyzer/regions.h"

struct hugeblocks;

#define HUGEBLOCKS_SPREAD 32u /* so many looks at least, where there are as many snapshots */

/* `trace` must outlive it. NULL when out of memory. */
struct hugeblocks *hugeblocks_open(const struct trace *trace);
void hugeblocks_close(struct hugeblocks *blocks); /* NULL is fine */

/* Counts an event: to be called with each one. */
void hugeblocks_event(struct hugeblocks *blocks);

/* What it looks at. All three have seen everything up to the moment of the look. */
struct hugeblocks_world {
	const struct livemap *live;
	const struct regions *regions;
	const struct pages *pages;
};

/*
 * At a snapshot: looks where it is time to. *looked says whether it did. False on an error (memory), which is
 * set. Nothing is looked at before pages_known().
 */
bool hugeblocks_snapshot(struct hugeblocks *blocks, const struct hugeblocks_world *world, uint64_t time,
			 bool *looked, struct error *error);

/* At the end, after livemap_finish(): always looks. */
bool hugeblocks_finish(struct hugeblocks *blocks, const struct hugeblocks_world *world, uint64_t time,
		       struct error *error);

/* ---- answers ------------------------------------------------------------------------------------------ */

/* False: there was no look, and nothing below is known. */
bool hugeblocks_known(const struct hugeblocks *blocks);
bool hugeblocks_exact(const struct hugeblocks *blocks); /* full mode */

/* False: a flight recorder has lost its beginning, and the blocks of that time with it. What no known block
 * covers may then hold others: unused bytes and bloat are not known. */
bool hugeblocks_complete(const struct hugeblocks *blocks);

/* Of one look. */
struct hugeblocks_look {
	uint64_t time;
	struct sweep_result sweep;
	struct estimate live_elsewhere_bytes; /* in no region of the allocator */
};

/* The newest look; and the one at which most memory was resident in the allocator's regions. */
const struct hugeblocks_look *hugeblocks_last(const struct hugeblocks *blocks);
const struct hugeblocks_look *hugeblocks_peak(const struct hugeblocks *blocks);

/* Of these two the one that says more: the last while a process runs, the peak where it has exited, since by
 * then it has given back what it had. */
const struct hugeblocks_look *hugeblocks_usual(const struct hugeblocks *blocks);

/* Sums of a look, over all owners. */
struct hugeblocks_sums {
	uint64_t resident_bytes; /* of the allocator's regions */
	uint64_t huge_bytes;	 /* of them, on huge pages */
	struct estimate live_bytes;
	struct estimate live_huge_bytes;
	struct interval unused_bytes;
	struct interval bloat_bytes;
};
struct hugeblocks_sums hugeblocks_sums(const struct hugeblocks_look *look);

/* Of one owner; all zero where it has no resident memory. */
struct hugeblocks_owner {
	uint64_t resident_bytes;
	uint64_t huge_bytes;
	struct estimate live_bytes;
	struct estimate live_huge_bytes;
	struct interval unused_bytes;
	struct interval bloat_bytes;
	struct estimate rounding_bytes; /* of the unused: what the allocator added to live blocks */
	bool rounding_known;
};
struct hugeblocks_owner hugeblocks_owner(const struct hugeblocks_look *look, enum owner_kind kind);

/* All looks, in order of time. */
struct hugeblocks_moment {
	uint64_t time;
	struct hugeblocks_sums sums;
};
const struct hugeblocks_moment *hugeblocks_moments(const struct hugeblocks *blocks, size_t *count);

/* Looks with all their figures, evenly spread over the trace: at most HUGEBLOCKS_KEPT_MAX. */
#define HUGEBLOCKS_KEPT_MAX 256u
const struct hugeblocks_look *hugeblocks_kept(const struct hugeblocks *blocks, size_t *count);

/* Live bytes of a site on huge pages, in whatever region. */
struct hugeblocks_site {
	struct estimate huge_bytes;	 /* at the newest look */
	struct estimate huge_bytes_peak; /* the largest of all looks */
	double most_bytes;		 /* on huge pages in the whole process, at the newest look */
	double most_bytes_peak;		 /* at that of the peak; the most at any look where there was none */
};

/* Both estimates within what is possible. */
struct interval hugeblocks_site_bytes(const struct hugeblocks_site *site);
struct interval hugeblocks_site_bytes_peak(const struct hugeblocks_site *site);

/* By the index of livemap_sites(); those beyond *count have none. Valid until the next look. */
const struct hugeblocks_site *hugeblocks_sites(const struct hugeblocks *blocks, size_t *count);

#endif
