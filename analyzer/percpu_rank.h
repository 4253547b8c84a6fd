/* Threads, sites and pairs, the largest first. */
#ifndef MTRACE_PERCPU_RANK_H
#define MTRACE_PERCPU_RANK_H

#include <stddef.h>
#include <stdint.h>

#include "analyzer/percpu.h"

/* Each sets *count to all there are and returns indices in order, to be freed; NULL when out of memory. */
uint32_t *percpu_rank_threads(const struct percpu *percpu, size_t *count); /* by calls */
uint32_t *percpu_rank_sites(const struct percpu *percpu, size_t *count); /* by remote frees, then by frees */
uint32_t *percpu_rank_pairs(const struct percpu *percpu, size_t *count); /* by frees */

/* How evenly calls lie on the CPUs that had any: largest by mean, and the coefficient of variation. NaN where
 * none had. Exact also in sample mode where the trace has counts by CPU. */
struct percpu_balance {
	double max_by_mean;
	double variation;
};
struct percpu_balance percpu_balance(const struct percpu *percpu);

/* Sums over the CPUs of a type, and of its caches in a lane of the per-CPU design. */
struct percpu_type {
	uint32_t cpus; /* with an event */
	double allocs, frees;
	struct cachemodel_cache calls; /* all 0 where the design was not simulated, or in windows only */
};
struct percpu_type percpu_type(const struct percpu *percpu, uint32_t type, size_t lane);

/* Of all threads. Without counts by CPU, in sample mode, a lower bound: those between recorded events. */
struct percpu_migrations {
	uint64_t count;
	bool complete;
};
struct percpu_migrations percpu_migrations(const struct percpu *percpu);

/* Seconds between the first and the last moment of the trace. */
double percpu_duration_s(const struct percpu *percpu);

#endif
