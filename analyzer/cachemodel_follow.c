/*
 * Lanes that follow: as long as a capacity has not run out, everything is as with a larger one. Such a lane
 * is not simulated; it takes over the state of the largest one, its leader, at the moment at which what the
 * caches have claimed reaches its capacity.
 */
#include <stdlib.h>
#include <string.h>

#include "analyzer/cachemodel_internal.h"

void follow_start(struct cachemodel *model)
{
	model->leader = 0;
	for (unsigned i = 1; i < model->lane_count; i++)
		if (model->lanes[i].counts.capacity_bytes > model->lanes[model->leader].counts.capacity_bytes)
			model->leader = i;
	for (unsigned i = 0; i < model->lane_count; i++)
		if (i != model->leader)
			follow_set(model, i, true);
}

void follow_set(struct cachemodel *model, unsigned lane, bool follows)
{
	model->lanes[lane].follows = follows;
	((int16_t *)model->valid)[lane] = follows ? 0 : -1;
}

static void copy_list(const struct cachemodel *model, struct list *list, unsigned from, unsigned to)
{
	list_lengths(list)[to] = list_lengths(list)[from];
	list_limits(model, list)[to] = list_limits(model, list)[from];
	list_lows(model, list)[to] = list_lows(model, list)[from];
	list->lanes[to] = list->lanes[from];
}

static void copy_cache(const struct cachemodel *model, struct cache *cache, unsigned from, unsigned to)
{
	int32_t *size_bytes = (int32_t *)cache->size_bytes, *max_bytes = (int32_t *)cache->max_bytes;
	size_bytes[to] = size_bytes[from];
	max_bytes[to] = max_bytes[from];
	cache->lanes[to] = cache->lanes[from];
	for (unsigned class = 1; class < model->classes->count; class ++)
		if (cache->lists[class])
			copy_list(model, cache->lists[class], from, to);
}

static bool copy_central(const struct cachemodel *model, const struct lane *from, struct lane *to)
{
	bool good = true;
	for (unsigned class = 0; class < model->classes->count; class ++) {
		spanlist_free(&to->central[class].spans);
		to->central[class] = from->central[class];
		good = spanlist_copy(&to->central[class].spans, &from->central[class].spans) && good;
	}
	return good;
}

/* `claimed_bytes`: what the leader's caches have of its capacity. */
static void part(struct cachemodel *model, unsigned lane_index, int64_t claimed_bytes)
{
	const struct lane *leader = &model->lanes[model->leader];
	struct lane *lane = &model->lanes[lane_index];
	const uint64_t capacity_bytes = lane->counts.capacity_bytes;
	model->out_of_memory |= !copy_central(model, leader, lane);
	lane->counts = leader->counts;
	lane->counts.capacity_bytes = capacity_bytes;
	lane->unclaimed_bytes = (int64_t)capacity_bytes - claimed_bytes;
	lane->next_thread = leader->next_thread;
	lane->next_evicted = leader->next_evicted;
	for (size_t i = 0; i < model->cache_count; i++)
		if (model->caches[i])
			copy_cache(model, model->caches[i], model->leader, lane_index);
	follow_set(model, lane_index, false);
}

bool follow_parts(struct cachemodel *model, unsigned lane)
{
	const struct lane *leader = &model->lanes[model->leader];
	int64_t claimed_bytes = (int64_t)leader->counts.capacity_bytes - leader->unclaimed_bytes;
	if (!model->lanes[lane].follows || (int64_t)model->lanes[lane].counts.capacity_bytes > claimed_bytes)
		return false;
	part(model, lane, claimed_bytes);
	return true;
}
