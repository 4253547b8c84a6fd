/*
 * How fast `percpu` goes through a full-mode trace with twenty capacities side by side, and what memory that
 * takes.
 *
 *     percpu_speed [MILLIONS [THREADS [LIVE_BLOCKS [DESIGN]]]]      DESIGN: per-cpu (default), per-thread,
 * both
 *
 * The trace is written to /tmp first (synthetic: each thread, on one of eight CPUs, replaces a random one of
 * the live blocks, sizes as allocators see them most), and removed. Prints events per second of CPU time, and
 * the largest resident size of the pass, which runs in a process of its own.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "analyzer/percpu.h"
#include "tests/bench/speed.h"
#include "tests/unit/support_trace.h"

#define CAPACITIES 20u
#define CPUS	   8u

static void put(struct support_trace *trace, uint8_t kind, uint64_t time, uint32_t thread, uint64_t address,
		uint64_t size_bytes)
{
	support_event(trace, &(struct trace_event){.kind = kind,
						   .time = SUPPORT_START_TIME + time,
						   .end_time = SUPPORT_START_TIME + time,
						   .thread = thread,
						   .cpu = thread % CPUS,
						   .address = address,
						   .size_bytes = size_bytes});
}

/* Half of all blocks are small; the rest fall off by powers of two, to 16 KiB. */
static uint64_t some_size(void)
{
	uint64_t random = random_next(), doublings = (uint64_t)__builtin_ctzll(random | 1024) % 10;
	return (UINT64_C(16) << doublings) + (random >> 32) % (UINT64_C(16) << doublings);
}

static void write_trace(const char *path, uint64_t events, uint32_t threads, uint64_t live)
{
	struct support_options options = {.full = true, .compressed = true, .chunk_bytes = CHUNK_LARGE_BYTES};
	struct support_trace *trace = support_open(path, &options);
	uint64_t *blocks = calloc(live, sizeof *blocks), time = 0;
	if (!blocks)
		abort();
	for (uint64_t i = 0, next = 0; i < events; i += 2) {
		uint32_t thread = 1 + (uint32_t)(i / 64 % threads);
		uint64_t at = i / 2 < live ? i / 2 : random_next() % live;
		time += 40 + random_next() % 40;
		if (blocks[at])
			put(trace, EVENT_FREE, time, thread, blocks[at], 0);
		else
			blocks[at] = 0x7f0000000000u + 64 * next++;
		put(trace, EVENT_MALLOC, time + 30, thread, blocks[at], some_size());
		if (i % 400000 == 0)
			support_snapshot(trace, time + 30, NULL);
	}
	free(blocks);
	support_end(trace, time + 100);
}

/* Spread evenly over doublings: 0, then 32 KiB to 8 GiB for a CPU; 512 KiB to 1 GiB for all threads. */
static uint64_t capacity_at(enum cache_design design, unsigned i)
{
	if (design == CACHE_PER_THREAD)
		return (uint64_t)(524288 * pow(2048, i / (CAPACITIES - 1.0)));
	return i ? UINT64_C(16384) << i : 0;
}

static struct percpu_options capacities(const char *design)
{
	static const char *const names[] = {"per-cpu", "per-thread"};
	struct percpu_options options = {0};
	for (unsigned d = 0; d < CACHE_DESIGNS; d++) {
		bool wanted = !strcmp(design, names[d]) || !strcmp(design, "both");
		options.capacity_count[d] = wanted ? CAPACITIES : 0;
		for (unsigned i = 0; i < CAPACITIES; i++)
			options.capacities[d][i] = capacity_at((enum cache_design)d, i);
	}
	return options;
}

static int pass(const char *path, const struct percpu_options *options)
{
	struct error error = {0};
	struct rusage usage;
	double start = now_s();
	struct trace *trace = trace_open(path, &error);
	struct percpu *percpu = trace ? percpu_read(trace, options, &error) : NULL;
	if (!percpu)
		return error_print(&error);
	double seconds = now_s() - start;
	const struct percpu_flow *flow = &percpu_totals(percpu)->flow;
	double events = flow->allocs.blocks + flow->frees.blocks;
	getrusage(RUSAGE_SELF, &usage);
	printf("%.1f million events per CPU second (%.0f events, %u capacities), %.0f MiB resident at most\n",
	       1e-6 * events / seconds, events, CAPACITIES, (double)usage.ru_maxrss / 1024);
	for (unsigned d = 0; d < CACHE_DESIGNS; d++)
		for (size_t i = 0; i < options->capacity_count[d]; i += CAPACITIES - 1) {
			struct percpu_result result = percpu_result(percpu, (enum cache_design)d, i);
			printf("  %s, capacity %llu: hits %.4f\n",
			       d == CACHE_PER_CPU ? "per-cpu" : "per-thread",
			       (unsigned long long)result.counts.capacity_bytes, result.hit_ratio);
		}
	percpu_free(percpu);
	trace_close(trace);
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t millions = argc > 1 ? strtoull(argv[1], NULL, 10) : 50;
	uint32_t threads = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 16;
	uint64_t live = argc > 3 ? strtoull(argv[3], NULL, 10) : 200000;
	const struct percpu_options options = capacities(argc > 4 ? argv[4] : "per-cpu");
	char path[] = "/tmp/percpu_speed.XXXXXX";
	int fd = mkstemp(path), status = 1;
	if (fd < 0 || !millions || !threads || threads > 60 || !live)
		return 2;
	close(fd);
	pid_t writer = fork();
	if (writer == 0) {
		write_trace(path, millions * 1000000, threads, live);
		_exit(0);
	}
	if (writer > 0 && waitpid(writer, &status, 0) == writer && status == 0)
		status = pass(path, &options);
	unlink(path);
	return status;
}
