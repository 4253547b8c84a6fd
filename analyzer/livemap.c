#include "analyzer/livemap.h"

#include <math.h>
#include <stdlib.h>

#include "analyzer/array.h"
#include "analyzer/blocktable.h"
#include "analyzer/idmap.h"
#include "analyzer/waiting.h"

struct livemap {
	uint64_t sample_bytes;
	uint64_t reorder_units;
	struct block_table blocks;
	struct live_site *sites;
	size_t sites_count, sites_capacity;
	struct idmap sites_by_stack;
	struct pending_list pending;
	struct deferred_heap deferred;
	struct livemap_totals totals;
};

/* ---- estimates ----------------------------------------------------------------------------------------- */

/* What one block adds to an estimate of counts and to one of bytes. */
struct weight {
	struct estimate count;
	struct estimate bytes;
};

static inline struct weight weigh(const struct livemap *map, uint64_t size_bytes)
{
	double bytes = (double)size_bytes;
	if (!map->sample_bytes)
		return (struct weight){{1, 0, 1, 0}, {bytes, 0, bytes, 0}};
	double p = sample_probability(size_bytes, map->sample_bytes);
	double spread = (1 - p) / (p * p);
	return (struct weight){{1 / p, spread, 1, 0}, {bytes / p, bytes * bytes * spread, bytes, 0}};
}

static inline void add(struct estimate *sum, const struct estimate *part)
{
	sum->value += part->value;
	sum->variance += part->variance;
	sum->floor += part->floor;
}

static inline void subtract(struct estimate *sum, const struct estimate *part)
{
	sum->value -= part->value;
	sum->variance -= part->variance;
	sum->floor -= part->floor;
}

/* Without blocks there are no bytes: rounding does not add up over a long trace. */
static inline void subtract_live(struct estimate *blocks, struct estimate *bytes, const struct weight *weight)
{
	subtract(blocks, &weight->count);
	subtract(bytes, &weight->bytes);
	if (blocks->floor == 0) {
		*blocks = (struct estimate){.weight = blocks->weight};
		*bytes = (struct estimate){.weight = bytes->weight};
	}
}

/* ---- sites --------------------------------------------------------------------------------------------- */

static struct live_site site_new(const struct livemap *map, uint32_t stack_id)
{
	const struct estimate none = {.weight = (double)map->sample_bytes};
	return (struct live_site){
		.stack_id = stack_id,
		.alloc_bytes = none,
		.realloc_bytes = none,
		.live_bytes = none,
		.live_bytes_peak.at = none,
	};
}

/* How many blocks an unseen sample of a site may stand for: as many as the smallest one seen there did. */
static void site_weigh(struct live_site *site, double blocks)
{
	struct estimate *const counts[] = {&site->allocs, &site->reallocs, &site->frees, &site->remote_frees,
					   &site->live_blocks};
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
		counts[i]->weight = fmax(counts[i]->weight, blocks);
}

static uint32_t site_of(struct livemap *map, uint32_t stack_id)
{
	uint32_t index = idmap_get(&map->sites_by_stack, stack_id);
	if (index != IDMAP_NONE)
		return index;
	if (!array_reserve(&map->sites, &map->sites_capacity, map->sites_count + 1, sizeof *map->sites) ||
	    !idmap_add(&map->sites_by_stack, stack_id, (uint32_t)map->sites_count))
		return IDMAP_NONE;
	map->sites[map->sites_count] = site_new(map, stack_id);
	return (uint32_t)map->sites_count++;
}

static inline void account_birth(struct livemap *map, struct live_site *site, uint64_t time,
				 const struct weight *weight)
{
	struct livemap_totals *totals = &map->totals;
	add(&site->live_blocks, &weight->count);
	add(&site->live_bytes, &weight->bytes);
	peak_raise(&site->live_bytes_peak, &site->live_bytes, weight->bytes.variance);
	add(&totals->live_blocks, &weight->count);
	add(&totals->live_bytes, &weight->bytes);
	if (peak_raise(&totals->live_bytes_peak, &totals->live_bytes, weight->bytes.variance))
		totals->live_bytes_peak_time = time;
}

static inline void account_remote(struct livemap *map, struct live_site *site, const struct weight *weight)
{
	map->totals.remote_frees++;
	add(&site->remote_frees, &weight->count);
}

static inline void account_death(struct livemap *map, const struct live_block *block)
{
	struct weight weight = weigh(map, block->size_bytes);
	struct live_site *site = &map->sites[block->site];
	add(&site->frees, &weight.count);
	subtract_live(&site->live_blocks, &site->live_bytes, &weight);
	subtract_live(&map->totals.live_blocks, &map->totals.live_bytes, &weight);
}

/* ---- the two halves of every event --------------------------------------------------------------------- */

/* An allocation over a live block: that one has ended, and its free is owed. */
static bool bury(struct livemap *map, const struct live_block *old, uint64_t time, uint32_t owner)
{
	account_death(map, old);
	return pending_add(&map->pending, &(struct pending){
						  .address = old->address,
						  .size_bytes = old->size_bytes,
						  .deadline = time + map->reorder_units,
						  .site = old->site,
						  .thread = old->thread,
						  .owner = owner,
						  .owed = true,
					  });
}

/* The free of a block that is born now came before it: it never lived, and what lives at its address goes on.
 */
static bool died_before(struct livemap *map, uint64_t address, uint32_t thread)
{
	struct pending early;
	if (!map->pending.count || !pending_take(&map->pending, address, false, thread, &early))
		return false;
	map->totals.reordered++;
	return true;
}

static bool put_live(struct livemap *map, const struct live_block *block, const struct weight *weight)
{
	struct live_block *place = block_table_place(&map->blocks, block->address);
	if (!place)
		return false;
	bool good = !place->address || bury(map, place, block->time, block->thread);
	map->blocks.count += place->address == 0;
	*place = *block;
	account_birth(map, &map->sites[block->site], block->time, weight);
	return good;
}

static bool birth(struct livemap *map, uint64_t time, uint64_t address, uint64_t size_bytes,
		  uint32_t stack_id, uint32_t thread, bool realloc)
{
	uint32_t index = site_of(map, stack_id);
	if (index == IDMAP_NONE)
		return false;
	struct live_site *site = &map->sites[index];
	struct weight weight = weigh(map, size_bytes);
	if (map->sample_bytes)
		site_weigh(site, weight.count.value);
	add(realloc ? &site->reallocs : &site->allocs, &weight.count);
	add(realloc ? &site->realloc_bytes : &site->alloc_bytes, &weight.bytes);
	if (died_before(map, address, thread)) {
		add(&site->frees, &weight.count);
		account_remote(map, site, &weight);
		return true;
	}
	return put_live(map, &(struct live_block){address, size_bytes, time, index, thread}, &weight);
}

/* The free that an earlier allocation over a live block was owed. */
static bool pays_debt(struct livemap *map, uint64_t address, uint32_t thread)
{
	struct pending owed;
	if (!map->pending.count || !pending_take(&map->pending, address, true, thread, &owed))
		return false;
	struct weight weight = weigh(map, owed.size_bytes);
	if (owed.thread != thread)
		account_remote(map, &map->sites[owed.site], &weight);
	map->totals.reordered++;
	return true;
}

static bool death(struct livemap *map, uint64_t time, uint64_t address, uint32_t thread)
{
	if (pays_debt(map, address, thread))
		return true;
	struct live_block *block = block_table_find(&map->blocks, address);
	if (!block)
		return pending_add(&map->pending, &(struct pending){.address = address,
								    .deadline = time + map->reorder_units,
								    .thread = thread});
	if (block->thread != thread) {
		struct weight weight = weigh(map, block->size_bytes);
		account_remote(map, &map->sites[block->site], &weight);
	}
	account_death(map, block);
	block_table_remove(&map->blocks, block);
	map->blocks.count--;
	return true;
}

/* ---- reallocs ------------------------------------------------------------------------------------------ */

static bool deferred_apply_first(struct livemap *map)
{
	struct deferred first = deferred_pop(&map->deferred);
	return birth(map, first.end_time, first.address, first.size_bytes, first.stack_id, first.thread,
		     true);
}

static bool apply_realloc(struct livemap *map, const struct trace_event *event)
{
	bool sampling = map->sample_bytes != 0;
	if (event->old_address && (!sampling || event->sampled_old) &&
	    !death(map, event->time, event->old_address, event->thread))
		return false;
	if (!event->address || (sampling && !event->sampled_new))
		return true;
	if (event->end_time <= event->time)
		return birth(map, event->time, event->address, event->size_bytes, event->stack_id,
			     event->thread, true);
	return deferred_push(&map->deferred,
			     &(struct deferred){event->end_time, event->address, event->size_bytes,
						event->stack_id, event->thread});
}

/* ---- public -------------------------------------------------------------------------------------------- */

struct livemap *livemap_create(uint64_t sample_bytes, uint64_t reorder_units)
{
	struct livemap *map = calloc(1, sizeof *map);
	if (!map)
		return NULL;
	map->sample_bytes = sample_bytes;
	map->reorder_units = reorder_units;
	const struct estimate none = {.weight = (double)sample_bytes};
	map->totals.live_blocks = map->totals.live_bytes = map->totals.live_bytes_peak.at = none;
	if (!block_table_create(&map->blocks)) {
		livemap_free(map);
		return NULL;
	}
	return map;
}

void livemap_free(struct livemap *map)
{
	if (!map)
		return;
	block_table_free(&map->blocks);
	free(map->sites);
	free(map->pending.items);
	free(map->deferred.items);
	idmap_clear(&map->sites_by_stack);
	free(map);
}

bool livemap_apply(struct livemap *map, const struct trace_event *event)
{
	while (map->deferred.count && map->deferred.items[0].end_time <= event->time)
		if (!deferred_apply_first(map))
			return false;
	if (map->pending.count)
		pending_settle(&map->pending, event->time);
	if (event->kind == EVENT_REALLOC)
		return apply_realloc(map, event);
	if (!event->address)
		return true;
	if (event_is_free(event->kind))
		return death(map, event->time, event->address, event->thread);
	if (event_is_allocation(event->kind))
		return birth(map, event->time, event->address, event->size_bytes, event->stack_id,
			     event->thread, false);
	return true;
}

void livemap_prefetch(void *context, const struct trace_event *event)
{
	const struct block_table *blocks = &((struct livemap *)context)->blocks;
	if (event->kind <= EVENT_ALIGNED)
		__builtin_prefetch(&blocks->slots[block_table_hash(event->address, blocks->bits)], 1);
	if (event->kind == EVENT_REALLOC)
		__builtin_prefetch(&blocks->slots[block_table_hash(event->old_address, blocks->bits)], 1);
}

bool livemap_finish(struct livemap *map)
{
	while (map->deferred.count)
		if (!deferred_apply_first(map))
			return false;
	pending_settle(&map->pending, UINT64_MAX);
	for (size_t i = 0; i < map->sites_count; i++)
		peak_finish(&map->sites[i].live_bytes_peak, &map->sites[i].live_bytes);
	peak_finish(&map->totals.live_bytes_peak, &map->totals.live_bytes);
	return true;
}

const struct livemap_totals *livemap_totals(const struct livemap *map)
{
	struct livemap_totals *totals = (struct livemap_totals *)&map->totals;
	totals->lost_frees = map->pending.lost;
	totals->unknown_frees = map->pending.unknown;
	totals->memory_bytes = block_table_bytes(&map->blocks) + map->sites_capacity * sizeof *map->sites;
	return totals;
}

const struct live_site *livemap_sites(const struct livemap *map, size_t *count)
{
	*count = map->sites_count;
	return map->sites;
}

const struct live_block *livemap_find(const struct livemap *map, uint64_t address)
{
	return address ? block_table_find(&map->blocks, address) : NULL;
}

void livemap_each(const struct livemap *map, void (*visit)(void *context, const struct live_block *block),
		  void *context)
{
	size_t slots = (size_t)1 << map->blocks.bits;
	for (size_t i = 0; i < slots; i++)
		if (map->blocks.slots[i].address)
			visit(context, &map->blocks.slots[i]);
}
