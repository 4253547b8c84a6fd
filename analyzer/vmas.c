#include "analyzer/vmas.h"

#include <stdlib.h>

#include "analyzer/array.h"
#include "analyzer/memcalls.h"

/* More pieces than this between two readings: then all counts as changed. */
#define STALE_MAX 65536u

/* In the trees' regions: of facts `state` is what a call said of the mapping, and `owner` the stack. */
enum advice { ADVICE_NONE, ADVICE_HUGE, ADVICE_NOT_HUGE, ADVICE_MASK };

/* Beside the advice: what may be done with the memory. Not known of what was mapped before the trace. */
#define ACCESS_SHIFT 2
#define ACCESS_MASK  (15u << ACCESS_SHIFT)

struct vmas {
	uint64_t page_bytes;
	struct regionmap facts;
	struct regionmap stale; /* changed since the reading */
	bool all_stale;
	bool settings_stale;
	struct region_list cut;
};

struct vmas *vmas_open(uint64_t page_bytes)
{
	struct vmas *vmas = calloc(1, sizeof *vmas);
	if (vmas)
		vmas->page_bytes = page_bytes;
	return vmas;
}

void vmas_close(struct vmas *vmas)
{
	if (!vmas)
		return;
	regionmap_clear(&vmas->facts);
	regionmap_clear(&vmas->stale);
	free(vmas->cut.items);
	free(vmas);
}

/* ---- events ------------------------------------------------------------------------------------------- */

static uint64_t end_of(const struct vmas *vmas, uint64_t start, uint64_t bytes)
{
	uint64_t end, mask = vmas->page_bytes - 1;
	if (__builtin_add_overflow(start, bytes, &end) || __builtin_add_overflow(end, mask, &end))
		return UINT64_MAX & ~mask;
	return end & ~mask;
}

static bool cut(struct vmas *vmas, struct regionmap *map, uint64_t start, uint64_t end)
{
	vmas->cut.count = 0;
	return regionmap_cut(map, start, end, &vmas->cut);
}

static bool put(struct regionmap *map, struct region region, uint64_t start, uint64_t end)
{
	region.start = start;
	region.end = end;
	return start >= end || regionmap_put(map, &region);
}

static bool changed(struct vmas *vmas, uint64_t start, uint64_t end)
{
	if (start >= end || vmas->all_stale)
		return true;
	if (vmas->stale.count >= STALE_MAX) {
		regionmap_clear(&vmas->stale);
		return vmas->all_stale = true;
	}
	return cut(vmas, &vmas->stale, start, end) && put(&vmas->stale, (struct region){0}, start, end);
}

/* One more than PROT_*: 0 is not known. */
static uint8_t access_of(uint64_t prot)
{
	return (uint8_t)(((prot & (PROT_READ | PROT_WRITE | PROT_EXEC)) + 1) << ACCESS_SHIFT);
}

static bool map_range(struct vmas *vmas, uint64_t start, uint64_t end, uint32_t stack_id, uint64_t prot)
{
	return changed(vmas, start, end) && cut(vmas, &vmas->facts, start, end) &&
	       put(&vmas->facts, (struct region){.owner = stack_id, .state = access_of(prot)}, start, end);
}

static bool unmap_range(struct vmas *vmas, uint64_t start, uint64_t end)
{
	return changed(vmas, start, end) && cut(vmas, &vmas->facts, start, end);
}

/* The bits of `mask` become `bits`; whose the memory is stays. */
static bool say(struct vmas *vmas, uint64_t start, uint64_t end, uint8_t mask, uint8_t bits)
{
	uint64_t at = start;
	bool good = changed(vmas, start, end) && cut(vmas, &vmas->facts, start, end);
	struct region_list old = vmas->cut;
	vmas->cut = (struct region_list){0};
	const struct region none = {.state = bits};
	for (size_t i = 0; good && i < old.count; i++) {
		struct region fact = old.items[i];
		fact.state = (uint8_t)((fact.state & ~mask) | bits);
		good = put(&vmas->facts, none, at, fact.start) &&
		       put(&vmas->facts, fact, fact.start, fact.end);
		at = fact.end;
	}
	free(old.items);
	return good && put(&vmas->facts, none, at, end);
}

static bool on_madvise(struct vmas *vmas, const struct trace_event *event)
{
	uint64_t end = end_of(vmas, event->address, event->size_bytes);
	if (event->args[1] != 0)
		return true;
	if (event->args[0] == MADV_HUGEPAGE || event->args[0] == MADV_NOHUGEPAGE)
		return say(vmas, event->address, end, ADVICE_MASK,
			   event->args[0] == MADV_HUGEPAGE ? ADVICE_HUGE : ADVICE_NOT_HUGE);
	return true;
}

static bool on_brk(struct vmas *vmas, const struct trace_event *event)
{
	uint64_t after = event->address, before = event->address - event->size_bytes;
	bool grows = (int64_t)event->size_bytes > 0;
	uint64_t start = end_of(vmas, grows ? before : after, 0);
	uint64_t end = end_of(vmas, grows ? after : before, 0);
	return grows ? map_range(vmas, start, end, event->stack_id, PROT_READ | PROT_WRITE)
		     : unmap_range(vmas, start, end);
}

static bool on_mremap(struct vmas *vmas, const struct trace_event *event)
{
	uint64_t old = event->old_address, old_end = end_of(vmas, old, event->args[0]);
	const struct region *fact = regionmap_at(&vmas->facts, old);
	struct region moved = fact ? *fact : (struct region){.owner = event->stack_id};
	bool keeps = event->args[0] == 0 || event->args[1] & MREMAP_DONTUNMAP;
	if (!changed(vmas, old, old_end) || (!keeps && !unmap_range(vmas, old, old_end)))
		return false;
	uint64_t end = end_of(vmas, event->address, event->size_bytes);
	return unmap_range(vmas, event->address, end) && put(&vmas->facts, moved, event->address, end);
}

bool vmas_event(struct vmas *vmas, const struct trace_event *event)
{
	uint64_t start = event->address, end = end_of(vmas, start, event->size_bytes);
	if (event->kind < EVENT_MMAP || event->result < 0)
		return true;
	switch (event->kind) {
	case EVENT_MMAP:
		return map_range(vmas, start, end, event->stack_id, event->args[0]);
	case EVENT_MUNMAP:
		return unmap_range(vmas, start, end);
	case EVENT_MPROTECT:
		return say(vmas, start, end, ACCESS_MASK, access_of(event->args[0]));
	case EVENT_MADVISE:
		return on_madvise(vmas, event);
	case EVENT_MREMAP:
		return on_mremap(vmas, event);
	case EVENT_BRK:
		return on_brk(vmas, event);
	default:
		return true;
	}
}

void vmas_read(struct vmas *vmas)
{
	regionmap_clear(&vmas->stale);
	vmas->all_stale = vmas->settings_stale = false;
}

void vmas_settings_changed(struct vmas *vmas)
{
	vmas->settings_stale = true;
}

uint32_t vmas_site(const struct vmas *vmas, uint64_t address, uint64_t *end)
{
	const struct region *fact = regionmap_from(&vmas->facts, address);
	bool inside = fact && fact->start <= address;
	*end = !fact ? UINT64_MAX : inside ? fact->end : fact->start;
	return inside ? fact->owner : 0;
}

/* ---- one mapping -------------------------------------------------------------------------------------- */

/* What decides about a mapping, read or predicted. */
struct verdict {
	uint32_t flags; /* SMAPS_*; SMAPS_ELIGIBLE counts only where it was read */
	bool read;
	const char *enabled; /* thpstate_enabled() */
	bool disabled;
};

static bool settings_allow(const struct verdict *verdict)
{
	if (!verdict->enabled)
		return verdict->read; /* then smaps has the word */
	bool advised = verdict->flags & SMAPS_HUGEPAGE;
	return verdict->enabled[0] == 'a' || (verdict->enabled[0] == 'm' && advised);
}

/*
 * smaps calls a mapping eligible also where only smaller folios are allowed (THPeligible since Linux 6.8), so
 * the setting for the size of a huge page is asked as well. It does not decide about files.
 */
static void judge(struct vma *vma, const struct verdict *verdict)
{
	bool file = verdict->flags & SMAPS_FILE;
	bool no_advice = verdict->flags & SMAPS_NO_HUGEPAGE;
	bool said =
		verdict->read ? verdict->flags & SMAPS_ELIGIBLE : !file && !no_advice && !verdict->disabled;
	vma->file = file;
	vma->hugetlb = verdict->flags & SMAPS_HUGETLB;
	vma->eligible = said && (file || settings_allow(verdict)) && vma->inner_start < vma->inner_end;
	if (file && !said)
		vma->cause = CAUSE_FILE;
	else if (vma->inner_start >= vma->inner_end)
		vma->cause = CAUSE_TOO_SMALL;
	else if (verdict->disabled)
		vma->cause = CAUSE_PRCTL;
	else if (no_advice)
		vma->cause = CAUSE_MADVISE;
	else if (!settings_allow(verdict))
		vma->cause = CAUSE_SETTINGS;
	else
		vma->cause = CAUSE_OTHER;
}

/* The inner part of [start, end), which may reach farther than the piece of it that `vma` is. */
static void set_inner(struct vma *vma, uint64_t start, uint64_t end, uint64_t huge_bytes)
{
	uint64_t mask = huge_bytes - 1, inner_start = (start + mask) & ~mask, inner_end = end & ~mask;
	bool none = !huge_bytes || inner_start < start || inner_start >= inner_end;
	vma->inner_start = none ? start : inner_start;
	vma->inner_end = none ? start : inner_end;
}

/* ---- all of them -------------------------------------------------------------------------------------- */

/* Neighbouring regions that the kernel keeps as one mapping, or may keep so. */
struct unit {
	uint64_t start, end;
	uint64_t file;
	bool reserved;
	uint8_t said; /* of the first piece whose access is known, as facts have it */
};

struct listing {
	struct vmas *vmas;
	const struct pages *pages;
	struct verdict common;
	struct vma *items;
	size_t count, capacity;
};

static bool add(struct listing *listing, const struct vma *vma)
{
	if (!array_reserve(&listing->items, &listing->capacity, listing->count + 1, sizeof *listing->items))
		return false;
	listing->items[listing->count++] = *vma;
	return true;
}

static bool is_stale(const struct vmas *vmas, uint64_t start, uint64_t end)
{
	const struct region *stale = regionmap_from(&vmas->stale, start);
	return vmas->all_stale || (stale && stale->start < end);
}

/* Read: without a gap, and nothing has changed since. */
static bool is_read(const struct listing *listing, const struct unit *unit)
{
	const struct smaps_record *record;
	uint64_t at = unit->start;
	if (is_stale(listing->vmas, unit->start, unit->end))
		return false;
	while (at < unit->end && (record = pages_smaps_at(listing->pages, at)))
		at = record->end;
	return at >= unit->end;
}

static bool add_predicted(struct listing *listing, const struct unit *unit)
{
	struct vma vma = {.start = unit->start, .end = unit->end, .predicted = true};
	struct verdict verdict = listing->common;
	uint8_t advice = unit->said & ADVICE_MASK;
	verdict.flags = (unit->file != REGION_FILE_NONE ? SMAPS_FILE : 0) |
			(advice == ADVICE_HUGE ? SMAPS_HUGEPAGE : 0) |
			(advice == ADVICE_NOT_HUGE ? SMAPS_NO_HUGEPAGE : 0);
	set_inner(&vma, unit->start, unit->end, pages_huge_bytes(listing->pages));
	judge(&vma, &verdict);
	return add(listing, &vma);
}

/* [start, end) of the mapping in `record`. Where a call has changed another part of it, this one is all that
 * is left of it here. */
static struct vma read_vma(const struct vmas *vmas, const struct pages *pages, const struct verdict *common,
			   const struct smaps_record *record, uint64_t start, uint64_t end)
{
	struct vma vma = {.start = start, .end = end < record->end ? end : record->end};
	struct verdict verdict = *common;
	verdict.flags = record->flags;
	verdict.read = !vmas->settings_stale && !(record->flags & SMAPS_NO_ELIGIBLE);
	bool parted = is_stale(vmas, record->start, record->end);
	vma.predicted = !verdict.read || parted;
	set_inner(&vma, parted ? vma.start : record->start, parted ? vma.end : record->end,
		  pages_huge_bytes(pages));
	judge(&vma, &verdict);
	return vma;
}

static bool add_read(struct listing *listing, const struct unit *unit)
{
	const struct smaps_record *record;
	for (uint64_t at = unit->start; at < unit->end; at = record->end) {
		record = pages_smaps_at(listing->pages, at);
		struct vma vma =
			read_vma(listing->vmas, listing->pages, &listing->common, record, at, unit->end);
		if (!add(listing, &vma))
			return false;
	}
	return true;
}

static bool add_unit(struct listing *listing, const struct unit *unit)
{
	if (unit->start >= unit->end)
		return true;
	return is_read(listing, unit) ? add_read(listing, unit) : add_predicted(listing, unit);
}

static bool continues(const struct unit *unit, const struct unit *piece)
{
	uint8_t differ = unit->said ^ piece->said;
	bool both_known = unit->said & ACCESS_MASK && piece->said & ACCESS_MASK;
	return unit->end == piece->start && unit->file == piece->file && unit->reserved == piece->reserved &&
	       !(differ & ADVICE_MASK) && !(both_known && differ & ACCESS_MASK);
}

/* From `at` on as far as region and advice are the same. */
static struct unit piece_at(const struct vmas *vmas, const struct region *region, uint64_t at)
{
	const struct region *fact = regionmap_from(&vmas->facts, at);
	bool inside = fact && fact->start <= at;
	uint64_t fact_end = !fact ? UINT64_MAX : inside ? fact->end : fact->start;
	return (struct unit){.start = at,
			     .end = fact_end < region->end ? fact_end : region->end,
			     .file = region->file,
			     .reserved = region->state == REGION_RESERVED,
			     .said = inside ? fact->state : ADVICE_NONE};
}

static struct verdict common_verdict(const struct pages *pages, const struct thpstate *settings)
{
	return (struct verdict){.enabled = thpstate_enabled(settings, pages_huge_bytes(pages)),
				.disabled = thpstate_disabled(settings)};
}

struct vma vmas_of_record(const struct vmas *vmas, const struct smaps_record *record,
			  const struct pages *pages, const struct thpstate *settings)
{
	struct verdict common = common_verdict(pages, settings);
	return read_vma(vmas, pages, &common, record, record->start, record->end);
}

bool vmas_list(struct vmas *vmas, const struct regionmap *regions, const struct pages *pages,
	       const struct thpstate *settings, struct vma **list, size_t *count)
{
	struct listing listing = {.vmas = vmas, .pages = pages, .common = common_verdict(pages, settings)};
	struct unit unit = {0};
	const struct region *region;
	bool good = true;
	for (uint64_t at = 0; good && (region = regionmap_from(regions, at));) {
		struct unit piece = piece_at(vmas, region, region->start > at ? region->start : at);
		at = piece.end;
		if (continues(&unit, &piece)) {
			unit.end = piece.end;
			unit.said |= unit.said & ACCESS_MASK ? 0 : piece.said;
			continue;
		}
		good = add_unit(&listing, &unit);
		unit = piece;
	}
	good = good && add_unit(&listing, &unit);
	*list = listing.items;
	*count = listing.count;
	return good;
}
