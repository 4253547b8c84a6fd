#include "analyzer/cachemodel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/array.h"
#include "analyzer/cachemodel_internal.h"

#define ALIGN_BYTES	    16u /* of a vector */
#define SLAB_HALVINGS_FIRST 4u
#define LOOK_CALLS	    (UINT64_C(1) << 20)

/* ---- life ---------------------------------------------------------------------------------------------- */

static void *allocate(struct cachemodel *model, size_t bytes)
{
	void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
	if (memory) {
		memset(memory, 0, bytes);
		model->memory_bytes += bytes;
	}
	return memory;
}

/* gperftools clips what it is given; a per-CPU limit is taken as it is. */
static uint64_t capacity_taken(enum cache_design design, uint64_t bytes)
{
	if (design == CACHE_PER_CPU)
		return bytes;
	if (bytes < CACHE_THREADS_MIN_BYTES)
		return CACHE_THREADS_MIN_BYTES;
	return bytes < CACHE_THREADS_MAX_BYTES ? bytes : CACHE_THREADS_MAX_BYTES;
}

static bool lanes_create(struct cachemodel *model, const uint64_t *capacities)
{
	model->lanes = allocate(model, model->lane_count * sizeof *model->lanes);
	for (unsigned i = 0; model->lanes && i < model->lane_count; i++) {
		struct lane *lane = &model->lanes[i];
		lane->counts.capacity_bytes = capacity_taken(model->design, capacities[i]);
		thread_lane_start(lane);
		lane->slab_halvings = SLAB_HALVINGS_FIRST;
		central_start(model, lane);
		((int16_t *)model->valid)[i] = -1;
	}
	if (model->lanes && model->design == CACHE_PER_THREAD)
		follow_start(model);
	return model->lanes != NULL;
}

struct cachemodel *cachemodel_create(enum cache_design design, const uint64_t *capacities, size_t count,
				     double units_per_s)
{
	if (count == 0 || count > CACHEMODEL_LANES_MAX)
		return NULL;
	struct cachemodel *model = aligned_alloc(ALIGN_BYTES, sizeof *model);
	if (!model)
		return NULL;
	*model = (struct cachemodel){
		.clock.due = design == CACHE_PER_CPU && units_per_s > 0 ? 0 : UINT64_MAX,
		.design = design,
		.classes = cache_classes(design),
		.lane_count = (unsigned)count,
		.groups = ((unsigned)count + GROUP_LANES - 1) / GROUP_LANES,
		.units_per_s = units_per_s,
		.next_look = LOOK_CALLS,
	};
	if (lanes_create(model, capacities))
		return model;
	cachemodel_free(model);
	return NULL;
}

static void lists_free(struct cache *cache)
{
	for (unsigned i = 0; i < CACHE_CLASSES_MAX; i++) {
		if (cache->lists[i])
			free(cache->lists[i]->lanes);
		free(cache->lists[i]);
		cache->lists[i] = NULL;
	}
}

void cachemodel_free(struct cachemodel *model)
{
	if (!model)
		return;
	for (size_t i = 0; i < model->cache_count; i++) {
		if (model->caches[i])
			lists_free(model->caches[i]);
		free(model->caches[i]);
	}
	free(model->caches);
	for (unsigned i = 0; model->lanes && i < model->lane_count; i++)
		for (unsigned class = 0; class < CACHE_CLASSES_MAX; class ++)
			spanlist_free(&model->lanes[i].central[class].spans);
	free(model->lanes);
	free(model);
}

/* ---- caches and lists ---------------------------------------------------------------------------------- */

static bool numbers_reserve(struct cachemodel *model, uint32_t number)
{
	if (!array_reserve(&model->caches, &model->cache_capacity, (size_t)number + 1, sizeof *model->caches))
		return false;
	while (model->cache_count <= number)
		model->caches[model->cache_count++] = NULL;
	return true;
}

/* A thread that allocates after its end was seen (in a destructor of its own data) gets a cache once more. */
struct cache *cachemodel_cache_get(struct cachemodel *model, uint32_t number)
{
	if (!numbers_reserve(model, number))
		return NULL;
	struct cache *cache = model->caches[number];
	if (!cache && !(cache = model->caches[number] = allocate(model, sizeof *cache)))
		return NULL;
	cache->ended = false;
	if (model->design == CACHE_PER_CPU)
		cpu_cache_start(model, cache);
	else
		thread_cache_start(model, cache);
	return cache;
}

struct list *cachemodel_list_make(struct cachemodel *model, struct cache *cache, unsigned class)
{
	const unsigned vectors = model->groups * (model->design == CACHE_PER_CPU ? 2 : 3);
	struct list *list = allocate(model, sizeof *list + vectors * sizeof *list->vectors);
	if (!list)
		return NULL;
	list->lanes = allocate(model, model->lane_count * sizeof *list->lanes);
	if (!list->lanes) {
		free(list);
		return NULL;
	}
	for (unsigned i = 0; model->design == CACHE_PER_THREAD && i < model->lane_count; i++)
		list_limits(model, list)[i] = 1;
	return cache->lists[class] = list;
}

void cachemodel_end_thread(struct cachemodel *model, uint32_t number)
{
	struct cache *cache = number < model->cache_count ? model->caches[number] : NULL;
	if (model->design == CACHE_PER_CPU || !cache || cache->ended)
		return;
	thread_cache_end(model, cache);
	cache->ended = true;
	for (unsigned i = 0; i < CACHE_CLASSES_MAX; i++)
		if (cache->lists[i])
			model->memory_bytes -= sizeof *cache->lists[i] + 3 * model->groups * sizeof(lanes16) +
					       model->lane_count * sizeof(struct list_lane);
	lists_free(cache);
}

/* ---- calls --------------------------------------------------------------------------------------------- */

static uint64_t cached_bytes(const struct cachemodel *model, unsigned lane)
{
	uint64_t bytes = 0;
	for (size_t i = 0; i < model->cache_count; i++)
		if (model->caches[i])
			bytes += cache_used_bytes(model, model->caches[i], lane);
	return bytes;
}

static void look(struct cachemodel *model)
{
	model->next_look = model->allocs + model->frees + LOOK_CALLS;
	for (unsigned i = 0; i < model->lane_count; i++) {
		if (model->lanes[i].follows)
			continue;
		uint64_t bytes = cached_bytes(model, i), *peak = &model->lanes[i].counts.cached_bytes_peak;
		*peak = bytes > *peak ? bytes : *peak;
	}
}

static bool has_cache(const struct cachemodel *model, uint32_t number)
{
	return number < model->cache_count && model->caches[number] && !model->caches[number]->ended;
}

bool cachemodel_take(struct cachemodel *model, uint32_t number, unsigned class)
{
	struct cache *cache;
	struct list *list = cachemodel_list_get(model, number, class, &cache);
	if (!list)
		return false;
	model->allocs++;
	cache->allocs++;
	if (model->design == CACHE_PER_CPU)
		cpu_take(model, cache, list, class);
	else
		thread_take(model, cache, list, class);
	return !model->out_of_memory;
}

bool cachemodel_give(struct cachemodel *model, uint32_t number, unsigned class)
{
	struct cache *cache;
	if (model->design == CACHE_PER_THREAD && !has_cache(model, number)) {
		thread_give_directly(model, class);
		return true;
	}
	struct list *list = cachemodel_list_get(model, number, class, &cache);
	if (!list)
		return false;
	model->frees++;
	cache->frees++;
	if (model->design == CACHE_PER_CPU)
		cpu_give(model, cache, list, class);
	else
		thread_give(model, cache, list, class);
	if (__builtin_expect(model->allocs + model->frees >= model->next_look, 0))
		look(model);
	return !model->out_of_memory;
}

/* A gap in the trace is passed in one step: what is idle is reclaimed after a few of them. */
#define SECONDS_AT_ONCE 64u

void cachemodel_background(struct cachemodel *model, uint64_t time)
{
	uint64_t seconds = (uint64_t)((double)time / model->units_per_s);
	if (model->clock.due == 0 || seconds > model->background_seconds + SECONDS_AT_ONCE)
		model->background_seconds = seconds - (model->clock.due == 0 ? 0 : SECONDS_AT_ONCE);
	while (model->background_seconds < seconds) {
		model->background_seconds++;
		for (unsigned i = 0; i < model->lane_count; i++)
			cpu_background(model, i, model->background_seconds);
	}
	model->clock.due = (uint64_t)(ceil((double)(seconds + 1) * model->units_per_s));
}

/* ---- results ------------------------------------------------------------------------------------------- */

uint64_t cachemodel_allocs(const struct cachemodel *model)
{
	return model->allocs;
}

uint64_t cachemodel_frees(const struct cachemodel *model)
{
	return model->frees;
}

size_t cachemodel_lanes(const struct cachemodel *model)
{
	return model->lane_count;
}

struct cachemodel_result cachemodel_result(const struct cachemodel *model, size_t lane)
{
	const uint64_t capacity_bytes = model->lanes[lane].counts.capacity_bytes;
	lane = lane_of(model, (unsigned)lane);
	struct cachemodel_result result = model->lanes[lane].counts;
	result.capacity_bytes = capacity_bytes;
	uint64_t bytes = cached_bytes(model, (unsigned)lane);
	result.cached_bytes_peak = bytes > result.cached_bytes_peak ? bytes : result.cached_bytes_peak;
	for (size_t i = 0; i < model->cache_count; i++)
		if (model->caches[i]) {
			result.underflows += model->caches[i]->lanes[lane].underflows;
			result.overflows += model->caches[i]->lanes[lane].overflows;
		}
	return result;
}

struct cachemodel_cache cachemodel_cache(const struct cachemodel *model, uint32_t number, size_t lane)
{
	const struct cache *cache = number < model->cache_count ? model->caches[number] : NULL;
	lane = lane_of(model, (unsigned)lane);
	if (!cache)
		return (struct cachemodel_cache){0, 0, 0, 0};
	return (struct cachemodel_cache){cache->allocs, cache->frees, cache->lanes[lane].underflows,
					 cache->lanes[lane].overflows};
}

double cachemodel_hit_ratio(uint64_t calls, uint64_t underflows, uint64_t overflows)
{
	return calls ? 1 - (double)(underflows + overflows) / (double)calls : NAN;
}

uint64_t cachemodel_memory_bytes(const struct cachemodel *model)
{
	uint64_t bytes = model->memory_bytes + sizeof *model + model->cache_capacity * sizeof *model->caches;
	for (unsigned i = 0; i < model->lane_count; i++)
		for (unsigned class = 0; class < CACHE_CLASSES_MAX; class ++)
			bytes += spanlist_memory_bytes(&model->lanes[i].central[class].spans);
	return bytes;
}

/* ---- invariants ---------------------------------------------------------------------------------------- */

static const char *check_cpu_cache(const struct cachemodel *model, struct cache *cache, unsigned lane)
{
	uint64_t granted = 0;
	for (unsigned i = 1; i < model->classes->count; i++) {
		if (!cache->lists[i])
			continue;
		uint32_t limit = list_limits(model, cache->lists[i])[lane];
		if (list_lengths(cache->lists[i])[lane] > limit)
			return "a list is longer than its limit";
		granted += (uint64_t)limit * model->classes->classes[i].bytes;
	}
	return granted + cache->lanes[lane].available_bytes == cache->lanes[lane].capacity_bytes
		       ? NULL
		       : "limits and what is available are not the capacity";
}

static uint64_t cached_objects(const struct cachemodel *model, unsigned lane)
{
	uint64_t objects = 0;
	for (size_t i = 0; i < model->cache_count; i++)
		for (unsigned class = 1; model->caches[i] && class < model->classes->count; class ++)
			if (model->caches[i]->lists[class])
				objects += list_lengths(model->caches[i]->lists[class])[lane];
	return objects;
}

static const char *check_caches(const struct cachemodel *model, unsigned lane)
{
	for (size_t i = 0; i < model->cache_count; i++) {
		struct cache *cache = model->caches[i];
		if (!cache || cache->ended)
			continue;
		const int32_t *held = (const int32_t *)cache->size_bytes;
		if (model->design == CACHE_PER_THREAD &&
		    (uint64_t)(int64_t)held[lane] != cache_used_bytes(model, cache, lane))
			return "a thread's bytes are not those of its lists";
		const char *wrong =
			model->design == CACHE_PER_CPU ? check_cpu_cache(model, cache, lane) : NULL;
		if (wrong)
			return wrong;
	}
	return NULL;
}

const char *cachemodel_check(const struct cachemodel *model)
{
	for (unsigned i = 0; i < model->lane_count; i++) {
		if (model->lanes[i].follows)
			continue;
		const struct cachemodel_result *counts = &model->lanes[i].counts;
		const char *wrong = check_caches(model, i);
		if (wrong)
			return wrong;
		if (model->allocs + counts->released_objects + cached_objects(model, i) !=
		    model->frees + counts->fetched_objects)
			return "objects were lost or made";
	}
	return NULL;
}
