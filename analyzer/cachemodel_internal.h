/* Inside of the cache model: its state, and what its parts ask of each other. */
#ifndef MTRACE_CACHEMODEL_INTERNAL_H
#define MTRACE_CACHEMODEL_INTERNAL_H

#include "analyzer/cachemodel.h"
#include "analyzer/spanlist.h"

/*
 * Eight lanes in a vector of 16-bit numbers: what a hit does is a handful of vector operations, whatever the
 * number of lanes, and only lanes that miss are gone through one by one.
 */
#define GROUP_LANES 8u
#define GROUPS_MAX  (CACHEMODEL_LANES_MAX / GROUP_LANES)

typedef uint16_t lanes16 __attribute__((vector_size(16), may_alias));
typedef int16_t mask16 __attribute__((vector_size(16), may_alias));
typedef int32_t lanes32 __attribute__((vector_size(16), may_alias));

/* ---- behind the caches --------------------------------------------------------------------------------- */

/* What one lane's transfer cache and central list hold of one class. */
struct central {
	uint32_t used;	       /* per-CPU: objects in the transfer cache; per-thread: batches */
	uint32_t capacity;     /* likewise */
	uint32_t max_capacity; /* likewise */
	uint32_t low;	       /* per-CPU: least `used` since the transfer cache was last plundered */
	uint64_t span_objects; /* per-CPU: free in the spans of the central list */
	struct spanlist spans; /* per-thread: of the central list */
};

/* ---- one class in one cache ---------------------------------------------------------------------------- */

struct list_lane {
	uint32_t misses;      /* per-CPU: wanted to grow, and there was no capacity */
	uint32_t misses_seen; /* of these, when classes were last resized */
	uint32_t successive;  /* per-CPU: misses in the same direction, less one */
	uint16_t quiet_ticks; /* per-CPU: times it was looked at for shrinking since it last wanted to grow */
	bool overflowed;      /* per-CPU: the last miss was an overflow */
	uint8_t long_releases; /* per-thread: releases while the limit was above a batch */
};

/* `groups` vectors each of: lengths, limits, and (per-thread) the least lengths since the last scavenge. */
struct list {
	struct list_lane *lanes;
	lanes16 vectors[];
};

/* ---- one cache ----------------------------------------------------------------------------------------- */

struct miss_counts {
	uint64_t underflows, overflows;
};

struct cache_lane {
	uint64_t underflows, overflows;
	uint64_t available_bytes; /* per-CPU: of its capacity, given to no class */
	uint64_t capacity_bytes;
	uint64_t reclaim_bytes;				      /* cached at the last look for idle caches */
	struct miss_counts shuffled, reclaimed, slab_checked; /* at the last look of each kind */
	unsigned next_shrink; /* per-CPU: class at which looking for something to shrink goes on */
};

struct cache {
	struct list *lists[CACHE_CLASSES_MAX];
	uint64_t allocs, frees;
	/* per-thread, in the order in which threads came, newest first: NULL at the end */
	struct cache *next, *previous;
	bool ended;
	struct cache_lane lanes[CACHEMODEL_LANES_MAX];
	/* per-thread: bytes held, and bytes that may be held before a scavenge */
	lanes32 size_bytes[2 * GROUPS_MAX], max_bytes[2 * GROUPS_MAX];
};

/* ---- all of it ----------------------------------------------------------------------------------------- */

struct lane {
	struct cachemodel_result counts;
	struct central central[CACHE_CLASSES_MAX];
	unsigned slab_halvings;	   /* per-CPU: the slab is 2^-n of the largest one */
	uint32_t next_resized;	   /* per-CPU: cache at which resizing of classes goes on */
	uint32_t next_robbed;	   /* per-CPU: cache at which looking for capacity goes on */
	int64_t unclaimed_bytes;   /* per-thread: that no cache has got */
	bool follows;		   /* per-thread: is as the leader, and not simulated by itself */
	struct cache *next_thread; /* per-thread: whom to take from next; NULL: the newest */
	unsigned next_evicted;	   /* per-thread: class whose transfer cache is to give up a place next */
};

struct cachemodel {
	struct cachemodel_clock clock; /* first: see cachemodel_advance() */
	enum cache_design design;
	const struct cache_classes *classes;
	unsigned lane_count, groups;
	unsigned leader;	  /* per-thread: the lane of the largest capacity */
	mask16 valid[GROUPS_MAX]; /* lanes that exist and follow no other */
	struct cache **caches;	  /* by number; NULL: none yet */
	size_t cache_count, cache_capacity;
	struct cache *newest; /* per-thread */
	uint64_t allocs, frees;
	double units_per_s;
	uint64_t background_seconds; /* done so far */
	uint64_t next_look;	     /* calls, at which cached bytes are summed up */
	uint64_t memory_bytes;
	bool out_of_memory; /* in a lane, where it could not be passed up */
	struct lane *lanes;
};

static inline uint16_t *list_lengths(struct list *list)
{
	return (uint16_t *)list->vectors;
}

static inline uint16_t *list_limits(const struct cachemodel *model, struct list *list)
{
	return (uint16_t *)(list->vectors + model->groups);
}

static inline uint16_t *list_lows(const struct cachemodel *model, struct list *list)
{
	return (uint16_t *)(list->vectors + 2 * model->groups);
}

static inline bool mask_any(mask16 mask)
{
	union {
		mask16 mask;
		uint64_t words[2];
	} both = {mask};
	return (both.words[0] | both.words[1]) != 0;
}

/* The cache of that number, and its list; made where missing. NULL when out of memory. */
struct cache *cachemodel_cache_get(struct cachemodel *model, uint32_t number);
struct list *cachemodel_list_make(struct cachemodel *model, struct cache *cache, unsigned class);

static inline struct list *cachemodel_list_get(struct cachemodel *model, uint32_t number, unsigned class,
					       struct cache **cache)
{
	*cache = number < model->cache_count ? model->caches[number] : NULL;
	if (__builtin_expect(!*cache || (*cache)->ended, 0))
		*cache = cachemodel_cache_get(model, number);
	if (!*cache)
		return NULL;
	struct list *list = (*cache)->lists[class];
	return list ? list : cachemodel_list_make(model, *cache, class);
}

/* ---- cachemodel_cpu.c ---- */
void cpu_cache_start(struct cachemodel *model, struct cache *cache);
void cpu_take(struct cachemodel *model, struct cache *cache, struct list *list, unsigned class);
void cpu_give(struct cachemodel *model, struct cache *cache, struct list *list, unsigned class);
uint32_t cpu_max_objects(const struct cachemodel *model, const struct lane *lane, unsigned class);

/* ---- cachemodel_background.c ---- */
void cpu_background(struct cachemodel *model, unsigned lane, uint64_t second);
uint64_t cache_used_bytes(const struct cachemodel *model, const struct cache *cache, unsigned lane);

/* ---- cachemodel_thread.c ---- */
void thread_lane_start(struct lane *lane);
void thread_give_directly(struct cachemodel *model, unsigned class);
void thread_cache_start(struct cachemodel *model, struct cache *cache);
void thread_cache_end(struct cachemodel *model, struct cache *cache);
void thread_take(struct cachemodel *model, struct cache *cache, struct list *list, unsigned class);
void thread_give(struct cachemodel *model, struct cache *cache, struct list *list, unsigned class);

/* ---- cachemodel_follow.c ---- */
void follow_start(struct cachemodel *model);
void follow_set(struct cachemodel *model, unsigned lane, bool follows);
/* Before the leader claims more. True where the lane can follow no further: it now has the leader's state. */
bool follow_parts(struct cachemodel *model, unsigned lane);

/* The lane whose state is that of `lane`. */
static inline unsigned lane_of(const struct cachemodel *model, unsigned lane)
{
	return model->lanes[lane].follows ? model->leader : lane;
}

/* ---- cachemodel_central.c: calls of a cache, counted. Fetches return what was got, at least 1. ---- */
void central_start(struct cachemodel *model, struct lane *lane);
uint32_t central_fetch_cpu(struct cachemodel *model, unsigned lane, unsigned class, uint32_t objects);
void central_release_cpu(struct cachemodel *model, unsigned lane, unsigned class, uint32_t objects);
void central_plunder_cpu(struct cachemodel *model, unsigned lane);
uint32_t central_fetch_thread(struct cachemodel *model, unsigned lane, unsigned class, uint32_t objects);
void central_release_thread(struct cachemodel *model, unsigned lane, unsigned class, uint32_t objects);

#endif
