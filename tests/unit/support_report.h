/*
 * A traced run and the YCSB output that goes with it, second by second: load_of(k) sets the allocations and
 * the throughput of second k alike; one block of each second is kept. Minor faults follow another pattern,
 * resident bytes never change.
 */
#ifndef MTRACE_TESTS_SUPPORT_REPORT_H
#define MTRACE_TESTS_SUPPORT_REPORT_H

#include <math.h>
#include <stdio.h>

#include "tests/unit/support_trace.h"

#define RUN_SECOND	UINT64_C(1000000000)
#define RUN_BLOCK_BYTES 100
#define RUN_RSS_BYTES	(UINT64_C(64) << 20)
#define RUN_STACK	1
#define RUN_START_STAMP_S                                                                                    \
	80000 /* SUPPORT_START_REALTIME_NS is 2023-11-14 22:13:20 UTC: seconds of that day */

/* Without memory from one second to the next (a hash: splitmix64's finalizer), so that few intervals suffice.
 */
static inline unsigned run_noise(uint64_t second, uint64_t seed)
{
	uint64_t x = second * UINT64_C(0x9e3779b97f4a7c15) + seed;
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return (unsigned)((x ^ x >> 31) % 64);
}

static inline unsigned load_of(uint64_t second)
{
	return 80 + run_noise(second, 1);
}

/* Events of one second: load_of() allocations, all but the first freed again. */
static inline void run_events(struct support_trace *trace, uint64_t second)
{
	uint64_t start = second * RUN_SECOND, kept = UINT64_C(0x10000000) + second * 4096;
	support_malloc(trace, 1, start + 1000, kept, RUN_BLOCK_BYTES, RUN_STACK);
	for (unsigned i = 1; i < load_of(second); i++) {
		support_malloc(trace, 1, start + i * 100000, UINT64_C(0x20000000), RUN_BLOCK_BYTES,
			       RUN_STACK);
		support_free_block(trace, 1, start + i * 100000 + 50000, UINT64_C(0x20000000));
	}
}

static inline struct snapshot run_fields(uint64_t seconds)
{
	struct snapshot fields = {
		.rss_bytes = RUN_RSS_BYTES, .anon_huge_bytes = SNAPSHOT_UNKNOWN, .threads_live = 3};
	for (uint64_t k = 0; k < seconds; k++)
		fields.minor_faults += 1000 + run_noise(k, 99);
	fields.user_cpu_us = 700000 * seconds;
	return fields;
}

/* Begins a trace with its stack and module; the module's name tries to break out of every output. */
static inline struct support_trace *run_open(const char *path, const struct support_options *options)
{
	static const uint64_t frames[] = {0x400100, 0x400200};
	struct support_trace *trace = support_open(path, options);
	support_module(trace, 0x400000, 0x500000, 0x400000, "/gone/<script>alert(1)&'\"=,@x`id`", NULL, 0);
	support_stack(trace, 1, RUN_STACK, frames, 2);
	return trace;
}

static inline void run_seconds(struct support_trace *trace, uint64_t first, uint64_t seconds)
{
	for (uint64_t k = first; k < first + seconds; k++) {
		run_events(trace, k);
		struct snapshot fields = run_fields(k + 1);
		support_snapshot(trace, (k + 1) * RUN_SECOND, &fields);
	}
}

/* A whole trace in full mode. */
static inline void run_trace(const char *path, uint64_t seconds)
{
	struct support_trace *trace = run_open(path, &(struct support_options){.full = true});
	run_seconds(trace, 0, seconds);
	support_end(trace, seconds * RUN_SECOND);
}

/*
 * What a Java client printed that ran through seconds first..first + seconds of the trace: status lines every
 * `every` seconds, stamped in local time `zone_s` east of UTC, and the summary.
 */
static inline void run_client(FILE *file, uint64_t first, uint64_t seconds, uint64_t every, long zone_s,
			      bool load)
{
	uint64_t operations = 0;
	fprintf(file, "java -cp x site.ycsb.Client %s -s -threads 4\n", load ? "-load" : "-t");
	for (uint64_t k = 0; k <= seconds; k++) {
		long stamp = RUN_START_STAMP_S + (long)(first + k) + zone_s;
		if (k > 0)
			operations += 10 * load_of(first + k - 1);
		if (k % every)
			continue;
		fprintf(file, "2023-11-%02ld %02ld:%02ld:%02ld:000 %llu sec: %llu operations; ",
			14 + stamp / 86400, stamp / 3600 % 24, stamp / 60 % 60, stamp % 60,
			(unsigned long long)k, (unsigned long long)operations);
		if (k > 0)
			fprintf(file,
				"1 current ops/sec; est completion in 1 second [%s: Count=%u, Max=900, "
				"Min=90, "
				"Avg=200, 90=300, 99=800, 99.9=900, 99.99=900] ",
				load ? "INSERT" : "READ", 10 * load_of(first + k - 1));
		fputc('\n', file);
	}
	fprintf(file,
		"[OVERALL], RunTime(ms), %llu\n[OVERALL], Throughput(ops/sec), %.1f\n[%s], Operations, %llu\n"
		"[%s], AverageLatency(us), 200.5\n[%s], MinLatency(us), 90\n[%s], MaxLatency(us), 900\n"
		"[%s], 95thPercentileLatency(us), 400\n[%s], 99thPercentileLatency(us), 800\n[%s], "
		"Return=OK, %llu\n",
		(unsigned long long)seconds * 1000, (double)operations / (double)seconds,
		load ? "INSERT" : "READ", (unsigned long long)operations, load ? "INSERT" : "READ",
		load ? "INSERT" : "READ", load ? "INSERT" : "READ", load ? "INSERT" : "READ",
		load ? "INSERT" : "READ", load ? "INSERT" : "READ", (unsigned long long)operations);
}

#endif
