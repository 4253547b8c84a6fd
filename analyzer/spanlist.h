/*
 * The spans of one size class in gperftools' central list: how many objects a fetch finds depends on them.
 *
 * A fetch takes from one span after the other, the one first that last got an object back, and cuts up a new
 * one only where none has any; a span whose objects are all back goes to the page heap. The model's caches
 * count objects and do not know which they hold: objects that come back belong to a span drawn at random, in
 * proportion to the objects that each has out (an eighth of a span's and one more at a time).
 */
#ifndef MTRACE_SPANLIST_H
#define MTRACE_SPANLIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPANLIST_NONE	 UINT32_MAX
#define SPANLIST_BUCKETS 17u /* by bit width of the objects out, which are below 2^16 */

struct span_state {
	uint32_t next, previous; /* in the list of those with free objects, or of unused entries */
	uint32_t place;		 /* in its bucket */
	uint32_t out;		 /* objects that are not here */
};

/* Spans with objects out in [2^(n-1), 2^n). */
struct span_bucket {
	uint32_t *spans;
	uint32_t count, capacity;
	uint64_t out;
};

/* Zero-initialize, and call spanlist_start(). */
struct spanlist {
	uint32_t objects; /* of a span */
	struct span_state *spans;
	uint32_t used, capacity;
	uint32_t first;	 /* with free objects; SPANLIST_NONE */
	uint32_t unused; /* entries of spans that are gone; SPANLIST_NONE */
	uint64_t out;
	uint64_t random;
	struct span_bucket buckets[SPANLIST_BUCKETS];
};

void spanlist_start(struct spanlist *list, uint32_t objects);
/* `copy` is made from scratch. False when out of memory. */
bool spanlist_copy(struct spanlist *copy, const struct spanlist *list);
void spanlist_free(struct spanlist *list);

/* Takes up to `objects`, at least one. 0: out of memory. */
uint32_t spanlist_take(struct spanlist *list, uint32_t objects);

/* Gives back; no more than are out. False when out of memory. */
bool spanlist_give(struct spanlist *list, uint32_t objects);

/* Bytes held. */
uint64_t spanlist_memory_bytes(const struct spanlist *list);

#endif
