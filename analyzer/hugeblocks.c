#include "analyzer/hugeblocks.h"

#include <math.h>
#include <stdlib.h>

#include "analyzer/array.h"
#include "analyzer/backing.h"

/* A look at so little is no matter, and may be taken at every snapshot. */
#define SMALL_LOOK 16384u

struct range_list {
	struct sweep_range *items;
	size_t count, capacity;
};

struct hugeblocks {
	const struct trace *trace;
	uint64_t sample_bytes; /* 0 in full mode */
	uint64_t events;       /* since the last look */
	bool failed;	       /* memory ran out while lists were made */

	/* Of the look that is being taken; kept for their memory. */
	struct sweep_block *found, *spare;
	size_t found_count, found_capacity, spare_capacity;
	struct sweep_stretch *stretches;
	size_t stretch_count, stretch_capacity;
	struct range_list allocator; /* its regions, resident or not */
	struct range_list huge;	     /* huge pages of any owner */

	struct hugeblocks_site *sites;
	size_t site_count, site_capacity;
	struct hugeblocks_look last, peak;
	uint64_t peak_resident_bytes;
	struct hugeblocks_moment *moments;
	size_t moment_count, moment_capacity;
	struct hugeblocks_look *kept;
	size_t kept_count, kept_capacity;
	size_t kept_every; /* a power of 2: of so many looks one is kept */
};

static bool out_of_memory(struct error *error)
{
	return error_set(error, ERROR_INTERNAL, NULL, ERROR_NO_OFFSET, "out of memory");
}

struct hugeblocks *hugeblocks_open(const struct trace *trace)
{
	const struct trace_info *info = trace_info(trace);
	struct hugeblocks *blocks = calloc(1, sizeof *blocks);
	if (!blocks)
		return NULL;
	blocks->trace = trace;
	blocks->sample_bytes = info->mode == TRACE_MODE_SAMPLE ? info->sample_bytes : 0;
	blocks->kept_every = 1;
	return blocks;
}

void hugeblocks_close(struct hugeblocks *blocks)
{
	if (!blocks)
		return;
	free(blocks->found);
	free(blocks->spare);
	free(blocks->stretches);
	free(blocks->allocator.items);
	free(blocks->huge.items);
	free(blocks->sites);
	free(blocks->moments);
	free(blocks->kept);
	free(blocks);
}

void hugeblocks_event(struct hugeblocks *blocks)
{
	blocks->events++;
}

/* ---- what there is to look at -------------------------------------------------------------------------- */

/* Ranges that touch become one. */
static bool range_add(struct range_list *list, uint64_t start, uint64_t end)
{
	if (list->count && list->items[list->count - 1].end == start) {
		list->items[list->count - 1].end = end;
		return true;
	}
	if (!array_reserve(&list->items, &list->capacity, list->count + 1, sizeof *list->items))
		return false;
	list->items[list->count++] = (struct sweep_range){start, end};
	return true;
}

static bool stretch_add(struct hugeblocks *blocks, const struct backed *backed)
{
	if (!array_reserve(&blocks->stretches, &blocks->stretch_capacity, blocks->stretch_count + 1,
			   sizeof *blocks->stretches))
		return false;
	blocks->stretches[blocks->stretch_count++] = (struct sweep_stretch){
		.start = backed->start,
		.end = backed->end,
		.owner = backed->owner->kind,
		.backing = backed_huge(backed) ? BACKING_HUGE : BACKING_SMALL,
	};
	return true;
}

static bool add_backed(void *context, const struct backed *backed)
{
	struct hugeblocks *blocks = context;
	bool good = true;
	if (allocator_owner(backed->owner->kind)) {
		good = range_add(&blocks->allocator, backed->start, backed->end);
		if (backed_resident(backed))
			good = stretch_add(blocks, backed) && good;
	}
	if (backed_huge(backed))
		good = range_add(&blocks->huge, backed->start, backed->end) && good;
	return good;
}

static void add_block(void *context, const struct live_block *block)
{
	struct hugeblocks *blocks = context;
	uint64_t room_bytes = UINT64_MAX - block->address;
	if (blocks->failed || !array_reserve(&blocks->found, &blocks->found_capacity, blocks->found_count + 1,
					     sizeof *blocks->found)) {
		blocks->failed = true;
		return;
	}
	blocks->found[blocks->found_count++] = (struct sweep_block){
		.start = block->address,
		.end = block->address + (block->size_bytes < room_bytes ? block->size_bytes : room_bytes),
		.site = block->site,
	};
}

static bool gather(struct hugeblocks *blocks, const struct hugeblocks_world *world)
{
	blocks->found_count = blocks->stretch_count = blocks->allocator.count = blocks->huge.count = 0;
	blocks->failed = false;
	livemap_each(world->live, add_block, blocks);
	if (blocks->failed || !backing_walk(world->regions, world->pages, add_backed, blocks) ||
	    !array_reserve(&blocks->spare, &blocks->spare_capacity, blocks->found_count,
			   sizeof *blocks->spare))
		return false;
	sweep_sort(blocks->found, blocks->spare, blocks->found_count);
	return true;
}

/* ---- sites --------------------------------------------------------------------------------------------- */

static double huge_bytes_of_all(const struct hugeblocks *blocks)
{
	uint64_t bytes = 0;
	for (size_t i = 0; i < blocks->huge.count; i++)
		bytes += blocks->huge.items[i].end - blocks->huge.items[i].start;
	return (double)bytes;
}

static bool sites_start(struct hugeblocks *blocks, const struct livemap *live)
{
	const struct estimate none = {.weight = (double)blocks->sample_bytes};
	const double most_bytes = huge_bytes_of_all(blocks);
	size_t count;
	livemap_sites(live, &count);
	if (!array_reserve(&blocks->sites, &blocks->site_capacity, count, sizeof *blocks->sites))
		return false;
	for (; blocks->site_count < count; blocks->site_count++)
		blocks->sites[blocks->site_count] = (struct hugeblocks_site){.huge_bytes_peak = none};
	for (size_t i = 0; i < count; i++) {
		blocks->sites[i].huge_bytes = none;
		blocks->sites[i].most_bytes = most_bytes;
	}
	return true;
}

static void site_finish(struct hugeblocks_site *site)
{
	if (site->huge_bytes.value > site->huge_bytes_peak.value) {
		site->huge_bytes_peak = site->huge_bytes;
		site->most_bytes_peak = site->most_bytes;
	} else if (!(site->huge_bytes_peak.value > 0)) {
		site->most_bytes_peak = fmax(site->most_bytes_peak, site->most_bytes);
	}
}

/* Blocks one by one, whatever region they lie in. */
static void look_at_blocks(struct hugeblocks *blocks, struct hugeblocks_look *look)
{
	size_t huge_at = 0, allocator_at = 0;
	look->live_elsewhere_bytes = (struct estimate){.weight = (double)blocks->sample_bytes};
	for (size_t i = 0; i < blocks->found_count; i++) {
		const struct sweep_block *block = &blocks->found[i];
		uint64_t size_bytes = block->end - block->start;
		uint64_t huge_bytes = sweep_overlap_bytes(blocks->huge.items, blocks->huge.count, &huge_at,
							  block->start, block->end);
		uint64_t inside_bytes = sweep_overlap_bytes(blocks->allocator.items, blocks->allocator.count,
							    &allocator_at, block->start, block->end);
		if (huge_bytes)
			estimate_add_part(&blocks->sites[block->site].huge_bytes, size_bytes,
					  (double)huge_bytes, blocks->sample_bytes);
		if (inside_bytes < size_bytes)
			estimate_add_part(&look->live_elsewhere_bytes, size_bytes,
					  (double)(size_bytes - inside_bytes), blocks->sample_bytes);
	}
}

/* ---- looks --------------------------------------------------------------------------------------------- */

/* Where there are too many, every other one goes. */
static bool keep_whole(struct hugeblocks *blocks)
{
	if (blocks->moment_count % blocks->kept_every)
		return true;
	if (blocks->kept_count == HUGEBLOCKS_KEPT_MAX) {
		for (size_t i = 0; i < HUGEBLOCKS_KEPT_MAX / 2; i++)
			blocks->kept[i] = blocks->kept[2 * i];
		blocks->kept_count = HUGEBLOCKS_KEPT_MAX / 2;
		blocks->kept_every *= 2;
	}
	if (!array_reserve(&blocks->kept, &blocks->kept_capacity, blocks->kept_count + 1,
			   sizeof *blocks->kept))
		return false;
	blocks->kept[blocks->kept_count++] = blocks->last;
	return true;
}

static bool keep(struct hugeblocks *blocks)
{
	struct hugeblocks_moment moment = {blocks->last.time, hugeblocks_sums(&blocks->last)};
	if (!array_reserve(&blocks->moments, &blocks->moment_capacity, blocks->moment_count + 1,
			   sizeof *blocks->moments) ||
	    !keep_whole(blocks))
		return false;
	blocks->moments[blocks->moment_count++] = moment;
	if (blocks->moment_count == 1 || moment.sums.resident_bytes > blocks->peak_resident_bytes) {
		blocks->peak = blocks->last;
		blocks->peak_resident_bytes = moment.sums.resident_bytes;
	}
	return true;
}

static bool look(struct hugeblocks *blocks, const struct hugeblocks_world *world, uint64_t time,
		 struct error *error)
{
	if (!gather(blocks, world) || !sites_start(blocks, world->live))
		return out_of_memory(error);
	blocks->last.time = time;
	sweep_run(blocks->found, blocks->found_count, blocks->stretches, blocks->stretch_count,
		  blocks->sample_bytes, pages_page_bytes(world->pages), &blocks->last.sweep);
	look_at_blocks(blocks, &blocks->last);
	for (size_t i = 0; i < blocks->site_count; i++)
		site_finish(&blocks->sites[i]);
	blocks->events = 0;
	return keep(blocks) || out_of_memory(error);
}

/* What was sampled, or in full mode all. */
static uint64_t live_blocks(const struct hugeblocks_world *world)
{
	return (uint64_t)fmax(livemap_totals(world->live)->live_blocks.floor, 0);
}

static bool is_time(const struct hugeblocks *blocks, const struct hugeblocks_world *world, uint64_t time)
{
	const struct trace_info *info = trace_info(blocks->trace);
	uint64_t work =
		live_blocks(world) + pages_run_count(world->pages) + regions_map(world->regions)->count;
	uint64_t before = blocks->moment_count ? blocks->last.time : info->first_time;
	uint64_t since = time > before ? time - before : 0;
	return work <= SMALL_LOOK || blocks->events >= work ||
	       since >= (info->last_time - info->first_time) / HUGEBLOCKS_SPREAD;
}

bool hugeblocks_snapshot(struct hugeblocks *blocks, const struct hugeblocks_world *world, uint64_t time,
			 bool *looked, struct error *error)
{
	*looked = pages_known(world->pages) && pages_decided(world->pages) && is_time(blocks, world, time);
	return !*looked || look(blocks, world, time, error);
}

bool hugeblocks_finish(struct hugeblocks *blocks, const struct hugeblocks_world *world, uint64_t time,
		       struct error *error)
{
	bool known = pages_known(world->pages) && pages_decided(world->pages);
	return !known || look(blocks, world, time, error);
}

/* ---- answers ------------------------------------------------------------------------------------------- */

bool hugeblocks_known(const struct hugeblocks *blocks)
{
	return blocks->moment_count > 0;
}

bool hugeblocks_exact(const struct hugeblocks *blocks)
{
	return blocks->sample_bytes == 0;
}

bool hugeblocks_complete(const struct hugeblocks *blocks)
{
	const struct trace_info *info = trace_info(blocks->trace);
	return !info->flight_recorder || trace_seconds(blocks->trace, info->first_time) <= 0.001;
}

const struct hugeblocks_look *hugeblocks_kept(const struct hugeblocks *blocks, size_t *count)
{
	*count = blocks->kept_count;
	return blocks->kept;
}

const struct hugeblocks_look *hugeblocks_last(const struct hugeblocks *blocks)
{
	return &blocks->last;
}

const struct hugeblocks_look *hugeblocks_peak(const struct hugeblocks *blocks)
{
	return &blocks->peak;
}

const struct hugeblocks_look *hugeblocks_usual(const struct hugeblocks *blocks)
{
	return trace_info(blocks->trace)->complete ? &blocks->peak : &blocks->last;
}

struct hugeblocks_sums hugeblocks_sums(const struct hugeblocks_look *look)
{
	struct hugeblocks_sums sums = {0};
	for (unsigned kind = 0; kind < OWNER_KINDS; kind++) {
		const struct sweep_owner *owner = look->sweep.owners[kind];
		sums.resident_bytes +=
			owner[BACKING_SMALL].resident_bytes + owner[BACKING_HUGE].resident_bytes;
		sums.huge_bytes += owner[BACKING_HUGE].resident_bytes;
		estimate_add(&sums.live_bytes, &owner[BACKING_SMALL].live_bytes);
		estimate_add(&sums.live_bytes, &owner[BACKING_HUGE].live_bytes);
		estimate_add(&sums.live_huge_bytes, &owner[BACKING_HUGE].live_bytes);
	}
	sums.unused_bytes = estimate_remainder((double)sums.resident_bytes, &sums.live_bytes);
	sums.bloat_bytes = estimate_remainder((double)sums.huge_bytes, &sums.live_huge_bytes);
	return sums;
}

struct hugeblocks_owner hugeblocks_owner(const struct hugeblocks_look *look, enum owner_kind kind)
{
	const struct sweep_owner *small = &look->sweep.owners[kind][BACKING_SMALL],
				 *huge = &look->sweep.owners[kind][BACKING_HUGE];
	struct hugeblocks_owner owner = {
		.resident_bytes = small->resident_bytes + huge->resident_bytes,
		.huge_bytes = huge->resident_bytes,
		.live_bytes = small->live_bytes,
		.live_huge_bytes = huge->live_bytes,
		.rounding_bytes = small->rounding_bytes,
		.rounding_known = allocator_rounding_known(kind),
	};
	estimate_add(&owner.live_bytes, &huge->live_bytes);
	estimate_add(&owner.rounding_bytes, &huge->rounding_bytes);
	owner.unused_bytes = estimate_remainder((double)owner.resident_bytes, &owner.live_bytes);
	owner.bloat_bytes = estimate_remainder((double)owner.huge_bytes, &owner.live_huge_bytes);
	return owner;
}

const struct hugeblocks_moment *hugeblocks_moments(const struct hugeblocks *blocks, size_t *count)
{
	*count = blocks->moment_count;
	return blocks->moments;
}

const struct hugeblocks_site *hugeblocks_sites(const struct hugeblocks *blocks, size_t *count)
{
	*count = blocks->site_count;
	return blocks->sites;
}

struct interval hugeblocks_site_bytes(const struct hugeblocks_site *site)
{
	return estimate_within(&site->huge_bytes, site->most_bytes);
}

struct interval hugeblocks_site_bytes_peak(const struct hugeblocks_site *site)
{
	return estimate_within(&site->huge_bytes_peak, site->most_bytes_peak);
}
