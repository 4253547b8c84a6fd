/*
 * Per-CPU caches as in google/tcmalloc: a class gets capacity out of its CPU's as it misses, and a miss
 * moves about half of what the list may hold.
 */
#include "analyzer/cachemodel_internal.h"

#define MOVED_MAX	 128u /* objects moved by one call of the transfer cache */
#define SUCCESSIVE_BITS	 10u
#define SLAB_HALVINGS	 4u /* of the slab at the start: 32 KiB, where the largest has 512 KiB */
#define SLAB_HEADER_LOSS 3u /* places that a class loses to headers in a smaller slab */

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

void cpu_cache_start(struct cachemodel *model, struct cache *cache)
{
	for (unsigned i = 0; i < model->lane_count; i++) {
		uint64_t capacity_bytes = model->lanes[i].counts.capacity_bytes;
		cache->lanes[i].available_bytes = cache->lanes[i].capacity_bytes = capacity_bytes;
		cache->lanes[i].next_shrink = 1;
	}
}

uint32_t cpu_max_objects(const struct cachemodel *model, const struct lane *lane, unsigned class)
{
	uint32_t whole = model->classes->classes[class].max_objects;
	uint32_t part = whole >> lane->slab_halvings;
	if (!lane->slab_halvings)
		return whole;
	return part > SLAB_HEADER_LOSS ? part - SLAB_HEADER_LOSS : 0;
}

/* ---- capacity ------------------------------------------------------------------------------------------ */

/* Up to `objects` more for a list, as far as its CPU has capacity left and the slab has room. */
static void grow(struct cachemodel *model, struct cache *cache, struct list *list, unsigned class,
		 unsigned lane, uint32_t objects)
{
	const uint32_t bytes = model->classes->classes[class].bytes;
	uint64_t *available = &cache->lanes[lane].available_bytes;
	uint16_t *limit = &list_limits(model, list)[lane];
	uint64_t affordable = *available / bytes;
	list->lanes[lane].misses += *available < (uint64_t)objects * bytes;
	uint32_t room = cpu_max_objects(model, &model->lanes[lane], class) - *limit;
	objects = least(affordable < objects ? (uint32_t)affordable : objects, room);
	*limit = (uint16_t)(*limit + objects);
	*available -= (uint64_t)objects * bytes;
}

/* Counts the miss. Returns whether it is an underflow after an overflow: a longer list had avoided both. */
static bool note_miss(struct list_lane *state, bool overflow, bool small)
{
	bool turned = !overflow && state->overflowed;
	state->quiet_ticks = small || turned ? 0 : state->quiet_ticks;
	state->successive = overflow == state->overflowed ? state->successive + 1 : 0;
	state->overflowed = overflow;
	return turned;
}

/* Half of what the list holds, and one for the caller; more batches at once when misses follow each other. */
static uint32_t moved_by_miss(uint32_t limit, uint32_t batch, uint32_t successive)
{
	if (limit == 1 && successive < 3)
		return 1;
	return least((limit + 1) / 2 + 1, (1u << least(successive, SUCCESSIVE_BITS)) * batch);
}

/*
 * A miss: the list grows to a batch at once and to two by single objects, and beyond only when an underflow
 * follows an overflow. Returns how many objects are to be moved.
 */
static uint32_t miss(struct cachemodel *model, struct cache *cache, unsigned class, unsigned lane,
		     bool overflow)
{
	struct list *list = cache->lists[class];
	struct list_lane *state = &list->lanes[lane];
	const uint32_t batch = model->classes->classes[class].batch;
	const uint16_t *limit = &list_limits(model, list)[lane];
	const uint32_t max = cpu_max_objects(model, &model->lanes[lane], class);
	bool small = *limit < 2 * batch;
	bool turned = note_miss(state, overflow, small);
	if ((small || turned) && *limit < max) {
		uint32_t increase = 1;
		if (turned)
			increase = least(batch, max - *limit);
		else if (!overflow && *limit < batch)
			increase = batch - *limit;
		grow(model, cache, list, class, lane, increase);
	}
	return moved_by_miss(*limit, batch, state->successive);
}

/* ---- calls --------------------------------------------------------------------------------------------- */

static void underflow(struct cachemodel *model, struct cache *cache, unsigned class, unsigned lane)
{
	struct list *list = cache->lists[class];
	uint16_t *length = &list_lengths(list)[lane];
	uint32_t target = miss(model, cache, class, lane, false), total = 0, got, left;
	cache->lanes[lane].underflows++;
	do {
		got = central_fetch_cpu(model, lane, class, least(MOVED_MAX, target - total));
		left = got - (total == 0); /* the first goes to the caller */
		total += got;
		uint32_t kept = least(left, (uint32_t)(list_limits(model, list)[lane] - *length));
		*length = (uint16_t)(*length + kept);
		left -= kept;
		if (left)
			central_release_cpu(model, lane, class, left);
	} while (got == MOVED_MAX && left == 0 && total < target);
}

/* The block that did not fit goes with what is released. */
static void overflow(struct cachemodel *model, struct cache *cache, unsigned class, unsigned lane)
{
	uint16_t *length = &list_lengths(cache->lists[class])[lane];
	uint32_t target = miss(model, cache, class, lane, true), total = 0, held = 1, moved;
	cache->lanes[lane].overflows++;
	do {
		uint32_t popped = least(least(MOVED_MAX, target - total) - held, *length);
		*length = (uint16_t)(*length - popped);
		moved = held + popped;
		held = 0;
		total += moved;
		if (moved)
			central_release_cpu(model, lane, class, moved);
	} while (moved == MOVED_MAX && total < target);
}

static void each_missed(struct cachemodel *model, struct cache *cache, unsigned class, const mask16 *missed,
			void (*missed_in)(struct cachemodel *, struct cache *, unsigned, unsigned))
{
	for (unsigned i = 0; i < model->lane_count; i++)
		if (((const int16_t *)missed)[i])
			missed_in(model, cache, class, i);
}

void cpu_take(struct cachemodel *model, struct cache *cache, struct list *list, unsigned class)
{
	mask16 missed[GROUPS_MAX] = {{0}}, any = {0};
	for (unsigned g = 0; g < model->groups; g++) {
		mask16 empty = list->vectors[g] == 0;
		list->vectors[g] += (lanes16)~empty;
		missed[g] = empty & model->valid[g];
		any |= missed[g];
	}
	if (mask_any(any))
		each_missed(model, cache, class, missed, underflow);
}

void cpu_give(struct cachemodel *model, struct cache *cache, struct list *list, unsigned class)
{
	const unsigned groups = model->groups;
	mask16 missed[GROUPS_MAX] = {{0}}, any = {0};
	for (unsigned g = 0; g < groups; g++) {
		mask16 full = list->vectors[g] >= list->vectors[groups + g];
		list->vectors[g] -= (lanes16)~full;
		missed[g] = full & model->valid[g];
		any |= missed[g];
	}
	if (mask_any(any))
		each_missed(model, cache, class, missed, overflow);
}
