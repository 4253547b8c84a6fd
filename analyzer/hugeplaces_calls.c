/* Calls that take places, or parts of them. */

#include "analyzer/hugeplaces_internal.h"
#include "analyzer/memcalls.h"

/* What a call does to [start, end). */
struct taking {
	uint64_t start, end;
	bool drops; /* the pages are gone; otherwise a part only splits the mapping of the huge page */
};

static uint64_t page_end(const struct hugeplaces *places, uint64_t start, uint64_t bytes)
{
	uint64_t end, mask = pages_page_bytes(places->pages) - 1;
	if (__builtin_add_overflow(start, bytes, &end) || __builtin_add_overflow(end, mask, &end))
		return UINT64_MAX & ~mask;
	return end & ~mask;
}

/* ---- a part of a place -------------------------------------------------------------------------------- */

static bool is_covered(const struct hugeplaces *places, uint64_t place)
{
	uint32_t flags = pages_at(places->pages, place);
	return flags & PAGE_PRESENT && flags & PAGE_HUGE && !(flags & PAGE_ZERO);
}

/* The look had seen what the call did, though the call bears the later time. */
static bool claim_loss(struct hugeplaces *places, uint64_t place, const struct region *kept, uint32_t breaker)
{
	struct region fact = *kept;
	fact.owner = breaker;
	fact.listed = places->serial;
	places->breakers[kept->owner].huge_pages_lost--;
	hugeplaces_count_loss(places, breaker, places->serial);
	return hugeplaces_set(places, place, place + pages_huge_bytes(places->pages), &fact);
}

static bool take_part(struct hugeplaces *places, uint64_t place, const struct trace_event *event)
{
	const struct region *kept = regionmap_at(&places->map, place);
	bool moved = kept && kept->state == PLACE_MOVED;
	bool unclaimed = kept && kept->state == PLACE_BROKEN &&
			 places->breakers[kept->owner].kind == EVENT_NONE &&
			 event->time <= kept->file + places->grace;
	if (!unclaimed && !moved && (kept || !is_covered(places, place)))
		return true;
	uint32_t advice = event->kind == EVENT_MADVISE ? (uint32_t)event->args[0] : 0;
	uint32_t breaker = hugeplaces_breaker(places, event->stack_id, event->kind, advice);
	if (breaker == UINT32_MAX)
		return false;
	if (unclaimed)
		return claim_loss(places, place, kept, breaker);
	struct region fact = {
		.file = event->time, .owner = breaker, .listed = places->serial, .state = PLACE_TOUCHED};
	return hugeplaces_set(places, place, place + pages_huge_bytes(places->pages), &fact);
}

/* ---- whole places ------------------------------------------------------------------------------------- */

/* What the picture still shows there is of the past. A place of which an earlier call has taken a part stays
 * that call's. */
static bool end_whole(struct hugeplaces *places, uint64_t start, uint64_t end, uint64_t time)
{
	const struct region *kept;
	struct page_run run;
	struct region fact = {.file = time, .state = PLACE_ENDED};
	bool seen = pages_from(places->pages, start, &run) && run.start < end;
	if (start >= end)
		return true;
	for (uint64_t at = start; at < end;) {
		kept = regionmap_from(&places->map, at);
		bool touched = kept && kept->start <= at && kept->state == PLACE_TOUCHED;
		uint64_t next = !kept || kept->start >= end ? end
				: kept->start > at	    ? kept->start
							    : kept->end;
		next = next < end ? next : end;
		if (!touched && !hugeplaces_set(places, at, next, seen ? &fact : NULL))
			return false;
		at = next;
	}
	return true;
}

static bool take(struct hugeplaces *places, const struct taking *taking, const struct trace_event *event)
{
	uint64_t mask = pages_huge_bytes(places->pages) - 1;
	uint64_t first = taking->start & ~mask, inner_start = (taking->start + mask) & ~mask;
	uint64_t inner_end = taking->end & ~mask;
	if (taking->start >= taking->end)
		return true;
	places->serial++;
	if (first != taking->start && !take_part(places, first, event))
		return false;
	if (inner_end != taking->end && (inner_end != first || first == taking->start) &&
	    !take_part(places, inner_end, event))
		return false;
	return !taking->drops || inner_start < taking->start ||
	       end_whole(places, inner_start, inner_end, event->time);
}

/* ---- calls -------------------------------------------------------------------------------------------- */

/* Small, or not looked at yet: if it is covered later, it came to it this way. */
static bool mark_collapse(struct hugeplaces *places, uint64_t start, uint64_t end, const struct region *kept,
			  uint64_t time)
{
	struct region fact = {.file = time, .state = PLACE_PLAIN, .settled = true};
	if (kept) {
		fact = *kept;
		fact.settled = true;
	}
	bool small = fact.state == PLACE_PLAIN || fact.state == PLACE_FALLBACK;
	return !small || hugeplaces_set(places, start, end, &fact);
}

/* madvise(MADV_COLLAPSE): khugepaged's work on demand. */
static bool on_collapse(struct hugeplaces *places, uint64_t start, uint64_t end, uint64_t time)
{
	uint64_t huge_bytes = pages_huge_bytes(places->pages), mask = huge_bytes - 1;
	start = (start + mask) & ~mask;
	end &= ~mask;
	for (uint64_t at = start; at < end; at += huge_bytes) {
		const struct region *kept = regionmap_at(&places->map, at);
		struct region copy = kept ? *kept : (struct region){0};
		if ((kept || !is_covered(places, at)) &&
		    !mark_collapse(places, at, at + huge_bytes, kept ? &copy : NULL, time))
			return false;
	}
	return true;
}

/* posix_madvise() takes nothing away in glibc, and no other process's advice is about our pages. Whatever
 * else may split a mapping is left in: whether it did, the next look tells. */
static bool on_madvise(struct hugeplaces *places, struct taking *taking, const struct trace_event *event)
{
	if (event->args[1] != 0 || event->args[0] >= ADVICE_POSIX)
		return true;
	switch (event->args[0]) {
	case MADV_DONTNEED:
	case MADV_DONTNEED_LOCKED:
	case MADV_REMOVE:
		taking->drops = true;
		return take(places, taking, event);
	case MADV_COLLAPSE:
		return on_collapse(places, taking->start, taking->end, event->time);
	case MADV_WILLNEED:
	case MADV_POPULATE_READ:
	case MADV_POPULATE_WRITE:
		return true;
	default:
		return take(places, taking, event);
	}
}

/* ---- mremap ------------------------------------------------------------------------------------------- */

/* The first place from `at` on that may be a huge page now. */
static uint64_t next_place(const struct hugeplaces *places, uint64_t at)
{
	uint64_t mask = pages_huge_bytes(places->pages) - 1, next = UINT64_MAX;
	const struct region *kept = regionmap_from(&places->map, at);
	struct page_run run;
	if (pages_from(places->pages, at, &run))
		next = run.flags & PAGE_HUGE ? run.start : run.end;
	if (kept && kept->start < next)
		next = kept->start;
	next = next > at ? next : at;
	return next > UINT64_MAX - mask ? UINT64_MAX : (next + mask) & ~mask;
}

static bool is_huge_now(const struct hugeplaces *places, uint64_t place)
{
	const struct region *kept = regionmap_at(&places->map, place);
	return kept ? kept->state == PLACE_MOVED : is_covered(places, place);
}

/* Page tables of another alignment have no room for the entry: the kernel splits it first (mm/mremap.c,
 * move_page_tables). */
static bool break_by_moving(struct hugeplaces *places, const struct trace_event *event)
{
	uint32_t breaker = hugeplaces_breaker(places, event->stack_id, event->kind, 0);
	if (breaker == UINT32_MAX)
		return false;
	hugeplaces_count_loss(places, breaker, places->serial);
	return true;
}

/* Whole huge pages between `old` and `old_end` go along with the call, or break. */
static bool move_whole(struct hugeplaces *places, uint64_t old, uint64_t old_end,
		       const struct trace_event *event)
{
	uint64_t huge_bytes = pages_huge_bytes(places->pages), distance = event->address - old;
	bool keeps = (distance & (huge_bytes - 1)) == 0;
	struct region fact = {.file = event->time, .state = PLACE_MOVED};
	uint64_t moved_end = event->size_bytes < old_end - old ? old + event->size_bytes : old_end;
	places->serial++;
	for (uint64_t at = next_place(places, old); at < moved_end && moved_end - at >= huge_bytes;
	     at = next_place(places, at + huge_bytes)) {
		uint64_t to = at + distance;
		if (is_huge_now(places, at) && !(keeps ? hugeplaces_set(places, to, to + huge_bytes, &fact)
						       : break_by_moving(places, event)))
			return false;
	}
	return true;
}

static bool on_mremap(struct hugeplaces *places, const struct trace_event *event)
{
	uint64_t old = event->old_address, old_end = page_end(places, old, event->args[0]);
	struct taking taking = {old, old_end, true};
	struct taking target = {event->address, page_end(places, event->address, event->size_bytes), true};
	if (event->args[0] == 0)
		return true;
	if (event->address == old) { /* in place: at most its end is cut off */
		taking.start = page_end(places, old, event->size_bytes);
		return take(places, &taking, event);
	}
	return take(places, &target, event) && move_whole(places, old, old_end, event) &&
	       take(places, &taking, event);
}

static bool on_brk(struct hugeplaces *places, const struct trace_event *event)
{
	uint64_t after = event->address, before = event->address - event->size_bytes;
	struct taking taking = {page_end(places, after, 0), page_end(places, before, 0), true};
	return (int64_t)event->size_bytes >= 0 || take(places, &taking, event);
}

bool hugeplaces_event(struct hugeplaces *places, const struct trace_event *event)
{
	struct taking taking = {event->address, 0, true};
	if (event->kind < EVENT_MMAP || event->kind > EVENT_BRK || event->result < 0 ||
	    !pages_huge_bytes(places->pages) || !pages_known(places->pages))
		return true;
	taking.end = page_end(places, event->address, event->size_bytes);
	switch (event->kind) {
	case EVENT_MMAP:
	case EVENT_MUNMAP:
		return take(places, &taking, event);
	case EVENT_MPROTECT:
		taking.drops = false;
		return take(places, &taking, event);
	case EVENT_MADVISE:
		taking.drops = false;
		return on_madvise(places, &taking, event);
	case EVENT_MREMAP:
		return on_mremap(places, event);
	default:
		return on_brk(places, event);
	}
}

/* Of a place that is mapped in part something is still to be known. */
bool hugeplaces_forget(struct hugeplaces *places, uint64_t start, uint64_t end)
{
	uint64_t huge_bytes = pages_huge_bytes(places->pages);
	if (!huge_bytes || start > UINT64_MAX - huge_bytes)
		return true;
	start = (start + huge_bytes - 1) & ~(huge_bytes - 1);
	end &= ~(huge_bytes - 1);
	return hugeplaces_set(places, start, end, NULL);
}
