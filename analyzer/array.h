/* Growing arrays, and a bounded copy of text. */
#ifndef MTRACE_ARRAY_H
#define MTRACE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/*
 * Makes room for `count` items of `item_bytes` in *array (a pointer to the array, passed as void *). Doubles,
 * so that appending is linear. False when out of memory; the array is then as before.
 */
static inline bool array_reserve(void *array, size_t *capacity, size_t count, size_t item_bytes)
{
	if (count <= *capacity)
		return true;
	size_t wanted = *capacity ? *capacity * 2 : 16;
	wanted = wanted > count ? wanted : count;
	if (wanted > SIZE_MAX / item_bytes)
		return false;
	void *grown = realloc(*(void **)array, wanted * item_bytes);
	if (!grown)
		return false;
	*(void **)array = grown;
	*capacity = wanted;
	return true;
}

#endif
