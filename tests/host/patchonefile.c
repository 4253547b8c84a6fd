/*
 * An allocator and its callers in one file, which the compiler sees together (-O2): calloc keeps its size in
 * a register that malloc does not touch, the stack is no more aligned than malloc needs it, and what malloc
 * seldom does lies elsewhere and jumps back into its first instructions.
 */
#include "tests/host/guest.h"

#define ARENA_BYTES (8u << 20)
#define TIMES	    1000u

static char arena[ARENA_BYTES];
static size_t used;
static volatile unsigned busy;
static unsigned waits, given;

static __attribute__((cold, noinline)) void wait_for_turn(void)
{
	busy--;
	waits++;
}

__attribute__((noinline)) void *malloc(size_t bytes)
{
	while (__builtin_expect(busy != 0, 0))
		wait_for_turn();
	size_t at = __atomic_fetch_add(&used, (bytes + 31) & ~(size_t)15, __ATOMIC_RELAXED);
	return at + bytes < ARENA_BYTES ? arena + at : NULL;
}

__attribute__((noinline)) void free(void *block)
{
	if (block)
		given++;
}

__attribute__((noinline)) void *calloc(size_t count, size_t each)
{
	void *block = malloc(count * each);
	if (block)
		memset(block, 0, count * each);
	return block;
}

void *realloc(void *block, size_t bytes)
{
	void *other = malloc(bytes);
	if (other && block)
		memcpy(other, block, bytes);
	return other;
}

int main(void)
{
	unsigned sum = 0;
	memset(arena + used, 1, sizeof arena - used); /* below it lives what libc has taken */
	for (unsigned i = 0; i < TIMES; i++) {
		busy = i % 7 == 0 ? 3 : 0;
		size_t bytes = 3 * (i % 50 + 1);
		char *block = calloc(3, i % 50 + 1);
		require(block);
		for (size_t b = 0; b < bytes; b++)
			sum += (unsigned)block[b];
		free(block);
	}
	say("waits %u, not zero %u", waits, sum);
	guest_count("allocs", TIMES, TIMES + 64);
	return 0;
}
