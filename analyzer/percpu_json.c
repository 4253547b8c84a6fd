#include "analyzer/percpu_json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyzer/percpu_advice.h"
#include "analyzer/percpu_counted.h"
#include "analyzer/percpu_rank.h"
#include "analyzer/percpu_what_if.h"

/* ---- parts --------------------------------------------------------------------------------------------- */

/* NAME, and where it is estimated NAME_low and NAME_high. */
static void put_share(json_t *object, const char *name, struct share share, bool exact)
{
	char bound[80];
	json_put_real(object, name, share.value);
	if (exact)
		return;
	snprintf(bound, sizeof bound, "%s_low", name);
	json_put_real(object, bound, share.low);
	snprintf(bound, sizeof bound, "%s_high", name);
	json_put_real(object, bound, share.high);
}

static void put_blocks(json_t *object, const char *name, const struct tally *tally, bool exact)
{
	char bound[80];
	const struct estimate estimate = tally_blocks(tally, exact);
	json_put_count(object, name, (uint64_t)llround(tally->blocks));
	if (exact)
		return;
	snprintf(bound, sizeof bound, "%s_low", name);
	json_put_count(object, bound, (uint64_t)llround(estimate_low(&estimate)));
	snprintf(bound, sizeof bound, "%s_high", name);
	json_put_count(object, bound, (uint64_t)llround(estimate_high(&estimate)));
}

static void put_bytes(json_t *object, const char *name, double bytes)
{
	json_put_count(object, name, (uint64_t)llround(bytes));
}

static void put_flow(json_t *object, const struct percpu_flow *flow, bool exact)
{
	put_blocks(object, "allocs", &flow->allocs, exact);
	put_bytes(object, "alloc_bytes", flow->allocs.bytes);
	put_blocks(object, "frees", &flow->frees, exact);
	put_bytes(object, "free_bytes", flow->frees.bytes);
	put_blocks(object, "remote_frees_cpu", &flow->remote_cpu, exact);
	put_blocks(object, "remote_frees_thread", &flow->remote_thread, exact);
	put_share(object, "remote_free_share_cpu",
		  tally_share_blocks(&flow->remote_cpu, &flow->placed, exact), exact);
	put_share(object, "remote_free_share_cpu_bytes",
		  tally_share_bytes(&flow->remote_cpu, &flow->placed, exact), exact);
	put_share(object, "remote_free_share_thread",
		  tally_share_blocks(&flow->remote_thread, &flow->frees, exact), exact);
	put_share(object, "remote_free_share_thread_bytes",
		  tally_share_bytes(&flow->remote_thread, &flow->frees, exact), exact);
}

static json_t *known(uint64_t value)
{
	return value == TOPOLOGY_UNKNOWN ? NULL : json_count(value);
}

/* ---- CPUs ---------------------------------------------------------------------------------------------- */

static void put_topology(json_t *object, const struct topology *topology, uint32_t number)
{
	const struct topology_cpu *cpu = topology_cpu(topology, number);
	json_put_string(object, "type", topology->types[cpu ? cpu->type : 0].name);
	json_put(object, "capacity", cpu ? known(cpu->capacity) : NULL);
	json_put(object, "node", cpu ? known(cpu->node) : NULL);
	json_put(object, "package", cpu ? known(cpu->package) : NULL);
	json_put(object, "online_at_start", topology->online_known ? json_boolean(cpu && cpu->online) : NULL);
}

static double rate(double count, double seconds)
{
	return seconds > 0 ? count / seconds : NAN;
}

static json_t *cpus_json(const struct percpu *percpu)
{
	size_t count;
	const struct percpu_cpu *cpus = percpu_cpus(percpu, &count);
	const bool exact = percpu_is_exact(percpu);
	const double seconds = percpu_duration_s(percpu);
	json_t *array = json_array();
	for (size_t i = 0; i < count; i++) {
		json_t *object = json_object();
		json_put_count(object, "cpu", cpus[i].cpu);
		put_topology(object, percpu_topology(percpu), cpus[i].cpu);
		put_blocks(object, "allocs", &cpus[i].allocs, exact);
		put_bytes(object, "alloc_bytes", cpus[i].allocs.bytes);
		json_put_real(object, "allocs_per_s", rate(cpus[i].allocs.blocks, seconds));
		put_blocks(object, "frees", &cpus[i].frees, exact);
		put_bytes(object, "free_bytes", cpus[i].frees.bytes);
		json_put_real(object, "frees_per_s", rate(cpus[i].frees.blocks, seconds));
		put_blocks(object, "frees_from_other_cpus", &cpus[i].frees_there, exact);
		json_put_count(object, "migrations", cpus[i].migrations);
		json_put_count(object, "threads", cpus[i].threads);
		json_array_append_new(array, object);
	}
	return array;
}

/* From CPU to CPU, those that any block went. */
static json_t *flows_json(const struct percpu *percpu)
{
	size_t count;
	const struct percpu_cpu *cpus = percpu_cpus(percpu, &count);
	json_t *array = json_array();
	for (size_t i = 0; i < count * count; i++) {
		const struct percpu_cell cell = percpu_cell(percpu, i / count, i % count);
		if (!(cell.blocks > 0))
			continue;
		json_t *object = json_object();
		json_put_count(object, "birth_cpu", cpus[i / count].cpu);
		json_put_count(object, "death_cpu", cpus[i % count].cpu);
		put_bytes(object, "blocks", cell.blocks);
		put_bytes(object, "bytes", cell.bytes);
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *types_json(const struct percpu *percpu)
{
	const struct topology *topology = percpu_topology(percpu);
	const double seconds = percpu_duration_s(percpu);
	json_t *array = json_array();
	for (uint32_t i = 0; i < topology->type_count; i++) {
		const struct topology_type *type = &topology->types[i];
		struct percpu_type sum = percpu_type(percpu, i, 0);
		json_t *object = json_object();
		json_put_string(object, "type", type->name);
		json_put(object, "capacity", known(type->capacity));
		json_put(object, "midr", known(type->midr));
		json_put(object, "cpus", topology->count ? json_count(type->cpus) : NULL);
		json_put_count(object, "cpus_used", sum.cpus);
		put_bytes(object, "allocs", sum.allocs);
		json_put_real(object, "allocs_per_s", rate(sum.allocs, seconds));
		put_bytes(object, "frees", sum.frees);
		json_put_real(object, "frees_per_s", rate(sum.frees, seconds));
		json_array_append_new(array, object);
	}
	return array;
}

/* ---- threads and pairs --------------------------------------------------------------------------------- */

static void put_thread(json_t *object, const struct percpu *percpu, const char *key, const char *name_key,
		       uint32_t index)
{
	size_t count;
	uint32_t number = percpu_threads(percpu, &count)[index].thread;
	const struct trace_thread *thread = trace_thread(percpu_trace(percpu), number);
	json_put_count(object, key, number);
	json_put_string(object, name_key, thread && thread->name[0] ? thread->name : NULL);
}

static json_t *thread_json(const struct percpu *percpu, uint32_t index)
{
	size_t count;
	const struct percpu_thread *thread = &percpu_threads(percpu, &count)[index];
	const struct trace *trace = percpu_trace(percpu);
	double seconds = trace_seconds(trace, thread->last_time) - trace_seconds(trace, thread->first_time);
	json_t *object = json_object();
	put_thread(object, percpu, "thread", "name", index);
	put_blocks(object, "allocs", &thread->allocs, percpu_is_exact(percpu));
	put_blocks(object, "frees", &thread->frees, percpu_is_exact(percpu));
	json_put_count(object, "migrations", thread->migrations);
	json_put_real(object, "migrations_per_s", rate((double)thread->migrations, seconds));
	json_put_count(object, "type_migrations", thread->type_migrations);
	json_put_count(object, "cpus", thread->cpus);
	return object;
}

static json_t *pair_json(const struct percpu *percpu, uint32_t index)
{
	size_t count;
	const struct percpu_pair *pair = &percpu_pairs(percpu, &count)[index];
	json_t *object = json_object();
	put_thread(object, percpu, "producer", "producer_name", pair->producer);
	put_thread(object, percpu, "consumer", "consumer_name", pair->consumer);
	put_blocks(object, "frees", &pair->frees, percpu_is_exact(percpu));
	put_bytes(object, "free_bytes", pair->frees.bytes);
	return object;
}

/* The first `top` of an order; takes over `order`. */
static json_t *ranked(const struct percpu *percpu, uint32_t *order, size_t count, size_t top,
		      json_t *(*one)(const struct percpu *, uint32_t))
{
	json_t *array = order ? json_array() : NULL;
	for (size_t i = 0; order && i < count && (!top || i < top); i++)
		json_array_append_new(array, one(percpu, order[i]));
	free(order);
	return array;
}

/* ---- sites and classes --------------------------------------------------------------------------------- */

static json_t *stack_json(const struct percpu *percpu, struct symbols *symbols, uint32_t stack_id)
{
	struct trace_stack stack;
	struct symbol_stack names = {0};
	json_t *array = json_array();
	if (symbols && trace_stack(percpu_trace(percpu), stack_id, &stack) &&
	    symbols_stack(symbols, &stack, &names))
		for (size_t i = 0; i < names.depth; i++)
			json_array_append_new(array, json_safe_string(names.frames[i]->name));
	symbol_stack_free(&names);
	return array;
}

static json_t *sites_json_of(const struct percpu *percpu, struct symbols *symbols, size_t top)
{
	size_t count, all;
	uint32_t *order = percpu_rank_sites(percpu, &count);
	const struct percpu_site *sites = percpu_sites(percpu, &all);
	json_t *array = order ? json_array() : NULL;
	for (size_t i = 0; order && i < count && (!top || i < top); i++) {
		const struct percpu_site *site = &sites[order[i]];
		json_t *object = json_object();
		json_put(object, "stack", stack_json(percpu, symbols, site->stack_id));
		json_put_count(object, "stack_id", site->stack_id);
		put_flow(object, &site->flow, percpu_is_exact(percpu));
		json_array_append_new(array, object);
	}
	free(order);
	return array;
}

static void put_reuse(json_t *object, const struct percpu *percpu, unsigned class)
{
	const struct reuse *reuse = percpu_reuse(percpu);
	const struct reuse_class *found = reuse ? reuse_class(reuse, class) : NULL;
	static const struct {
		const char *name;
		double share;
	} quantiles[] = {{"reuse_p50_bytes", 0.5}, {"reuse_p90_bytes", 0.9}, {"reuse_p99_bytes", 0.99}};
	const uint64_t bytes = cache_classes(CACHE_PER_CPU)->classes[class].bytes;
	json_t *bins = json_array();
	uint64_t all = 0;
	for (unsigned i = 0; found && i < REUSE_BINS; i++) {
		all += found->bins[i];
		json_array_append_new(bins, json_count(found->bins[i]));
	}
	for (unsigned i = 0; i < sizeof quantiles / sizeof *quantiles; i++)
		json_put(object, quantiles[i].name,
			 all ? json_count(bytes * reuse_quantile(found, quantiles[i].share)) : NULL);
	json_put(object, "reuse_cold", found ? json_count(found->cold) : NULL);
	json_put(object, "reuse_bins", found ? json_incref(bins) : NULL);
	json_decref(bins);
}

static json_t *classes_json(const struct percpu *percpu)
{
	const enum cache_design design = percpu_class_design(percpu);
	const struct cache_classes *classes = cache_classes(design);
	json_t *array = json_array();
	for (unsigned i = 1; i <= classes->count; i++) {
		unsigned class = i < classes->count ? i : CACHE_CLASS_NONE; /* what has none comes last */
		const struct percpu_flow *flow = percpu_class(percpu, class);
		if (!flow->allocs.samples && !flow->frees.samples)
			continue;
		json_t *object = json_object();
		json_put(object, "size_bytes", class ? json_count(classes->classes[class].bytes) : NULL);
		put_flow(object, flow, percpu_is_exact(percpu));
		if (design == CACHE_PER_CPU && class)
			put_reuse(object, percpu, class);
		json_array_append_new(array, object);
	}
	return array;
}

/* ---- all of it ----------------------------------------------------------------------------------------- */

static void put_head(json_t *object, const struct percpu *percpu)
{
	const struct trace *trace = percpu_trace(percpu);
	struct rseq_verdict rseq = rseq_judge(trace, percpu_rseq(percpu));
	struct percpu_force force = percpu_in_force(percpu);
	json_put_string(object, "trace", trace_info(trace)->path);
	json_put_bool(object, "estimated", !percpu_is_exact(percpu));
	json_put_real(object, "duration_s", percpu_duration_s(percpu));
	json_put_string(object, "rseq_owner", rseq.owner);
	json_put_string(object, "per_cpu_caches", percpu_state_name(force.state));
	json_put_string(object, "per_cpu_caches_reason", force.reason);
	json_put(object, "allocator_agreement", percpu_agreement_json(percpu));
}

static void put_totals(json_t *object, const struct percpu *percpu)
{
	const struct percpu_totals *totals = percpu_totals(percpu);
	const double seconds = percpu_duration_s(percpu);
	struct percpu_balance balance = percpu_balance(percpu);
	struct percpu_migrations migrations = percpu_migrations(percpu);
	json_put_count(object, "migrations", migrations.count);
	json_put_bool(object, "migrations_complete", migrations.complete);
	json_put_real(object, "migrations_per_s", rate((double)migrations.count, seconds));
	json_put_count(object, "type_migrations", totals->type_migrations);
	put_flow(object, &totals->flow, percpu_is_exact(percpu));
	json_put_count(object, "unknown_frees", totals->unknown_frees);
	json_put_count(object, "calls_without_cpu", totals->calls_without_cpu);
	json_put_count(object, "calls_too_large", totals->calls_too_large);
	json_put_real(object, "balance_max_by_mean", balance.max_by_mean);
	json_put_real(object, "balance_variation", balance.variation);
}

json_t *percpu_json(const struct percpu *percpu, struct symbols *symbols, size_t top)
{
	size_t count;
	json_t *object = json_object();
	put_head(object, percpu);
	put_totals(object, percpu);
	json_put(object, "counted", percpu_counted_json(percpu));
	json_put(object, "cpus", cpus_json(percpu));
	json_put(object, "flows", flows_json(percpu));
	json_put(object, "types", types_json(percpu));
	uint32_t *order = percpu_rank_threads(percpu, &count);
	json_put_count(object, "threads_total", count);
	json_put(object, "threads", ranked(percpu, order, count, top, thread_json));
	order = percpu_rank_pairs(percpu, &count);
	json_put_count(object, "pairs_total", count);
	json_put(object, "pairs", ranked(percpu, order, count, top, pair_json));
	json_put_string(object, "size_classes_of",
			percpu_class_design(percpu) == CACHE_PER_CPU ? "google-tcmalloc" : "gperftools");
	json_put(object, "size_classes", classes_json(percpu));
	json_put(object, "sites", sites_json_of(percpu, symbols, top));
	json_put_bool(object, "what_if_sampled", percpu_is_sampled(percpu));
	json_put(object, "what_if", percpu_is_exact(percpu) ? percpu_what_if_json(percpu) : NULL);
	json_put(object, "recommendations", percpu_is_exact(percpu) ? percpu_advice_json(percpu) : NULL);
	return object;
}
