/*
 * A program with an allocator of its own, some of whose entry points are written in assembler
 * (entry_<arch>.S, one program a variant). Usage: entry [NAME...], NAME being a function that is not expected
 * to be recorded.
 */
#include "tests/host/patch/entry.h"

#include <malloc.h>
#include <stdatomic.h>

#include "tests/host/guest.h"

enum { TIMES = 500, ARENA_BYTES = 16 << 20, UNIT = 16, SLACK = 16 };

#define WEAK __attribute__((weak))

uint64_t entry_magic = 0x12345, entry_sum;

static unsigned char arena[ARENA_BYTES] __attribute__((aligned(UNIT)));
static atomic_size_t arena_used;
static atomic_ulong allocations, releases;

static void *take(size_t alignment, size_t bytes)
{
	size_t room = (bytes + alignment + UNIT + UNIT - 1) & ~(size_t)(UNIT - 1);
	size_t at = atomic_fetch_add(&arena_used, room);
	if (at + room > ARENA_BYTES)
		return NULL;
	uintptr_t start = ((uintptr_t)arena + at + UNIT + alignment - 1) & ~(uintptr_t)(alignment - 1);
	((size_t *)start)[-1] = bytes;
	return (void *)start;
}

void *entry_allocate(size_t bytes)
{
	atomic_fetch_add(&allocations, 1);
	return take(UNIT, bytes);
}

void entry_release(void *block)
{
	(void)block;
	atomic_fetch_add(&releases, 1);
}

/* ---- the entry points, unless the variant has its own
 * ------------------------------------------------------------------ */

WEAK void *malloc(size_t bytes)
{
	entry_sum += entry_magic;
	return entry_allocate(bytes);
}

WEAK void free(void *block)
{
	entry_release(block);
}

/* Calls malloc: one allocation all the same. */
WEAK void *calloc(size_t count, size_t bytes)
{
	return malloc(count * bytes); /* the arena is new everywhere */
}

WEAK size_t malloc_usable_size(void *block)
{
	return block ? ((size_t *)block)[-1] : 0;
}

WEAK void *realloc(void *block, size_t bytes)
{
	void *p = take(UNIT, bytes);
	size_t had = malloc_usable_size(block);
	if (p && block)
		memcpy(p, block, had < bytes ? had : bytes);
	return p;
}

WEAK int posix_memalign(void **block, size_t alignment, size_t bytes)
{
	*block = take(alignment < UNIT ? UNIT : alignment, bytes);
	return *block ? 0 : ENOMEM;
}

/* ---- what is done with them
 * -------------------------------------------------------------------------------------------- */

static unsigned allocs, frees, reallocs;

static void use(void *block, size_t bytes, unsigned tag)
{
	require(block);
	check(malloc_usable_size(block) == bytes);
	tag_block(block, bytes, tag);
	check(tag_holds(block, bytes, tag));
}

#ifdef HAS_OPERATORS
static void *make_many(size_t bytes)
{
#ifdef HAS_ARRAYS
	return _Znam(bytes);
#else
	return _Znwm(bytes);
#endif
}

static void release_sized(void *block, size_t bytes)
{
#ifdef HAS_SIZED
	_ZdlPvm(block, bytes);
#else
	(void)bytes;
	_ZdlPv(block);
#endif
}

static void use_operators(bool seen_delete)
{
	for (unsigned i = 0; i < TIMES; i++) {
		void *one = _Znwm(i % 90), *many = make_many(i % 50);
		use(one, i % 90, i);
		use(many, i % 50, i + 1);
		_ZdlPv(one);
		release_sized(many, i % 50);
	}
	allocs += 2 * TIMES;
	frees += seen_delete ? 2 * TIMES : 0;
}
#endif

static void use_functions(bool seen_malloc, bool seen_free)
{
	for (unsigned i = 0; i < TIMES; i++) {
		size_t bytes = i % 70;
		void *p = malloc(bytes), *q = calloc(i % 7, 13), *r = NULL;
		use(p, bytes, i);
		use(q, i % 7 * 13, i);
		p = realloc(p, bytes + 33);
		check(tag_holds(p, bytes < 1 ? 0 : 1, i));
		require(posix_memalign(&r, 64, 40) == 0 && (uintptr_t)r % 64 == 0);
		free(p);
		free(q);
		free(r);
	}
	allocs += seen_malloc ? 3 * TIMES : 2 * TIMES;
	reallocs += TIMES;
	frees += seen_free ? 3 * TIMES : 0;
}

/* libc takes a block for each stream, from whatever allocator it is bound to. */
static void use_libc(void)
{
	for (unsigned i = 0; i < TIMES; i++) {
		FILE *file = fopen("/dev/null", "r");
		require(file);
		fclose(file);
	}
	allocs += TIMES;
	frees += TIMES;
}

#ifdef HAS_EARLY_BLOCKS
/* A library's constructor has taken them, before a preloaded object's. */
static void release_early_blocks(void)
{
	for (unsigned i = 0; i < EARLY_BLOCKS; i++) {
		check(tag_holds(early_blocks[i], EARLY_BYTES, i));
		free(early_blocks[i]);
	}
	frees += EARLY_BLOCKS;
}
#endif

#ifdef HAS_STATIC_NAME
/* Not the allocator's, whatever its name. */
static __attribute__((noinline)) unsigned cfree(unsigned number)
{
	__asm__ volatile("" : "+r"(number));
	return number * 3;
}
#endif

static bool is_named(int argc, char **argv, const char *name)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], name) == 0)
			return true;
	return false;
}

#ifdef HAS_MALLCTL
/* What tells jemalloc from functions that happen to have such names. */
int je_mallctl(const char *name);
int je_mallctl(const char *name)
{
	return name ? ENOENT : EINVAL;
}
#endif

int main(int argc, char **argv)
{
	bool seen_free = !is_named(argc, argv, "free");
	uint64_t sum = entry_sum;
	unsigned long calls = allocations;
	use_functions(!is_named(argc, argv, "malloc"), seen_free);
#ifdef HAS_OPERATORS
	use_operators(seen_free);
#endif
	if (is_named(argc, argv, "libc"))
		use_libc();
#ifdef HAS_EARLY_BLOCKS
	release_early_blocks();
#endif
#ifdef HAS_STATIC_NAME
	check(cfree(14) == 42);
#endif
	check(entry_sum - sum ==
	      (allocations - calls) * entry_magic); /* what was displaced has run, each time */
	say("%lu allocations, %lu releases", allocations - calls, releases > 0 ? 1ul : 0ul);
	if (is_named(argc, argv, "nothing"))
		return 0;
	guest_count("allocs", allocs, allocs + SLACK);
	guest_count("frees", frees, frees + SLACK);
	guest_count("reallocs", reallocs, reallocs + SLACK);
	return 0;
}
