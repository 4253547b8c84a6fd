/*
 * Live blocks against the resident memory of the allocator's regions: one sweep over both by rising address.
 *
 * Words:
 *   stretch  resident memory of one region owner, all of it on huge pages or all of it on small ones
 *   hole     bytes of a stretch that no live block covers. A block covers the bytes that were asked for: what
 *            an allocator adds to round a size up, and its headers, are holes
 *   page     here the allocator's: `allocator_page_bytes()`
 *   class    of a size, by size_class_of() (sizeclass.h)
 *
 * The class of a hole is that of the blocks which cover most of its page; where no live block lies on the
 * page, HOLE_FREE_PAGE. Of equal covers the smaller class wins. TCMalloc and gperftools give a page to blocks
 * of one of their classes, so there it is the class that the memory was set aside for; ptmalloc mixes them.
 *
 * Full mode: everything is exact. Sample mode: what is covered is estimated from the sampled blocks, and the
 * classes of holes are not known, since most pages with blocks have none that was sampled.
 *
 * Invariants, full mode: for small and for huge pages, resident = live + the sum of the holes by class.
 */
#ifndef MTRACE_HUGEBLOCKS_SWEEP_H
#define MTRACE_HUGEBLOCKS_SWEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/estimate.h"
#include "analyzer/regions_owner.h"
#include "analyzer/sizeclass.h"

enum backing { BACKING_SMALL, BACKING_HUGE, BACKINGS };

struct sweep_block {
	uint64_t start;
	uint64_t end; /* not below start */
	uint32_t site;
};

struct sweep_stretch {
	uint64_t start;
	uint64_t end; /* greater than start */
	enum owner_kind owner;
	enum backing backing;
};

#define HOLE_FREE_PAGE SIZE_CLASSES
#define HOLE_CLASSES   (SIZE_CLASSES + 1)

struct sweep_owner {
	uint64_t resident_bytes;
	struct estimate live_bytes;	/* of them, covered by blocks */
	struct estimate rounding_bytes; /* of the holes: see allocator_rounding_bytes() */
};

struct sweep_result {
	struct sweep_owner owners[OWNER_KINDS][BACKINGS];
	struct estimate live_bytes[SIZE_CLASSES][BACKINGS]; /* the same by class */
	uint64_t hole_bytes[HOLE_CLASSES][BACKINGS];	    /* full mode alone */
};

/* Whether blocks of malloc lie in memory of this owner. tcmalloc-metadata is the allocator's, and holds none.
 */
bool allocator_owner(enum owner_kind kind);

/*
 * The unit in which the allocator gives memory to a class of sizes: 8 KiB for TCMalloc and gperftools (their
 * kPageShift 13, which MongoDB keeps), the kernel's page for ptmalloc, which has none; never below the
 * kernel's page, by which memory is resident or not.
 */
uint64_t allocator_page_bytes(enum owner_kind kind, uint64_t page_bytes);

/*
 * What the allocator adds to a block of `size_bytes`: header, and rounding up. ptmalloc, 64 bits: a chunk is
 * the size plus 8 bytes, in multiples of 16 and at least 32; with a mapping of its own the size plus 16 in
 * whole pages (glibc's manual of malloc, malloc_usable_size()). At least that: a chunk that was found can be
 * 16 bytes longer than needed. TCMalloc's and gperftools' tables of sizes differ between versions, and no
 * trace says which one it was: false there.
 */
bool allocator_rounding_bytes(enum owner_kind kind, uint64_t size_bytes, uint64_t page_bytes,
			      uint64_t *rounding_bytes);
bool allocator_rounding_known(enum owner_kind kind);

/*
 * `blocks` by rising start (blocks that overlap, after lost frees, count once), `stretches` by rising address
 * and disjoint. `sample_bytes`: 0 in full mode.
 */
void sweep_run(const struct sweep_block *blocks, size_t block_count, const struct sweep_stretch *stretches,
	       size_t stretch_count, uint64_t sample_bytes, uint64_t page_bytes, struct sweep_result *out);

/*
 * Bytes of [start, end) in disjoint ranges by rising address. *cursor starts at 0; asked by rising `start`,
 * all calls together are linear in the ranges.
 */
struct sweep_range {
	uint64_t start, end;
};
uint64_t sweep_overlap_bytes(const struct sweep_range *ranges, size_t count, size_t *cursor, uint64_t start,
			     uint64_t end);

/* By rising start, in time linear in `count`; `spare` has room for as many. */
void sweep_sort(struct sweep_block *blocks, struct sweep_block *spare, size_t count);

#endif
