#include "analyzer/regions.h"

#include <stdlib.h>

#include "analyzer/array.h"
#include "analyzer/regions_internal.h"

/* glibc gives blocks from this size on (at first 128 KiB) a mapping of their own, behind a header of 16
 * bytes. */
#define MAPPED_BLOCK_BYTES  (64u << 10)
#define MAPPED_BLOCK_OFFSET 16u

/* ---- the map and its sums ----------------------------------------------------------------------------- */

bool regions_cut(struct regions *regions, uint64_t start, uint64_t end)
{
	regions->cut.count = 0;
	if (!regionmap_cut(&regions->map, start, end, &regions->cut))
		return false;
	for (size_t i = 0; i < regions->cut.count; i++) {
		const struct region *region = &regions->cut.items[i];
		struct region_owner *owner = &regions->owners.items[region->owner];
		uint64_t bytes = region->end - region->start;
		owner->bytes[region->state] -= bytes;
		if (owner->kind != OWNER_TRACER)
			regions->totals.bytes[region->state] -= bytes;
	}
	return true;
}

static void raise_peak(uint64_t *peak, uint64_t bytes)
{
	*peak = bytes > *peak ? bytes : *peak;
}

void regions_peaks(struct regions *regions)
{
	for (size_t i = 0; i < regions->owners.count; i++)
		for (size_t s = 0; s < REGION_STATES; s++)
			raise_peak(&regions->owners.items[i].peak_bytes[s],
				   regions->owners.items[i].bytes[s]);
}

bool regions_put(struct regions *regions, const struct region *region)
{
	unsigned state = region->state;
	if (region->owner == OWNER_NONE || !regionmap_put(&regions->map, region))
		return false;
	uint64_t bytes = region->end - region->start;
	struct region_owner *owner = &regions->owners.items[region->owner];
	owner->bytes[state] += bytes;
	if (region->settled)
		raise_peak(&owner->peak_bytes[state], owner->bytes[state]);
	if (owner->kind != OWNER_TRACER) {
		regions->totals.bytes[state] += bytes;
		raise_peak(&regions->totals.peak_bytes[state], regions->totals.bytes[state]);
	}
	regions->known = true;
	return true;
}

bool regions_unknown(struct regions *regions, struct region *out)
{
	*out = (struct region){.owner = owners_of_kind(&regions->owners, OWNER_OTHER),
			       .state = REGION_COMMITTED};
	return out->owner != OWNER_NONE;
}

void regions_hint(struct regions *regions, uint64_t address, uint64_t bytes, enum owner_kind kind)
{
	if (regions->hint_count < HINTS_MAX)
		regions->hints[regions->hint_count++] = (struct region_hint){address, bytes, kind};
}

/* The end of a range in whole pages; never below its start, whatever the trace says. */
uint64_t regions_end_of(uint64_t start, uint64_t bytes, uint64_t page_bytes)
{
	uint64_t end;
	if (__builtin_add_overflow(start, bytes, &end) || __builtin_add_overflow(end, page_bytes - 1, &end))
		return UINT64_MAX & ~(page_bytes - 1);
	return end & ~(page_bytes - 1);
}

/* ---- the stream --------------------------------------------------------------------------------------- */

static bool out_of_memory(struct error *error)
{
	return error_set(error, ERROR_INTERNAL, NULL, ERROR_NO_OFFSET, "out of memory");
}

bool regions_until(struct regions *regions, uint64_t time, struct error *error)
{
	while (regions->next_reading <= time && regions->next_reading != UINT64_MAX) {
		if (!regions_put_moves(regions, regions->next_reading))
			return out_of_memory(error);
		if (!regions_read_until(regions, regions->next_reading, error))
			return false;
	}
	bool good = regions_put_moves(regions, time);
	if (time == UINT64_MAX) {
		owners_end_of_stacks(&regions->owners);
		regions_peaks(regions);
	}
	return good || out_of_memory(error);
}

/* ---- blocks with a mapping of their own --------------------------------------------------------------- */

static bool may_be_mapped(const struct regions *regions, uint64_t address)
{
	return address % regions->page_bytes == MAPPED_BLOCK_OFFSET;
}

/* Header before the block and size field behind it, in whole pages (glibc's malloc.c, sysmalloc_mmap). */
static void on_block(struct regions *regions, uint64_t address, uint64_t bytes)
{
	uint64_t whole_bytes = regions_end_of(0, bytes, regions->page_bytes);
	if (!may_be_mapped(regions, address) || bytes < MAPPED_BLOCK_BYTES)
		return;
	if (whole_bytes - bytes < MAPPED_BLOCK_OFFSET + 8)
		whole_bytes += regions->page_bytes;
	regions_hint(regions, address, whole_bytes, OWNER_PTMALLOC_MMAP);
}

/* libc unmaps it without a hook, and something else may lie there when the next reading comes. */
static bool on_block_gone(struct regions *regions, uint64_t address)
{
	size_t kept = 0;
	if (!may_be_mapped(regions, address))
		return true;
	for (size_t i = 0; i < regions->hint_count; i++)
		if (regions->hints[i].address != address)
			regions->hints[kept++] = regions->hints[i];
	regions->hint_count = kept;
	const struct region *region = regionmap_at(&regions->map, address);
	bool its_own = region && region->start == address - MAPPED_BLOCK_OFFSET &&
		       regions->owners.items[region->owner].kind == OWNER_PTMALLOC_MMAP;
	return !its_own || regions_cut(regions, region->start, region->end);
}

static bool on_allocator_call(struct regions *regions, const struct trace_event *event)
{
	bool good = true;
	if (event_is_free(event->kind))
		good = on_block_gone(regions, event->address);
	if (event->kind == EVENT_REALLOC && event->old_address != event->address)
		good = on_block_gone(regions, event->old_address);
	if (event_is_allocation(event->kind) || event->kind == EVENT_REALLOC)
		on_block(regions, event->address, event->size_bytes);
	return good;
}

bool regions_event(struct regions *regions, const struct trace_event *event, struct error *error)
{
	if ((regions->next_reading <= event->time || regions->moves_count) &&
	    !regions_until(regions, event->time, error))
		return false;
	if (event->kind < EVENT_MMAP)
		return on_allocator_call(regions, event) || out_of_memory(error);
	return event->result < 0 || regions_call(regions, event) || out_of_memory(error);
}

/* ---- open, close, answers ----------------------------------------------------------------------------- */

static uint64_t power_of_two_key(const struct trace *trace, const char *key, uint64_t otherwise)
{
	uint64_t value;
	bool known = trace_key_number(trace, key, &value) && value >= 4096 && value <= UINT64_C(1) << 40 &&
		     (value & (value - 1)) == 0;
	return known ? value : otherwise;
}

struct regions *regions_open(struct trace *trace, const struct symbol_options *options)
{
	struct regions *regions = calloc(1, sizeof *regions);
	if (!regions)
		return NULL;
	regions->trace = trace;
	regions->page_bytes = power_of_two_key(trace, "page_size", 4096);
	regions->huge_bytes = power_of_two_key(trace, "pmd_size_bytes", UINT64_C(2) << 20);
	owners_start(&regions->owners, trace, regions->page_bytes, options);
	regions->readings = maps_reader_open(trace);
	if (!regions->readings) {
		regions_close(regions);
		return NULL;
	}
	regions->next_reading = maps_reader_due(regions->readings);
	return regions;
}

void regions_close(struct regions *regions)
{
	if (!regions)
		return;
	for (size_t i = 0; i < regions->moves_count; i++)
		free(regions->moves[i].parts.items);
	free(regions->moves);
	free(regions->cut.items);
	maps_reader_close(regions->readings);
	owners_free(&regions->owners);
	regionmap_clear(&regions->map);
	free(regions);
}

bool regions_known(const struct regions *regions)
{
	return regions->known;
}

const struct region_owner *regions_owners(const struct regions *regions, size_t *count)
{
	*count = regions->owners.count;
	return regions->owners.items;
}

const struct region_totals *regions_totals(const struct regions *regions)
{
	return &regions->totals;
}

const struct regionmap *regions_map(const struct regions *regions)
{
	return &regions->map;
}

bool regions_spans(const struct regions *regions, struct region_span **spans, size_t *count)
{
	size_t capacity = 0;
	const struct region *region;
	*spans = NULL;
	*count = 0;
	for (uint64_t at = 0; (region = regionmap_from(&regions->map, at)); at = region->end) {
		struct region_span *last = *count ? &(*spans)[*count - 1] : NULL;
		if (!last || last->end != region->start || last->owner != region->owner) {
			if (!array_reserve(spans, &capacity, *count + 1, sizeof **spans))
				return false;
			last = &(*spans)[(*count)++];
			*last = (struct region_span){.start = region->start, .owner = region->owner};
		}
		last->end = region->end;
		last->bytes[region->state] += region->end - region->start;
	}
	return true;
}
