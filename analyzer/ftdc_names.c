#include "analyzer/ftdc_names.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/array.h"

#define FIRST_BITS 9u

/* FNV-1a, 64 bits (draft-eastlake-fnv): offset basis and prime. */
static uint64_t hash_of(const char *name)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
	return hash;
}

/* The slot of `name`, or the empty one where it belongs. */
static size_t *find_slot(const struct ftdc_names *names, const char *name)
{
	size_t mask = ((size_t)1 << names->bits) - 1;
	for (size_t at = hash_of(name) & mask;; at = (at + 1) & mask) {
		size_t *slot = &names->slots[at];
		if (*slot == 0 || strcmp(names->items[*slot - 1], name) == 0)
			return slot;
	}
}

static bool grow(struct ftdc_names *names)
{
	unsigned bits = names->slots ? names->bits + 1 : FIRST_BITS;
	size_t *slots = calloc((size_t)1 << bits, sizeof *slots);
	if (!slots)
		return false;
	free(names->slots);
	names->slots = slots;
	names->bits = bits;
	for (size_t i = 0; i < names->count; i++)
		*find_slot(names, names->items[i]) = i + 1;
	return true;
}

size_t ftdc_names_find(const struct ftdc_names *names, const char *name)
{
	return names->slots ? *find_slot(names, name) - 1 : FTDC_NO_NAME;
}

static bool make_room(struct ftdc_names *names)
{
	bool full = !names->slots || names->count * 2 >= (size_t)1 << names->bits;
	return (!full || grow(names)) &&
	       array_reserve(&names->items, &names->capacity, names->count + 1, sizeof *names->items);
}

size_t ftdc_names_add(struct ftdc_names *names, const char *name, bool *memory)
{
	size_t index = ftdc_names_find(names, name);
	if (index != FTDC_NO_NAME)
		return index;
	size_t bytes = strlen(name) + 1;
	if (names->count == FTDC_NAMES_MAX || bytes > FTDC_NAMES_MAX_BYTES - names->text_bytes) {
		names->refused++;
		return FTDC_NO_NAME;
	}
	char *copy = make_room(names) ? strdup(name) : NULL;
	if (!copy) {
		*memory = false;
		return FTDC_NO_NAME;
	}
	*find_slot(names, name) = names->count + 1;
	names->items[names->count] = copy;
	names->text_bytes += bytes;
	return names->count++;
}

void ftdc_names_free(struct ftdc_names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->items[i]);
	free(names->items);
	free(names->slots);
	*names = (struct ftdc_names){0};
}
