/* The pass over a trace as the cache models and the reuse distances see it. */
#include <math.h>

#include "analyzer/percpu_internal.h"

bool percpu_models_create(struct percpu *percpu, const struct percpu_options *options)
{
	if (!percpu->exact)
		return true;
	uint64_t unit_ns = trace_units_to_ns(percpu->trace, UINT64_C(1) << 20);
	double units_per_s = unit_ns ? 1e9 * 0x1p20 / (double)unit_ns : 0;
	for (unsigned i = 0; i < CACHE_DESIGNS; i++) {
		if (!options->capacity_count[i])
			continue;
		percpu->models[i] = cachemodel_create((enum cache_design)i, options->capacities[i],
						      options->capacity_count[i], units_per_s);
		if (!percpu->models[i])
			return false;
	}
	percpu->windows.every = options->window_every;
	percpu->reuse = reuse_create();
	return percpu->reuse != NULL;
}

void percpu_classes_of(uint64_t size_bytes, uint64_t alignment_bytes, uint8_t *classes)
{
	for (unsigned i = 0; i < CACHE_DESIGNS; i++)
		classes[i] = (uint8_t)cache_class_aligned(cache_classes((enum cache_design)i), size_bytes,
							  alignment_bytes);
}

static bool take_cpu(struct percpu *percpu, uint32_t cpu, unsigned class)
{
	struct cachemodel *model = percpu->models[CACHE_PER_CPU];
	if (cpu == PERCPU_NONE || class == CACHE_CLASS_NONE)
		return true;
	return reuse_take(percpu->reuse, cpu, class) && (!model || cachemodel_take(model, cpu, class));
}

static bool give_cpu(struct percpu *percpu, uint32_t cpu, unsigned class)
{
	struct cachemodel *model = percpu->models[CACHE_PER_CPU];
	if (cpu == PERCPU_NONE || class == CACHE_CLASS_NONE)
		return true;
	return reuse_give(percpu->reuse, cpu, class) && (!model || cachemodel_give(model, cpu, class));
}

static bool take_thread(struct percpu *percpu, uint32_t thread, unsigned class)
{
	struct cachemodel *model = percpu->models[CACHE_PER_THREAD];
	return !model || class == CACHE_CLASS_NONE || cachemodel_take(model, thread, class);
}

static bool give_thread(struct percpu *percpu, uint32_t thread, unsigned class)
{
	struct cachemodel *model = percpu->models[CACHE_PER_THREAD];
	return !model || class == CACHE_CLASS_NONE || cachemodel_give(model, thread, class);
}

/* Calls that pass the caches of each design, simulated or not. */
static void count_call(uint32_t cpu, const uint8_t *classes, uint64_t *calls)
{
	calls[CACHE_PER_CPU] += cpu != PERCPU_NONE && classes[CACHE_PER_CPU] != CACHE_CLASS_NONE;
	calls[CACHE_PER_THREAD] += classes[CACHE_PER_THREAD] != CACHE_CLASS_NONE;
}

bool percpu_simulate_take(struct percpu *percpu, const struct actor *actor, const uint8_t *classes)
{
	if (!percpu->reuse)
		return true;
	count_call(actor->cpu, classes, percpu->allocs);
	return !windows_step(&percpu->windows, percpu->models) ||
	       (take_cpu(percpu, actor->cpu, classes[CACHE_PER_CPU]) &&
		take_thread(percpu, actor->thread, classes[CACHE_PER_THREAD]));
}

bool percpu_simulate_give(struct percpu *percpu, const struct actor *actor, const uint8_t *classes)
{
	if (!percpu->reuse)
		return true;
	count_call(actor->cpu, classes, percpu->frees);
	return !windows_step(&percpu->windows, percpu->models) ||
	       (give_cpu(percpu, actor->cpu, classes[CACHE_PER_CPU]) &&
		give_thread(percpu, actor->thread, classes[CACHE_PER_THREAD]));
}

/* The block's new class in one design. Returns whether it stays where it is. */
static bool realloc_class(enum cache_design design, const struct birth *old, uint64_t old_bytes,
			  uint64_t new_bytes, uint8_t *class)
{
	const struct cache_classes *classes = cache_classes(design);
	const unsigned old_class = old->classes[design];
	bool stays = cache_realloc_stays(classes, old_class, old_bytes, &new_bytes);
	*class = (uint8_t)(stays ? old_class : cache_class_of(classes, new_bytes));
	return stays;
}

/* Take, copy, give, in the designs in which the block does not fit where it is. */
bool percpu_simulate_realloc(struct percpu *percpu, const struct actor *actor, const struct birth *old,
			     uint64_t old_bytes, uint64_t new_bytes, uint8_t *classes)
{
	uint8_t taken[CACHE_DESIGNS] = {0}, given[CACHE_DESIGNS] = {0};
	bool moves = false;
	for (unsigned i = 0; i < CACHE_DESIGNS; i++) {
		if (realloc_class((enum cache_design)i, old, old_bytes, new_bytes, &classes[i]))
			continue;
		taken[i] = classes[i];
		given[i] = old->classes[i];
		moves = true;
	}
	return !moves ||
	       (percpu_simulate_take(percpu, actor, taken) && percpu_simulate_give(percpu, actor, given));
}

struct percpu_result percpu_result(const struct percpu *percpu, enum cache_design design, size_t lane)
{
	struct percpu_result result = {.allocs = percpu->allocs[design], .frees = percpu->frees[design]};
	const uint64_t calls = result.allocs + result.frees;
	if (percpu_is_sampled(percpu)) {
		struct window_ratio misses = windows_miss_ratio(&percpu->windows, design, (unsigned)lane);
		result.counts = windows_scaled(&percpu->windows, design, (unsigned)lane, (double)calls);
		result.hit_ratio = 1 - misses.value;
		result.low = 1 - misses.high;
		result.high = 1 - misses.low;
		return result;
	}
	result.counts = cachemodel_result(percpu->models[design], lane);
	result.hit_ratio = cachemodel_hit_ratio(calls, result.counts.underflows, result.counts.overflows);
	result.low = result.high = result.hit_ratio;
	return result;
}

bool percpu_is_sampled(const struct percpu *percpu)
{
	return percpu->windows.every > 1;
}
