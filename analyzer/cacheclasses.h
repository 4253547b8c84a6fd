/*
 * Size classes of the allocators that the cache model knows, and what goes with them: how many objects move
 * between a cache and what lies behind it at a time, and how many a CPU's cache may hold.
 *
 * google/tcmalloc: the table of the revision that MongoDB 8.0 carries (mongodb-forks/tcmalloc at
 * mongo-20240522, size_classes.cc, pages of 8 KiB, new aligned to 16 bytes). gperftools: by the rule of its
 * size map (2.10, common.cc: pages of 8 KiB, waste below an eighth), which is computed here.
 *
 * Class 0 holds nothing; a block above CACHE_SIZE_MAX has no class and passes no cache.
 */
#ifndef MTRACE_CACHECLASSES_H
#define MTRACE_CACHECLASSES_H

#include <stdbool.h>
#include <stdint.h>

#define CACHE_SIZE_MAX	  (UINT64_C(256) << 10)
#define CACHE_CLASSES_MAX 128u
#define CACHE_CLASS_NONE  0u

enum cache_design {
	CACHE_PER_CPU = 0,    /* google/tcmalloc */
	CACHE_PER_THREAD = 1, /* gperftools */
	CACHE_DESIGNS = 2,
};

struct cache_class {
	uint32_t bytes;
	uint16_t span_objects; /* that a span, the unit taken from the page heap, is cut into */
	uint16_t batch;	       /* objects moved at a time */
	uint16_t max_objects;  /* per-CPU: that fit a CPU's slab of the largest size */
};

struct cache_classes {
	unsigned count; /* class 0 included */
	struct cache_class classes[CACHE_CLASSES_MAX];
	uint8_t small[1024 / 8 + 1];		 /* class by size, up to 1 KiB in steps of 8 */
	uint8_t large[CACHE_SIZE_MAX / 128 + 1]; /* above, in steps of 128 */
};

/* Filled in at the first call; valid for ever. */
const struct cache_classes *cache_classes(enum cache_design design);

static inline unsigned cache_class_of(const struct cache_classes *classes, uint64_t size_bytes)
{
	if (size_bytes <= 1024)
		return classes->small[(size_bytes + 7) / 8];
	return size_bytes <= CACHE_SIZE_MAX ? classes->large[(size_bytes + 127) / 128] : CACHE_CLASS_NONE;
}

/* Class of a block that was asked for with an alignment: the first whose size is a multiple of it. */
unsigned cache_class_aligned(const struct cache_classes *classes, uint64_t size_bytes,
			     uint64_t alignment_bytes);

/*
 * What realloc does with a block of `old_class` (and, without a class, of old_bytes): both allocators leave
 * it where it is while the new size fits it and is at least half of it; a block that grows by less than a
 * quarter is made a quarter larger. Returns true where the block stays; otherwise *size_bytes is what is
 * allocated.
 */
bool cache_realloc_stays(const struct cache_classes *classes, unsigned old_class, uint64_t old_bytes,
			 uint64_t *size_bytes);

#endif
