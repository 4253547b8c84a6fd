/* Huge folios (PAGES_FROM_KPAGEFLAGS): which of them are mapped by a PMD, as far as smaps tells. */
#include <stdlib.h>

#include "analyzer/pages_internal.h"

static uint64_t up(uint64_t address, uint64_t unit)
{
	return (address + unit - 1) & ~(unit - 1);
}

static uint64_t down(uint64_t address, uint64_t unit)
{
	return address & ~(unit - 1);
}

static bool is_folio(const struct page_run *run)
{
	return (run->flags & PAGE_PRESENT) && (run->flags & PAGE_FOLIO) && !(run->flags & PAGE_ZERO);
}

/* The part of a run that a PMD can map: whole huge pages at their natural places. Empty: false. */
static bool mappable(const struct pages *pages, const struct page_run *run, struct page_run *part)
{
	uint64_t unit = pages->huge_bytes;
	if (!unit || !is_folio(run) || run->end < unit)
		return false;
	*part = (struct page_run){up(run->start, unit), down(run->end, unit), run->flags | PAGE_HUGE};
	return part->start >= run->start && part->start < part->end;
}

static bool same_memory(const struct page_run *a, const struct page_run *b)
{
	return ((a->flags ^ b->flags) & ~PAGE_HUGE) == 0;
}

/* ---- from look to look -------------------------------------------------------------------------------- */

/* `run`, huge where a run of `before` was; *at is the first of these that may still matter. What was no folio
 * is undecided. */
static bool keep_one(struct pages *pages, const struct page_run *run, size_t *at, struct run_list *out)
{
	struct page_run part;
	uint64_t done = run->start, known_bytes = 0;
	while (*at < pages->before.count && pages->before.items[*at].end <= run->start)
		(*at)++;
	for (size_t i = *at; mappable(pages, run, &part) && i < pages->before.count; i++) {
		const struct page_run *old = &pages->before.items[i];
		uint64_t start = old->start > part.start ? old->start : part.start;
		uint64_t end = old->end < part.end ? old->end : part.end;
		if (old->start >= run->end)
			break;
		if (start >= end || !same_memory(old, run))
			continue;
		known_bytes += end - start;
		if (!(old->flags & PAGE_HUGE))
			continue;
		if (!run_list_add(out, done, start, run->flags) ||
		    !run_list_add(out, start, end, run->flags | PAGE_HUGE))
			return false;
		done = end;
	}
	pages->undecided |= mappable(pages, run, &part) && known_bytes < part.end - part.start;
	return run_list_add(out, done, run->end, run->flags);
}

bool pages_keep_huge(struct pages *pages)
{
	struct run_list out = {0}, old = pages->after;
	size_t at = 0;
	bool good = true;
	for (size_t i = 0; good && i < old.count; i++)
		good = keep_one(pages, &old.items[i], &at, &out);
	pages->after = out;
	free(old.items);
	return good;
}

/* ---- a reading of smaps ------------------------------------------------------------------------------- */

struct folio_sums {
	uint64_t folio_bytes;	 /* resident in huge folios */
	uint64_t mappable_bytes; /* of them, what a PMD can map */
};

static struct folio_sums sums_of(const struct pages *pages, const struct smaps_record *record)
{
	struct folio_sums sums = {0};
	struct page_run run, part;
	for (uint64_t at = record->start; at < record->end && pages_from(pages, at, &run); at = run.end) {
		struct page_run inside = run;
		inside.start = run.start > record->start ? run.start : record->start;
		inside.end = run.end < record->end ? run.end : record->end;
		if (inside.start >= inside.end)
			break;
		sums.folio_bytes += is_folio(&inside) ? inside.end - inside.start : 0;
		sums.mappable_bytes += mappable(pages, &inside, &part) ? part.end - part.start : 0;
	}
	return sums;
}

/* Marks what a PMD can map as huge, or all as not. */
static bool mark_run(struct pages *pages, const struct page_run *run, bool huge)
{
	struct page_run part;
	uint32_t plain = run->flags & ~PAGE_HUGE;
	if (!huge || !mappable(pages, run, &part))
		return run_list_add(&pages->after, run->start, run->end, plain);
	return run_list_add(&pages->after, run->start, part.start, plain) &&
	       run_list_add(&pages->after, part.start, part.end, part.flags) &&
	       run_list_add(&pages->after, part.end, run->end, plain);
}

static bool lists_equal(const struct run_list *a, const struct run_list *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++)
		if (a->items[i].start != b->items[i].start || a->items[i].end != b->items[i].end ||
		    a->items[i].flags != b->items[i].flags)
			return false;
	return true;
}

static uint64_t oldest_look(const struct pages *pages, uint64_t start, uint64_t end)
{
	struct page_look_age look;
	uint64_t oldest = UINT64_MAX, at = start;
	for (; at < end && pages_looked_from(pages, at, &look) && look.start <= at; at = look.end)
		oldest = look.time < oldest ? look.time : oldest;
	return at < end ? 0 : oldest;
}

static bool mark(struct pages *pages, const struct smaps_record *record, bool huge)
{
	uint64_t start = up(record->start, pages->huge_bytes), end = down(record->end, pages->huge_bytes);
	if (start < record->start || start >= end)
		return true;
	if (!pages_take(pages, start, end))
		return false;
	pages->after.count = 0;
	for (size_t i = 0; i < pages->before.count; i++)
		if (!mark_run(pages, &pages->before.items[i], huge))
			return false;
	if (!pages_give(pages))
		return false;
	if (lists_equal(&pages->before, &pages->after))
		return true;
	struct pages_change change = {.start = start,
				      .end = end,
				      .time = pages->smaps.time,
				      .since = oldest_look(pages, start, end)};
	return pages_tell(pages, change);
}

bool pages_place_huge(struct pages *pages)
{
	pages->unplaced = (struct pages_unplaced){0};
	pages->undecided = false;
	for (size_t i = 0; pages->huge_bytes && i < pages->smaps.count; i++) {
		const struct smaps_record *record = &pages->records[i];
		struct folio_sums sums = sums_of(pages, record);
		uint64_t huge_bytes = smaps_huge_bytes(record);
		bool placed = huge_bytes == sums.mappable_bytes;
		if (!placed) /* of what the looks saw: they may be older than the mapping */
			pages->unplaced.huge_bytes +=
				huge_bytes < sums.folio_bytes ? huge_bytes : sums.folio_bytes;
		if (sums.folio_bytes > huge_bytes)
			pages->unplaced.folio_mapped_by_page_bytes += sums.folio_bytes - huge_bytes;
		if (!mark(pages, record, placed))
			return false;
	}
	return true;
}
