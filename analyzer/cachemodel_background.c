/*
 * What google/tcmalloc's background thread does to per-CPU caches, once a second of the trace: capacity goes
 * to the classes and the CPUs that miss, slabs grow, idle caches are emptied.
 */
#include <stdlib.h>

#include "analyzer/cachemodel_internal.h"

/* Periods in seconds. */
#define CLASSES_EVERY	    2u
#define SHUFFLE_EVERY	    5u
#define PLUNDER_EVERY	    5u
#define SLABS_EVERY	    29u
#define RECLAIM_EVERY	    30u

#define AMPLE_BYTES	    (UINT64_C(3) << 19) /* 1.5 MiB: so much unused capacity needs no resizing */
#define CACHES_RESIZED	    10u			/* in one round */
#define CLASSES_RESIZED	    5u
#define CACHES_FED	    5u
#define SHARE_MOVED	    0.05 /* of the limit, to each cache that is fed */
#define SHARE_LEFT	    0.20 /* of the limit, below which a cache gives nothing */
#define MISSES_BELOW	    0.80 /* of the fed cache's: who misses more gives nothing */
#define SLAB_GROW_ABOVE	    0.9	 /* overflows by underflows */
#define SLAB_SHRINK_BELOW   0.4
#define SLAB_HALVINGS_FIRST 4u

uint64_t cache_used_bytes(const struct cachemodel *model, const struct cache *cache, unsigned lane)
{
	uint64_t bytes = 0;
	for (unsigned i = 1; i < model->classes->count; i++)
		if (cache->lists[i])
			bytes += (uint64_t)list_lengths(cache->lists[i])[lane] *
				 model->classes->classes[i].bytes;
	return bytes;
}

static struct miss_counts misses_since(const struct cache_lane *lane, const struct miss_counts *before)
{
	return (struct miss_counts){lane->underflows - before->underflows,
				    lane->overflows - before->overflows};
}

static struct miss_counts misses_now(const struct cache_lane *lane)
{
	return (struct miss_counts){lane->underflows, lane->overflows};
}

/* ---- shrinking a list by one ----------------------------------------------------------------------------
 */

/* How long a list is spared: small classes, full lists, and those that just hold a batch, for longer. */
static unsigned spared_ticks(const struct cache_class *class, uint32_t length, uint32_t limit)
{
	unsigned full = length >= limit;
	unsigned just_a_batch = length >= class->batch && length < 2u * class->batch;
	if (class->bytes <= 144)
		return 2 + full + just_a_batch;
	if (class->bytes <= 1024)
		return 1 + full + just_a_batch;
	return class->bytes <= 64 << 10 ? full : 0;
}

/* Bytes of capacity won: one object's, or 0. */
static uint32_t shrink(struct cachemodel *model, struct cache *cache, unsigned class, unsigned lane)
{
	struct list *list = cache->lists[class];
	const struct cache_class *info = &model->classes->classes[class];
	if (!list || !list_limits(model, list)[lane])
		return 0;
	uint16_t *length = &list_lengths(list)[lane], *limit = &list_limits(model, list)[lane];
	uint16_t *ticks = &list->lanes[lane].quiet_ticks;
	unsigned passed = *ticks;
	*ticks = passed < UINT16_MAX ? (uint16_t)(passed + 1) : UINT16_MAX;
	if (passed < spared_ticks(info, *length, *limit))
		return 0;
	if (*length == *limit) {
		--*length;
		central_release_cpu(model, lane, class, 1);
	}
	--*limit;
	return info->bytes;
}

/* Goes round the classes, from where it stopped the last time, until `bytes` are won. `spared` may be NULL.
 */
static uint64_t shrink_classes(struct cachemodel *model, struct cache *cache, unsigned lane, uint64_t bytes,
			       const bool *spared)
{
	unsigned *next = &cache->lanes[lane].next_shrink;
	uint64_t won = 0;
	for (unsigned i = 1; i < model->classes->count; i++, ++*next) {
		if (*next >= model->classes->count)
			*next = 1;
		if (spared && spared[*next])
			continue;
		won += shrink(model, cache, *next, lane);
		if (won >= bytes)
			break;
	}
	return won;
}

/* ---- between the classes of a CPU ---------------------------------------------------------------------- */

static uint32_t wanted_more(const struct cache *cache, unsigned class, unsigned lane)
{
	const struct list *list = cache->lists[class];
	return list ? list->lanes[lane].misses - list->lanes[lane].misses_seen : 0;
}

/* The class that missed most and is not in `done`; CACHE_CLASS_NONE: none missed. */
static unsigned neediest(const struct cachemodel *model, const struct cache *cache, unsigned lane,
			 const bool *done)
{
	unsigned best = CACHE_CLASS_NONE;
	uint32_t most = 0;
	for (unsigned i = 1; i < model->classes->count; i++)
		if (!done[i] && wanted_more(cache, i, lane) > most) {
			most = wanted_more(cache, i, lane);
			best = i;
		}
	return best;
}

static void feed_class(struct cachemodel *model, struct cache *cache, unsigned class, unsigned lane,
		       uint32_t room, const bool *spared)
{
	const struct cache_class *info = &model->classes->classes[class];
	uint64_t *available = &cache->lanes[lane].available_bytes;
	uint64_t needed = (uint64_t)(room < info->batch ? room : info->batch) * info->bytes;
	if (needed > *available)
		*available += shrink_classes(model, cache, lane, needed - *available, spared);
	uint64_t objects = *available / info->bytes;
	objects = objects < room ? objects : room;
	uint16_t *limit = &list_limits(model, cache->lists[class])[lane];
	*limit = (uint16_t)(*limit + objects);
	*available -= objects * info->bytes;
}

static void resize_classes_of(struct cachemodel *model, struct cache *cache, unsigned lane)
{
	bool fed[CACHE_CLASSES_MAX] = {false};
	unsigned class;
	if (cache->lanes[lane].available_bytes < AMPLE_BYTES)
		for (unsigned i = 0; i < CLASSES_RESIZED && (class = neediest(model, cache, lane, fed));) {
			uint32_t room = cpu_max_objects(model, &model->lanes[lane], class) -
					list_limits(model, cache->lists[class])[lane];
			fed[class] = true;
			if (room)
				feed_class(model, cache, class, lane, room, fed);
			i += room != 0;
		}
	for (unsigned i = 1; i < model->classes->count; i++)
		if (cache->lists[i])
			cache->lists[i]->lanes[lane].misses_seen = cache->lists[i]->lanes[lane].misses;
}

/* The caches that exist, in turn from *next on. */
static struct cache *next_cache(const struct cachemodel *model, uint32_t *next)
{
	for (size_t i = 0; i < model->cache_count; i++) {
		struct cache *cache = model->caches[*next % model->cache_count];
		*next = (uint32_t)((*next + 1) % model->cache_count);
		if (cache)
			return cache;
	}
	return NULL;
}

static size_t caches_there(const struct cachemodel *model)
{
	size_t count = 0;
	for (size_t i = 0; i < model->cache_count; i++)
		count += model->caches[i] != NULL;
	return count;
}

static void resize_classes(struct cachemodel *model, unsigned lane)
{
	size_t there = caches_there(model);
	for (size_t i = 0; i < there && i < CACHES_RESIZED; i++)
		resize_classes_of(model, next_cache(model, &model->lanes[lane].next_resized), lane);
}

/* ---- between CPUs -------------------------------------------------------------------------------------- */

static bool may_give(const struct cachemodel *model, const struct cache_lane *giver,
		     const struct miss_counts *missed, unsigned lane)
{
	struct miss_counts own = misses_since(giver, &giver->shuffled);
	return (double)giver->capacity_bytes >=
		       SHARE_LEFT * (double)model->lanes[lane].counts.capacity_bytes &&
	       (double)own.underflows <= MISSES_BELOW * (double)missed->underflows &&
	       (double)own.overflows <= MISSES_BELOW * (double)missed->overflows;
}

static uint64_t rob(struct cachemodel *model, struct cache *giver, unsigned lane, uint64_t bytes)
{
	struct cache_lane *state = &giver->lanes[lane];
	uint64_t won = state->available_bytes < bytes ? state->available_bytes : bytes;
	state->available_bytes -= won;
	if (won < bytes)
		won += shrink_classes(model, giver, lane, bytes - won, NULL);
	state->capacity_bytes -= won;
	return won;
}

static void feed_cache(struct cachemodel *model, struct cache *cache, unsigned lane, uint64_t bytes,
		       struct cache *const *fed, unsigned fed_count)
{
	struct cache_lane *state = &cache->lanes[lane];
	struct miss_counts missed = misses_since(state, &state->shuffled);
	uint64_t won = 0;
	if (state->available_bytes >= CACHE_SIZE_MAX)
		return;
	size_t there = caches_there(model);
	for (size_t i = 0; i < there && won < bytes; i++) {
		struct cache *giver = next_cache(model, &model->lanes[lane].next_robbed);
		bool is_fed = false;
		for (unsigned j = 0; j < fed_count; j++)
			is_fed |= fed[j] == giver;
		if (!is_fed && may_give(model, &giver->lanes[lane], &missed, lane))
			won += rob(model, giver, lane, bytes - won);
	}
	state->available_bytes += won;
	state->capacity_bytes += won;
}

static struct cache *most_missing(const struct cachemodel *model, unsigned lane, struct cache *const *fed,
				  unsigned fed_count)
{
	struct cache *best = NULL;
	uint64_t most = 0;
	for (size_t i = 0; i < model->cache_count; i++) {
		struct cache *cache = model->caches[i];
		bool is_fed = !cache;
		for (unsigned j = 0; j < fed_count; j++)
			is_fed |= fed[j] == cache;
		if (is_fed)
			continue;
		struct miss_counts missed = misses_since(&cache->lanes[lane], &cache->lanes[lane].shuffled);
		if (missed.underflows + missed.overflows > most) {
			most = missed.underflows + missed.overflows;
			best = cache;
		}
	}
	return best;
}

static void shuffle(struct cachemodel *model, unsigned lane)
{
	struct cache *fed[CACHES_FED], *cache;
	unsigned count = 0;
	uint64_t bytes = (uint64_t)(SHARE_MOVED * (double)model->lanes[lane].counts.capacity_bytes);
	while (count < CACHES_FED && (cache = most_missing(model, lane, fed, count))) {
		fed[count++] = cache;
		feed_cache(model, cache, lane, bytes, fed, count);
	}
	for (size_t i = 0; i < model->cache_count; i++)
		if (model->caches[i])
			model->caches[i]->lanes[lane].shuffled = misses_now(&model->caches[i]->lanes[lane]);
}

/* ---- emptying, slabs ----------------------------------------------------------------------------------- */

static void drain(struct cachemodel *model, struct cache *cache, unsigned lane)
{
	for (unsigned i = 1; i < model->classes->count; i++) {
		if (!cache->lists[i])
			continue;
		uint16_t *length = &list_lengths(cache->lists[i])[lane];
		uint16_t *limit = &list_limits(model, cache->lists[i])[lane];
		const struct cache_class *class = &model->classes->classes[i];
		cache->lanes[lane].available_bytes += (uint64_t)*limit * class->bytes;
		for (uint32_t left = *length, moved; left; left -= moved) {
			moved = left < class->batch ? left : class->batch;
			central_release_cpu(model, lane, i, moved);
		}
		*length = *limit = 0;
	}
}

static void reclaim(struct cachemodel *model, unsigned lane)
{
	for (size_t i = 0; i < model->cache_count; i++) {
		struct cache *cache = model->caches[i];
		if (!cache)
			continue;
		struct cache_lane *state = &cache->lanes[lane];
		struct miss_counts missed = misses_since(state, &state->reclaimed);
		uint64_t used_bytes = cache_used_bytes(model, cache, lane);
		if (used_bytes && used_bytes == state->reclaim_bytes && !missed.underflows &&
		    !missed.overflows)
			drain(model, cache, lane);
		state->reclaimed = misses_now(state);
		state->reclaim_bytes = used_bytes;
	}
}

/* -1, 0, 1: smaller, as it is, larger. One CPU that overflows nearly as often as it underflows is enough. */
static int slab_verdict(struct cachemodel *model, unsigned lane)
{
	struct miss_counts all = {0, 0};
	bool grow = false;
	for (size_t i = 0; i < model->cache_count; i++) {
		if (!model->caches[i])
			continue;
		struct cache_lane *state = &model->caches[i]->lanes[lane];
		struct miss_counts missed = misses_since(state, &state->slab_checked);
		state->slab_checked = misses_now(state);
		all.underflows += missed.underflows;
		all.overflows += missed.overflows;
		grow |= (double)missed.overflows > SLAB_GROW_ABOVE * (double)missed.underflows;
	}
	if (grow)
		return 1;
	return (double)all.overflows < SLAB_SHRINK_BELOW * (double)all.underflows ? -1 : 0;
}

static void resize_slabs(struct cachemodel *model, unsigned lane)
{
	unsigned *halvings = &model->lanes[lane].slab_halvings;
	int verdict = slab_verdict(model, lane);
	if (verdict == 0 || (verdict > 0 && *halvings == 0) ||
	    (verdict < 0 && *halvings == SLAB_HALVINGS_FIRST))
		return;
	for (size_t i = 0; i < model->cache_count; i++)
		if (model->caches[i])
			drain(model, model->caches[i], lane);
	*halvings = verdict > 0 ? *halvings - 1 : *halvings + 1;
}

void cpu_background(struct cachemodel *model, unsigned lane, uint64_t second)
{
	if (second % RECLAIM_EVERY == 0)
		reclaim(model, lane);
	if (second % SHUFFLE_EVERY == 0)
		shuffle(model, lane);
	if (second % CLASSES_EVERY == 0)
		resize_classes(model, lane);
	if (second % SLABS_EVERY == 0)
		resize_slabs(model, lane);
	if (second % PLUNDER_EVERY == 0)
		central_plunder_cpu(model, lane);
}
