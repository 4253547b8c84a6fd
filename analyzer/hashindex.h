/*
 * Finds items of an array by a key: hashes to indices, open addressing with linear probing, at most half
 * full. The items are the user's, who says which of them has a key.
 */
#ifndef MTRACE_HASHINDEX_H
#define MTRACE_HASHINDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HASHINDEX_NONE UINT32_MAX

struct hashindex_slot {
	uint32_t check; /* the upper half of the hash */
	uint32_t index; /* HASHINDEX_NONE: empty */
};

/* Zero-initialize. */
struct hashindex {
	struct hashindex_slot *slots;
	size_t count;
	unsigned bits; /* 2^bits slots, where slots is not NULL */
};

/* Mixes a word into a hash (Knuth's multiplier, TAOCP 3, 6.4); start with 0. */
static inline uint64_t hashindex_mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 29;
}

/* The index of the item for which `same(items, index, key)` holds, or HASHINDEX_NONE. */
uint32_t hashindex_get(const struct hashindex *map, uint64_t hash,
		       bool (*same)(const void *items, uint32_t index, const void *key), const void *items,
		       const void *key);

/* Adds an item that is not there yet. False when out of memory. */
bool hashindex_add(struct hashindex *map, uint64_t hash, uint32_t index);

/* Empties it. */
void hashindex_clear(struct hashindex *map);

#endif
