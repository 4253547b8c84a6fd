/*
 * The allocator behind entries.S: blocks from one array, never used again. Counts what each kind of call
 * asked of it, which is what a trace must show.
 */
#include "tests/host/arm64/allocator.h"

#include "tests/host/guest.h"

enum { ARENA_BYTES = 64 << 20, UNIT = 16 };

struct allocator_counts allocator_counts;
static _Alignas(4096) unsigned char arena[ARENA_BYTES];
static size_t used;

static void *take(size_t alignment, size_t bytes)
{
	alignment = alignment < UNIT ? UNIT : alignment;
	size_t start = (used + UNIT + alignment - 1) / alignment * alignment;
	if (bytes > ARENA_BYTES - start)
		_exit(96);
	used = (start + bytes + UNIT - 1) / UNIT * UNIT;
	memcpy(arena + start - UNIT, &bytes, sizeof bytes);
	return arena + start;
}

void *allocator_malloc(size_t bytes)
{
	allocator_counts.allocs++;
	return take(UNIT, bytes);
}

void *allocator_calloc(size_t count, size_t each)
{
	allocator_counts.allocs++;
	return take(UNIT, count * each);
}

void *allocator_memalign(size_t alignment, size_t bytes)
{
	allocator_counts.allocs++;
	return take(alignment, bytes);
}

int allocator_posix_memalign(void **block, size_t alignment, size_t bytes)
{
	*block = allocator_memalign(alignment, bytes);
	return 0;
}

size_t allocator_usable(const void *block)
{
	size_t bytes = 0;
	if (block)
		memcpy(&bytes, (const unsigned char *)block - UNIT, sizeof bytes);
	return bytes;
}

void *allocator_realloc(void *block, size_t bytes)
{
	allocator_counts.reallocs++;
	size_t had = allocator_usable(block);
	void *grown = take(UNIT, bytes);
	return had ? memcpy(grown, block, had < bytes ? had : bytes) : grown;
}

void *allocator_reallocarray(void *block, size_t count, size_t each)
{
	return allocator_realloc(block, count * each);
}

void allocator_free(void *block)
{
	allocator_counts.frees += block != NULL;
}

void *allocator_unseen(size_t bytes)
{
	return take(UNIT, bytes);
}

void allocator_end_process(void)
{
	_exit(42);
}

void allocator_wrong(const void *caller)
{
	say("check failed: a displaced instruction did not do what it does, on behalf of %p", caller);
	_exit(97);
}
