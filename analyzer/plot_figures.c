#include "analyzer/plot_figures.h"

#define LINE(series_, color_, title_)                                                                        \
	{                                                                                                    \
		.series = series_, .color = color_, .title = title_                                          \
	}
#define DASHED(series_, color_, title_)                                                                      \
	{                                                                                                    \
		.series = series_, .color = color_, .title = title_, .dashed = true                          \
	}
#define POINTS(series_, color_, title_)                                                                      \
	{                                                                                                    \
		.series = series_, .color = color_, .title = title_, .points = true                          \
	}
#define AREA(low_, high_, color_, title_)                                                                    \
	{                                                                                                    \
		.series = low_, .upper = high_, .color = color_, .title = title_                             \
	}

/* clang-format off */
const struct figure_plan figure_plans[] = {
	{ "overview", "Throughput above memory, allocator calls, region calls and page faults", 980, false, NEEDS_ANY, {
		{ "ops/s", 1.15, {
			LINE(SERIES_THROUGHPUT, PLOT_BLACK, "throughput")} },
		{ "bytes", 1.15, {
			LINE(SERIES_RSS, PLOT_VERMILLION, "RSS"),
			AREA(SERIES_LIVE_LOW, SERIES_LIVE_HIGH, PLOT_BLUE, "live bytes, 95% interval"),
			LINE(SERIES_LIVE, PLOT_BLUE, "live bytes"),
			LINE(SERIES_HUGE, PLOT_GREEN, "AnonHugePages")} },
		{ "calls/s", 1, {
			LINE(SERIES_ALLOCS, PLOT_BLUE, "allocations"),
			DASHED(SERIES_FREES, PLOT_VERMILLION, "frees"),
			LINE(SERIES_REALLOCS, PLOT_GREEN, "reallocs")} },
		{ "calls/s", 1, {
			LINE(SERIES_MMAPS, PLOT_BLUE, "mmap"),
			LINE(SERIES_MUNMAPS, PLOT_VERMILLION, "munmap"),
			LINE(SERIES_MADVISES, PLOT_GREEN, "madvise"),
			LINE(SERIES_MPROTECTS, PLOT_PURPLE, "mprotect"),
			LINE(SERIES_BRKS, PLOT_ORANGE, "brk")} },
		{ "faults/s", 1, {
			LINE(SERIES_MINOR_FAULTS, PLOT_BLUE, "minor faults"),
			LINE(SERIES_MAJOR_FAULTS, PLOT_VERMILLION, "major faults")} } } },
	{ "latency", "Throughput above the client's latency: mean, and the p99 of the slowest operation", 620, true, NEEDS_ANY, {
		{ "ops/s", 1, {LINE(SERIES_THROUGHPUT, PLOT_BLACK, "throughput")} },
		{ "us", 1, {LINE(SERIES_LATENCY_MEAN, PLOT_BLUE, "mean latency")} },
		{ "us", 1, {LINE(SERIES_LATENCY_P99, PLOT_VERMILLION, "p99, slowest operation")} } } },
	{ "cpu", "Allocated bytes, CPU time, context switches, CPU migrations and threads", 900, false, NEEDS_ANY, {
		{ "bytes/s", 1, {LINE(SERIES_ALLOC_BYTES, PLOT_BLUE, "allocated bytes")} },
		{ "CPUs", 1, {
			LINE(SERIES_CPU_USER, PLOT_BLUE, "user"),
			LINE(SERIES_CPU_SYSTEM, PLOT_VERMILLION, "system"),
			LINE(SERIES_WRITER_CPU, PLOT_GREEN, "trace writer")} },
		{ "switches/s", 1, {
			LINE(SERIES_VOLUNTARY, PLOT_BLUE, "voluntary"),
			LINE(SERIES_INVOLUNTARY, PLOT_VERMILLION, "involuntary")} },
		{ "migrations/s", 0.8, {LINE(SERIES_MIGRATIONS, PLOT_BLUE, "migrations seen")} },
		{ "threads", 0.8, {LINE(SERIES_THREADS, PLOT_BLUE, "threads")} } } },
	{ "tcmalloc", "What the allocator says of itself: heap, free memory in its tiers, misses of per-CPU caches", 820, false, NEEDS_ANY, {
		{ "bytes", 1, {
			LINE(SERIES_TCMALLOC_HEAP, PLOT_VERMILLION, "heap"),
			LINE(SERIES_TCMALLOC_ALLOCATED, PLOT_BLUE, "allocated"),
			LINE(SERIES_TCMALLOC_PAGEHEAP_UNMAPPED, PLOT_GREEN, "returned to the kernel")} },
		{ "bytes", 1, {
			LINE(SERIES_TCMALLOC_CPU_FREE, PLOT_BLUE, "per-CPU caches"),
			LINE(SERIES_TCMALLOC_THREAD_FREE, PLOT_VERMILLION, "thread caches"),
			LINE(SERIES_TCMALLOC_TRANSFER_FREE, PLOT_GREEN, "transfer cache"),
			LINE(SERIES_TCMALLOC_CENTRAL_FREE, PLOT_PURPLE, "central cache"),
			LINE(SERIES_TCMALLOC_PAGEHEAP_FREE, PLOT_ORANGE, "page heap")} },
		{ "misses/s", 1, {
			LINE(SERIES_TCMALLOC_UNDERFLOWS, PLOT_BLUE, "underflows"),
			LINE(SERIES_TCMALLOC_OVERFLOWS, PLOT_VERMILLION, "overflows")} },
		{ "ns/s", 0.8, {LINE(SERIES_TCMALLOC_LOCK_WAIT, PLOT_BLUE, "wait for its spinlocks")} } } },
	{ "locks", "Operations on locks, how many had to wait, and for how long all threads together", 700, false,
	  SERIES_LOCK_OPERATIONS, {
		{ "ops/s", 0.8, {LINE(SERIES_THROUGHPUT, PLOT_BLACK, "throughput")} },
		{ "calls/s", 1, {
			LINE(SERIES_LOCK_OPERATIONS, PLOT_BLUE, "operations")} },
		{ "calls/s", 0.8, {
			LINE(SERIES_LOCK_CONTENDED, PLOT_VERMILLION, "had to wait")} },
		{ "ns/s", 0.8, {LINE(SERIES_LOCK_WAIT, PLOT_PURPLE, "wait, all threads")} } } },
	{ "coverage", "Huge pages: what is resident, what could be and what is on them, and their shares", 780, false,
	  SERIES_HUGE_MAPPED, {
		{ "ops/s", 0.8, {LINE(SERIES_THROUGHPUT, PLOT_BLACK, "throughput")} },
		{ "bytes", 1, {
			LINE(SERIES_RSS, PLOT_VERMILLION, "RSS"),
			POINTS(SERIES_HUGE_ELIGIBLE, PLOT_BLUE, "could be on huge pages"),
			POINTS(SERIES_HUGE_MAPPED, PLOT_GREEN, "on huge pages")} },
		{ "%", 1, {
			POINTS(SERIES_HUGE_COVERAGE, PLOT_GREEN, "of what is resident"),
			POINTS(SERIES_HUGE_COVERAGE_ELIGIBLE, PLOT_BLUE, "of what could be")} },
		{ "bytes", 0.8, {
			POINTS(SERIES_HUGE_BROKEN, PLOT_PURPLE, "broken")} } } },
	{ "unused", "Memory of the allocator: resident, on huge pages, and what no live block covers", 780, false,
	  SERIES_ALLOCATOR_RESIDENT, {
		{ "ops/s", 0.8, {LINE(SERIES_THROUGHPUT, PLOT_BLACK, "throughput")} },
		{ "bytes", 1, {
			POINTS(SERIES_ALLOCATOR_RESIDENT, PLOT_VERMILLION, "resident, allocator"),
			POINTS(SERIES_ALLOCATOR_HUGE, PLOT_GREEN, "of it on huge pages"),
			LINE(SERIES_LIVE, PLOT_BLUE, "live bytes")} },
		{ "bytes", 1, {
			AREA(SERIES_UNUSED_LOW, SERIES_UNUSED_HIGH, PLOT_VERMILLION, "unused, 95% interval"),
			POINTS(SERIES_UNUSED, PLOT_VERMILLION, "resident, no live block"),
			AREA(SERIES_BLOAT_LOW, SERIES_BLOAT_HIGH, PLOT_GREEN, "bloat, 95% interval"),
			POINTS(SERIES_BLOAT, PLOT_GREEN, "of it on huge pages")} },
		{ "bytes", 0.8, {
			LINE(SERIES_TCMALLOC_PAGEHEAP_FREE, PLOT_ORANGE, "free: page heap"),
			LINE(SERIES_TCMALLOC_CPU_FREE, PLOT_BLUE, "free: per-CPU caches"),
			LINE(SERIES_TCMALLOC_CENTRAL_FREE, PLOT_PURPLE, "free: central cache"),
			LINE(SERIES_TCMALLOC_TRANSFER_FREE, PLOT_GREEN, "free: transfer cache"),
			LINE(SERIES_TCMALLOC_THREAD_FREE, PLOT_VERMILLION, "free: thread caches")} } } },
	{ "server", "mongod's own data: throughput, operations, WiredTiger's cache, memory", 980, false, NEEDS_ANY, {
		{ "ops/s", 1, {LINE(SERIES_THROUGHPUT, PLOT_BLACK, "throughput, client")} },
		{ "ops/s", 1, {
			LINE(SERIES_SERVER_QUERIES, PLOT_BLUE, "queries"),
			LINE(SERIES_SERVER_UPDATES, PLOT_VERMILLION, "updates"),
			LINE(SERIES_SERVER_INSERTS, PLOT_GREEN, "inserts"),
			LINE(SERIES_SERVER_GETMORES, PLOT_PURPLE, "getmores"),
			LINE(SERIES_SERVER_COMMANDS, PLOT_ORANGE, "commands")} },
		{ "%", 0.9, {
			LINE(SERIES_SERVER_CACHE_FILL, PLOT_BLUE, "cache, full"),
			LINE(SERIES_SERVER_CACHE_DIRTY, PLOT_VERMILLION, "cache, dirty")} },
		{ "pages/s", 0.9, {
			LINE(SERIES_SERVER_CACHE_READ, PLOT_BLUE, "read into the cache"),
			LINE(SERIES_SERVER_CACHE_WRITTEN, PLOT_VERMILLION, "written"),
			LINE(SERIES_SERVER_EVICTED, PLOT_GREEN, "evicted"),
			LINE(SERIES_SERVER_EVICTED_APP, PLOT_PURPLE, "evicted by clients' threads")} },
		{ "bytes", 1, {
			LINE(SERIES_SERVER_RESIDENT, PLOT_VERMILLION, "resident"),
			LINE(SERIES_SERVER_HEAP, PLOT_ORANGE, "heap"),
			LINE(SERIES_SERVER_ALLOCATED, PLOT_BLUE, "allocated"),
			LINE(SERIES_SERVER_ANON_HUGE, PLOT_GREEN, "AnonHugePages, machine")} } } },
	{ "machine", "mongod's own data: disks, pressure, CPU, huge pages of the machine, replication lag", 900, false, NEEDS_ANY, {
		{ "bytes/s", 1, {
			LINE(SERIES_SERVER_DISK_READ, PLOT_BLUE, "disks, read"),
			LINE(SERIES_SERVER_DISK_WRITTEN, PLOT_VERMILLION, "disks, written")} },
		{ "%", 1, {
			LINE(SERIES_SERVER_PRESSURE_CPU, PLOT_BLUE, "pressure, CPU"),
			LINE(SERIES_SERVER_PRESSURE_MEMORY, PLOT_VERMILLION, "memory"),
			LINE(SERIES_SERVER_PRESSURE_IO, PLOT_GREEN, "disks")} },
		{ "CPUs", 1, {
			LINE(SERIES_SERVER_CPU_USER, PLOT_BLUE, "user"),
			LINE(SERIES_SERVER_CPU_SYSTEM, PLOT_VERMILLION, "system"),
			LINE(SERIES_SERVER_CPU_IOWAIT, PLOT_GREEN, "waiting for disks")} },
		{ "pages/s", 0.8, {
			LINE(SERIES_SERVER_THP_FAULTS, PLOT_BLUE, "huge pages by fault"),
			LINE(SERIES_SERVER_THP_FALLBACKS, PLOT_VERMILLION, "refused"),
			LINE(SERIES_SERVER_THP_COLLAPSES, PLOT_GREEN, "by khugepaged")} },
		{ "s", 0.8, {LINE(SERIES_SERVER_LAG, PLOT_BLUE, "replication lag")} } } },
};
/* clang-format on */

const size_t figure_plan_count = sizeof figure_plans / sizeof *figure_plans;
