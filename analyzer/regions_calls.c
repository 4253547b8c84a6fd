/* Region calls into the map of regions. */
#include <stdlib.h>

#include "analyzer/array.h"
#include "analyzer/memcalls.h"
#include "analyzer/regions_internal.h"

#define HUGE_SHIFT 26 /* MAP_HUGE_SHIFT: log2 of the page size stands there, or 0 for the default */

/* ---- mmap and munmap ---------------------------------------------------------------------------------- */

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
		.end = regions_end_of(event->address, event->size_bytes, page_bytes_of(regions, flags)),
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
			   regions_end_of(event->address, event->size_bytes, regions->page_bytes));
}

/* ---- mprotect and madvise ----------------------------------------------------------------------------- */

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
			    regions_end_of(event->address, event->size_bytes, regions->page_bytes),
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
			    regions_end_of(event->address, event->size_bytes, regions->page_bytes), change);
}

/* ---- the break ---------------------------------------------------------------------------------------- */

static bool on_brk(struct regions *regions, const struct trace_event *event)
{
	uint64_t after = event->address, before = event->address - event->size_bytes;
	bool grows = (int64_t)event->size_bytes > 0;
	struct region region = {.start = regions_end_of(grows ? before : after, 0, regions->page_bytes),
				.end = regions_end_of(grows ? after : before, 0, regions->page_bytes),
				.state = REGION_COMMITTED,
				.settled = true};
	if (region.end <= region.start)
		return true;
	if (!regions_cut(regions, region.start, region.end))
		return false;
	region.owner = grows ? owners_of_break(&regions->owners, event) : OWNER_NONE;
	return !grows || regions_put(regions, &region);
}

/* ---- mremap ------------------------------------------------------------------------------------------- */

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
	if (!regions_cut(regions, old, regions_end_of(old, bytes, regions->page_bytes)))
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
	uint64_t end = regions_end_of(move->address, move->bytes, regions->page_bytes);
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

bool regions_put_moves(struct regions *regions, uint64_t time)
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

bool regions_call(struct regions *regions, const struct trace_event *event)
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
