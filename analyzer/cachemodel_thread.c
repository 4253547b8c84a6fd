/*
 * Per-thread caches as in gperftools: lists whose limits grow slowly with misses, a budget for each thread
 * that grows by what it takes from the common rest or from other threads, and scavenging when it is spent.
 */
#include "analyzer/cachemodel_internal.h"

#define STEAL_BYTES	  65536
#define LIMIT_MAX	  8192u
#define LONG_RELEASES_MAX 3u
#define ROBBED_MAX	  10u

static int32_t *max_bytes_of(struct cache *cache)
{
	return (int32_t *)cache->max_bytes;
}

static int32_t *size_bytes_of(struct cache *cache)
{
	return (int32_t *)cache->size_bytes;
}

/* ---- budget -------------------------------------------------------------------------------------------- */

/* A step more from what nobody has, or else from the next thread in turn that has more than the least. */
static void raise_budget(struct cachemodel *model, struct cache *cache, unsigned lane_index)
{
	struct lane *lane = &model->lanes[lane_index];
	if (lane->unclaimed_bytes > 0) {
		lane->unclaimed_bytes -= STEAL_BYTES;
		max_bytes_of(cache)[lane_index] += STEAL_BYTES;
		return;
	}
	for (unsigned i = 0; i < ROBBED_MAX && model->newest; i++) {
		struct cache *other = lane->next_thread ? lane->next_thread : model->newest;
		lane->next_thread = other->next;
		if (other == cache || max_bytes_of(other)[lane_index] <= (int32_t)CACHE_THREADS_MIN_BYTES)
			continue;
		max_bytes_of(other)[lane_index] -= STEAL_BYTES;
		max_bytes_of(cache)[lane_index] += STEAL_BYTES;
		return;
	}
}

/* The first calls of a process are served before thread-specific data works, by a cache that keeps its first
 * step for ever and is used no more. */
void thread_lane_start(struct lane *lane)
{
	lane->unclaimed_bytes = (int64_t)lane->counts.capacity_bytes - STEAL_BYTES;
}

/* A step like any other, or else the least, of which there need not be any left. */
static void first_budget(struct cachemodel *model, struct cache *cache, unsigned lane)
{
	raise_budget(model, cache, lane);
	if (max_bytes_of(cache)[lane])
		return;
	max_bytes_of(cache)[lane] = (int32_t)CACHE_THREADS_MIN_BYTES;
	model->lanes[lane].unclaimed_bytes -= (int64_t)CACHE_THREADS_MIN_BYTES;
}

void thread_cache_start(struct cachemodel *model, struct cache *cache)
{
	for (unsigned i = 0; i < model->lane_count; i++)
		follow_parts(model, i);
	for (unsigned i = 0; i < model->lane_count; i++)
		if (!model->lanes[i].follows)
			first_budget(model, cache, i);
	cache->next = model->newest;
	cache->previous = NULL;
	if (model->newest)
		model->newest->previous = cache;
	model->newest = cache;
}

/* ---- releasing ----------------------------------------------------------------------------------------- */

/* In batches, the rest last. */
static void release(struct cachemodel *model, struct cache *cache, unsigned class, unsigned lane,
		    uint32_t objects)
{
	struct list *list = cache->lists[class];
	uint16_t *length = &list_lengths(list)[lane], *low = &list_lows(model, list)[lane];
	const struct cache_class *info = &model->classes->classes[class];
	objects = objects < *length ? objects : *length;
	*length = (uint16_t)(*length - objects);
	*low = *low < *length ? *low : *length;
	size_bytes_of(cache)[lane] -= (int32_t)(objects * info->bytes);
	for (; objects > info->batch; objects -= info->batch)
		central_release_thread(model, lane, class, info->batch);
	central_release_thread(model, lane, class, objects);
}

/* Half of what was not needed since the last time goes; a limit above a batch comes down by one. */
static void scavenge_list(struct cachemodel *model, struct cache *cache, unsigned class, unsigned lane)
{
	struct list *list = cache->lists[class];
	uint16_t *low = &list_lows(model, list)[lane], *limit = &list_limits(model, list)[lane];
	unsigned batch = model->classes->classes[class].batch;
	if (*low) {
		release(model, cache, class, lane, *low > 1 ? *low / 2u : 1);
		if (*limit > batch)
			*limit = (uint16_t)(*limit - batch > batch ? *limit - batch : batch);
	}
	*low = list_lengths(list)[lane];
}

/* At the end of a free that scavenged: the lane claims, and before the leader does, those that part from it.
 */
static void claim(struct cachemodel *model, struct cache *cache, unsigned lane)
{
	if (lane == model->leader)
		for (unsigned i = 0; i < model->lane_count; i++)
			if (follow_parts(model, i)) {
				raise_budget(model, cache, i);
				cache->lanes[i].overflows++;
			}
	raise_budget(model, cache, lane);
	cache->lanes[lane].overflows++;
}

static void scavenge(struct cachemodel *model, struct cache *cache, unsigned lane)
{
	for (unsigned i = 1; i < model->classes->count; i++)
		if (cache->lists[i])
			scavenge_list(model, cache, i, lane);
	claim(model, cache, lane);
}

void thread_cache_end(struct cachemodel *model, struct cache *cache)
{
	for (unsigned i = 0; i < model->lane_count; i++) {
		struct lane *lane = &model->lanes[i];
		if (lane->follows)
			continue;
		for (unsigned class = 1; class < model->classes->count; class ++)
			if (cache->lists[class] && list_lengths(cache->lists[class])[i])
				release(model, cache, class, i, UINT16_MAX);
		lane->unclaimed_bytes += max_bytes_of(cache)[i];
		max_bytes_of(cache)[i] = 0;
		if (lane->next_thread == cache)
			lane->next_thread = cache->next;
	}
	if (cache->next)
		cache->next->previous = cache->previous;
	if (cache->previous)
		cache->previous->next = cache->next;
	else
		model->newest = cache->next;
}

/* ---- calls --------------------------------------------------------------------------------------------- */

static void underflow(struct cachemodel *model, struct cache *cache, unsigned class, unsigned lane)
{
	struct list *list = cache->lists[class];
	const struct cache_class *info = &model->classes->classes[class];
	uint16_t *limit = &list_limits(model, list)[lane];
	uint32_t wanted = *limit < info->batch ? *limit : info->batch;
	uint32_t kept = central_fetch_thread(model, lane, class, wanted) - 1; /* one goes to the caller */
	list_lengths(list)[lane] = (uint16_t)kept;
	size_bytes_of(cache)[lane] += (int32_t)(kept * info->bytes);
	unsigned grown = *limit < info->batch ? *limit + 1u : *limit + info->batch;
	if (*limit >= info->batch) {
		grown = grown < LIMIT_MAX ? grown : LIMIT_MAX;
		grown -= grown % info->batch;
	}
	*limit = (uint16_t)grown;
	cache->lanes[lane].underflows++;
}

void thread_take(struct cachemodel *model, struct cache *cache, struct list *list, unsigned class)
{
	const unsigned groups = model->groups;
	const int32_t bytes = (int32_t)model->classes->classes[class].bytes;
	mask16 missed[GROUPS_MAX] = {{0}}, any = {0};
	for (unsigned g = 0; g < groups; g++) {
		lanes16 *length = &list->vectors[g], *low = &list->vectors[2 * groups + g];
		mask16 empty = *length == 0;
		*length += (lanes16)~empty;
		mask16 lower = *length < *low;
		*low = (*length & (lanes16)lower) | (*low & (lanes16)~lower);
		const int16_t *held = (const int16_t *)&empty;
		lanes32 front = {held[0], held[1], held[2], held[3]};
		lanes32 back = {held[4], held[5], held[6], held[7]};
		cache->size_bytes[2 * g] -= bytes & ~front;
		cache->size_bytes[2 * g + 1] -= bytes & ~back;
		missed[g] = empty & model->valid[g];
		any |= missed[g];
	}
	if (!mask_any(any))
		return;
	for (unsigned i = 0; i < model->lane_count; i++)
		if (((const int16_t *)missed)[i])
			underflow(model, cache, class, i);
}

/* The list is longer than its limit: a batch goes. The limit learns from it. */
static void too_long(struct cachemodel *model, struct cache *cache, unsigned class, unsigned lane)
{
	struct list *list = cache->lists[class];
	unsigned batch = model->classes->classes[class].batch;
	uint16_t *limit = &list_limits(model, list)[lane];
	uint8_t *long_releases = &list->lanes[lane].long_releases;
	list_lengths(list)[lane]++;
	size_bytes_of(cache)[lane] += (int32_t)model->classes->classes[class].bytes;
	release(model, cache, class, lane, batch);
	if (*limit < batch) {
		++*limit;
	} else if (*limit > batch && ++*long_releases > LONG_RELEASES_MAX) {
		*limit = (uint16_t)(*limit - batch);
		*long_releases = 0;
	}
}

static void give_missed(struct cachemodel *model, struct cache *cache, unsigned class, unsigned lane,
			bool full)
{
	if (full)
		too_long(model, cache, class, lane);
	if (size_bytes_of(cache)[lane] > max_bytes_of(cache)[lane])
		scavenge(model, cache, lane);
	else
		cache->lanes[lane].overflows++;
}

/* A thread has a cache from its first allocation to its end; without one its frees go to the central list. */
void thread_give_directly(struct cachemodel *model, unsigned class)
{
	model->frees++;
	for (unsigned i = 0; i < model->lane_count; i++) {
		if (model->lanes[i].follows)
			continue;
		central_release_thread(model, i, class, 1);
		model->lanes[i].counts.overflows++;
	}
}

void thread_give(struct cachemodel *model, struct cache *cache, struct list *list, unsigned class)
{
	const unsigned groups = model->groups;
	const int32_t bytes = (int32_t)model->classes->classes[class].bytes;
	mask16 full[GROUPS_MAX] = {{0}}, missed[GROUPS_MAX] = {{0}}, any = {0};
	for (unsigned g = 0; g < groups; g++) {
		lanes16 *length = &list->vectors[g];
		full[g] = *length >= list->vectors[groups + g];
		*length -= (lanes16)~full[g];
		const int16_t *held = (const int16_t *)&full[g];
		lanes32 front = {held[0], held[1], held[2], held[3]};
		lanes32 back = {held[4], held[5], held[6], held[7]};
		lanes32 *size = &cache->size_bytes[2 * g], *max = &cache->max_bytes[2 * g];
		size[0] += bytes & ~front;
		size[1] += bytes & ~back;
		lanes32 over[2] = {size[0] > max[0], size[1] > max[1]};
		mask16 spent = {(int16_t)over[0][0], (int16_t)over[0][1], (int16_t)over[0][2],
				(int16_t)over[0][3], (int16_t)over[1][0], (int16_t)over[1][1],
				(int16_t)over[1][2], (int16_t)over[1][3]};
		missed[g] = (full[g] | spent) & model->valid[g];
		any |= missed[g];
	}
	if (!mask_any(any))
		return;
	for (unsigned i = 0; i < model->lane_count; i++)
		if (((const int16_t *)missed)[i])
			give_missed(model, cache, class, i, ((const int16_t *)full)[i] != 0);
}
