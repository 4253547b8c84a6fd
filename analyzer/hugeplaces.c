#include "analyzer/hugeplaces.h"

#include <gsl/gsl_errno.h>
#include <stdlib.h>

#include "analyzer/array.h"
#include "analyzer/hugeplaces_internal.h"

/*
 * A call's time is taken before it, a look's likewise: what a look of a few milliseconds saw may have been
 * done by a call that bears a later time than the look.
 */
#define GRACE_NS 10000000u

bool hugeplaces_set(struct hugeplaces *places, uint64_t start, uint64_t end, const struct region *fact)
{
	places->cut.count = 0;
	if (start >= end)
		return true;
	if (!regionmap_cut(&places->map, start, end, &places->cut))
		return false;
	if (!fact)
		return true;
	struct region region = *fact;
	region.start = start;
	region.end = end;
	return regionmap_put(&places->map, &region);
}

/* ---- breakers ----------------------------------------------------------------------------------------- */

static gsl_rstat_workspace *new_statistics(void)
{
	gsl_error_handler_t *handler = gsl_set_error_handler_off();
	gsl_rstat_workspace *statistics = gsl_rstat_alloc();
	gsl_set_error_handler(handler);
	return statistics;
}

static uint32_t add_breaker(struct hugeplaces *places, struct breaker breaker)
{
	if (places->breaker_count >= UINT32_MAX - 1 ||
	    !array_reserve(&places->breakers, &places->breaker_capacity, places->breaker_count + 1,
			   sizeof *places->breakers))
		return UINT32_MAX;
	breaker.back_s = new_statistics();
	if (!breaker.back_s)
		return UINT32_MAX;
	places->breakers[places->breaker_count] = breaker;
	return (uint32_t)places->breaker_count++;
}

uint32_t hugeplaces_breaker(struct hugeplaces *places, uint32_t stack_id, uint8_t kind, uint32_t advice)
{
	uint32_t first = idmap_get(&places->by_stack, stack_id), last = UINT32_MAX;
	for (uint32_t i = first; i != UINT32_MAX; i = places->breakers[i].next) {
		if (places->breakers[i].kind == kind && places->breakers[i].advice == advice)
			return i;
		last = i;
	}
	uint32_t index = add_breaker(
		places,
		(struct breaker){.stack_id = stack_id, .kind = kind, .advice = advice, .next = UINT32_MAX});
	if (index == UINT32_MAX)
		return index;
	if (last != UINT32_MAX)
		places->breakers[last].next = index;
	else if (!idmap_add(&places->by_stack, stack_id, index))
		return UINT32_MAX;
	return index;
}

void hugeplaces_count_loss(struct hugeplaces *places, uint32_t index, uint32_t serial)
{
	struct breaker *breaker = &places->breakers[index];
	breaker->huge_pages_lost++;
	if (breaker->kind == EVENT_NONE || breaker->last_serial == serial)
		return;
	breaker->calls++;
	breaker->last_serial = serial;
}

/* ---- one place from look to look ---------------------------------------------------------------------- */

/* What a look saw of a place. */
struct view {
	bool covered;
	bool there; /* something is resident or swapped out */
};

struct transition {
	uint64_t address;
	uint64_t time;	/* of the look */
	uint64_t since; /* of the look before, as pages_change has it */
	struct view before, after;
};

static bool is_huge(uint32_t flags)
{
	return flags & PAGE_PRESENT && flags & PAGE_HUGE && !(flags & PAGE_ZERO);
}

static bool is_there(uint32_t flags)
{
	return flags & PAGE_SWAPPED || (flags & PAGE_PRESENT && !(flags & PAGE_ZERO));
}

static void add_delay(const struct hugeplaces *places, enum coverage_path path, uint64_t since, uint64_t time)
{
	if (since && time > since)
		gsl_rstat_add((double)(time - since) * places->unit_s, places->ways[path].delay_s);
}

static bool moment_known(const struct hugeplaces *places)
{
	return pages_source(places->pages) == PAGES_FROM_SCAN;
}

static void count_way(struct hugeplaces *places, enum coverage_path path, uint64_t since, uint64_t time)
{
	if (!moment_known(places))
		return;
	places->ways[path].huge_pages++;
	add_delay(places, path, since, time);
}

/* It is covered, and nothing more is to be kept of it. */
static bool now_covered(struct hugeplaces *places, const struct transition *step, const struct region *old)
{
	if (!old && step->before.there && !step->before.covered) {
		count_way(places, PATH_KHUGEPAGED, 0, step->time); /* small since nobody knows when */
	} else if (!old || old->state == PLACE_ENDED) {
		if (!step->before.covered || old)
			count_way(places, PATH_FAULT, step->since, step->time);
	} else if (old->state == PLACE_BROKEN) {
		struct breaker *breaker = &places->breakers[old->owner];
		breaker->came_back++;
		gsl_rstat_add((double)(step->time - old->file) * places->unit_s, breaker->back_s);
	} else if (old->state == PLACE_TOUCHED) {
		if (step->time < old->file + places->grace)
			return true;
	} else if (old->state != PLACE_MOVED) {
		count_way(places, old->settled ? PATH_COLLAPSE : PATH_KHUGEPAGED, old->file, step->time);
	}
	return !old ||
	       hugeplaces_set(places, step->address, step->address + pages_huge_bytes(places->pages), NULL);
}

static bool lose(struct hugeplaces *places, const struct transition *step, const struct region *old)
{
	uint64_t huge_bytes = pages_huge_bytes(places->pages);
	uint32_t breaker = old ? old->owner : 0, serial = old ? old->listed : 0;
	if (!old && !step->after.there)
		return true; /* all of it went at once: nobody broke it */
	hugeplaces_count_loss(places, breaker, serial);
	struct region fact = {.file = step->time, .owner = breaker, .listed = serial, .state = PLACE_BROKEN};
	return hugeplaces_set(places, step->address, step->address + huge_bytes, &fact);
}

/*
 * The machine fell back in (after, until]; the place was touched in (since, time]. Settings are read a little
 * behind the looks: only where at least half of the shorter of the two is common do they count as the same.
 */
static bool fell_back(uint64_t after, uint64_t until, uint64_t since, uint64_t time)
{
	uint64_t start = after > since ? after : since, end = until < time ? until : time;
	if (until <= after || time <= since || end <= start)
		return false;
	uint64_t shorter = until - after < time - since ? until - after : time - since;
	return end - start >= shorter / 2;
}

static bool first_seen(struct hugeplaces *places, const struct transition *step)
{
	uint64_t since = step->since ? step->since : places->last_since;
	struct region fact = {.file = step->time, .state = PLACE_PLAIN};
	if (fell_back(places->fallback_after, places->fallback_until, since, step->time)) {
		fact.state = PLACE_FALLBACK;
	} else if (places->settings_seen) {
		if (!array_reserve(&places->fresh, &places->fresh_capacity, places->fresh_count + 1,
				   sizeof *places->fresh))
			return false;
		places->fresh[places->fresh_count++] = (struct fresh_place){step->address, since, step->time};
	}
	return hugeplaces_set(places, step->address, step->address + pages_huge_bytes(places->pages), &fact);
}

static bool now_uncovered(struct hugeplaces *places, const struct transition *step, const struct region *old)
{
	bool moved = old && old->state == PLACE_MOVED, touched = old && old->state == PLACE_TOUCHED;
	bool ended = moved || (old && old->state == PLACE_ENDED);
	uint64_t end = step->address + pages_huge_bytes(places->pages);
	bool early = (moved || (touched && !step->before.covered)) && step->time < old->file + places->grace;
	if (early) /* the look may be from before the move */
		return true;
	if (touched || (step->before.covered && !ended))
		return lose(places, step, touched ? old : NULL);
	if (old && old->state == PLACE_BROKEN)
		return true;
	if (!step->after.there)
		return !old || hugeplaces_set(places, step->address, end, NULL);
	return (old && !ended) || first_seen(places, step);
}

/* hugetlb pages come and go whole, by other rules. */
static bool is_hugetlb(const struct hugeplaces *places, const struct transition *step)
{
	const struct smaps_record *record = step->before.covered || step->after.covered
						    ? pages_smaps_at(places->pages, step->address)
						    : NULL;
	return record && record->flags & SMAPS_HUGETLB;
}

static bool pass(struct hugeplaces *places, const struct transition *step)
{
	const struct region *found = regionmap_at(&places->map, step->address);
	if ((!found && !step->before.there && !step->after.there) || is_hugetlb(places, step))
		return true;
	struct region old = found ? *found : (struct region){0}; /* the tree changes below */
	const struct region *kept = found ? &old : NULL;
	return step->after.covered ? now_covered(places, step, kept) : now_uncovered(places, step, kept);
}

/* ---- a look ------------------------------------------------------------------------------------------- */

/* Of the place at `start`, out of runs of which *at is the first that may still matter. */
static struct view view_of(const struct page_run *runs, size_t count, size_t *at, uint64_t start,
			   uint64_t end)
{
	struct view view = {0};
	while (*at < count && runs[*at].end <= start)
		(*at)++;
	for (size_t i = *at; i < count && runs[i].start < end; i++) {
		view.there |= is_there(runs[i].flags);
		view.covered |= is_huge(runs[i].flags) && runs[i].start <= start && runs[i].end >= end;
	}
	return view;
}

static bool see_change(struct hugeplaces *places, const struct pages_change *change)
{
	uint64_t huge_bytes = pages_huge_bytes(places->pages);
	size_t before = 0, after = 0;
	for (uint64_t at = change->start; at < change->end; at += huge_bytes) {
		struct transition step = {.address = at, .time = change->time, .since = change->since};
		step.before = view_of(change->before, change->before_count, &before, at, at + huge_bytes);
		step.after = view_of(change->after, change->after_count, &after, at, at + huge_bytes);
		if (!pass(places, &step))
			return false;
	}
	return true;
}

/* Only what calls did in the meantime matters: the pages are as they were. */
static bool see_unchanged(struct hugeplaces *places, const struct pages_change *change)
{
	uint64_t huge_bytes = pages_huge_bytes(places->pages), at = change->start;
	const struct region *kept;
	while ((kept = regionmap_from(&places->map, at)) && kept->start < change->end) {
		at = kept->start > at ? kept->start : at;
		if (kept->state != PLACE_TOUCHED && kept->state != PLACE_ENDED &&
		    kept->state != PLACE_MOVED) {
			at = kept->end;
			continue;
		}
		struct page_sums sums = pages_sums(places->pages, at, at + huge_bytes);
		struct transition step = {.address = at, .time = change->time, .since = change->since};
		step.after.there = sums.resident_bytes + sums.swapped_bytes > 0;
		step.after.covered = sums.huge_bytes == huge_bytes;
		step.before = step.after;
		if (!pass(places, &step))
			return false;
		at += huge_bytes;
	}
	return true;
}

static bool see(void *context, const struct pages_change *change)
{
	struct hugeplaces *places = context;
	uint64_t huge_bytes = pages_huge_bytes(places->pages);
	if (!huge_bytes || (change->start | change->end) & (huge_bytes - 1) || !pages_known(places->pages))
		return true;
	bool good = change->unchanged ? see_unchanged(places, change) : see_change(places, change);
	if (change->since)
		places->last_since = change->since;
	return good;
}

/* ---- settings ----------------------------------------------------------------------------------------- */

static bool mark_fallback(struct hugeplaces *places, const struct fresh_place *fresh)
{
	const struct region *kept = regionmap_at(&places->map, fresh->address);
	if (!kept || kept->state != PLACE_PLAIN || kept->file != fresh->time)
		return true;
	struct region fact = *kept;
	fact.state = PLACE_FALLBACK;
	return hugeplaces_set(places, fresh->address, fresh->address + pages_huge_bytes(places->pages),
			      &fact);
}

bool hugeplaces_settings(struct hugeplaces *places, uint64_t before, uint64_t time, bool fell)
{
	bool good = true;
	places->settings_seen = true;
	if (fell) {
		places->fallback_after = before;
		places->fallback_until = time;
	}
	size_t kept = 0; /* those that a later reading will speak about */
	for (size_t i = 0; good && i < places->fresh_count; i++) {
		const struct fresh_place *fresh = &places->fresh[i];
		if (fell && fell_back(before, time, fresh->since, fresh->time))
			good = mark_fallback(places, fresh);
		else if (fresh->time > time)
			places->fresh[kept++] = *fresh;
	}
	places->fresh_count = kept;
	return good;
}

/* ---- open, close, answers ----------------------------------------------------------------------------- */

static bool start(struct hugeplaces *places, struct trace *trace, struct pages *pages)
{
	double unit_ns = (double)trace_units_to_ns(trace, 1u << 20) / (1u << 20);
	places->pages = pages;
	places->unit_s = unit_ns / 1e9;
	places->grace = unit_ns > 0 ? (uint64_t)(GRACE_NS / unit_ns) : 0;
	for (unsigned i = 0; i < PATH_COUNT; i++)
		if (!(places->ways[i].delay_s = new_statistics()))
			return false;
	return hugeplaces_breaker(places, 0, EVENT_NONE, 0) == 0 && pages_watch(pages, see, places);
}

struct hugeplaces *hugeplaces_open(struct trace *trace, struct pages *pages)
{
	struct hugeplaces *places = calloc(1, sizeof *places);
	if (places && !start(places, trace, pages)) {
		hugeplaces_close(places);
		return NULL;
	}
	return places;
}

void hugeplaces_close(struct hugeplaces *places)
{
	if (!places)
		return;
	for (unsigned i = 0; i < PATH_COUNT; i++)
		if (places->ways[i].delay_s)
			gsl_rstat_free(places->ways[i].delay_s);
	for (size_t i = 0; i < places->breaker_count; i++)
		gsl_rstat_free(places->breakers[i].back_s);
	free(places->breakers);
	idmap_clear(&places->by_stack);
	regionmap_clear(&places->map);
	free(places->cut.items);
	free(places->fresh);
	free(places);
}

bool hugeplaces_state(const struct hugeplaces *places, uint64_t address, enum place_state *state,
		      uint64_t *end)
{
	const struct region *kept = regionmap_from(&places->map, address);
	bool inside = kept && kept->start <= address;
	*end = !kept ? UINT64_MAX : inside ? kept->end : kept->start;
	if (inside)
		*state = (enum place_state)kept->state;
	return inside;
}

const struct breaker *hugeplaces_breakers(const struct hugeplaces *places, size_t *count)
{
	*count = places->breaker_count;
	return places->breakers;
}

const struct coverage_way *hugeplaces_ways(const struct hugeplaces *places)
{
	return places->ways;
}

size_t hugeplaces_entries(const struct hugeplaces *places)
{
	return places->map.count;
}
