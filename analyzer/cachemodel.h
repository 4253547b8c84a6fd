/*
 * What the front end of an allocator would do at other capacities: the events of a trace go through a model
 * of google/tcmalloc's per-CPU caches or of gperftools' per-thread caches, for a list of capacities side by
 * side in one pass. docs/percpu.md states the rules, their sources, and what is left out.
 *
 * Words, as the allocators use them:
 *   cache      one CPU's, or one thread's: a list of free objects for each size class, last in first out
 *   capacity   per-CPU: bytes that one CPU's cache may hold, shared among its classes as they miss
 *              per-thread: bytes that the caches of all threads may hold together
 *   underflow  an allocation that found its list empty, and fetched objects
 *   overflow   a free that found its list full (per-thread: or the cache), and released objects
 *   transfer cache, central list   where objects are fetched from and released to; the first holds whole
 *              batches and is looked at first
 *   lane       one of the capacities
 *
 * Invariants, at any moment and in each lane (cachemodel_check()):
 *   length <= limit of every list (per-CPU), sum of limit * size <= capacity of the cache
 *   allocs + released_objects + cached objects = frees + fetched_objects
 */
#ifndef MTRACE_CACHEMODEL_H
#define MTRACE_CACHEMODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/cacheclasses.h"

#define CACHEMODEL_LANES_MAX 32u

/* Least that all thread caches together can be set to, and most; gperftools clips a setting to that. */
#define CACHE_THREADS_MIN_BYTES (UINT64_C(512) << 10)
#define CACHE_THREADS_MAX_BYTES (UINT64_C(1) << 30)

struct cachemodel;

struct cachemodel_result {
	uint64_t capacity_bytes;
	uint64_t underflows;
	uint64_t overflows;
	uint64_t fetches; /* calls: one underflow of a large list may make several */
	uint64_t fetched_objects;
	uint64_t releases;
	uint64_t released_objects;
	uint64_t central_fetches; /* of these: what the transfer cache could not serve */
	uint64_t central_fetched_objects;
	uint64_t central_releases;
	uint64_t central_released_objects;
	uint64_t cached_bytes_peak; /* in all caches together, at the moments it was looked at */
};

/*
 * `capacities`: `count` of them, at most CACHEMODEL_LANES_MAX, each taken as the allocator would take it.
 * `units_per_s`: length of a second in the unit of `time` below; 0: no time passes, and what the allocator
 * does in the background is left out. NULL when out of memory.
 */
struct cachemodel *cachemodel_create(enum cache_design design, const uint64_t *capacities, size_t count,
				     double units_per_s);
void cachemodel_free(struct cachemodel *model); /* NULL is fine */

/*
 * An allocation or a free of an object of `class` (not CACHE_CLASS_NONE) in the cache numbered `cache`: a
 * small number, given out by the caller from 0 on, as memory follows the largest. False when out of memory.
 */
bool cachemodel_take(struct cachemodel *model, uint32_t cache, unsigned class);
bool cachemodel_give(struct cachemodel *model, uint32_t cache, unsigned class);

/* To be called with the time of each event, before it: does what falls due in the background. */
static inline void cachemodel_advance(struct cachemodel *model, uint64_t time);

/* A thread has ended: its cache is emptied and its share given back. Nothing with per-CPU caches. */
void cachemodel_end_thread(struct cachemodel *model, uint32_t cache);

/* Calls so far. They are the same in all lanes. */
uint64_t cachemodel_allocs(const struct cachemodel *model);
uint64_t cachemodel_frees(const struct cachemodel *model);

size_t cachemodel_lanes(const struct cachemodel *model);
struct cachemodel_result cachemodel_result(const struct cachemodel *model, size_t lane);

/* Of one cache; all 0 for a number that had no event. */
struct cachemodel_cache {
	uint64_t allocs, frees;
	uint64_t underflows, overflows;
};
struct cachemodel_cache cachemodel_cache(const struct cachemodel *model, uint32_t cache, size_t lane);

/* 1 - (underflows + overflows) / (allocs + frees); NaN without calls. */
double cachemodel_hit_ratio(uint64_t calls, uint64_t underflows, uint64_t overflows);

/* The first invariant that does not hold, in words; NULL where all do. */
const char *cachemodel_check(const struct cachemodel *model);

/* Bytes held by the model itself. */
uint64_t cachemodel_memory_bytes(const struct cachemodel *model);

/* ---- inside -------------------------------------------------------------------------------------------- */

void cachemodel_background(struct cachemodel *model, uint64_t time);

struct cachemodel_clock {
	uint64_t due; /* UINT64_MAX: never */
};

static inline void cachemodel_advance(struct cachemodel *model, uint64_t time)
{
	/* The clock is the model's first member. */
	if (__builtin_expect(time >= ((const struct cachemodel_clock *)(const void *)model)->due, 0))
		cachemodel_background(model, time);
}

#endif
