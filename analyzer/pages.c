#include "analyzer/pages.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/array.h"
#include "analyzer/pages_internal.h"

/* What begins later than this after the start of tracing has lost its beginning. */
#define BEGINNING_S 0.001

struct page_look_order {
	uint64_t time;
	size_t index;
};

static bool out_of_memory(struct error *error)
{
	return error_set(error, ERROR_INTERNAL, NULL, ERROR_NO_OFFSET, "out of memory");
}

/* ---- the picture -------------------------------------------------------------------------------------- */

bool run_list_add(struct run_list *list, uint64_t start, uint64_t end, uint32_t flags)
{
	struct page_run *last = list->count ? &list->items[list->count - 1] : NULL;
	if (start >= end)
		return true;
	if (last && last->end == start && last->flags == flags) {
		last->end = end;
		return true;
	}
	if (!array_reserve(&list->items, &list->capacity, list->count + 1, sizeof *list->items))
		return false;
	list->items[list->count++] = (struct page_run){start, end, flags};
	return true;
}

bool pages_take(struct pages *pages, uint64_t start, uint64_t end)
{
	pages->cut.count = pages->before.count = 0;
	if (!regionmap_cut(&pages->runs, start, end, &pages->cut))
		return false;
	for (size_t i = 0; i < pages->cut.count; i++) {
		const struct region *run = &pages->cut.items[i];
		if (!run_list_add(&pages->before, run->start, run->end, run->owner))
			return false;
	}
	return true;
}

bool pages_give(struct pages *pages)
{
	for (size_t i = 0; i < pages->after.count; i++) {
		const struct page_run *run = &pages->after.items[i];
		struct region region = {.start = run->start, .end = run->end, .owner = run->flags};
		if (!regionmap_put(&pages->runs, &region))
			return false;
	}
	return true;
}

bool pages_tell(struct pages *pages, struct pages_change change)
{
	if (!change.unchanged) {
		change.before = pages->before.items;
		change.before_count = pages->before.count;
		change.after = pages->after.items;
		change.after_count = pages->after.count;
	}
	for (size_t i = 0; i < pages->watcher_count; i++)
		if (!pages->watchers[i].visit(pages->watchers[i].context, &change))
			return false;
	return true;
}

/* ---- one look ----------------------------------------------------------------------------------------- */

static bool put_looked(struct pages *pages, uint64_t start, uint64_t end, uint64_t time)
{
	return regionmap_put(&pages->looked, &(struct region){.start = start, .end = end, .file = time});
}

/*
 * Notes that a range was looked at now; *since becomes the time of the oldest look there, 0 where there is a
 * part without one. "Unchanged" says nothing about such a part: what it is as before is not in the trace (a
 * flight recorder's beginning is overwritten).
 */
static bool renew(struct pages *pages, const struct page_look *look, uint64_t *since)
{
	uint64_t at = look->start, oldest = UINT64_MAX;
	pages->cut.count = 0;
	if (!regionmap_cut(&pages->looked, look->start, look->end, &pages->cut))
		return false;
	for (size_t i = 0; i < pages->cut.count; i++) {
		const struct region *old = &pages->cut.items[i];
		oldest = old->start != at ? 0 : old->file < oldest ? old->file : oldest;
		at = old->end;
		if (look->unchanged && !put_looked(pages, old->start, old->end, look->time))
			return false;
	}
	*since = at == look->end ? oldest : 0;
	return look->unchanged || put_looked(pages, look->start, look->end, look->time);
}

static bool apply_look(struct pages *pages, const struct page_look *look)
{
	struct pages_change change = {
		.start = look->start, .end = look->end, .time = look->time, .unchanged = look->unchanged};
	if (!renew(pages, look, &change.since))
		return false;
	if (look->unchanged)
		return pages_tell(pages, change);
	pages->after.count = 0;
	for (size_t i = 0; i < look->run_count; i++) {
		const struct page_run *run = &pages->block.runs[look->first_run + i];
		if (!run_list_add(&pages->after, run->start, run->end, run->flags))
			return false;
	}
	return pages_take(pages, look->start, look->end) &&
	       (pages->source != PAGES_FROM_KPAGEFLAGS || pages_keep_huge(pages)) && pages_give(pages) &&
	       pages_tell(pages, change);
}

/* ---- the stream --------------------------------------------------------------------------------------- */

static int by_time(const void *left, const void *right)
{
	const struct page_look_order *a = left, *b = right;
	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return (a->index > b->index) - (a->index < b->index);
}

static bool begin_block(struct pages *pages)
{
	const struct trace_pages *block = &pages->block;
	if (!array_reserve(&pages->order, &pages->order_capacity, block->look_count + 1,
			   sizeof *pages->order))
		return false;
	for (size_t i = 0; i < block->look_count; i++)
		pages->order[i] = (struct page_look_order){block->looks[i].time, i};
	qsort(pages->order, block->look_count, sizeof *pages->order, by_time);
	pages->next_look = 0;
	pages->source = block->source;
	pages->page_bytes = block->page_bytes;
	if (block->huge_bytes)
		pages->huge_bytes = block->huge_bytes;
	return true;
}

static bool take_smaps(struct pages *pages, const struct trace_smaps *smaps)
{
	if (!array_reserve(&pages->records, &pages->records_capacity, smaps->count + 1,
			   sizeof *pages->records))
		return false;
	memcpy(pages->records, smaps->records, smaps->count * sizeof *pages->records);
	pages->smaps = *smaps;
	pages->smaps.records = pages->records;
	return pages->source != PAGES_FROM_KPAGEFLAGS || pages_place_huge(pages);
}

static bool block_done(const struct pages *pages)
{
	return pages->next_look >= pages->block.look_count;
}

static uint64_t look_due(const struct pages *pages)
{
	return block_done(pages) ? pages_reader_due(pages->looks) : pages->order[pages->next_look].time;
}

uint64_t pages_due(const struct pages *pages)
{
	uint64_t look = look_due(pages), reading = smaps_reader_due(pages->readings);
	return look < reading ? look : reading;
}

/* False when out of memory, or on an error, which is set. */
static bool step(struct pages *pages, uint64_t time, struct error *error)
{
	struct trace_smaps smaps;
	if (look_due(pages) > smaps_reader_due(pages->readings)) {
		bool read = smaps_reader_next(pages->readings, time, &smaps, error);
		return read ? take_smaps(pages, &smaps) : error->code == ERROR_NONE;
	}
	if (!block_done(pages)) {
		bool good = apply_look(pages, &pages->block.looks[pages->order[pages->next_look++].index]);
		pages->complete |= block_done(pages) && pages->block.whole;
		return good;
	}
	if (!pages_reader_next(pages->looks, time, &pages->block, error))
		return error->code == ERROR_NONE;
	pages->complete |= pages->block.whole && pages->block.look_count == 0;
	return begin_block(pages);
}

bool pages_until(struct pages *pages, uint64_t time, struct error *error)
{
	for (uint64_t due; (due = pages_due(pages)) <= time && due != UINT64_MAX;)
		if (!step(pages, time, error))
			return error->code ? false : out_of_memory(error);
	return true;
}

/* ---- open and close ----------------------------------------------------------------------------------- */

static uint64_t power_of_two_key(const struct trace *trace, const char *key, uint64_t otherwise)
{
	uint64_t value;
	bool known = trace_key_number(trace, key, &value) && value >= 4096 && value <= UINT64_C(1) << 40 &&
		     (value & (value - 1)) == 0;
	return known ? value : otherwise;
}

struct pages *pages_open(struct trace *trace)
{
	struct pages *pages = calloc(1, sizeof *pages);
	if (!pages)
		return NULL;
	pages->trace = trace;
	pages->page_bytes = power_of_two_key(trace, "page_size", 4096);
	pages->huge_bytes = power_of_two_key(trace, "pmd_size_bytes", 0);
	const struct trace_info *info = trace_info(trace);
	pages->complete = !info->flight_recorder || trace_seconds(trace, info->first_time) < BEGINNING_S;
	pages->looks = pages_reader_open(trace);
	pages->readings = smaps_reader_open(trace);
	if (!pages->looks || !pages->readings) {
		pages_close(pages);
		return NULL;
	}
	return pages;
}

void pages_close(struct pages *pages)
{
	if (!pages)
		return;
	pages_reader_close(pages->looks);
	smaps_reader_close(pages->readings);
	regionmap_clear(&pages->runs);
	regionmap_clear(&pages->looked);
	free(pages->order);
	free(pages->records);
	free(pages->cut.items);
	free(pages->before.items);
	free(pages->after.items);
	free(pages->watchers);
	free(pages);
}

bool pages_watch(struct pages *pages, bool (*visit)(void *context, const struct pages_change *change),
		 void *context)
{
	if (!array_reserve(&pages->watchers, &pages->watcher_capacity, pages->watcher_count + 1,
			   sizeof *pages->watchers))
		return false;
	pages->watchers[pages->watcher_count++] = (struct pages_watcher){visit, context};
	return true;
}

/* ---- answers ------------------------------------------------------------------------------------------ */

bool pages_known(const struct pages *pages)
{
	return pages->looked.count > 0 && pages->complete;
}

bool pages_decided(const struct pages *pages)
{
	return !pages->undecided;
}

uint32_t pages_source(const struct pages *pages)
{
	return pages->source;
}

uint64_t pages_page_bytes(const struct pages *pages)
{
	return pages->page_bytes;
}

uint64_t pages_huge_bytes(const struct pages *pages)
{
	return pages->huge_bytes;
}

bool pages_from(const struct pages *pages, uint64_t address, struct page_run *run)
{
	const struct region *found = regionmap_from(&pages->runs, address);
	if (found)
		*run = (struct page_run){found->start, found->end, found->owner};
	return found;
}

bool pages_looked_from(const struct pages *pages, uint64_t address, struct page_look_age *look)
{
	const struct region *found = regionmap_from(&pages->looked, address);
	if (found)
		*look = (struct page_look_age){found->start, found->end, found->file};
	return found;
}

uint32_t pages_at(const struct pages *pages, uint64_t address)
{
	const struct region *found = regionmap_at(&pages->runs, address);
	return found ? found->owner : 0;
}

size_t pages_run_count(const struct pages *pages)
{
	return pages->runs.count;
}

void page_sums_add(struct page_sums *sums, const struct page_run *run, uint64_t start, uint64_t end)
{
	start = run->start > start ? run->start : start;
	end = run->end < end ? run->end : end;
	if (start >= end)
		return;
	uint64_t bytes = end - start;
	if (run->flags & PAGE_SWAPPED) {
		sums->swapped_bytes += bytes;
	} else if (run->flags & PAGE_ZERO) {
		sums->zero_bytes += bytes;
	} else if (run->flags & PAGE_PRESENT) {
		sums->resident_bytes += bytes;
		sums->huge_bytes += run->flags & PAGE_HUGE ? bytes : 0;
		sums->folio_bytes += run->flags & PAGE_FOLIO ? bytes : 0;
	}
}

struct page_sums pages_sums(const struct pages *pages, uint64_t start, uint64_t end)
{
	struct page_sums sums = {0};
	struct page_run run;
	for (uint64_t at = start; pages_from(pages, at, &run) && run.start < end; at = run.end)
		page_sums_add(&sums, &run, start, end);
	return sums;
}

const struct trace_smaps *pages_smaps(const struct pages *pages)
{
	return &pages->smaps;
}

const struct smaps_record *pages_smaps_at(const struct pages *pages, uint64_t address)
{
	size_t low = 0, high = pages->smaps.count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (pages->records[middle].end > address)
			high = middle;
		else
			low = middle + 1;
	}
	bool inside = low < pages->smaps.count && pages->records[low].start <= address;
	return inside ? &pages->records[low] : NULL;
}

struct pages_unplaced pages_unplaced(const struct pages *pages)
{
	return pages->unplaced;
}

const char *pages_check(const struct pages *pages)
{
	const char *wrong = regionmap_check(&pages->runs);
	wrong = wrong ? wrong : regionmap_check(&pages->looked);
	struct page_run run;
	struct page_look_age look = {0};
	for (uint64_t at = 0; !wrong && pages_from(pages, at, &run); at = look.end)
		if (!pages_looked_from(pages, run.start > at ? run.start : at, &look) ||
		    look.start > (run.start > at ? run.start : at))
			wrong = "a run lies where nobody looked";
	return wrong;
}
