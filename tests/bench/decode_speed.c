/*
 * How fast the analyzer goes through a full-mode trace: decode, merge, and the live map, as `info` does it.
 *
 *     decode_speed [MILLIONS [THREADS [LIVE_BLOCKS]]]
 *
 * The trace is written to /tmp first (synthetic: each thread replaces a random one of its live blocks, sizes
 * drawn from what allocators see most), and removed. Prints events per second of CPU time, for the stream
 * alone and with the live map.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "analyzer/livemap.h"
#include "analyzer/merge.h"
#include "tests/bench/speed.h"
#include "tests/unit/support_trace.h"

/* Blocks lie in a heap of four times as many places of 64 bytes, so that addresses come again. */
static void write_trace(const char *path, uint64_t events, uint32_t threads, uint64_t live)
{
	struct support_options options = {.full = true, .compressed = true, .chunk_bytes = CHUNK_LARGE_BYTES};
	struct support_trace *trace = support_open(path, &options);
	uint64_t *blocks = calloc(live, sizeof *blocks);
	if (!blocks)
		abort();
	uint64_t time = 0;
	for (uint64_t i = 0, next = 0; i < events; i += 2) {
		uint32_t thread = 1 + (uint32_t)(i / 64 % threads);
		uint64_t at = i / 2 < live ? i / 2 : random_next() % live;
		time += 40 + random_next() % 40;
		if (blocks[at])
			support_free_block(trace, thread, time, blocks[at]);
		else
			blocks[at] = 0x7f0000000000u + 64 * next++;
		support_malloc(trace, thread, time + 30, blocks[at], 16 + random_next() % 16 * 24, 0);
		if (i % 400000 == 0)
			support_snapshot(trace, time + 30, NULL);
	}
	free(blocks);
	support_end(trace, time + 100);
}

static double pass(const char *path, bool replay, uint64_t *events)
{
	struct error error = {0};
	double start = now_s();
	struct trace *trace = trace_open(path, &error);
	struct merge *merge = trace ? merge_open(trace, &error) : NULL;
	struct livemap *map = livemap_create(0, LIVEMAP_REORDER_NS);
	struct merge_item item;
	if (!merge || !map)
		exit(error_print(&error));
	if (replay)
		merge_lookahead(merge, livemap_prefetch, map);
	while (merge_next(merge, &item, &error))
		if (item.event && replay && !livemap_apply(map, item.event))
			exit(1);
	*events = merge_stats(merge)->events;
	livemap_free(map);
	merge_close(merge);
	trace_close(trace);
	return now_s() - start;
}

int main(int argc, char **argv)
{
	uint64_t millions = argc > 1 ? strtoull(argv[1], NULL, 10) : 20;
	uint32_t threads = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 8;
	uint64_t live = argc > 3 ? strtoull(argv[3], NULL, 10) : 200000;
	char path[] = "/tmp/decode_speed.XXXXXX";
	int fd = mkstemp(path);
	if (fd < 0 || !millions || !threads || threads > 60 || !live)
		return 2;
	close(fd);
	write_trace(path, millions * 1000000, threads, live);
	for (int replay = 0; replay < 2; replay++) {
		uint64_t events;
		double seconds = pass(path, replay, &events);
		printf("%-22s %6.1f million events per CPU second (%llu events, %u threads, %llu live "
		       "blocks)\n",
		       replay ? "stream and live map:" : "stream:", 1e-6 * (double)events / seconds,
		       (unsigned long long)events, threads, (unsigned long long)live);
	}
	unlink(path);
	return 0;
}
