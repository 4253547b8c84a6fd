#include "analyzer/percpu.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/allocstats.h"
#include "analyzer/array.h"
#include "analyzer/livemap.h"
#include "analyzer/percpu_internal.h"

/* ---- births and deaths in numbers ---------------------------------------------------------------------- */

static struct birth birth_of(const struct live_block *block)
{
	struct birth birth;
	memcpy(&birth, &block->time, sizeof birth);
	return birth;
}

static void set_birth(struct live_block *block, const struct birth *birth)
{
	memcpy(&block->time, birth, sizeof *birth);
}

static double weight_of(const struct percpu *percpu, uint64_t size_bytes)
{
	return percpu->exact ? 1 : 1 / sample_probability(size_bytes, percpu->sample_bytes);
}

static uint32_t site_of(struct percpu *percpu, uint32_t stack_id)
{
	uint32_t index = idmap_get(&percpu->site_index, stack_id);
	if (index != IDMAP_NONE)
		return index;
	const size_t count = percpu->site_count;
	if (!array_reserve(&percpu->sites, &percpu->site_capacity, count + 1, sizeof *percpu->sites) ||
	    !idmap_add(&percpu->site_index, stack_id, (uint32_t)count))
		return IDMAP_NONE;
	percpu->sites[count] = (struct percpu_site){.stack_id = stack_id};
	return (uint32_t)percpu->site_count++;
}

static void count_birth(struct percpu *percpu, const struct live_block *block)
{
	const struct birth birth = birth_of(block);
	const double weight = weight_of(percpu, block->size_bytes), bytes = (double)block->size_bytes;
	tally_add(&percpu->totals.flow.allocs, weight, bytes);
	tally_add(&percpu->classes[birth.classes[percpu->class_design]].allocs, weight, bytes);
	tally_add(&percpu->sites[block->site].flow.allocs, weight, bytes);
	tally_add(&percpu->threads[block->thread].allocs, weight, bytes);
	if (birth.cpu != PERCPU_NONE)
		tally_add(&percpu->cpus[birth.cpu].allocs, weight, bytes);
	else
		percpu->totals.calls_without_cpu++;
	percpu->totals.calls_too_large += birth.classes[percpu->class_design] == CACHE_CLASS_NONE;
}

static void flow_add_free(struct percpu_flow *flow, double weight, double bytes, bool placed, bool remote_cpu,
			  bool remote_thread)
{
	tally_add(&flow->frees, weight, bytes);
	if (placed)
		tally_add(&flow->placed, weight, bytes);
	if (remote_cpu)
		tally_add(&flow->remote_cpu, weight, bytes);
	if (remote_thread)
		tally_add(&flow->remote_thread, weight, bytes);
}

static bool count_place(struct percpu *percpu, uint32_t birth_cpu, uint32_t cpu, double weight, double bytes)
{
	tally_add(&percpu->cpus[cpu].frees, weight, bytes);
	if (birth_cpu == PERCPU_NONE)
		return true;
	if (birth_cpu != cpu)
		tally_add(&percpu->cpus[cpu].frees_there, weight, bytes);
	return percpu_note_cell(percpu, birth_cpu, cpu, weight, bytes);
}

static bool count_death(struct percpu *percpu, const struct live_block *block, const struct actor *actor)
{
	const struct birth birth = birth_of(block);
	const double weight = weight_of(percpu, block->size_bytes), bytes = (double)block->size_bytes;
	const unsigned class = birth.classes[percpu->class_design];
	const bool remote_thread = block->thread != actor->thread;
	const bool placed = birth.cpu != PERCPU_NONE && actor->cpu != PERCPU_NONE;
	const bool remote_cpu = placed && birth.cpu != actor->cpu;
	flow_add_free(&percpu->totals.flow, weight, bytes, placed, remote_cpu, remote_thread);
	flow_add_free(&percpu->classes[class], weight, bytes, placed, remote_cpu, remote_thread);
	flow_add_free(&percpu->sites[block->site].flow, weight, bytes, placed, remote_cpu, remote_thread);
	tally_add(&percpu->threads[actor->thread].frees, weight, bytes);
	percpu->totals.calls_without_cpu += actor->cpu == PERCPU_NONE;
	if (actor->cpu != PERCPU_NONE && !count_place(percpu, birth.cpu, actor->cpu, weight, bytes))
		return false;
	return !remote_thread || percpu_note_pair(percpu, block->thread, actor->thread, weight, bytes);
}

/* ---- blocks -------------------------------------------------------------------------------------------- */

/* An allocation over a live block: the free of that one is owed, and comes a moment later or was lost. */
static bool bury(struct percpu *percpu, const struct live_block *old, uint64_t time, uint32_t owner)
{
	return pending_add(&percpu->pending, &(struct pending){
						     .address = old->address,
						     .size_bytes = old->size_bytes,
						     .deadline = time + percpu->reorder_units,
						     .site = old->site,
						     .thread = old->thread,
						     .owner = owner,
						     .cpu = birth_of(old).cpu,
						     .owed = true,
					     });
}

/* The free of this block came before it. */
static bool died_before(struct percpu *percpu, const struct live_block *block, struct actor *who)
{
	struct pending early;
	if (!percpu->pending.count ||
	    !pending_take(&percpu->pending, block->address, false, block->thread, &early))
		return false;
	*who = (struct actor){early.thread, early.cpu};
	return true;
}

static bool put_block(struct percpu *percpu, const struct live_block *block, uint64_t time)
{
	struct actor who;
	const struct birth birth = birth_of(block);
	count_birth(percpu, block);
	if (died_before(percpu, block, &who))
		return count_death(percpu, block, &who) && percpu_simulate_give(percpu, &who, birth.classes);
	struct live_block *place = block_table_place(&percpu->blocks, block->address);
	if (!place)
		return false;
	bool good = !place->address || bury(percpu, place, time, block->thread);
	percpu->blocks.count += place->address == 0;
	*place = *block;
	return good;
}

/* The free that an earlier allocation over a live block was owed. */
static bool pays_debt(struct percpu *percpu, uint64_t address, const struct actor *actor, bool *good)
{
	struct pending owed;
	if (!percpu->pending.count || !pending_take(&percpu->pending, address, true, actor->thread, &owed))
		return false;
	struct birth birth = {.cpu = owed.cpu};
	struct live_block block = {
		.address = address, .size_bytes = owed.size_bytes, .site = owed.site, .thread = owed.thread};
	percpu_classes_of(owed.size_bytes, 0, birth.classes);
	set_birth(&block, &birth);
	*good = count_death(percpu, &block, actor) && percpu_simulate_give(percpu, actor, birth.classes);
	return true;
}

/* Takes the block out; false where it is not known: then its free waits for it, or was owed. */
static bool take_block(struct percpu *percpu, uint64_t address, struct live_block *taken)
{
	struct live_block *block = block_table_find(&percpu->blocks, address);
	if (!block)
		return false;
	*taken = *block;
	block_table_remove(&percpu->blocks, block);
	percpu->blocks.count--;
	return true;
}

static bool wait_for_birth(struct percpu *percpu, uint64_t address, uint64_t time, const struct actor *actor)
{
	return pending_add(&percpu->pending, &(struct pending){.address = address,
							       .deadline = time + percpu->reorder_units,
							       .thread = actor->thread,
							       .cpu = actor->cpu});
}

/* ---- events -------------------------------------------------------------------------------------------- */

static bool on_free(struct percpu *percpu, uint64_t address, uint64_t time, const struct actor *actor)
{
	struct live_block block;
	bool good;
	if (pays_debt(percpu, address, actor, &good))
		return good;
	if (!take_block(percpu, address, &block))
		return wait_for_birth(percpu, address, time, actor);
	const struct birth birth = birth_of(&block);
	return count_death(percpu, &block, actor) && percpu_simulate_give(percpu, actor, birth.classes);
}

/* False when out of memory. */
static bool block_make(struct percpu *percpu, const struct trace_event *event, const struct actor *actor,
		       struct live_block *block, struct birth *birth)
{
	*birth = (struct birth){.cpu = actor->cpu};
	*block = (struct live_block){.address = event->address,
				     .size_bytes = event->size_bytes,
				     .site = site_of(percpu, event->stack_id),
				     .thread = actor->thread};
	percpu_classes_of(event->size_bytes, event->alignment_bytes, birth->classes);
	set_birth(block, birth);
	return block->site != IDMAP_NONE;
}

static bool on_allocation(struct percpu *percpu, const struct trace_event *event, const struct actor *actor)
{
	struct live_block block;
	struct birth birth;
	return block_make(percpu, event, actor, &block, &birth) &&
	       percpu_simulate_take(percpu, actor, birth.classes) && put_block(percpu, &block, event->time);
}

/* Until a realloc has ended, its new address can still be another thread's. */
static bool put_later(struct percpu *percpu, const struct live_block *block, uint64_t end_time)
{
	if (!array_reserve(&percpu->moved, &percpu->moved_capacity, percpu->moved_count + 1,
			   sizeof *percpu->moved))
		return false;
	size_t at = percpu->moved_count++;
	for (; at && percpu->moved[at - 1].end_time < end_time; at--)
		percpu->moved[at] = percpu->moved[at - 1];
	percpu->moved[at] = (struct moved_block){end_time, *block};
	return true;
}

static bool put_ended(struct percpu *percpu, uint64_t time)
{
	while (percpu->moved_count && percpu->moved[percpu->moved_count - 1].end_time <= time) {
		const struct moved_block *moved = &percpu->moved[--percpu->moved_count];
		if (!put_block(percpu, &moved->block, moved->end_time))
			return false;
	}
	return true;
}

/* The old block's end, and in what classes the new one is. */
static bool realloc_known(struct percpu *percpu, const struct trace_event *event, const struct actor *actor,
			  const struct live_block *old, bool lives_on, struct birth *birth)
{
	const struct birth old_birth = birth_of(old);
	if (!count_death(percpu, old, actor))
		return false;
	if (!lives_on)
		return percpu_simulate_give(percpu, actor, old_birth.classes);
	return percpu_simulate_realloc(percpu, actor, &old_birth, old->size_bytes, event->size_bytes,
				       birth->classes);
}

static bool on_realloc(struct percpu *percpu, const struct trace_event *event, const struct actor *actor)
{
	const bool dies = event->old_address && (percpu->exact || event->sampled_old);
	const bool lives = event->address && (percpu->exact || event->sampled_new);
	struct live_block old, block;
	struct birth birth;
	bool good = true, owed = dies && pays_debt(percpu, event->old_address, actor, &good);
	const bool known = dies && !owed && take_block(percpu, event->old_address, &old);
	if (dies && !owed && !known)
		good = wait_for_birth(percpu, event->old_address, event->time, actor);
	if (!good || (lives && !block_make(percpu, event, actor, &block, &birth)))
		return false;
	if (known)
		good = realloc_known(percpu, event, actor, &old, lives, &birth);
	else if (lives)
		good = percpu_simulate_take(percpu, actor, birth.classes);
	if (!good || !lives)
		return good;
	set_birth(&block, &birth);
	return event->end_time <= event->time ? put_block(percpu, &block, event->time)
					      : put_later(percpu, &block, event->end_time);
}

bool percpu_event(struct percpu *percpu, const struct trace_event *event)
{
	struct actor actor;
	if (percpu->moved_count && !put_ended(percpu, event->time))
		return false;
	if (percpu->pending.count)
		pending_settle(&percpu->pending, event->time);
	percpu_simulate_time(percpu, event->time);
	if (!percpu_place(percpu, event, &actor))
		return false;
	if (event_is_allocation(event->kind))
		return !event->address || on_allocation(percpu, event, &actor);
	if (event_is_free(event->kind))
		return !event->address || on_free(percpu, event->address, event->time, &actor);
	if (event->kind == EVENT_REALLOC)
		return on_realloc(percpu, event, &actor);
	if (event->kind == EVENT_THREAD_EXIT && percpu->models[CACHE_PER_THREAD])
		cachemodel_end_thread(percpu->models[CACHE_PER_THREAD], actor.thread);
	return rseq_watch_event(&percpu->rseq, event);
}

void percpu_prefetch(void *context, const struct trace_event *event)
{
	const struct block_table *blocks = &((struct percpu *)context)->blocks;
	if (event->kind <= EVENT_ALIGNED)
		__builtin_prefetch(&blocks->slots[block_table_hash(event->address, blocks->bits)], 1);
	if (event->kind == EVENT_REALLOC)
		__builtin_prefetch(&blocks->slots[block_table_hash(event->old_address, blocks->bits)], 1);
}

/* ---- life ---------------------------------------------------------------------------------------------- */

static uint64_t reorder_units(const struct trace *trace)
{
	uint64_t thousand_ns = trace_units_to_ns(trace, 1000);
	return thousand_ns ? UINT64_C(1000) * LIVEMAP_REORDER_NS / thousand_ns : LIVEMAP_REORDER_NS;
}

struct percpu *percpu_create(const struct trace *trace, const struct percpu_options *options)
{
	const struct trace_info *info = trace_info(trace);
	struct percpu *percpu = calloc(1, sizeof *percpu);
	if (!percpu)
		return NULL;
	percpu->trace = trace;
	percpu->exact = info->mode != TRACE_MODE_SAMPLE;
	percpu->sample_bytes = percpu->exact ? 0 : info->sample_bytes;
	percpu->reorder_units = reorder_units(trace);
	percpu->class_design =
		trace_allocator(trace)->kind == ALLOCATOR_GPERFTOOLS ? CACHE_PER_THREAD : CACHE_PER_CPU;
	if (block_table_create(&percpu->blocks) && topology_read(&percpu->topology, trace) &&
	    percpu_models_create(percpu, options))
		return percpu;
	percpu_free(percpu);
	return NULL;
}

void percpu_free(struct percpu *percpu)
{
	if (!percpu)
		return;
	topology_free(&percpu->topology);
	rseq_watch_free(&percpu->rseq);
	block_table_free(&percpu->blocks);
	free(percpu->pending.items);
	free(percpu->moved);
	free(percpu->cpus);
	free(percpu->sorted_cpus);
	free(percpu->order);
	free(percpu->cells);
	free(percpu->threads);
	free(percpu->sites);
	free(percpu->pairs);
	idmap_clear(&percpu->cpu_index);
	idmap_clear(&percpu->thread_index);
	idmap_clear(&percpu->site_index);
	pairmap_clear(&percpu->visited);
	pairmap_clear(&percpu->cell_index);
	pairmap_clear(&percpu->pair_index);
	cpu_counts_free(&percpu->counts);
	reuse_free(percpu->reuse);
	for (unsigned i = 0; i < CACHE_DESIGNS; i++)
		cachemodel_free(percpu->models[i]);
	free(percpu);
}

bool percpu_finish(struct percpu *percpu)
{
	struct percpu_totals *totals = &percpu->totals;
	if (!put_ended(percpu, UINT64_MAX))
		return false;
	pending_settle(&percpu->pending, UINT64_MAX);
	totals->unknown_frees = percpu->pending.unknown;
	totals->memory_bytes = block_table_bytes(&percpu->blocks) +
			       percpu->cell_capacity * sizeof *percpu->cells +
			       percpu->thread_capacity * sizeof *percpu->threads +
			       percpu->site_capacity * sizeof *percpu->sites;
	for (unsigned i = 0; i < CACHE_DESIGNS; i++)
		if (percpu->models[i])
			totals->memory_bytes += cachemodel_memory_bytes(percpu->models[i]);
	return percpu_sort_cpus(percpu);
}
