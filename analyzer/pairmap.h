/* A map from pairs of 32-bit ids to 32-bit indexes, as idmap.h is from single ones: at most half full. */
#ifndef MTRACE_PAIRMAP_H
#define MTRACE_PAIRMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PAIRMAP_NONE UINT32_MAX

struct pairmap_slot {
	uint64_t pair;
	uint32_t index; /* PAIRMAP_NONE: empty */
};

/* Zero-initialize. */
struct pairmap {
	struct pairmap_slot *slots;
	size_t count;
	unsigned bits; /* 2^bits slots, where slots is not NULL */
};

/* The index of (first, second), or PAIRMAP_NONE. */
uint32_t pairmap_get(const struct pairmap *map, uint32_t first, uint32_t second);

/* Adds a pair, which must not be there yet. False when out of memory. */
bool pairmap_add(struct pairmap *map, uint32_t first, uint32_t second, uint32_t index);

void pairmap_clear(struct pairmap *map);

#endif
