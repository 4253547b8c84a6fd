#include "shim/pageblock.h"

#include <string.h>

#include "shim/clock.h"
#include "shim/raw.h"
#include "shim/tracefile.h"

#define RANGES_MAX 2048u
#define RUNS_MAX   49152u
#define LEVEL	   1
#define MOMENT	   (1u << 17) /* time units: 1 to 2 ms */

/* Laid out for the largest size; put together when it is written. */
struct block {
	struct pages_header header;
	struct pages_range ranges[RANGES_MAX];
	struct pages_run runs[RUNS_MAX];
};

static struct {
	struct block *block;
	uint64_t cell_bytes;
	uint32_t cell_runs_max;
	uint64_t open_start, open_time;
	uint32_t open_runs; /* index of its first */
} state;

bool pageblock_start(uint64_t page_bytes, uint64_t huge_bytes, uint64_t cell_bytes, uint32_t source)
{
	if (!state.block)
		state.block = raw_reserve(sizeof *state.block);
	if (!state.block || cell_bytes / page_bytes > RUNS_MAX)
		return false;
	state.block->header =
		(struct pages_header){.page_bytes = page_bytes, .huge_bytes = huge_bytes, .source = source};
	state.cell_bytes = cell_bytes;
	state.cell_runs_max = (uint32_t)(cell_bytes / page_bytes);
	return true;
}

void pageblock_open(uint64_t cell_start)
{
	struct pages_header *header = &state.block->header;
	if (header->ranges == RANGES_MAX || header->runs + state.cell_runs_max > RUNS_MAX)
		pageblock_write(0);
	state.open_start = cell_start;
	state.open_time = clock_now();
	state.open_runs = header->runs;
	if (header->ranges == 0)
		header->time = state.open_time;
}

void pageblock_run(const struct pages_run *run)
{
	struct pages_header *header = &state.block->header;
	struct pages_run *last = header->runs > state.open_runs ? &state.block->runs[header->runs - 1] : NULL;
	if (last && last->flags == run->flags && last->start + last->pages * header->page_bytes == run->start)
		last->pages += run->pages;
	else
		state.block->runs[header->runs++] = *run;
}

/* FNV-1a over words. */
uint64_t pageblock_hash(void)
{
	const struct pages_header *header = &state.block->header;
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	if (header->runs == state.open_runs)
		return 0;
	for (uint32_t i = state.open_runs; i < header->runs; i++) {
		const struct pages_run *run = &state.block->runs[i];
		uint64_t words[] = {run->start, (uint64_t)run->pages << 32 | run->flags};
		for (unsigned w = 0; w < 2; w++)
			hash = (hash ^ (words[w] ^ words[w] >> 29)) * UINT64_C(0x100000001b3);
	}
	return hash | 1;
}

/* Neighbours of one kind become one range, seen within a moment: it has the time of the first. */
static void add_range(uint32_t runs, uint32_t flags)
{
	struct pages_header *header = &state.block->header;
	struct pages_range *last = header->ranges ? &state.block->ranges[header->ranges - 1] : NULL;
	uint64_t end = state.open_start + state.cell_bytes;
	if (last && last->end == state.open_start && last->flags == flags &&
	    state.open_time - last->time < MOMENT) {
		last->end = end;
		last->runs += runs;
		return;
	}
	state.block->ranges[header->ranges++] =
		(struct pages_range){state.open_start, end, state.open_time, runs, flags};
}

void pageblock_close(enum pageblock_verdict verdict)
{
	struct pages_header *header = &state.block->header;
	uint32_t runs = header->runs - state.open_runs;
	if (verdict == PAGEBLOCK_CHANGED)
		add_range(runs, 0);
	else
		header->runs = state.open_runs;
	if (verdict == PAGEBLOCK_UNCHANGED)
		add_range(0, PAGES_UNCHANGED);
}

void pageblock_write(uint32_t flags)
{
	struct block *block = state.block;
	struct pages_header *header = &block->header;
	if (header->ranges || flags) {
		uint8_t *at = (uint8_t *)&block->ranges[header->ranges];
		memmove(at, block->runs, header->runs * sizeof *block->runs);
		at += header->runs * sizeof *block->runs;
		header->end_time = clock_now();
		header->time = header->ranges ? header->time : header->end_time;
		header->flags = flags;
		tracefile_append(BLOCK_PAGES, block, (size_t)(at - (uint8_t *)block),
				 (struct block_times){header->time, header->end_time}, LEVEL);
	}
	header->ranges = header->runs = 0;
}
