#include "analyzer/percpu_rank.h"

#include <math.h>
#include <stdlib.h>

struct key {
	double first, second;
	uint32_t index;
};

static int by_key(const void *a, const void *b)
{
	const struct key *left = a, *right = b;
	if (left->first != right->first)
		return left->first < right->first ? 1 : -1;
	if (left->second != right->second)
		return left->second < right->second ? 1 : -1;
	return (left->index > right->index) - (left->index < right->index);
}

/* Sorts the keys and gives their indices; frees the keys. */
static uint32_t *in_order(struct key *keys, size_t count)
{
	uint32_t *order = keys ? malloc((count + 1) * sizeof *order) : NULL;
	if (order && count)
		qsort(keys, count, sizeof *keys, by_key);
	for (size_t i = 0; order && i < count; i++)
		order[i] = keys[i].index;
	free(keys);
	return order;
}

uint32_t *percpu_rank_threads(const struct percpu *percpu, size_t *count)
{
	const struct percpu_thread *threads = percpu_threads(percpu, count);
	struct key *keys = calloc(*count + 1, sizeof *keys);
	for (size_t i = 0; keys && i < *count; i++)
		keys[i] = (struct key){threads[i].allocs.blocks + threads[i].frees.blocks,
				       (double)threads[i].migrations, (uint32_t)i};
	return in_order(keys, *count);
}

uint32_t *percpu_rank_sites(const struct percpu *percpu, size_t *count)
{
	const struct percpu_site *sites = percpu_sites(percpu, count);
	struct key *keys = calloc(*count + 1, sizeof *keys);
	for (size_t i = 0; keys && i < *count; i++)
		keys[i] = (struct key){
			fmax(sites[i].flow.remote_cpu.blocks, sites[i].flow.remote_thread.blocks),
			sites[i].flow.frees.blocks, (uint32_t)i};
	return in_order(keys, *count);
}

uint32_t *percpu_rank_pairs(const struct percpu *percpu, size_t *count)
{
	const struct percpu_pair *pairs = percpu_pairs(percpu, count);
	struct key *keys = calloc(*count + 1, sizeof *keys);
	for (size_t i = 0; keys && i < *count; i++)
		keys[i] = (struct key){pairs[i].frees.blocks, pairs[i].frees.bytes, (uint32_t)i};
	return in_order(keys, *count);
}

struct percpu_balance percpu_balance(const struct percpu *percpu)
{
	size_t count;
	const struct percpu_cpu *cpus = percpu_cpus(percpu, &count);
	double sum = 0, squares = 0, most = 0;
	if (percpu_counts(percpu)->count) {
		struct cpu_balance counted = cpu_counts_balance(percpu_counts(percpu));
		return (struct percpu_balance){counted.max_by_mean, counted.variation};
	}
	for (size_t i = 0; i < count; i++) {
		double calls = cpus[i].allocs.blocks + cpus[i].frees.blocks;
		sum += calls;
		squares += calls * calls;
		most = fmax(most, calls);
	}
	if (!(sum > 0))
		return (struct percpu_balance){NAN, NAN};
	double mean = sum / (double)count;
	return (struct percpu_balance){most / mean,
				       sqrt(fmax(squares / (double)count - mean * mean, 0)) / mean};
}

struct percpu_type percpu_type(const struct percpu *percpu, uint32_t type, size_t lane)
{
	size_t count;
	const struct percpu_cpu *cpus = percpu_cpus(percpu, &count);
	const struct cachemodel *model = percpu_model(percpu, CACHE_PER_CPU);
	struct percpu_type sum = {0};
	for (size_t i = 0; i < count; i++) {
		if (cpus[i].type != type)
			continue;
		sum.cpus++;
		sum.allocs += cpus[i].allocs.blocks;
		sum.frees += cpus[i].frees.blocks;
		if (!model || percpu_is_sampled(percpu))
			continue;
		struct cachemodel_cache cache = cachemodel_cache(model, percpu_cache_of(percpu, i), lane);
		sum.calls.allocs += cache.allocs;
		sum.calls.frees += cache.frees;
		sum.calls.underflows += cache.underflows;
		sum.calls.overflows += cache.overflows;
	}
	return sum;
}

struct percpu_migrations percpu_migrations(const struct percpu *percpu)
{
	const struct cpu_counts *counts = percpu_counts(percpu);
	if (counts->count)
		return (struct percpu_migrations){cpu_counts_sum(counts).calls[CPU_ARRIVALS], true};
	return (struct percpu_migrations){percpu_totals(percpu)->migrations, percpu_is_exact(percpu)};
}

double percpu_duration_s(const struct percpu *percpu)
{
	const struct trace *trace = percpu_trace(percpu);
	const struct trace_info *info = trace_info(trace);
	return trace_seconds(trace, info->last_time) - trace_seconds(trace, info->first_time);
}
