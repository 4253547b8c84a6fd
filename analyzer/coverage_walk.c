/* All memory at one moment: regions, mappings, runs and places side by side, by rising address. */
#include <stdlib.h>

#include "analyzer/array.h"
#include "analyzer/coverage_internal.h"

/* Memory of one owner, one mapping and one site. */
struct segment {
	uint64_t start, end;
	const struct region *region;
	const struct vma *vma;
	uint32_t stack_id;
};

static uint64_t overlap(uint64_t a_start, uint64_t a_end, uint64_t b_start, uint64_t b_end)
{
	uint64_t start = a_start > b_start ? a_start : b_start, end = a_end < b_end ? a_end : b_end;
	return start < end ? end - start : 0;
}

void coverage_sums_add(struct coverage_sums *sums, const struct coverage_sums *more)
{
	sums->resident_bytes += more->resident_bytes;
	sums->huge_bytes += more->huge_bytes;
	sums->huge_eligible_bytes += more->huge_eligible_bytes;
	sums->eligible_bytes += more->eligible_bytes;
	sums->eligible_predicted_bytes += more->eligible_predicted_bytes;
	sums->eligible_reserved_bytes += more->eligible_reserved_bytes;
	sums->eligible_swapped_bytes += more->eligible_swapped_bytes;
	sums->swapped_bytes += more->swapped_bytes;
	sums->zero_bytes += more->zero_bytes;
	sums->hugetlb_bytes += more->hugetlb_bytes;
	for (unsigned i = 0; i < CAUSE_COUNT; i++)
		sums->causes[i] += more->causes[i];
}

/* ---- parts -------------------------------------------------------------------------------------------- */

static struct coverage_part *owner_part(struct coverage *coverage, uint32_t owner)
{
	struct part_list *list = &coverage->owners;
	if (!array_reserve(&list->items, &list->capacity, owner + 1u, sizeof *list->items))
		return NULL;
	for (; list->count <= owner; list->count++)
		list->items[list->count] = (struct coverage_part){0};
	return &list->items[owner];
}

static struct coverage_part *site_part(struct coverage *coverage, uint32_t stack_id)
{
	struct part_list *list = &coverage->sites;
	uint32_t index = idmap_get(&coverage->sites_by_stack, stack_id);
	if (index != IDMAP_NONE)
		return &list->items[index];
	if (!array_reserve(&list->items, &list->capacity, list->count + 1, sizeof *list->items) ||
	    !idmap_add(&coverage->sites_by_stack, stack_id, (uint32_t)list->count))
		return NULL;
	list->items[list->count] = (struct coverage_part){.stack_id = stack_id};
	return &list->items[list->count++];
}

/* Continues the span before it where that is of the same kind. */
static struct coverage_region *span_part(struct coverage *coverage, const struct segment *segment)
{
	const struct vma *vma = segment->vma;
	struct coverage_region *last =
		coverage->span_count ? &coverage->spans[coverage->span_count - 1] : NULL;
	bool same_mapping = segment->start > vma->start;
	if (last && last->end == segment->start && last->owner == segment->region->owner && same_mapping) {
		last->end = segment->end;
		return last;
	}
	if (!array_reserve(&coverage->spans, &coverage->span_capacity, coverage->span_count + 1,
			   sizeof *coverage->spans))
		return NULL;
	last = &coverage->spans[coverage->span_count++];
	*last = (struct coverage_region){.start = segment->start,
					 .end = segment->end,
					 .owner = segment->region->owner,
					 .eligible = vma->eligible,
					 .predicted = vma->predicted};
	return last;
}

static bool add_everywhere(struct coverage *coverage, const struct segment *segment,
			   const struct coverage_sums *sums)
{
	struct coverage_part *owner = owner_part(coverage, segment->region->owner);
	struct coverage_part *site = owner ? site_part(coverage, segment->stack_id) : NULL;
	struct coverage_region *span = site ? span_part(coverage, segment) : NULL;
	if (!span)
		return false;
	coverage_sums_add(&coverage->sums, sums);
	coverage_sums_add(&owner->sums, sums);
	coverage_sums_add(&site->sums, sums);
	coverage_sums_add(&span->sums, sums);
	return true;
}

/* ---- one run ------------------------------------------------------------------------------------------ */

static enum huge_cause cause_of_state(enum place_state state)
{
	switch (state) {
	case PLACE_BROKEN:
		return CAUSE_BROKEN;
	case PLACE_FALLBACK:
		return CAUSE_FALLBACK;
	default:
		return CAUSE_WAITING;
	}
}

/* Small memory in the inner part of an eligible mapping. */
static void add_places(struct coverage *coverage, uint64_t start, uint64_t end, struct coverage_sums *sums)
{
	for (uint64_t at = start, next; at < end; at = next) {
		enum place_state state = PLACE_PLAIN;
		hugeplaces_state(coverage->places, at, &state, &next);
		next = next < end ? next : end;
		sums->causes[cause_of_state(state)] += next - at;
		coverage->steps++;
	}
}

static void add_small(struct coverage *coverage, const struct vma *vma, uint64_t start, uint64_t end,
		      struct coverage_sums *sums)
{
	uint64_t inner_start = start > vma->inner_start ? start : vma->inner_start;
	uint64_t inner_end = end < vma->inner_end ? end : vma->inner_end;
	uint64_t inner_bytes = inner_start < inner_end ? inner_end - inner_start : 0;
	bool edges = vma->inner_start < vma->inner_end && vma->cause != CAUSE_FILE;
	sums->causes[edges ? CAUSE_EDGE : vma->cause] += end - start - inner_bytes;
	if (inner_bytes && vma->eligible)
		add_places(coverage, inner_start, inner_end, sums);
	else
		sums->causes[vma->cause] += inner_bytes;
}

static void note_age(struct coverage *coverage, uint64_t start, uint64_t end)
{
	struct page_look_age look;
	for (uint64_t at = start;
	     at < end && pages_looked_from(coverage->pages, at, &look) && look.start < end; at = look.end) {
		if (look.time < coverage->oldest_look)
			coverage->oldest_look = look.time;
		coverage->steps++;
	}
}

static void add_run(struct coverage *coverage, const struct segment *segment, const struct page_run *run,
		    struct coverage_sums *sums)
{
	uint64_t start = run->start > segment->start ? run->start : segment->start;
	uint64_t end = run->end < segment->end ? run->end : segment->end;
	const struct vma *vma = segment->vma;
	uint64_t inner_bytes = vma->eligible ? overlap(start, end, vma->inner_start, vma->inner_end) : 0;
	struct page_sums bytes = {0};
	page_sums_add(&bytes, run, start, end);
	if (vma->hugetlb) {
		sums->hugetlb_bytes += bytes.resident_bytes;
		return;
	}
	sums->resident_bytes += bytes.resident_bytes;
	sums->huge_bytes += bytes.huge_bytes;
	sums->huge_eligible_bytes += bytes.huge_bytes ? inner_bytes : 0;
	sums->swapped_bytes += bytes.swapped_bytes;
	sums->eligible_swapped_bytes += bytes.swapped_bytes ? inner_bytes : 0;
	sums->zero_bytes += bytes.zero_bytes;
	/* What is there of the inner part, for the sum of what is not. */
	sums->causes[CAUSE_NOT_FAULTED] += bytes.resident_bytes || bytes.swapped_bytes ? inner_bytes : 0;
	if (bytes.resident_bytes)
		note_age(coverage, start, end);
	if (bytes.resident_bytes > bytes.huge_bytes)
		add_small(coverage, vma, start, end, sums);
}

/* ---- one segment -------------------------------------------------------------------------------------- */

static bool add_segment(struct coverage *coverage, const struct segment *segment)
{
	const struct vma *vma = segment->vma;
	struct coverage_sums sums = {0};
	struct page_run run;
	for (uint64_t at = segment->start; pages_from(coverage->pages, at, &run) && run.start < segment->end;
	     at = run.end) {
		add_run(coverage, segment, &run, &sums);
		coverage->steps++;
	}
	uint64_t there_bytes = sums.causes[CAUSE_NOT_FAULTED];
	sums.causes[CAUSE_NOT_FAULTED] = 0;
	if (vma->eligible && !vma->hugetlb) {
		sums.eligible_bytes = overlap(segment->start, segment->end, vma->inner_start, vma->inner_end);
		sums.eligible_predicted_bytes = vma->predicted ? sums.eligible_bytes : 0;
		bool reserved = segment->region->state == REGION_RESERVED;
		*(reserved ? &sums.eligible_reserved_bytes : &sums.causes[CAUSE_NOT_FAULTED]) =
			sums.eligible_bytes - there_bytes;
	}
	return add_everywhere(coverage, segment, &sums);
}

static bool is_tracers(const struct coverage *coverage, const struct region *region)
{
	size_t count;
	return regions_owners(coverage->regions, &count)[region->owner].kind == OWNER_TRACER;
}

static bool walk_vma(struct coverage *coverage, const struct vma *vma)
{
	const struct regionmap *map = regions_map(coverage->regions);
	for (uint64_t at = vma->start; at < vma->end;) {
		struct segment segment = {.start = at, .vma = vma, .region = regionmap_at(map, at)};
		if (!segment.region)
			return true;
		segment.stack_id = vmas_site(coverage->vmas, at, &segment.end);
		if (segment.region->end < segment.end)
			segment.end = segment.region->end;
		if (vma->end < segment.end)
			segment.end = vma->end;
		if (!is_tracers(coverage, segment.region) && !add_segment(coverage, &segment))
			return false;
		at = segment.end;
		coverage->steps++;
	}
	return true;
}

/* ---- sums by mapping alone ---------------------------------------------------------------------------- */

/* All of a mapping goes to the owner and the site of its first address. */
static struct coverage_sums sums_of_record(const struct vma *vma, const struct smaps_record *record)
{
	uint64_t huge_bytes = smaps_huge_bytes(record);
	uint64_t small_bytes = record->rss_bytes > huge_bytes ? record->rss_bytes - huge_bytes : 0;
	struct coverage_sums sums = {.resident_bytes = huge_bytes + small_bytes,
				     .huge_bytes = huge_bytes,
				     .swapped_bytes = record->swap_bytes};
	if (record->flags & SMAPS_HUGETLB)
		return (struct coverage_sums){.hugetlb_bytes = record->hugetlb_bytes};
	if (vma->eligible) {
		sums.eligible_bytes = vma->inner_end - vma->inner_start;
		sums.causes[CAUSE_UNKNOWN] = small_bytes;
	} else {
		sums.causes[vma->cause] = small_bytes;
	}
	return sums;
}

static bool walk_record(struct coverage *coverage, const struct smaps_record *record)
{
	const struct region *region = regionmap_from(regions_map(coverage->regions), record->start);
	struct vma vma = vmas_of_record(coverage->vmas, record, coverage->pages, coverage->settings);
	struct segment segment = {.start = vma.start, .end = vma.end, .vma = &vma, .region = region};
	uint64_t end;
	if (!region || region->start >= record->end || record->flags & SMAPS_OWN ||
	    is_tracers(coverage, region))
		return true;
	struct coverage_sums sums = sums_of_record(&vma, record);
	segment.stack_id = vmas_site(coverage->vmas, vma.start, &end);
	coverage->steps++;
	return add_everywhere(coverage, &segment, &sums);
}

static bool walk_records(struct coverage *coverage)
{
	const struct trace_smaps *smaps = pages_smaps(coverage->pages);
	coverage->oldest_look = smaps->time;
	for (size_t i = 0; i < smaps->count; i++)
		if (!walk_record(coverage, &smaps->records[i]))
			return false;
	return true;
}

/* ---- all of it ---------------------------------------------------------------------------------------- */

static void begin(struct coverage *coverage)
{
	coverage->sums = (struct coverage_sums){0};
	coverage->span_count = 0;
	coverage->oldest_look = UINT64_MAX;
	coverage->steps = 0;
	for (size_t i = 0; i < coverage->owners.count; i++)
		coverage->owners.items[i].sums = (struct coverage_sums){0};
	for (size_t i = 0; i < coverage->sites.count; i++)
		coverage->sites.items[i].sums = (struct coverage_sums){0};
}

static void raise_peaks(struct part_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		struct coverage_part *part = &list->items[i];
		if (part->sums.resident_bytes > part->resident_bytes_peak)
			part->resident_bytes_peak = part->sums.resident_bytes;
		if (part->sums.huge_bytes > part->huge_bytes_peak)
			part->huge_bytes_peak = part->sums.huge_bytes;
	}
}

static uint64_t move(uint64_t *from, uint64_t bytes)
{
	bytes = bytes < *from ? bytes : *from;
	*from -= bytes;
	return bytes;
}

/* Huge pages whose place is not known were taken for small ones above. */
static void add_unplaced(struct coverage_sums *sums, uint64_t bytes)
{
	static const enum huge_cause eligible[] = {CAUSE_WAITING, CAUSE_FALLBACK, CAUSE_BROKEN};
	uint64_t left = bytes;
	for (unsigned i = 0; i < sizeof eligible / sizeof *eligible; i++)
		left -= move(&sums->causes[eligible[i]], left);
	sums->huge_eligible_bytes += bytes - left;
	for (unsigned i = 0; i < CAUSE_NOT_FAULTED; i++)
		left -= move(&sums->causes[i], left);
	sums->huge_bytes += bytes - left;
}

static bool walk_vmas(struct coverage *coverage)
{
	struct vma *vmas;
	size_t count;
	uint64_t end = 0;
	bool good = vmas_list(coverage->vmas, regions_map(coverage->regions), coverage->pages,
			      coverage->settings, &vmas, &count);
	for (size_t i = 0; good && i < count; i++) {
		/* What became of places where nothing is mapped any more matters to nobody. */
		good = hugeplaces_forget(coverage->places, end, vmas[i].start) &&
		       walk_vma(coverage, &vmas[i]);
		end = vmas[i].end;
	}
	free(vmas);
	return good && hugeplaces_forget(coverage->places, end, UINT64_MAX);
}

bool coverage_walk(struct coverage *coverage)
{
	begin(coverage);
	if (!(pages_known(coverage->pages) ? walk_vmas(coverage) : walk_records(coverage)))
		return false;
	add_unplaced(&coverage->sums, pages_unplaced(coverage->pages).huge_bytes);
	raise_peaks(&coverage->owners);
	raise_peaks(&coverage->sites);
	return true;
}
