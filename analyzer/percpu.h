/*
 * How a traced program uses CPUs to allocate and to free: one pass over the events that follows each block
 * from its birth to its death.
 *
 * Words:
 *   remote (CPU)     freed on another CPU than the one it was allocated on; unknown where either CPU is
 *   remote (thread)  freed by another thread than the one that allocated it
 *   migration        two successive events of a thread ran on different CPUs
 *   class            size class of the traced allocator (cacheclasses.h); CACHE_CLASS_NONE above 256 KiB
 *
 * A realloc that gives a block is the free of the old one and the allocation of the new one, as in livemap.h.
 * In full mode everything is exact. In sample mode blocks are weighted samples, migrations are those between
 * recorded events (a lower bound), and no cache is simulated: batches cannot be scaled down to a sample. What
 * the hooks counted by CPU and size (cpucounts.h) is exact there, too.
 *
 * Memory follows the numbers of live blocks, threads, sites, CPUs, and pairs of CPUs between which blocks
 * pass.
 */
#ifndef MTRACE_PERCPU_H
#define MTRACE_PERCPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/cachemodel.h"
#include "analyzer/cpucounts.h"
#include "analyzer/error.h"
#include "analyzer/merge.h"
#include "analyzer/reader.h"
#include "analyzer/reuse.h"
#include "analyzer/rseq.h"
#include "analyzer/tally.h"
#include "analyzer/topology.h"

/* Births and frees of some blocks: those of a class, of a site, of all. */
struct percpu_flow {
	struct tally allocs;
	struct tally frees;	    /* of blocks whose birth was seen */
	struct tally placed;	    /* of these frees: both CPUs are known */
	struct tally remote_cpu;    /* of the placed ones */
	struct tally remote_thread; /* of the frees */
};

struct percpu_cpu {
	uint32_t cpu;
	uint32_t type; /* of topology.h */
	uint32_t threads;
	struct tally allocs;
	struct tally frees;	  /* calls here */
	struct tally frees_there; /* of these: of blocks from other CPUs */
	uint64_t migrations;	  /* to this CPU */
};

struct percpu_thread {
	uint32_t thread;
	uint32_t cpu;  /* index of the last one; PERCPU_NONE */
	uint32_t cpus; /* different ones */
	uint64_t first_time, last_time;
	uint64_t migrations;
	uint64_t type_migrations; /* of these: to a CPU of another type */
	struct tally allocs;
	struct tally frees;
};

struct percpu_site {
	uint32_t stack_id;
	struct percpu_flow flow;
};

/* Blocks that one thread allocated and another freed. */
struct percpu_pair {
	uint32_t producer, consumer; /* indices of threads */
	struct tally frees;
};

#define PERCPU_NONE	 UINT32_MAX
#define PERCPU_PAIRS_MAX 65536u /* more than so many different pairs are counted in `other_pairs` */

struct percpu_options {
	/* What to simulate, by design: capacities in bytes; a count of 0 leaves the design out. */
	uint64_t capacities[CACHE_DESIGNS][CACHEMODEL_LANES_MAX];
	size_t capacity_count[CACHE_DESIGNS];
	uint64_t window_every; /* simulate one window of events in so many (windows.h); 0 and 1: all */
};

struct percpu;

/* NULL when out of memory. `trace` is not owned and must outlive it. */
struct percpu *percpu_create(const struct trace *trace, const struct percpu_options *options);
void percpu_free(struct percpu *percpu);

bool percpu_event(struct percpu *percpu, const struct trace_event *event); /* in merge order; false: memory */
bool percpu_finish(struct percpu *percpu);				   /* after the last one */

/* For merge_lookahead(). */
void percpu_prefetch(void *percpu, const struct trace_event *event);

/* All of it: creates, goes through the trace with progress on a terminal, finishes. NULL with `error` set. */
struct percpu *percpu_read(struct trace *trace, const struct percpu_options *options, struct error *error);

/* ---- what was found; all of it is owned by the percpu -------------------------------------------------- */

const struct trace *percpu_trace(const struct percpu *percpu);
const struct topology *percpu_topology(const struct percpu *percpu);
const struct rseq_watch *percpu_rseq(const struct percpu *percpu);
bool percpu_is_exact(const struct percpu *percpu);

/* Which allocator's classes blocks are counted by. */
enum cache_design percpu_class_design(const struct percpu *percpu);

const struct percpu_cpu *percpu_cpus(const struct percpu *percpu, size_t *count);	/* by number */
const struct percpu_thread *percpu_threads(const struct percpu *percpu, size_t *count); /* as they came */
const struct percpu_site *percpu_sites(const struct percpu *percpu, size_t *count);	/* as they came */
const struct percpu_pair *percpu_pairs(const struct percpu *percpu, size_t *count);	/* as they came */
const struct percpu_flow *percpu_class(const struct percpu *percpu, unsigned class);

/* Blocks and bytes that went from a CPU to a CPU: indices into percpu_cpus(). */
struct percpu_cell {
	double blocks, bytes;
};
struct percpu_cell percpu_cell(const struct percpu *percpu, size_t birth, size_t death);

struct percpu_totals {
	struct percpu_flow flow; /* all blocks */
	struct tally other_pairs;
	uint64_t migrations, type_migrations;
	uint64_t unknown_frees;	    /* of blocks whose birth was not seen */
	uint64_t calls_without_cpu; /* allocations and frees on a CPU that is not known */
	uint64_t calls_too_large;   /* of sizes that pass no cache */
	uint64_t memory_bytes;	    /* held */
};
const struct percpu_totals *percpu_totals(const struct percpu *percpu);

/* What the hooks counted by CPU and size; a count of 0 in full mode, where the events say it. */
const struct cpu_counts *percpu_counts(const struct percpu *percpu);

/* Reuse distances by class of the per-CPU design (full mode); NULL in sample mode. */
const struct reuse *percpu_reuse(const struct percpu *percpu);

/*
 * What a lane of a simulated design came to, over all calls of the trace. Where only windows of it were
 * simulated, counts are estimates, and the hit ratio has a 95% interval; otherwise low = hit_ratio = high.
 */
struct percpu_result {
	struct cachemodel_result counts;
	uint64_t allocs, frees; /* that pass the caches */
	double hit_ratio, low, high;
};
struct percpu_result percpu_result(const struct percpu *percpu, enum cache_design design, size_t lane);
bool percpu_is_sampled(const struct percpu *percpu); /* windows only */

/* NULL where that design was not simulated. Cache numbers of the model: percpu_cache_of(), by index of CPU.
 */
const struct cachemodel *percpu_model(const struct percpu *percpu, enum cache_design design);
uint32_t percpu_cache_of(const struct percpu *percpu, size_t cpu);

#endif
