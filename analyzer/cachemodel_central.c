/* Transfer caches and central lists: what the caches in front of them fetch from and release to. */
#include "analyzer/cachemodel_internal.h"

#define TRANSFER_BYTES_MAX (1u << 20)
#define BATCHES_FIRST	   16u
#define BATCHES_MAX	   64u

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* Batches of a class that a transfer cache may hold: 64, but at most 1 MiB of them, and at least one. */
static uint32_t batches_max(const struct cache_class *class)
{
	uint32_t fit = TRANSFER_BYTES_MAX / (class->bytes * class->batch);
	return least(BATCHES_MAX, fit ? fit : 1);
}

void central_start(struct cachemodel *model, struct lane *lane)
{
	lane->central[0].capacity =
		BATCHES_FIRST; /* gperftools: class 0 has places, too, which others take */
	lane->central[0].max_capacity = BATCHES_MAX;
	for (unsigned i = 1; i < model->classes->count; i++) {
		const struct cache_class *class = &model->classes->classes[i];
		uint32_t unit = model->design == CACHE_PER_CPU ? class->batch : 1;
		struct central *central = &lane->central[i];
		central->max_capacity = batches_max(class) * unit;
		central->capacity = least(BATCHES_FIRST * unit, central->max_capacity);
		spanlist_start(&central->spans, class->span_objects);
	}
}

/* Of the spans, `objects` or as many as there are; a new span is cut up where none has any left. */
static uint32_t take_from_spans(struct central *central, const struct cache_class *class, uint32_t objects)
{
	if (!central->span_objects)
		central->span_objects = class->span_objects;
	uint32_t got = central->span_objects < objects ? (uint32_t)central->span_objects : objects;
	central->span_objects -= got;
	return got;
}

static void count_fetch(struct cachemodel_result *counts, uint32_t objects, bool central)
{
	counts->fetches++;
	counts->fetched_objects += objects;
	counts->central_fetches += central;
	counts->central_fetched_objects += central ? objects : 0;
}

static void count_release(struct cachemodel_result *counts, uint32_t objects, uint32_t central_objects)
{
	counts->releases++;
	counts->released_objects += objects;
	counts->central_releases += central_objects != 0;
	counts->central_released_objects += central_objects;
}

/* ---- google/tcmalloc: the transfer cache holds single objects ------------------------------------------ */

/* The rest of what is cut up, and of one new span; a span of a single object by itself. */
static uint32_t fetch_spans_cpu(struct central *central, const struct cache_class *class, uint32_t objects)
{
	if (class->span_objects == 1)
		return 1;
	uint32_t got = take_from_spans(central, class, objects);
	return got < objects ? got + take_from_spans(central, class, objects - got) : got;
}

/* What is there of the transfer cache, be it less; without any, all of it from the central list. */
uint32_t central_fetch_cpu(struct cachemodel *model, unsigned lane, unsigned class, uint32_t objects)
{
	struct central *central = &model->lanes[lane].central[class];
	bool from_central = central->used == 0;
	uint32_t got = least(objects, central->used);
	central->used -= got;
	central->low = least(central->low, central->used);
	if (from_central)
		got = fetch_spans_cpu(central, &model->classes->classes[class], objects);
	count_fetch(&model->lanes[lane].counts, got, from_central);
	return got;
}

void central_release_cpu(struct cachemodel *model, unsigned lane, unsigned class, uint32_t objects)
{
	struct central *central = &model->lanes[lane].central[class];
	uint32_t kept = least(objects, central->capacity - central->used);
	central->used += kept;
	central->span_objects += objects - kept;
	count_release(&model->lanes[lane].counts, objects, objects - kept);
}

/* Objects that were not needed since the last time go to the central list. */
void central_plunder_cpu(struct cachemodel *model, unsigned lane)
{
	for (unsigned i = 1; i < model->classes->count; i++) {
		struct central *central = &model->lanes[lane].central[i];
		uint32_t unused = least(central->low, central->used);
		central->used -= unused;
		central->span_objects += unused;
		central->low = central->used;
	}
}

/* ---- gperftools: the transfer cache holds whole batches ------------------------------------------------ */

uint32_t central_fetch_thread(struct cachemodel *model, unsigned lane, unsigned class, uint32_t objects)
{
	const struct cache_class *info = &model->classes->classes[class];
	struct central *central = &model->lanes[lane].central[class];
	if (objects == info->batch && central->used) {
		central->used--;
		count_fetch(&model->lanes[lane].counts, objects, false);
		return objects;
	}
	uint32_t got = spanlist_take(&central->spans, objects);
	model->out_of_memory |= got == 0;
	count_fetch(&model->lanes[lane].counts, got ? got : objects, true);
	return got ? got : objects;
}

/* A class gives up a place of its transfer cache, if need be with the batch in it. */
static bool give_place(struct cachemodel *model, unsigned lane, unsigned class, bool force)
{
	struct central *central = &model->lanes[lane].central[class];
	bool full = central->used == central->capacity;
	if (!central->capacity || (full && !force))
		return false;
	central->capacity--;
	if (full) {
		central->used--;
		model->out_of_memory |= !spanlist_give(&central->spans, model->classes->classes[class].batch);
	}
	return true;
}

/* The next class in turn; one's own gives nothing. */
static bool evict(struct cachemodel *model, unsigned lane, unsigned class, bool force)
{
	unsigned *next = &model->lanes[lane].next_evicted;
	unsigned victim = *next % model->classes->count;
	*next = victim + 1;
	return victim != class && give_place(model, lane, victim, force);
}

static bool find_place(struct cachemodel *model, unsigned lane, unsigned class)
{
	struct central *central = &model->lanes[lane].central[class];
	if (central->used < central->capacity)
		return true;
	if (central->capacity == central->max_capacity)
		return false;
	if (!evict(model, lane, class, false) && !evict(model, lane, class, true))
		return false;
	central->capacity++;
	return true;
}

void central_release_thread(struct cachemodel *model, unsigned lane, unsigned class, uint32_t objects)
{
	struct central *central = &model->lanes[lane].central[class];
	bool kept = objects == model->classes->classes[class].batch && find_place(model, lane, class);
	if (kept)
		central->used++;
	else
		model->out_of_memory |= !spanlist_give(&central->spans, objects);
	count_release(&model->lanes[lane].counts, objects, kept ? 0 : objects);
}
