#include "analyzer/series.h"

#include <math.h>

#define TRACE_RATE(name_, title_, unit_)                                                                     \
	{                                                                                                    \
		name_, title_, unit_, SERIES_RATE, false, true, false                                        \
	}
#define TRACE_LEVEL(name_, title_, unit_)                                                                    \
	{                                                                                                    \
		name_, title_, unit_, SERIES_LEVEL, false, true, false                                       \
	}
#define CLIENT_RATE(name_, title_, unit_)                                                                    \
	{                                                                                                    \
		name_, title_, unit_, SERIES_RATE, true, false, false                                        \
	}

#define ALLOCATOR_RATE(name_, title_, unit_)                                                                 \
	{                                                                                                    \
		name_, title_, unit_, SERIES_RATE, false, true, true                                         \
	}
#define ALLOCATOR_LEVEL(name_, title_)                                                                       \
	{                                                                                                    \
		name_, title_, "bytes", SERIES_LEVEL, false, true, true                                      \
	}

/* What follows from other series. */
#define DERIVED_RATE(name_, title_, unit_)                                                                   \
	{                                                                                                    \
		name_, title_, unit_, SERIES_RATE, false, false, true                                        \
	}

#define OWNED(name_, title_)                                                                                 \
	{                                                                                                    \
		name_, title_, "bytes", SERIES_LEVEL, false, true, true                                      \
	}
/* What hardly moves once the program has started, and the tracer's own, is not tested against throughput. */
#define OWNED_FIXED(name_, title_)                                                                           \
	{                                                                                                    \
		name_, title_, "bytes", SERIES_LEVEL, false, false, true                                     \
	}

#define MEMORY_SHARE(name_, title_)                                                                          \
	{                                                                                                    \
		name_, title_, "%", SERIES_LEVEL, false, true, true                                          \
	}
/* What follows from other series, and bounds. */
#define MEMORY_BOUND(name_, title_)                                                                          \
	{                                                                                                    \
		name_, title_, "bytes", SERIES_LEVEL, false, false, true                                     \
	}

#define SERVER_RATE(name_, title_, unit_) ALLOCATOR_RATE(name_, title_, unit_)
#define SERVER_LEVEL(name_, title_, unit_)                                                                   \
	{                                                                                                    \
		name_, title_, unit_, SERIES_LEVEL, false, true, true                                        \
	}

const struct series_info series_infos[SERIES_COUNT] = {
	[SERIES_THROUGHPUT] = CLIENT_RATE("throughput_ops_s", "throughput", "ops/s"),
	[SERIES_LATENCY_MEAN] = CLIENT_RATE("latency_mean_us", "mean latency", "us"),
	[SERIES_LATENCY_P99] = CLIENT_RATE("latency_p99_worst_us", "p99 latency, slowest operation", "us"),
	[SERIES_ALLOCS] = TRACE_RATE("allocs_per_s", "allocations", "calls/s"),
	[SERIES_ALLOC_BYTES] = TRACE_RATE("alloc_bytes_per_s", "allocated bytes", "bytes/s"),
	[SERIES_FREES] = TRACE_RATE("frees_per_s", "frees", "calls/s"),
	[SERIES_REALLOCS] = TRACE_RATE("reallocs_per_s", "reallocs", "calls/s"),
	[SERIES_LIVE] = TRACE_LEVEL("live_bytes", "live bytes", "bytes"),
	[SERIES_LIVE_LOW] = {"live_bytes_low", "live bytes, low", "bytes", SERIES_LEVEL, false, false, false},
	[SERIES_LIVE_HIGH] = {"live_bytes_high", "live bytes, high", "bytes", SERIES_LEVEL, false, false,
			      false},
	[SERIES_RSS] = TRACE_LEVEL("rss_bytes", "RSS", "bytes"),
	[SERIES_HUGE] = TRACE_LEVEL("anon_huge_bytes", "AnonHugePages", "bytes"),
	[SERIES_MMAPS] = TRACE_RATE("mmaps_per_s", "mmap", "calls/s"),
	[SERIES_MUNMAPS] = TRACE_RATE("munmaps_per_s", "munmap", "calls/s"),
	[SERIES_MREMAPS] = TRACE_RATE("mremaps_per_s", "mremap", "calls/s"),
	[SERIES_MADVISES] = TRACE_RATE("madvises_per_s", "madvise", "calls/s"),
	[SERIES_MPROTECTS] = TRACE_RATE("mprotects_per_s", "mprotect", "calls/s"),
	[SERIES_BRKS] = TRACE_RATE("brks_per_s", "brk", "calls/s"),
	[SERIES_MINOR_FAULTS] = TRACE_RATE("minor_faults_per_s", "minor faults", "faults/s"),
	[SERIES_MAJOR_FAULTS] = TRACE_RATE("major_faults_per_s", "major faults", "faults/s"),
	[SERIES_CPU_USER] = TRACE_RATE("cpu_user", "user CPU", "CPUs"),
	[SERIES_CPU_SYSTEM] = TRACE_RATE("cpu_system", "system CPU", "CPUs"),
	[SERIES_VOLUNTARY] = TRACE_RATE("voluntary_switches_per_s", "voluntary switches", "switches/s"),
	[SERIES_INVOLUNTARY] = TRACE_RATE("involuntary_switches_per_s", "involuntary switches", "switches/s"),
	[SERIES_MIGRATIONS] = TRACE_RATE("migrations_seen_per_s", "CPU migrations seen", "migrations/s"),
	[SERIES_THREADS] = TRACE_LEVEL("threads", "threads", "threads"),
	[SERIES_LOST] = TRACE_RATE("lost_events_per_s", "lost events", "events/s"),
	[SERIES_WRITER_CPU] = TRACE_RATE("writer_cpu", "trace writer CPU", "CPUs"),
	[SERIES_TCMALLOC_ALLOCATED] = ALLOCATOR_LEVEL("tcmalloc_allocated_bytes", "allocated, by TCMalloc"),
	[SERIES_TCMALLOC_HEAP] = ALLOCATOR_LEVEL("tcmalloc_heap_bytes", "TCMalloc heap"),
	[SERIES_TCMALLOC_CPU_FREE] = ALLOCATOR_LEVEL("tcmalloc_cpu_free_bytes", "free in per-CPU caches"),
	[SERIES_TCMALLOC_CPU_UNALLOCATED] =
		ALLOCATOR_LEVEL("tcmalloc_cpu_unallocated_bytes", "unallocated capacity of per-CPU caches"),
	[SERIES_TCMALLOC_THREAD_FREE] =
		ALLOCATOR_LEVEL("tcmalloc_thread_free_bytes", "free in thread caches"),
	[SERIES_TCMALLOC_CENTRAL_FREE] =
		ALLOCATOR_LEVEL("tcmalloc_central_free_bytes", "free in the central cache"),
	[SERIES_TCMALLOC_TRANSFER_FREE] =
		ALLOCATOR_LEVEL("tcmalloc_transfer_free_bytes", "free in the transfer cache"),
	[SERIES_TCMALLOC_PAGEHEAP_FREE] =
		ALLOCATOR_LEVEL("tcmalloc_pageheap_free_bytes", "free in the page heap"),
	[SERIES_TCMALLOC_PAGEHEAP_UNMAPPED] =
		ALLOCATOR_LEVEL("tcmalloc_pageheap_unmapped_bytes", "page heap, returned to the kernel"),
	[SERIES_TCMALLOC_METADATA] = ALLOCATOR_LEVEL("tcmalloc_metadata_bytes", "TCMalloc metadata"),
	[SERIES_TCMALLOC_UNDERFLOWS] =
		ALLOCATOR_RATE("tcmalloc_underflows_per_s", "per-CPU cache underflows", "misses/s"),
	[SERIES_TCMALLOC_OVERFLOWS] =
		ALLOCATOR_RATE("tcmalloc_overflows_per_s", "per-CPU cache overflows", "misses/s"),
	[SERIES_TCMALLOC_RECLAIMS] =
		ALLOCATOR_RATE("tcmalloc_reclaims_per_s", "per-CPU cache reclaims", "reclaims/s"),
	[SERIES_TCMALLOC_LOCK_WAIT] =
		ALLOCATOR_RATE("tcmalloc_lock_wait_ns_per_s", "wait for TCMalloc's locks", "ns/s"),
	[SERIES_COMMITTED_TCMALLOC_NORMAL] =
		OWNED("committed_tcmalloc_normal_bytes", "committed: TCMalloc normal"),
	[SERIES_COMMITTED_TCMALLOC_SAMPLED] =
		OWNED("committed_tcmalloc_sampled_bytes", "committed: TCMalloc sampled"),
	[SERIES_COMMITTED_TCMALLOC_COLD] = OWNED("committed_tcmalloc_cold_bytes", "committed: TCMalloc cold"),
	[SERIES_COMMITTED_TCMALLOC_METADATA] =
		OWNED("committed_tcmalloc_metadata_bytes", "committed: TCMalloc metadata"),
	[SERIES_COMMITTED_GPERFTOOLS] = OWNED("committed_gperftools_bytes", "committed: gperftools"),
	[SERIES_COMMITTED_PTMALLOC_HEAP] = OWNED("committed_ptmalloc_heap_bytes", "committed: ptmalloc heap"),
	[SERIES_COMMITTED_PTMALLOC_ARENA] =
		OWNED("committed_ptmalloc_arena_bytes", "committed: ptmalloc arenas"),
	[SERIES_COMMITTED_PTMALLOC_MMAP] =
		OWNED("committed_ptmalloc_mmap_bytes", "committed: ptmalloc large blocks"),
	[SERIES_COMMITTED_WIREDTIGER] = OWNED("committed_wiredtiger_bytes", "committed: WiredTiger"),
	[SERIES_COMMITTED_MMAP] = OWNED("committed_mmap_bytes", "committed: other mmap"),
	[SERIES_COMMITTED_THREAD_STACK] = OWNED("committed_thread_stack_bytes", "committed: thread stacks"),
	[SERIES_COMMITTED_FILE] = OWNED("committed_file_bytes", "committed: files"),
	[SERIES_COMMITTED_PROGRAM] = OWNED_FIXED("committed_program_bytes", "committed: program"),
	[SERIES_COMMITTED_LIBRARY] = OWNED_FIXED("committed_library_bytes", "committed: libraries"),
	[SERIES_COMMITTED_MTRACE] = OWNED_FIXED("committed_mtrace_bytes", "committed: mtrace"),
	[SERIES_COMMITTED_OTHER] = OWNED("committed_other_bytes", "committed: other memory"),
	[SERIES_LOCK_OPERATIONS] = ALLOCATOR_RATE("lock_operations_per_s", "operations on locks", "calls/s"),
	[SERIES_LOCK_CONTENDED] =
		ALLOCATOR_RATE("lock_contended_per_s", "calls that wait for a lock", "calls/s"),
	[SERIES_LOCK_WAIT] = ALLOCATOR_RATE("lock_wait_ns_per_s", "wait for locks, all threads", "ns/s"),
	[SERIES_LOCK_ATOMICS] =
		DERIVED_RATE("lock_atomics_per_s", "atomic instructions of lock calls", "instructions/s"),
	[SERIES_ALLOCATOR_RESIDENT] =
		MEMORY_BOUND("allocator_resident_bytes", "resident memory of the allocator"),
	[SERIES_ALLOCATOR_HUGE] = ALLOCATOR_LEVEL("allocator_huge_bytes", "the allocator's on huge pages"),
	[SERIES_UNUSED] = ALLOCATOR_LEVEL("unused_bytes", "resident without a live block"),
	[SERIES_UNUSED_LOW] = MEMORY_BOUND("unused_bytes_low", "resident without a live block, low"),
	[SERIES_UNUSED_HIGH] = MEMORY_BOUND("unused_bytes_high", "resident without a live block, high"),
	[SERIES_BLOAT] = ALLOCATOR_LEVEL("bloat_bytes", "huge pages without a live block"),
	[SERIES_BLOAT_LOW] = MEMORY_BOUND("bloat_bytes_low", "huge pages without a live block, low"),
	[SERIES_BLOAT_HIGH] = MEMORY_BOUND("bloat_bytes_high", "huge pages without a live block, high"),
	[SERIES_HUGE_MAPPED] = MEMORY_BOUND("huge_bytes", "on huge pages"),
	[SERIES_HUGE_ELIGIBLE] = MEMORY_BOUND("huge_eligible_bytes", "could be on huge pages"),
	[SERIES_HUGE_BROKEN] = ALLOCATOR_LEVEL("huge_broken_bytes", "was on huge pages that are gone"),
	[SERIES_HUGE_COVERAGE] = MEMORY_SHARE("huge_coverage", "on huge pages, of what is resident"),
	[SERIES_HUGE_COVERAGE_ELIGIBLE] =
		MEMORY_SHARE("huge_coverage_eligible", "on huge pages, of what could be"),
	[SERIES_SERVER_INSERTS] = SERVER_RATE("server_inserts_per_s", "inserts", "ops/s"),
	[SERIES_SERVER_QUERIES] = SERVER_RATE("server_queries_per_s", "queries", "ops/s"),
	[SERIES_SERVER_UPDATES] = SERVER_RATE("server_updates_per_s", "updates", "ops/s"),
	[SERIES_SERVER_DELETES] = SERVER_RATE("server_deletes_per_s", "deletes", "ops/s"),
	[SERIES_SERVER_GETMORES] = SERVER_RATE("server_getmores_per_s", "getmores", "ops/s"),
	[SERIES_SERVER_COMMANDS] = SERVER_RATE("server_commands_per_s", "commands", "ops/s"),
	[SERIES_SERVER_CONNECTIONS] = SERVER_LEVEL("server_connections", "connections", "connections"),
	[SERIES_SERVER_FLOW_CONTROL] =
		SERVER_RATE("server_flow_control_wait_share", "wait for flow control", "us/s"),
	[SERIES_SERVER_LAG] = SERVER_LEVEL("server_replication_lag_s", "replication lag", "s"),
	[SERIES_SERVER_RESIDENT] = SERVER_LEVEL("server_resident_bytes", "resident, mongod", "bytes"),
	[SERIES_SERVER_HEAP] = SERVER_LEVEL("server_heap_bytes", "heap", "bytes"),
	[SERIES_SERVER_ALLOCATED] = SERVER_LEVEL("server_allocated_bytes", "allocated", "bytes"),
	[SERIES_SERVER_CPU_FREE] = SERVER_LEVEL("server_cpu_caches_bytes", "free in caches per CPU", "bytes"),
	[SERIES_SERVER_PAGEHEAP_FREE] =
		SERVER_LEVEL("server_pageheap_free_bytes", "free in the page heap", "bytes"),
	[SERIES_SERVER_CACHE] = SERVER_LEVEL("server_cache_bytes", "WiredTiger's cache", "bytes"),
	[SERIES_SERVER_CACHE_FILL] = SERVER_LEVEL("server_cache_fill_percent", "cache, full", "%"),
	[SERIES_SERVER_CACHE_DIRTY] = SERVER_LEVEL("server_cache_dirty_percent", "cache, dirty", "%"),
	[SERIES_SERVER_CACHE_READ] =
		SERVER_RATE("server_cache_pages_read_per_s", "pages read into the cache", "pages/s"),
	[SERIES_SERVER_CACHE_WRITTEN] =
		SERVER_RATE("server_cache_pages_written_per_s", "pages written from the cache", "pages/s"),
	[SERIES_SERVER_EVICTED] = SERVER_RATE("server_evicted_pages_per_s", "pages evicted", "pages/s"),
	[SERIES_SERVER_EVICTED_APP] = SERVER_RATE("server_evicted_by_clients_per_s",
						  "pages evicted by clients' threads", "pages/s"),
	[SERIES_SERVER_CHECKPOINT] =
		SERVER_LEVEL("server_checkpoint_running", "checkpoint running", "running"),
	[SERIES_SERVER_ANON_HUGE] =
		SERVER_LEVEL("server_anon_huge_bytes", "AnonHugePages of the machine", "bytes"),
	[SERIES_SERVER_AVAILABLE] =
		SERVER_LEVEL("server_memory_available_bytes", "memory available", "bytes"),
	[SERIES_SERVER_THP_FAULTS] = SERVER_RATE("server_thp_faults_per_s", "huge pages by fault", "pages/s"),
	[SERIES_SERVER_THP_FALLBACKS] =
		SERVER_RATE("server_thp_fallbacks_per_s", "huge pages refused", "pages/s"),
	[SERIES_SERVER_THP_COLLAPSES] =
		SERVER_RATE("server_thp_collapses_per_s", "huge pages by khugepaged", "pages/s"),
	[SERIES_SERVER_MAJOR_FAULTS] =
		SERVER_RATE("server_major_faults_per_s", "major faults of the machine", "faults/s"),
	[SERIES_SERVER_DISK_READ] = SERVER_RATE("server_disk_read_bytes_per_s", "disks, read", "bytes/s"),
	[SERIES_SERVER_DISK_WRITTEN] =
		SERVER_RATE("server_disk_written_bytes_per_s", "disks, written", "bytes/s"),
	[SERIES_SERVER_CPU_USER] = SERVER_RATE("server_cpu_user", "user, machine", "CPUs"),
	[SERIES_SERVER_CPU_SYSTEM] = SERVER_RATE("server_cpu_system", "system, machine", "CPUs"),
	[SERIES_SERVER_CPU_IOWAIT] = SERVER_RATE("server_cpu_iowait", "waiting for disks", "CPUs"),
	[SERIES_SERVER_PRESSURE_CPU] = SERVER_RATE("server_pressure_cpu_percent", "pressure, CPU", "%"),
	[SERIES_SERVER_PRESSURE_MEMORY] =
		SERVER_RATE("server_pressure_memory_percent", "pressure, memory", "%"),
	[SERIES_SERVER_PRESSURE_IO] = SERVER_RATE("server_pressure_io_percent", "pressure, disks", "%"),
};

static double rate(uint64_t before, uint64_t after, double length_s)
{
	if (before == SNAPSHOT_UNKNOWN || after == SNAPSHOT_UNKNOWN || after < before)
		return NAN;
	return (double)(after - before) / length_s;
}

static double level(uint64_t value)
{
	return value == SNAPSHOT_UNKNOWN ? NAN : (double)value;
}

struct counter_sum {
	enum series_id series;
	unsigned first, last; /* enum counter, inclusive */
};

static const struct counter_sum counter_sums[] = {
	{SERIES_ALLOCS, COUNTER_MALLOC, COUNTER_ALIGNED},
	{SERIES_ALLOC_BYTES, COUNTER_ALLOC_BYTES, COUNTER_ALLOC_BYTES},
	{SERIES_FREES, COUNTER_FREE, COUNTER_DELETE},
	{SERIES_REALLOCS, COUNTER_REALLOC, COUNTER_REALLOC},
	{SERIES_MMAPS, COUNTER_MMAP, COUNTER_MMAP},
	{SERIES_MUNMAPS, COUNTER_MUNMAP, COUNTER_MUNMAP},
	{SERIES_MREMAPS, COUNTER_MREMAP, COUNTER_MREMAP},
	{SERIES_MADVISES, COUNTER_MADVISE, COUNTER_MADVISE},
	{SERIES_MPROTECTS, COUNTER_MPROTECT, COUNTER_MPROTECT},
	{SERIES_BRKS, COUNTER_BRK, COUNTER_BRK},
	{SERIES_MIGRATIONS, COUNTER_MIGRATIONS, COUNTER_MIGRATIONS},
	{SERIES_LOST, COUNTER_LOST_FIRST, COUNTER_LOST_LAST},
};

/* 0 before the first snapshot: the process had not begun. */
static uint64_t counters_sum(const struct snapshot *snapshot, unsigned first, unsigned last)
{
	uint64_t sum = 0;
	for (unsigned i = first; snapshot && i <= last; i++) {
		if (snapshot->counters[i] == SNAPSHOT_UNKNOWN)
			return SNAPSHOT_UNKNOWN;
		sum += snapshot->counters[i];
	}
	return sum;
}

uint64_t series_lost(const struct snapshot *snapshot)
{
	return counters_sum(snapshot, COUNTER_LOST_FIRST, COUNTER_LOST_LAST);
}

static void kernel_rates(const struct snapshot *before, const struct snapshot *after, double length_s,
			 double values[SERIES_COUNT])
{
	values[SERIES_MINOR_FAULTS] = rate(before->minor_faults, after->minor_faults, length_s);
	values[SERIES_MAJOR_FAULTS] = rate(before->major_faults, after->major_faults, length_s);
	values[SERIES_CPU_USER] = rate(before->user_cpu_us, after->user_cpu_us, length_s) / 1e6;
	values[SERIES_CPU_SYSTEM] = rate(before->system_cpu_us, after->system_cpu_us, length_s) / 1e6;
	values[SERIES_VOLUNTARY] = rate(before->voluntary_switches, after->voluntary_switches, length_s);
	values[SERIES_INVOLUNTARY] =
		rate(before->involuntary_switches, after->involuntary_switches, length_s);
	values[SERIES_WRITER_CPU] = rate(before->writer_cpu_us, after->writer_cpu_us, length_s) / 1e6;
}

void series_between(const struct snapshot *before, const struct snapshot *after, double length_s,
		    double values[SERIES_COUNT])
{
	for (size_t i = 0; i < SERIES_COUNT; i++)
		values[i] = NAN;
	for (size_t i = 0; i < sizeof counter_sums / sizeof *counter_sums; i++) {
		const struct counter_sum *sum = &counter_sums[i];
		values[sum->series] = rate(counters_sum(before, sum->first, sum->last),
					   counters_sum(after, sum->first, sum->last), length_s);
	}
	if (before)
		kernel_rates(before, after, length_s, values);
	values[SERIES_RSS] = level(after->rss_bytes);
	values[SERIES_HUGE] = level(after->anon_huge_bytes);
	values[SERIES_THREADS] = level(after->threads_live);
}
