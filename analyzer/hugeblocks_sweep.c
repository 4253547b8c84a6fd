#include "analyzer/hugeblocks_sweep.h"

#include <string.h>

/* ---- what is known of allocators ----------------------------------------------------------------------- */

bool allocator_owner(enum owner_kind kind)
{
	switch (kind) {
	case OWNER_TCMALLOC_NORMAL:
	case OWNER_TCMALLOC_SAMPLED:
	case OWNER_TCMALLOC_COLD:
	case OWNER_GPERFTOOLS:
	case OWNER_PTMALLOC_HEAP:
	case OWNER_PTMALLOC_ARENA:
	case OWNER_PTMALLOC_MMAP:
		return true;
	default:
		return false;
	}
}

static bool is_ptmalloc(enum owner_kind kind)
{
	return kind == OWNER_PTMALLOC_HEAP || kind == OWNER_PTMALLOC_ARENA || kind == OWNER_PTMALLOC_MMAP;
}

uint64_t allocator_page_bytes(enum owner_kind kind, uint64_t page_bytes)
{
	const uint64_t tcmalloc_page_bytes = 8192;
	return is_ptmalloc(kind) || page_bytes > tcmalloc_page_bytes ? page_bytes : tcmalloc_page_bytes;
}

bool allocator_rounding_known(enum owner_kind kind)
{
	return is_ptmalloc(kind);
}

/* Sizes come from the trace, and may be anything. */
static uint64_t round_up(uint64_t bytes, uint64_t unit)
{
	return bytes > UINT64_MAX - unit ? bytes : (bytes + unit - 1) / unit * unit;
}

bool allocator_rounding_bytes(enum owner_kind kind, uint64_t size_bytes, uint64_t page_bytes,
			      uint64_t *rounding_bytes)
{
	const uint64_t smallest = 32, unit = 16, header = 8, mmap_header = 16;
	if (!is_ptmalloc(kind) || size_bytes > UINT64_MAX / 2)
		return false;
	uint64_t chunk = kind == OWNER_PTMALLOC_MMAP ? round_up(size_bytes + mmap_header, page_bytes)
						     : round_up(size_bytes + header, unit);
	*rounding_bytes = (chunk < smallest ? smallest : chunk) - size_bytes;
	return true;
}

/* ---- the page at which the sweep is -------------------------------------------------------------------- */

/* Its holes are given to a class once all of its blocks have been seen. */
struct page_tally {
	uint64_t start;
	bool open;
	uint64_t hole_bytes[BACKINGS];
	uint64_t cover_bytes[SIZE_CLASSES];
};

struct sweep {
	const struct sweep_stretch *stretch;
	uint64_t sample_bytes;
	uint64_t page_bytes;
	uint64_t allocator_page_bytes; /* in this stretch */
	struct page_tally page;
	struct sweep_result *out;
};

static unsigned page_class(const struct page_tally *page)
{
	unsigned best = HOLE_FREE_PAGE;
	uint64_t most = 0;
	for (unsigned i = 0; i < SIZE_CLASSES; i++) {
		if (page->cover_bytes[i] > most) {
			most = page->cover_bytes[i];
			best = i;
		}
	}
	return best;
}

static void page_close(struct sweep *sweep)
{
	struct page_tally *page = &sweep->page;
	if (page->hole_bytes[BACKING_SMALL] || page->hole_bytes[BACKING_HUGE]) {
		uint64_t *holes = sweep->out->hole_bytes[page_class(page)];
		holes[BACKING_SMALL] += page->hole_bytes[BACKING_SMALL];
		holes[BACKING_HUGE] += page->hole_bytes[BACKING_HUGE];
	}
	page->open = false;
}

/* The tally of the page around `address`; that of an earlier one is closed. */
static struct page_tally *page_at(struct sweep *sweep, uint64_t address)
{
	uint64_t start = address - address % sweep->allocator_page_bytes;
	if (sweep->page.open && sweep->page.start == start)
		return &sweep->page;
	if (sweep->page.open)
		page_close(sweep);
	sweep->page = (struct page_tally){.start = start, .open = true};
	return &sweep->page;
}

/* ---- pieces of a stretch ------------------------------------------------------------------------------- */

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* What follows `address` on its page, up to `end`. */
static uint64_t page_end(const struct sweep *sweep, uint64_t address, uint64_t end)
{
	uint64_t left = sweep->allocator_page_bytes - address % sweep->allocator_page_bytes;
	return left < end - address ? address + left : end;
}

/* Pages that a hole fills have no block; the first and the last may share theirs with some. */
static void add_hole(struct sweep *sweep, uint64_t start, uint64_t end)
{
	enum backing backing = sweep->stretch->backing;
	if (start >= end)
		return;
	uint64_t head = page_end(sweep, start, end);
	page_at(sweep, start)->hole_bytes[backing] += head - start;
	uint64_t tail = end - end % sweep->allocator_page_bytes;
	if (tail > head)
		sweep->out->hole_bytes[HOLE_FREE_PAGE][backing] += tail - head;
	else
		tail = head;
	if (end > tail)
		page_at(sweep, tail)->hole_bytes[backing] += end - tail;
}

/* Likewise: pages that a block fills have no hole. */
static void tally_cover(struct sweep *sweep, uint64_t start, uint64_t end, unsigned size_class)
{
	uint64_t head = page_end(sweep, start, end);
	page_at(sweep, start)->cover_bytes[size_class] += head - start;
	uint64_t tail = end - end % sweep->allocator_page_bytes;
	if (end > head && end > tail)
		page_at(sweep, tail)->cover_bytes[size_class] += end - tail;
}

/* What a block adds to itself counts with its last byte: on most pages both lie together. */
static void add_rounding(struct sweep *sweep, const struct sweep_block *block, uint64_t end)
{
	const struct sweep_stretch *stretch = sweep->stretch;
	uint64_t size_bytes = block->end - block->start, rounding_bytes;
	if (end == block->end &&
	    allocator_rounding_bytes(stretch->owner, size_bytes, sweep->page_bytes, &rounding_bytes))
		estimate_add_part(&sweep->out->owners[stretch->owner][stretch->backing].rounding_bytes,
				  size_bytes, (double)rounding_bytes, sweep->sample_bytes);
}

static void add_cover(struct sweep *sweep, const struct sweep_block *block, uint64_t start, uint64_t end)
{
	const struct sweep_stretch *stretch = sweep->stretch;
	uint64_t size_bytes = block->end - block->start;
	unsigned size_class = size_class_of(size_bytes);
	estimate_add_part(&sweep->out->owners[stretch->owner][stretch->backing].live_bytes, size_bytes,
			  (double)(end - start), sweep->sample_bytes);
	estimate_add_part(&sweep->out->live_bytes[size_class][stretch->backing], size_bytes,
			  (double)(end - start), sweep->sample_bytes);
	add_rounding(sweep, block, end);
	if (!sweep->sample_bytes && end > start)
		tally_cover(sweep, start, end, size_class);
}

/* ---- the sweep ----------------------------------------------------------------------------------------- */

static void start_stretch(struct sweep *sweep, const struct sweep_stretch *stretch)
{
	uint64_t unit_bytes = allocator_page_bytes(stretch->owner, sweep->page_bytes);
	if (sweep->page.open && unit_bytes != sweep->allocator_page_bytes)
		page_close(sweep); /* another allocator's */
	sweep->stretch = stretch;
	sweep->allocator_page_bytes = unit_bytes;
	sweep->out->owners[stretch->owner][stretch->backing].resident_bytes += stretch->end - stretch->start;
}

/* Returns the first block that the next stretch may have a part of. */
static size_t sweep_stretch(struct sweep *sweep, const struct sweep_block *blocks, size_t count, size_t block)
{
	const struct sweep_stretch *stretch = sweep->stretch;
	uint64_t at = stretch->start;
	for (; block < count && blocks[block].start < stretch->end; block++) {
		const struct sweep_block *now = &blocks[block];
		uint64_t start = now->start > at ? now->start : at, end = least(now->end, stretch->end);
		if (start > now->end || (start == now->end && now->end > now->start))
			continue;
		if (!sweep->sample_bytes)
			add_hole(sweep, at, start);
		add_cover(sweep, now, start, end);
		at = end;
		if (now->end > stretch->end)
			break;
	}
	if (!sweep->sample_bytes)
		add_hole(sweep, at, stretch->end);
	return block;
}

static void start_estimates(struct sweep_result *out, uint64_t sample_bytes)
{
	const struct estimate none = {.weight = (double)sample_bytes};
	memset(out, 0, sizeof *out);
	for (unsigned backing = 0; backing < BACKINGS; backing++) {
		for (unsigned owner = 0; owner < OWNER_KINDS; owner++) {
			out->owners[owner][backing].live_bytes = none;
			out->owners[owner][backing].rounding_bytes = none;
		}
		for (unsigned i = 0; i < SIZE_CLASSES; i++)
			out->live_bytes[i][backing] = none;
	}
}

void sweep_run(const struct sweep_block *blocks, size_t block_count, const struct sweep_stretch *stretches,
	       size_t stretch_count, uint64_t sample_bytes, uint64_t page_bytes, struct sweep_result *out)
{
	struct sweep sweep = {.sample_bytes = sample_bytes, .page_bytes = page_bytes, .out = out};
	size_t block = 0;
	start_estimates(out, sample_bytes);
	for (size_t i = 0; i < stretch_count; i++) {
		start_stretch(&sweep, &stretches[i]);
		block = sweep_stretch(&sweep, blocks, block_count, block);
	}
	if (sweep.page.open)
		page_close(&sweep);
}

uint64_t sweep_overlap_bytes(const struct sweep_range *ranges, size_t count, size_t *cursor, uint64_t start,
			     uint64_t end)
{
	uint64_t bytes = 0;
	while (*cursor < count && ranges[*cursor].end <= start)
		++*cursor;
	for (size_t i = *cursor; i < count && ranges[i].start < end; i++) {
		uint64_t from = ranges[i].start > start ? ranges[i].start : start;
		bytes += least(ranges[i].end, end) - from;
	}
	return bytes;
}
