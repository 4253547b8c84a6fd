/*
 * The live map keeps its invariants whatever events it is given: its totals are the sums over its blocks and
 * over its sites, peaks are not below what is live, and every allocation is live, freed, or counted.
 */
#include <math.h>

#include "analyzer/livemap.h"
#include "tests/fuzz/fuzz.h"

enum { REORDER_UNITS = 64 };

struct sums {
	uint64_t blocks;
	double bytes;
};

/* Few addresses, threads and stacks, and small steps in time, so that events meet. */
static struct trace_event next_event(struct input *input, uint64_t *time)
{
	static const uint8_t kinds[] = {EVENT_MALLOC, EVENT_FREE,   EVENT_REALLOC, EVENT_NEW,
					EVENT_DELETE, EVENT_MALLOC, EVENT_FREE,	   EVENT_MMAP};
	uint8_t what = input_byte(input), where = input_byte(input), when = input_byte(input);
	struct trace_event event = {
		.kind = kinds[what & 7], .thread = what >> 3 & 3, .stack_id = what >> 5 & 3};
	event.address = (where & 15) * UINT64_C(16);
	event.old_address = (where >> 4) * UINT64_C(16);
	event.size_bytes = UINT64_C(1) << (when >> 3 & 31);
	event.sampled_old = what >> 7;
	event.sampled_new = when >> 7;
	*time += when & 7 ? UINT64_C(1) << (when & 7) : 0;
	event.time = event.end_time = *time;
	if (event.kind == EVENT_REALLOC)
		event.end_time += where;
	return event;
}

static void add_block(void *context, const struct live_block *block)
{
	struct sums *sums = context;
	require(block->address != 0);
	sums->blocks++;
	sums->bytes += (double)block->size_bytes;
}

static bool near(double a, double b)
{
	return fabs(a - b) <= 1e-6 * (1 + fabs(a) + fabs(b));
}

static void check(const struct livemap *map, bool exact)
{
	size_t count;
	struct sums sums = {0};
	const struct livemap_totals *totals = livemap_totals(map);
	const struct live_site *sites = livemap_sites(map, &count);
	double blocks = 0, bytes = 0;
	livemap_each(map, add_block, &sums);
	for (size_t i = 0; i < count; i++) {
		blocks += sites[i].live_blocks.value;
		bytes += sites[i].live_bytes.value;
		require(sites[i].live_bytes_peak.value >= sites[i].live_bytes.value);
		require(near(sites[i].allocs.value + sites[i].reallocs.value,
			     sites[i].frees.value + sites[i].live_blocks.value));
	}
	require(near(blocks, totals->live_blocks.value) && near(bytes, totals->live_bytes.value));
	require((double)sums.blocks == totals->live_blocks.floor && sums.bytes == totals->live_bytes.floor);
	require(!exact || sums.bytes == totals->live_bytes.value);
	require(totals->live_bytes_peak.value >= totals->live_bytes.value);
	require(estimate_low(&totals->live_bytes) <= estimate_high(&totals->live_bytes) * (1 + 1e-9) + 1e-6);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct input input = {data, bytes};
	bool sampled = input_byte(&input) & 1;
	struct livemap *map = livemap_create(sampled ? 4096 : 0, REORDER_UNITS);
	uint64_t time = 0;
	require(map);
	while (input.left > 0) {
		struct trace_event event = next_event(&input, &time);
		livemap_prefetch(map, &event);
		require(livemap_apply(map, &event));
	}
	require(livemap_finish(map));
	check(map, !sampled);
	livemap_free(map);
	return 0;
}
