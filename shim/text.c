#include "shim/text.h"

#include <string.h>

#include "shim/raw.h"

#define FIRST_CAPACITY 1024u

uint64_t text_number(const char **at, unsigned base)
{
	uint64_t number = 0;
	for (;; (*at)++) {
		char c = **at;
		unsigned digit = c >= '0' && c <= '9'	? (unsigned)(c - '0')
				 : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
							: base;
		if (digit >= base)
			return number;
		number = number * base + digit;
	}
}

uint64_t text_hash(const char *text)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	for (; *text; text++)
		hash = (hash ^ (uint8_t)*text) * UINT64_C(0x100000001b3);
	return hash;
}

bool list_reserve(void *items, size_t *capacity, size_t count, size_t item_bytes)
{
	void **list = items;
	if (count < *capacity)
		return true;
	size_t wanted = *capacity ? 2 * *capacity : FIRST_CAPACITY;
	void *grown = raw_reserve(wanted * item_bytes);
	if (!grown)
		return false;
	if (*list) {
		memcpy(grown, *list, count * item_bytes);
		raw_munmap(*list, *capacity * item_bytes);
	}
	*list = grown;
	*capacity = wanted;
	return true;
}
