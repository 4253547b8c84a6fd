#include "analyzer/pairmap.h"

#include <stdlib.h>
#include <string.h>

#define BITS_FIRST 6u

/* Knuth's multiplicative hash (TAOCP 3, 6.4), with the upper half folded in first. */
static size_t hash(uint64_t pair, unsigned bits)
{
	return (size_t)(((pair ^ pair >> 29) * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - bits));
}

static struct pairmap_slot *probe(struct pairmap_slot *slots, unsigned bits, uint64_t pair)
{
	size_t mask = ((size_t)1 << bits) - 1;
	size_t at = hash(pair, bits);
	while (slots[at].index != PAIRMAP_NONE && slots[at].pair != pair)
		at = (at + 1) & mask;
	return &slots[at];
}

static uint64_t pair_of(uint32_t first, uint32_t second)
{
	return (uint64_t)first << 32 | second;
}

uint32_t pairmap_get(const struct pairmap *map, uint32_t first, uint32_t second)
{
	return map->slots ? probe(map->slots, map->bits, pair_of(first, second))->index : PAIRMAP_NONE;
}

static bool grow(struct pairmap *map)
{
	unsigned bits = map->slots ? map->bits + 1 : BITS_FIRST;
	size_t bytes = sizeof(struct pairmap_slot) << bits;
	struct pairmap_slot *slots = malloc(bytes);
	if (!slots)
		return false;
	memset(slots, 0xff, bytes);
	for (size_t i = 0; map->slots && i < (size_t)1 << map->bits; i++)
		if (map->slots[i].index != PAIRMAP_NONE)
			*probe(slots, bits, map->slots[i].pair) = map->slots[i];
	free(map->slots);
	map->slots = slots;
	map->bits = bits;
	return true;
}

bool pairmap_add(struct pairmap *map, uint32_t first, uint32_t second, uint32_t index)
{
	if ((!map->slots || map->count >= (size_t)1 << (map->bits - 1)) && !grow(map))
		return false;
	uint64_t pair = pair_of(first, second);
	*probe(map->slots, map->bits, pair) = (struct pairmap_slot){pair, index};
	map->count++;
	return true;
}

void pairmap_clear(struct pairmap *map)
{
	free(map->slots);
	*map = (struct pairmap){0};
}
