/*
 * What the live map keeps for a moment: frees that came in the wrong order, and reallocs that have not ended.
 * Both lists are short: they hold what happens within LIVEMAP_REORDER_NS, and one realloc a thread.
 */
#ifndef MTRACE_WAITING_H
#define MTRACE_WAITING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A free that is owed (an allocation came over a live block), or an early one (of a block that was not
 * known). */
struct pending {
	uint64_t address;
	uint64_t size_bytes; /* owed only: of the old block */
	uint64_t deadline;   /* time units: what has not found its other half by then is settled without it */
	uint32_t site;	     /* owed only: of the old block */
	uint32_t thread;     /* owed: that allocated the old block; early: that freed */
	uint32_t owner;	     /* owed only: that allocated the new block */
	uint32_t cpu;	     /* where `thread` did that; for whoever asks, the live map does not */
	bool owed;
};

/* Zero-initialize; free `items` at the end. */
struct pending_list {
	struct pending *items; /* by deadline */
	size_t count, capacity;
	uint64_t lost;	  /* settled: frees that were owed and never came */
	uint64_t unknown; /* settled: early frees whose allocation never came */
};

/* False when out of memory. More than a few thousand cannot honestly wait: the oldest is then settled early.
 */
bool pending_add(struct pending_list *list, const struct pending *pending);

/*
 * Takes out the entry that an event of `thread` at `address` completes: a free pays an owed one, unless it is
 * the new owner's (within a thread the order is right); an allocation ends at an early one of another thread.
 */
bool pending_take(struct pending_list *list, uint64_t address, bool owed, uint32_t thread,
		  struct pending *taken);

/* Settles what has a deadline before `time`; UINT64_MAX: everything. */
void pending_settle(struct pending_list *list, uint64_t time);

/* The second half of a realloc. */
struct deferred {
	uint64_t end_time;
	uint64_t address;
	uint64_t size_bytes;
	uint32_t stack_id;
	uint32_t thread;
};

/* A heap, the smallest end_time first. Zero-initialize; free `items` at the end. */
struct deferred_heap {
	struct deferred *items;
	size_t count, capacity;
};

bool deferred_push(struct deferred_heap *heap,
		   const struct deferred *deferred);	  /* false when out of memory */
struct deferred deferred_pop(struct deferred_heap *heap); /* count must not be 0 */

#endif
