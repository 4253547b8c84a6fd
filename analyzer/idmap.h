/*
 * A map from 32-bit ids (threads, stacks) to 32-bit indexes: open addressing with linear probing, at most
 * half full. Ids come from the trace and may be anything.
 */
#ifndef MTRACE_IDMAP_H
#define MTRACE_IDMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IDMAP_NONE UINT32_MAX

struct idmap_slot {
	uint32_t id;
	uint32_t index; /* IDMAP_NONE: empty */
};

/* Zero-initialize. */
struct idmap {
	struct idmap_slot *slots;
	size_t count;
	unsigned bits; /* 2^bits slots, where slots is not NULL */
};

/* Knuth's multiplicative hash (TAOCP 3, 6.4). */
static inline size_t idmap_hash(uint32_t id, unsigned bits)
{
	return (size_t)((id * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - bits));
}

/* The index of `id`, or IDMAP_NONE. */
static inline uint32_t idmap_get(const struct idmap *map, uint32_t id)
{
	if (!map->slots)
		return IDMAP_NONE;
	size_t mask = ((size_t)1 << map->bits) - 1;
	for (size_t at = idmap_hash(id, map->bits);; at = (at + 1) & mask)
		if (map->slots[at].index == IDMAP_NONE || map->slots[at].id == id)
			return map->slots[at].index;
}

/* Adds `id`, which must not be there yet. False when out of memory. */
bool idmap_add(struct idmap *map, uint32_t id, uint32_t index);

void idmap_clear(struct idmap *map);

#endif
