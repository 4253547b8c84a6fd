/*
 * A library with an allocator of its own, linked with -Bsymbolic: what it calls itself stays inside, while
 * everybody else's calls go to the first definition.
 */
#include "tests/host/guest.h"

#include <stdatomic.h>

enum { ARENA_BYTES = 32 << 20, UNIT = 16 };

static unsigned char arena[ARENA_BYTES] __attribute__((aligned(UNIT)));
static atomic_size_t arena_used;

/* The size stands in front. */
void *malloc(size_t bytes)
{
	size_t room = (bytes + 2 * UNIT - 1) & ~(size_t)(UNIT - 1);
	size_t at = atomic_fetch_add(&arena_used, room);
	if (at + room > ARENA_BYTES)
		return NULL;
	size_t *start = (size_t *)(void *)(arena + at + UNIT);
	start[-1] = bytes;
	return start;
}

/* Long enough for a jump. */
void free(void *block)
{
	if (block)
		((volatile size_t *)block)[-1] = 0;
}

void *calloc(size_t count, size_t bytes)
{
	return malloc(count * bytes);
}

void *realloc(void *block, size_t bytes)
{
	void *p = malloc(bytes);
	size_t had = block ? ((size_t *)block)[-1] : 0;
	if (p && block)
		memcpy(p, block, had < bytes ? had : bytes);
	return p;
}

void symbolic_use(unsigned times)
{
	for (unsigned i = 0; i < times; i++) {
		char *p = malloc(i % 300);
		p = realloc(p, 400);
		char *q = calloc(i % 9, 10);
		require(p && q);
		tag_block(p, 400, i);
		check(tag_holds(p, 400, i));
		free(p);
		free(q);
	}
}
