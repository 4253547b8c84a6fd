/*
 * The series of a report: what is known about each interval, and how two snapshots give it.
 *
 * A snapshot holds cumulative sums, counted exactly in both modes, so the difference of two snapshots over
 * the time between them is an exact rate. Levels (resident bytes, threads) are read at the end of the
 * interval. NaN is a value that is not known; it is never 0.
 */
#ifndef MTRACE_SERIES_H
#define MTRACE_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/layout.h"

/* In the order of the columns of series.csv; names, not numbers, are what users see. */
enum series_id {
	SERIES_THROUGHPUT,
	SERIES_LATENCY_MEAN,
	SERIES_LATENCY_P99,
	SERIES_ALLOCS,
	SERIES_ALLOC_BYTES,
	SERIES_FREES,
	SERIES_REALLOCS,
	SERIES_LIVE,
	SERIES_LIVE_LOW, /* sample mode: 95% interval of the estimate; NaN in full mode, which is exact */
	SERIES_LIVE_HIGH,
	SERIES_RSS,
	SERIES_HUGE,
	SERIES_MMAPS,
	SERIES_MUNMAPS,
	SERIES_MREMAPS,
	SERIES_MADVISES,
	SERIES_MPROTECTS,
	SERIES_BRKS,
	SERIES_MINOR_FAULTS,
	SERIES_MAJOR_FAULTS,
	SERIES_CPU_USER,
	SERIES_CPU_SYSTEM,
	SERIES_VOLUNTARY,
	SERIES_INVOLUNTARY,
	SERIES_MIGRATIONS,
	SERIES_THREADS,
	SERIES_LOST,
	SERIES_WRITER_CPU,
	/* What the allocator says of itself (allocstats_series.h), where it can be asked. */
	SERIES_TCMALLOC_ALLOCATED,
	SERIES_TCMALLOC_HEAP,
	SERIES_TCMALLOC_CPU_FREE,	 /* free blocks in per-CPU caches */
	SERIES_TCMALLOC_CPU_UNALLOCATED, /* their capacity that no size class has */
	SERIES_TCMALLOC_THREAD_FREE,
	SERIES_TCMALLOC_CENTRAL_FREE,
	SERIES_TCMALLOC_TRANSFER_FREE,
	SERIES_TCMALLOC_PAGEHEAP_FREE,
	SERIES_TCMALLOC_PAGEHEAP_UNMAPPED,
	SERIES_TCMALLOC_METADATA,
	SERIES_TCMALLOC_UNDERFLOWS,
	SERIES_TCMALLOC_OVERFLOWS,
	SERIES_TCMALLOC_RECLAIMS,
	SERIES_TCMALLOC_LOCK_WAIT, /* in its spinlocks: MongoDB's gperftools alone says */
	/* Committed bytes by kind of owner, in the order of enum owner_kind (regions_owner.h). */
	SERIES_COMMITTED_TCMALLOC_NORMAL,
	SERIES_COMMITTED_TCMALLOC_SAMPLED,
	SERIES_COMMITTED_TCMALLOC_COLD,
	SERIES_COMMITTED_TCMALLOC_METADATA,
	SERIES_COMMITTED_GPERFTOOLS,
	SERIES_COMMITTED_PTMALLOC_HEAP,
	SERIES_COMMITTED_PTMALLOC_ARENA,
	SERIES_COMMITTED_PTMALLOC_MMAP,
	SERIES_COMMITTED_WIREDTIGER,
	SERIES_COMMITTED_MMAP,
	SERIES_COMMITTED_THREAD_STACK,
	SERIES_COMMITTED_FILE,
	SERIES_COMMITTED_PROGRAM,
	SERIES_COMMITTED_LIBRARY,
	SERIES_COMMITTED_MTRACE,
	SERIES_COMMITTED_OTHER,
	/* What threads did with locks (locksums.h), where MTRACE_LOCKS=1 recorded it. */
	SERIES_LOCK_OPERATIONS,
	SERIES_LOCK_CONTENDED,
	SERIES_LOCK_WAIT,
	SERIES_LOCK_ATOMICS, /* instructions that these operations took: locks_exposure.h */
	/* Live blocks on resident memory (hugeblocks.h), where the trace holds looks at pages: not at every
	 * row.
	 */
	SERIES_ALLOCATOR_RESIDENT, /* of the allocator's regions */
	SERIES_ALLOCATOR_HUGE,	   /* of them, on huge pages */
	SERIES_UNUSED,		   /* resident there, covered by no live block */
	SERIES_UNUSED_LOW,	   /* sample mode: 95% interval */
	SERIES_UNUSED_HIGH,
	SERIES_BLOAT, /* of the unused, on huge pages */
	SERIES_BLOAT_LOW,
	SERIES_BLOAT_HIGH,
	/* Of all memory (coverage.h), where the trace tells about pages: not at every row. */
	SERIES_HUGE_MAPPED,   /* on huge pages, files and shared memory included */
	SERIES_HUGE_ELIGIBLE, /* what could be on huge pages */
	SERIES_HUGE_BROKEN,   /* resident, and was on a huge page that is gone */
	SERIES_HUGE_COVERAGE, /* huge / resident */
	SERIES_HUGE_COVERAGE_ELIGIBLE,
	/* What mongod itself recorded (ftdc_series.h), in timelines of their own. */
	SERIES_SERVER_INSERTS,
	SERIES_SERVER_QUERIES,
	SERIES_SERVER_UPDATES,
	SERIES_SERVER_DELETES,
	SERIES_SERVER_GETMORES,
	SERIES_SERVER_COMMANDS,
	SERIES_SERVER_CONNECTIONS,
	SERIES_SERVER_FLOW_CONTROL,
	SERIES_SERVER_LAG,
	SERIES_SERVER_RESIDENT,
	SERIES_SERVER_HEAP,
	SERIES_SERVER_ALLOCATED,
	SERIES_SERVER_CPU_FREE,
	SERIES_SERVER_PAGEHEAP_FREE,
	SERIES_SERVER_CACHE,
	SERIES_SERVER_CACHE_FILL,
	SERIES_SERVER_CACHE_DIRTY,
	SERIES_SERVER_CACHE_READ,
	SERIES_SERVER_CACHE_WRITTEN,
	SERIES_SERVER_EVICTED,
	SERIES_SERVER_EVICTED_APP,
	SERIES_SERVER_CHECKPOINT,
	SERIES_SERVER_ANON_HUGE,
	SERIES_SERVER_AVAILABLE,
	SERIES_SERVER_THP_FAULTS,
	SERIES_SERVER_THP_FALLBACKS,
	SERIES_SERVER_THP_COLLAPSES,
	SERIES_SERVER_MAJOR_FAULTS,
	SERIES_SERVER_DISK_READ,
	SERIES_SERVER_DISK_WRITTEN,
	SERIES_SERVER_CPU_USER,
	SERIES_SERVER_CPU_SYSTEM,
	SERIES_SERVER_CPU_IOWAIT,
	SERIES_SERVER_PRESSURE_CPU,
	SERIES_SERVER_PRESSURE_MEMORY,
	SERIES_SERVER_PRESSURE_IO,
	SERIES_COUNT,
};

#define SERIES_SERVER_FIRST    SERIES_SERVER_INSERTS
#define SERIES_SERVER_LAST     SERIES_SERVER_PRESSURE_IO
#define SERIES_COMMITTED_FIRST SERIES_COMMITTED_TCMALLOC_NORMAL
#define SERIES_COMMITTED_LAST  SERIES_COMMITTED_OTHER

enum series_kind {
	SERIES_RATE,  /* a mean over the interval */
	SERIES_LEVEL, /* a reading at its end */
};

struct series_info {
	const char *name;  /* stable: column of series.csv, `name` in report.json */
	const char *title; /* for people */
	const char *unit;  /* "ops/s", "bytes", "bytes/s", "calls/s", "us", "CPUs", ... */
	enum series_kind kind;
	bool from_ycsb;	 /* else from the trace */
	bool correlated; /* tested against throughput: not throughput, nor what follows from it, nor bounds */
	bool optional; /* most programs do not have it: left out, not "not measured", where no row knows it */
};

extern const struct series_info series_infos[SERIES_COUNT];

/*
 * Fills in what two snapshots of one trace say about the interval between them; every other value becomes
 * NaN. `before` may be NULL: the interval starts with the process, where the shim's counters were 0 and the
 * kernel's (CPU time, faults, switches) are not known, since they survive exec. A counter that went back
 * gives NaN.
 */
void series_between(const struct snapshot *before, const struct snapshot *after, double length_s,
		    double values[SERIES_COUNT]);

/* Of a server's own data; no other timeline has a value of it, and such a one has no other but the client's.
 */
static inline bool series_from_server(enum series_id id)
{
	return id >= SERIES_SERVER_FIRST && id <= SERIES_SERVER_LAST;
}

/* Events lost up to this snapshot, over all causes; SNAPSHOT_UNKNOWN where one of them is. */
uint64_t series_lost(const struct snapshot *snapshot);

#endif
