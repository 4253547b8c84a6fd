/* Inside of percpu: what its parts share. */
#ifndef MTRACE_PERCPU_INTERNAL_H
#define MTRACE_PERCPU_INTERNAL_H

#include "analyzer/blocktable.h"
#include "analyzer/idmap.h"
#include "analyzer/pairmap.h"
#include "analyzer/percpu.h"
#include "analyzer/waiting.h"
#include "analyzer/windows.h"

/* What is kept of a block beside address, size, thread and site. It stands in live_block.time, which is not
 * needed here, so that the table's slots keep their 32 bytes. */
struct birth {
	uint32_t cpu; /* index; PERCPU_NONE */
	uint8_t classes[CACHE_DESIGNS];
	uint8_t unused[2];
};
_Static_assert(sizeof(struct birth) == sizeof((struct live_block *)0)->time, "a birth fits in a time");

/* The second half of a realloc, which ends at end_time. */
struct moved_block {
	uint64_t end_time;
	struct live_block block;
};

/* Who does something: indices, not the trace's numbers. */
struct actor {
	uint32_t thread;
	uint32_t cpu; /* PERCPU_NONE */
};

struct percpu {
	const struct trace *trace;
	bool exact;
	uint64_t sample_bytes; /* 0 in full mode */
	uint64_t reorder_units;
	enum cache_design class_design;
	struct topology topology;
	struct rseq_watch rseq;

	struct block_table blocks;
	struct pending_list pending;
	struct moved_block *moved; /* by end_time, the latest first */
	size_t moved_count, moved_capacity;

	struct percpu_cpu *cpus;
	size_t cpu_count, cpu_capacity;
	struct idmap cpu_index;
	struct percpu_cell *cells;
	size_t cell_count, cell_capacity;
	struct pairmap cell_index; /* (birth, death): indices of CPUs */
	uint32_t *order;	   /* after the end: index by rank of the CPU's number */
	struct percpu_cpu *sorted_cpus;

	struct percpu_thread *threads;
	size_t thread_count, thread_capacity;
	struct idmap thread_index;
	struct pairmap visited; /* (thread, cpu): indices */

	struct percpu_site *sites;
	size_t site_count, site_capacity;
	struct idmap site_index;

	struct percpu_pair *pairs;
	size_t pair_count, pair_capacity;
	struct pairmap pair_index;

	struct percpu_flow classes[CACHE_CLASSES_MAX];
	struct percpu_totals totals;

	struct cpu_counts counts;
	struct reuse *reuse;
	struct cachemodel *models[CACHE_DESIGNS];
	uint64_t allocs[CACHE_DESIGNS], frees[CACHE_DESIGNS]; /* that pass the caches, simulated or not */
	struct windows windows;
};

/* ---- percpu_where.c: CPUs, threads, and who went where ---- */

/* Index of the event's thread and CPU, and the migration that it shows. False when out of memory. */
bool percpu_place(struct percpu *percpu, const struct trace_event *event, struct actor *actor);
bool percpu_note_cell(struct percpu *percpu, uint32_t birth, uint32_t death, double weight, double bytes);
bool percpu_note_pair(struct percpu *percpu, uint32_t producer, uint32_t consumer, double weight,
		      double bytes);
bool percpu_sort_cpus(struct percpu *percpu);

/* ---- percpu_simulate.c ---- */
bool percpu_models_create(struct percpu *percpu, const struct percpu_options *options);
bool percpu_simulate_take(struct percpu *percpu, const struct actor *actor, const uint8_t *classes);
bool percpu_simulate_give(struct percpu *percpu, const struct actor *actor, const uint8_t *classes);
bool percpu_simulate_realloc(struct percpu *percpu, const struct actor *actor, const struct birth *old,
			     uint64_t old_bytes, uint64_t new_bytes, uint8_t *classes);
void percpu_classes_of(uint64_t size_bytes, uint64_t alignment_bytes, uint8_t *classes);

static inline void percpu_simulate_time(struct percpu *percpu, uint64_t time)
{
	if (percpu->models[CACHE_PER_CPU])
		cachemodel_advance(percpu->models[CACHE_PER_CPU], time);
}

#endif
