#include "analyzer/hashindex.h"

#include <stdlib.h>
#include <string.h>

#define BITS_FIRST 6u
#define BITS_MAX   32u

/* A slot keeps 32 bits of the hash: they say where it lies in a table of any size. */
static size_t place(uint32_t check, unsigned bits)
{
	return check >> (32 - bits);
}

static void insert(struct hashindex_slot *slots, unsigned bits, struct hashindex_slot slot)
{
	size_t mask = ((size_t)1 << bits) - 1, at = place(slot.check, bits);
	while (slots[at].index != HASHINDEX_NONE)
		at = (at + 1) & mask;
	slots[at] = slot;
}

static bool grow(struct hashindex *map)
{
	unsigned bits = map->slots ? map->bits + 1 : BITS_FIRST;
	size_t bytes = sizeof(struct hashindex_slot) << bits;
	struct hashindex_slot *slots = bits < BITS_MAX ? malloc(bytes) : NULL;
	if (!slots)
		return false;
	memset(slots, 0xff, bytes);
	for (size_t i = 0; map->slots && i < (size_t)1 << map->bits; i++)
		if (map->slots[i].index != HASHINDEX_NONE)
			insert(slots, bits, map->slots[i]);
	free(map->slots);
	map->slots = slots;
	map->bits = bits;
	return true;
}

uint32_t hashindex_get(const struct hashindex *map, uint64_t hash,
		       bool (*same)(const void *items, uint32_t index, const void *key), const void *items,
		       const void *key)
{
	uint32_t check = (uint32_t)(hash >> 32);
	if (!map->slots)
		return HASHINDEX_NONE;
	size_t mask = ((size_t)1 << map->bits) - 1;
	for (size_t at = place(check, map->bits);; at = (at + 1) & mask) {
		const struct hashindex_slot *slot = &map->slots[at];
		if (slot->index == HASHINDEX_NONE || (slot->check == check && same(items, slot->index, key)))
			return slot->index;
	}
}

bool hashindex_add(struct hashindex *map, uint64_t hash, uint32_t index)
{
	if ((!map->slots || map->count >= (size_t)1 << (map->bits - 1)) && !grow(map))
		return false;
	insert(map->slots, map->bits, (struct hashindex_slot){(uint32_t)(hash >> 32), index});
	map->count++;
	return true;
}

void hashindex_clear(struct hashindex *map)
{
	free(map->slots);
	*map = (struct hashindex){0};
}
