/*
 * An allocator that a handler may interrupt anywhere: it bumps one atomic and never takes back. With it
 * behind a preloaded object, malloc inside malloc is the guest's right, and only the preloaded object is
 * under test.
 */
#include "tests/host/guest.h"

#include <malloc.h>
#include <stdatomic.h>

enum { ARENA_BYTES = 512 << 20, UNIT = 16 };

static _Alignas(4096) unsigned char arena[ARENA_BYTES];
static atomic_size_t used;

static void *take(size_t alignment, size_t bytes)
{
	if (bytes > ARENA_BYTES / 4 || alignment > 4096) {
		errno = ENOMEM;
		return NULL;
	}
	size_t room = (UNIT + alignment + bytes + UNIT - 1) & ~(size_t)(UNIT - 1);
	size_t start = atomic_fetch_add_explicit(&used, room, memory_order_relaxed);
	if (start + room > ARENA_BYTES) {
		errno = ENOMEM;
		return NULL;
	}
	uintptr_t address = ((uintptr_t)&arena[start] + UNIT + alignment - 1) & ~(alignment - 1);
	*(size_t *)(address - UNIT) = bytes;
	return (void *)address;
}

void *malloc(size_t bytes)
{
	return take(UNIT, bytes);
}

void *calloc(size_t count, size_t each)
{
	return take(UNIT, count * each); /* never given twice, so still zero */
}

size_t malloc_usable_size(void *block)
{
	return block ? *(size_t *)((uintptr_t)block - UNIT) : 0;
}

void *realloc(void *block, size_t bytes)
{
	void *p = take(UNIT, bytes);
	size_t had = malloc_usable_size(block);
	if (p && block)
		memcpy(p, block, had < bytes ? had : bytes);
	return p;
}

void free(void *block)
{
	(void)block;
}

void *memalign(size_t alignment, size_t bytes)
{
	return take(alignment < UNIT ? UNIT : alignment, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
	return memalign(alignment, bytes);
}

int posix_memalign(void **block, size_t alignment, size_t bytes)
{
	void *p = memalign(alignment, bytes);
	if (p)
		*block = p;
	return p ? 0 : ENOMEM;
}
