#include "analyzer/idmap.h"

#include <stdlib.h>
#include <string.h>

#define IDMAP_BITS_FIRST 6u

static void insert(struct idmap_slot *slots, unsigned bits, struct idmap_slot slot)
{
	size_t mask = ((size_t)1 << bits) - 1;
	size_t at = idmap_hash(slot.id, bits);
	while (slots[at].index != IDMAP_NONE)
		at = (at + 1) & mask;
	slots[at] = slot;
}

static bool grow(struct idmap *map)
{
	unsigned bits = map->slots ? map->bits + 1 : IDMAP_BITS_FIRST;
	size_t bytes = sizeof(struct idmap_slot) << bits;
	struct idmap_slot *slots = malloc(bytes);
	if (!slots)
		return false;
	memset(slots, 0xff, bytes);
	for (size_t i = 0; map->slots && i < (size_t)1 << map->bits; i++)
		if (map->slots[i].index != IDMAP_NONE)
			insert(slots, bits, map->slots[i]);
	free(map->slots);
	map->slots = slots;
	map->bits = bits;
	return true;
}

bool idmap_add(struct idmap *map, uint32_t id, uint32_t index)
{
	if ((!map->slots || map->count >= (size_t)1 << (map->bits - 1)) && !grow(map))
		return false;
	insert(map->slots, map->bits, (struct idmap_slot){id, index});
	map->count++;
	return true;
}

void idmap_clear(struct idmap *map)
{
	free(map->slots);
	*map = (struct idmap){0};
}
