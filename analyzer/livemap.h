/*
 * The blocks that are live at each moment of the event stream, and totals by call site.
 *
 * Words:
 *   block  what an allocator call returned
 *   site   a distinct allocating stack (by stack id; id 0 collects the blocks without one)
 *   known  a block whose allocation stood in the stream; frees of others are counted as unknown
 *
 * A realloc is the free of its old block at `time` and the allocation of the new one at `end_time`; between
 * the two another thread can own the old address.
 *
 * Clocks tie, and may be a little off between CPUs, so that the stream can give two events of one address in
 * the wrong order when the block was handed over between threads. Both cases are resolved, and counted in
 * `reordered`: allocation over a live block    the free of the old block follows within LIVEMAP_REORDER_NS,
 * from a thread other than the new owner; otherwise that free was lost free of an unknown block        its
 * allocation follows within LIVEMAP_REORDER_NS, from another thread
 *
 * Sample mode: an allocation of s bytes is sampled with probability p(s) = 1 - exp(-max(s, 1) / T), T =
 * sample_bytes (Poisson process over the allocated bytes). How sums, their intervals and peaks are estimated
 * from that is told in estimate.h. In full mode p = 1, and everything is exact.
 *
 * Invariants: live_bytes = sum over live blocks; sum over sites of live_bytes = live_bytes.
 */
#ifndef MTRACE_LIVEMAP_H
#define MTRACE_LIVEMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/estimate.h"
#include "trace/event.h"

struct livemap;

#define LIVEMAP_REORDER_NS                                                                                   \
	20000u /* far above any skew between synchronized CPU clocks, far below a block's usual reuse */

struct live_site {
	uint32_t stack_id;
	struct estimate allocs;	     /* allocation calls (no reallocs) */
	struct estimate alloc_bytes; /* requested by them */
	struct estimate reallocs;    /* realloc calls that gave a new block */
	struct estimate realloc_bytes;
	struct estimate frees;	      /* of this site's blocks; reallocs of them included */
	struct estimate remote_frees; /* of those: by another thread than the allocating one */
	struct estimate live_blocks;
	struct estimate live_bytes;
	struct peak live_bytes_peak;
};

struct live_block {
	uint64_t address;
	uint64_t size_bytes;
	uint64_t time; /* of its allocation */
	uint32_t site; /* index for livemap_sites() */
	uint32_t thread;
};

struct livemap_totals {
	struct estimate live_blocks;
	struct estimate live_bytes;
	struct peak live_bytes_peak;
	uint64_t live_bytes_peak_time; /* time units */
	uint64_t
		unknown_frees; /* frees (and reallocs) of blocks allocated before the stream began, or lost */
	uint64_t lost_frees;   /* blocks whose address was allocated again without a free in the stream */
	uint64_t reordered;    /* pairs that came in the wrong order and were put right */
	uint64_t remote_frees; /* events: frees by another thread than the allocating one */
	uint64_t memory_bytes; /* held by the map itself */
};

/*
 * `sample_bytes`: T, or 0 in full mode. `reorder_units`: LIVEMAP_REORDER_NS in time units. NULL when out of
 * memory.
 */
struct livemap *livemap_create(uint64_t sample_bytes, uint64_t reorder_units);
void livemap_free(struct livemap *map);

/* Applies an event; kinds that are no allocator calls pass without effect. Events come in merge order.
 * False when out of memory: the map is then no longer right. */
bool livemap_apply(struct livemap *map, const struct trace_event *event);

/* For merge_lookahead(), with the map as context: fetches what livemap_apply() of this event will touch. */
void livemap_prefetch(void *map, const struct trace_event *event);

/* After the last event: settles what still waits. Totals and sites are final afterwards. */
bool livemap_finish(struct livemap *map);

const struct livemap_totals *livemap_totals(const struct livemap *map);

/* All sites, in order of first use; the pointer is valid until the next livemap_apply(). */
const struct live_site *livemap_sites(const struct livemap *map, size_t *count);

/* The live block that begins at `address`; NULL: none does. Valid until the next livemap_apply(). */
const struct live_block *livemap_find(const struct livemap *map, uint64_t address);

/* Calls `visit` for each live block, in no order. */
void livemap_each(const struct livemap *map, void (*visit)(void *context, const struct live_block *block),
		  void *context);

#endif
