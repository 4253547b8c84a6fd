/* A whole trace into a percpu, and what was found in it. */
#include "analyzer/command.h"
#include "analyzer/percpu_internal.h"

/* ---- a whole trace ------------------------------------------------------------------------------------- */

#define PROGRESS_EVENTS 65536u

static bool read_stream(struct percpu *percpu, struct merge *merge, struct error *error)
{
	const struct merge_stats *stats = merge_stats(merge);
	struct progress progress;
	struct merge_item item;
	bool good = true;
	progress_start(&progress, "following blocks");
	while (good && merge_next(merge, &item, error)) {
		good = !item.event || percpu_event(percpu, item.event);
		if (stats->events % PROGRESS_EVENTS == 0)
			progress_update(&progress, stats->read_bytes, trace_info(percpu->trace)->trace_bytes);
	}
	progress_end(&progress);
	return good && !error->code && percpu_finish(percpu);
}

struct percpu *percpu_read(struct trace *trace, const struct percpu_options *options, struct error *error)
{
	struct percpu *percpu = percpu_create(trace, options);
	struct merge *merge = percpu ? merge_open(trace, error) : NULL;
	bool good = false;
	if (merge) {
		merge_lookahead(merge, percpu_prefetch, percpu);
		good = read_stream(percpu, merge, error) &&
		       (percpu->exact || cpu_counts_read(&percpu->counts, trace, error));
	}
	merge_close(merge);
	if (good)
		return percpu;
	if (!error->code)
		error_set(error, ERROR_INTERNAL, NULL, ERROR_NO_OFFSET, "out of memory");
	percpu_free(percpu);
	return NULL;
}

/* ---- what was found ------------------------------------------------------------------------------------ */

const struct trace *percpu_trace(const struct percpu *percpu)
{
	return percpu->trace;
}

const struct topology *percpu_topology(const struct percpu *percpu)
{
	return &percpu->topology;
}

const struct rseq_watch *percpu_rseq(const struct percpu *percpu)
{
	return &percpu->rseq;
}

bool percpu_is_exact(const struct percpu *percpu)
{
	return percpu->exact;
}

enum cache_design percpu_class_design(const struct percpu *percpu)
{
	return percpu->class_design;
}

const struct percpu_cpu *percpu_cpus(const struct percpu *percpu, size_t *count)
{
	*count = percpu->cpu_count;
	return percpu->sorted_cpus;
}

const struct percpu_thread *percpu_threads(const struct percpu *percpu, size_t *count)
{
	*count = percpu->thread_count;
	return percpu->threads;
}

const struct percpu_site *percpu_sites(const struct percpu *percpu, size_t *count)
{
	*count = percpu->site_count;
	return percpu->sites;
}

const struct percpu_pair *percpu_pairs(const struct percpu *percpu, size_t *count)
{
	*count = percpu->pair_count;
	return percpu->pairs;
}

const struct percpu_flow *percpu_class(const struct percpu *percpu, unsigned class)
{
	return &percpu->classes[class];
}

const struct percpu_totals *percpu_totals(const struct percpu *percpu)
{
	return &percpu->totals;
}

const struct cpu_counts *percpu_counts(const struct percpu *percpu)
{
	return &percpu->counts;
}

const struct reuse *percpu_reuse(const struct percpu *percpu)
{
	return percpu->reuse;
}

const struct cachemodel *percpu_model(const struct percpu *percpu, enum cache_design design)
{
	return percpu->models[design];
}
