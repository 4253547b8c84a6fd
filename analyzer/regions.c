#include "analyzer/regions.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "analyzer/array.h"
#include "analyzer/regions_internal.h"

#ifndef MADV_DONTNEED_LOCKED
#define MADV_DONTNEED_LOCKED 24 /* since Linux 5.18 */
#endif
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ  22 /* since Linux 5.14 */
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* since Linux 6.1 */
#endif
#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4 /* since Linux 5.7 */
#endif
#define HUGE_SHIFT 26 /* MAP_HUGE_SHIFT: log2 of the page size stands there, or 0 for the default */

/* glibc gives blocks from this size on (at first 128 KiB) a mapping of their own, behind a header of 16
 * bytes. */
#define MAPPED_BLOCK_BYTES  (64u << 10)
#define MAPPED_BLOCK_OFFSET 16u

/* ---- the map and its sums -------------------------------------------------------------------------------
 */

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

/* ---- mmap and munmap ------------------------------------------------------------------------------------
 */

/* The end of a range in whole pages; never below its start, whatever the trace says. */
static uint64_t end_of(uint64_t start, uint64_t bytes, uint64_t page_bytes)
{
	uint64_t end;
	if (__builtin_add_overflow(start, bytes, &end) || __builtin_add_overflow(end, page_bytes - 1, &end))
		return UINT64_MAX & ~(page_bytes - 1);
	return end & ~(page_bytes - 1);
}

static uint64_t page_bytes_of(const struct regions *regions, uint64_t flags)
{
	if (!(flags & MAP_HUGETLB))
		return regions->page_bytes;
	unsigned shift = (unsigned)(flags >> HUGE_SHIFT & 63);
	return shift >= 12 && shift < 48 ? UINT64_C(1) << shift : regions->huge_bytes;
}

static bool is_private_anonymous(uint64_t flags)
{
	return (flags & MAP_ANONYMOUS) && (flags & MAP_TYPE) == MAP_PRIVATE && !(flags & MAP_HUGETLB);
}

static bool on_mmap(struct regions *regions, const struct trace_event *event)
{
	uint64_t flags = event->args[1];
	struct region region = {
		.start = event->address,
		.end = end_of(event->address, event->size_bytes, page_bytes_of(regions, flags)),
		.file = is_private_anonymous(flags) ? REGION_FILE_NONE : REGION_FILE_UNKNOWN,
		.state = event->args[0] == PROT_NONE ? REGION_RESERVED : REGION_COMMITTED,
		.settled = true};
	if (region.end <= region.start)
		return true;
	region.owner = owners_of_mmap(&regions->owners, event);
	return regions_cut(regions, region.start, region.end) && regions_put(regions, &region);
}

static bool on_munmap(struct regions *regions, const struct trace_event *event)
{
	return regions_cut(regions, event->address,
			   end_of(event->address, event->size_bytes, regions->page_bytes));
}

/* ---- mprotect and madvise -------------------------------------------------------------------------------
 */

enum change { CHANGE_RESERVE, CHANGE_COMMIT, CHANGE_RELEASE, CHANGE_POPULATE };

static bool is_file_kind(enum owner_kind kind)
{
	return kind == OWNER_FILE || kind == OWNER_PROGRAM || kind == OWNER_LIBRARY;
}

/* The pages of a file are the file's: dropping them gives nothing back. */
static uint8_t state_after(const struct regions *regions, const struct region *region, enum change change)
{
	switch (change) {
	case CHANGE_RESERVE:
		return REGION_RESERVED;
	case CHANGE_COMMIT:
		return REGION_COMMITTED;
	case CHANGE_RELEASE:
		if (region->state == REGION_COMMITTED &&
		    !is_file_kind(regions->owners.items[region->owner].kind))
			return REGION_RELEASED;
		return region->state;
	default:
		return region->state == REGION_RELEASED ? REGION_COMMITTED : region->state;
	}
}

static bool put_changed(struct regions *regions, struct region region, enum change change)
{
	if (region.start >= region.end)
		return true;
	region.state = state_after(regions, &region, change);
	return regions_put(regions, &region);
}

/* The call succeeded, so all of the range is mapped, also what no event or reading has told yet. */
static bool change_range(struct regions *regions, uint64_t start, uint64_t end, enum change change)
{
	struct region unknown;
	if (start >= end)
		return true;
	if (!regions_unknown(regions, &unknown) || !regions_cut(regions, start, end))
		return false;
	unknown.start = start;
	for (size_t i = 0; i < regions->cut.count; i++) {
		struct region region = regions->cut.items[i];
		unknown.end = region.start;
		if (!put_changed(regions, unknown, change) || !put_changed(regions, region, change))
			return false;
		unknown.start = region.end;
	}
	unknown.end = end;
	return put_changed(regions, unknown, change);
}

static bool on_mprotect(struct regions *regions, const struct trace_event *event)
{
	bool access = event->args[0] & (PROT_READ | PROT_WRITE | PROT_EXEC);
	return change_range(regions, event->address,
			    end_of(event->address, event->size_bytes, regions->page_bytes),
			    access ? CHANGE_COMMIT : CHANGE_RESERVE);
}

/* args[1]: another process is advised, through its descriptor. posix_madvise() has numbers of its own, none
 * of which releases anything in glibc. */
static bool on_madvise(struct regions *regions, const struct trace_event *event)
{
	enum change change;
	switch (event->args[0]) {
	case MADV_DONTNEED:
	case MADV_DONTNEED_LOCKED:
	case MADV_FREE:
	case MADV_REMOVE:
		change = CHANGE_RELEASE;
		break;
	case MADV_POPULATE_READ:
	case MADV_POPULATE_WRITE:
	case MADV_COLLAPSE:
		change = CHANGE_POPULATE;
		break;
	default:
		return true;
	}
	return event->args[1] != 0 ||
	       change_range(regions, event->address,
			    end_of(event->address, event->size_bytes, regions->page_bytes), change);
}

/* ---- the break -------------------------------------------------------------------------------------------
 */

static bool on_brk(struct regions *regions, const struct trace_event *event)
{
	uint64_t after = event->address, before = event->address - event->size_bytes;
	bool grows = (int64_t)event->size_bytes > 0;
	struct region region = {.start = end_of(grows ? before : after, 0, regions->page_bytes),
				.end = end_of(grows ? after : before, 0, regions->page_bytes),
				.state = REGION_COMMITTED,
				.settled = true};
	if (region.end <= region.start)
		return true;
	if (!regions_cut(regions, region.start, region.end))
		return false;
	region.owner = grows ? owners_of_break(&regions->owners, event) : OWNER_NONE;
	return !grows || regions_put(regions, &region);
}

/* ---- mremap ----------------------------------------------------------------------------------------------
 */

static bool keep_old(const struct trace_event *event)
{
	return event->args[0] == 0 || (event->args[1] & MREMAP_DONTUNMAP);
}

/* What the old range held, relative to its start. */
static bool take_old(struct regions *regions, const struct trace_event *event, struct region_move *move)
{
	uint64_t old = event->old_address;
	/* An old size of 0 maps shared memory a second time: the page tells what it is. */
	uint64_t bytes = event->args[0] ? event->args[0] : regions->page_bytes;
	if (!regions_cut(regions, old, end_of(old, bytes, regions->page_bytes)))
		return false;
	for (size_t i = 0; i < regions->cut.count; i++) {
		struct region part = regions->cut.items[i];
		if (keep_old(event) && !regions_put(regions, &part))
			return false;
		part.start -= old;
		part.end -= old;
		if (!region_list_add(&move->parts, &part))
			return false;
	}
	return true;
}

/* Nothing is known of the old range: whoever moved it owns it. */
static bool add_mover(struct regions *regions, const struct trace_event *event, struct region_move *move)
{
	struct region part = {.end = regions->page_bytes,
			      .file = REGION_FILE_UNKNOWN,
			      .state = REGION_COMMITTED,
			      .owner = owners_of_stack(&regions->owners, event->stack_id),
			      .settled = true};
	return part.owner != OWNER_NONE && region_list_add(&move->parts, &part);
}

static bool put_move(struct regions *regions, const struct region_move *move)
{
	uint64_t end = end_of(move->address, move->bytes, regions->page_bytes);
	if (!regions_cut(regions, move->address, end))
		return false;
	for (size_t i = 0; i < move->parts.count; i++) {
		struct region part = move->parts.items[i];
		part.start += move->address;
		part.end += move->address;
		if (i + 1 == move->parts.count || part.end > end)
			part.end = end; /* grows at its end, or shrinks */
		if (part.start < part.end && !regions_put(regions, &part))
			return false;
	}
	return true;
}

/* The old range is free for others from now on, the new one is there when the call returns. */
static bool on_mremap(struct regions *regions, const struct trace_event *event)
{
	struct region_move move = {
		.end_time = event->end_time, .address = event->address, .bytes = event->size_bytes};
	bool good = take_old(regions, event, &move) &&
		    (move.parts.count || add_mover(regions, event, &move)) &&
		    array_reserve(&regions->moves, &regions->moves_capacity, regions->moves_count + 1,
				  sizeof *regions->moves);
	if (good)
		regions->moves[regions->moves_count++] = move;
	else
		free(move.parts.items);
	return good;
}

static bool put_moves_until(struct regions *regions, uint64_t time)
{
	bool good = true;
	size_t kept = 0;
	for (size_t i = 0; i < regions->moves_count; i++) {
		struct region_move move = regions->moves[i];
		if (!good || move.end_time > time) {
			regions->moves[kept++] = move;
			continue;
		}
		good = put_move(regions, &move);
		free(move.parts.items);
	}
	regions->moves_count = kept;
	return good;
}

/* ---- the stream ------------------------------------------------------------------------------------------
 */

static bool out_of_memory(struct error *error)
{
	return error_set(error, ERROR_INTERNAL, NULL, ERROR_NO_OFFSET, "out of memory");
}

bool regions_until(struct regions *regions, uint64_t time, struct error *error)
{
	while (regions->next_reading <= time && regions->next_reading != UINT64_MAX) {
		if (!put_moves_until(regions, regions->next_reading))
			return out_of_memory(error);
		if (!regions_read_until(regions, regions->next_reading, error))
			return false;
	}
	bool good = put_moves_until(regions, time);
	if (time == UINT64_MAX) {
		owners_end_of_stacks(&regions->owners);
		regions_peaks(regions);
	}
	return good || out_of_memory(error);
}

static bool apply(struct regions *regions, const struct trace_event *event)
{
	switch (event->kind) {
	case EVENT_MMAP:
		return on_mmap(regions, event);
	case EVENT_MUNMAP:
		return on_munmap(regions, event);
	case EVENT_MREMAP:
		return on_mremap(regions, event);
	case EVENT_MPROTECT:
		return on_mprotect(regions, event);
	case EVENT_MADVISE:
		return on_madvise(regions, event);
	case EVENT_BRK:
		return on_brk(regions, event);
	case EVENT_THREAD_START:
		return regions_settle_stack(regions, event->address);
	default:
		return true;
	}
}

/* ---- blocks with a mapping of their own -----------------------------------------------------------------
 */

static bool may_be_mapped(const struct regions *regions, uint64_t address)
{
	return address % regions->page_bytes == MAPPED_BLOCK_OFFSET;
}

/* Header before the block and size field behind it, in whole pages (glibc's malloc.c, sysmalloc_mmap). */
static void on_block(struct regions *regions, uint64_t address, uint64_t bytes)
{
	uint64_t whole_bytes = end_of(0, bytes, regions->page_bytes);
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
	return event->result < 0 || apply(regions, event) || out_of_memory(error);
}

/* ---- open, close, answers --------------------------------------------------------------------------------
 */

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
