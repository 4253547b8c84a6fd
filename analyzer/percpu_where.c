/* CPUs and threads of a pass: their indices, migrations, and the pairs that blocks pass between. */
#include <stdlib.h>

#include "analyzer/array.h"
#include "analyzer/percpu_internal.h"

/* ---- indices ------------------------------------------------------------------------------------------- */

static uint32_t cpu_add(struct percpu *percpu, uint32_t cpu)
{
	const size_t count = percpu->cpu_count;
	if (!array_reserve(&percpu->cpus, &percpu->cpu_capacity, count + 1, sizeof *percpu->cpus) ||
	    !idmap_add(&percpu->cpu_index, cpu, (uint32_t)count))
		return PERCPU_NONE;
	percpu->cpus[count] =
		(struct percpu_cpu){.cpu = cpu, .type = topology_type_of(&percpu->topology, cpu)};
	return (uint32_t)percpu->cpu_count++;
}

static uint32_t thread_add(struct percpu *percpu, uint32_t thread)
{
	const size_t count = percpu->thread_count;
	if (!array_reserve(&percpu->threads, &percpu->thread_capacity, count + 1, sizeof *percpu->threads) ||
	    !idmap_add(&percpu->thread_index, thread, (uint32_t)count))
		return PERCPU_NONE;
	percpu->threads[count] = (struct percpu_thread){.thread = thread, .cpu = PERCPU_NONE};
	return (uint32_t)percpu->thread_count++;
}

/* ---- migrations ---------------------------------------------------------------------------------------- */

static bool visit(struct percpu *percpu, uint32_t thread, uint32_t cpu)
{
	if (pairmap_get(&percpu->visited, thread, cpu) != PAIRMAP_NONE)
		return true;
	if (!pairmap_add(&percpu->visited, thread, cpu, 0))
		return false;
	percpu->threads[thread].cpus++;
	percpu->cpus[cpu].threads++;
	return true;
}

static bool move(struct percpu *percpu, uint32_t thread_index, uint32_t cpu)
{
	struct percpu_thread *thread = &percpu->threads[thread_index];
	const uint32_t from = thread->cpu;
	thread->cpu = cpu;
	if (from != PERCPU_NONE) {
		bool other_type = percpu->cpus[from].type != percpu->cpus[cpu].type;
		thread->migrations++;
		thread->type_migrations += other_type;
		percpu->cpus[cpu].migrations++;
		percpu->totals.migrations++;
		percpu->totals.type_migrations += other_type;
	}
	return visit(percpu, thread_index, cpu);
}

bool percpu_place(struct percpu *percpu, const struct trace_event *event, struct actor *actor)
{
	*actor = (struct actor){idmap_get(&percpu->thread_index, event->thread), PERCPU_NONE};
	if (actor->thread == IDMAP_NONE) {
		actor->thread = thread_add(percpu, event->thread);
		if (actor->thread == PERCPU_NONE)
			return false;
		percpu->threads[actor->thread].first_time = event->time;
	}
	struct percpu_thread *thread = &percpu->threads[actor->thread];
	thread->last_time = event->time;
	/* Numbers beyond what Linux knows are damage. */
	if (event->cpu >= TOPOLOGY_CPUS_MAX)
		return true;
	if (thread->cpu != PERCPU_NONE && percpu->cpus[thread->cpu].cpu == event->cpu) {
		actor->cpu = thread->cpu;
		return true;
	}
	actor->cpu = idmap_get(&percpu->cpu_index, event->cpu);
	if (actor->cpu == IDMAP_NONE)
		actor->cpu = cpu_add(percpu, event->cpu);
	return actor->cpu != PERCPU_NONE && move(percpu, actor->thread, actor->cpu);
}

/* ---- from CPU to CPU ----------------------------------------------------------------------------------- */

bool percpu_note_cell(struct percpu *percpu, uint32_t birth, uint32_t death, double weight, double bytes)
{
	uint32_t index = pairmap_get(&percpu->cell_index, birth, death);
	if (index == PAIRMAP_NONE) {
		index = (uint32_t)percpu->cell_count;
		if (!array_reserve(&percpu->cells, &percpu->cell_capacity, percpu->cell_count + 1,
				   sizeof *percpu->cells) ||
		    !pairmap_add(&percpu->cell_index, birth, death, index))
			return false;
		percpu->cells[percpu->cell_count++] = (struct percpu_cell){0, 0};
	}
	percpu->cells[index].blocks += weight;
	percpu->cells[index].bytes += weight * bytes;
	return true;
}

/* ---- pairs --------------------------------------------------------------------------------------------- */

bool percpu_note_pair(struct percpu *percpu, uint32_t producer, uint32_t consumer, double weight,
		      double bytes)
{
	uint32_t index = pairmap_get(&percpu->pair_index, producer, consumer);
	if (index == PAIRMAP_NONE && percpu->pair_count == PERCPU_PAIRS_MAX) {
		tally_add(&percpu->totals.other_pairs, weight, bytes);
		return true;
	}
	if (index == PAIRMAP_NONE) {
		index = (uint32_t)percpu->pair_count;
		if (!array_reserve(&percpu->pairs, &percpu->pair_capacity, percpu->pair_count + 1,
				   sizeof *percpu->pairs) ||
		    !pairmap_add(&percpu->pair_index, producer, consumer, index))
			return false;
		percpu->pairs[percpu->pair_count++] =
			(struct percpu_pair){.producer = producer, .consumer = consumer};
	}
	tally_add(&percpu->pairs[index].frees, weight, bytes);
	return true;
}

/* ---- by number ----------------------------------------------------------------------------------------- */

static int by_cpu(const void *a, const void *b, void *context)
{
	const struct percpu_cpu *cpus = context;
	uint32_t left = cpus[*(const uint32_t *)a].cpu, right = cpus[*(const uint32_t *)b].cpu;
	return (left > right) - (left < right);
}

bool percpu_sort_cpus(struct percpu *percpu)
{
	const size_t count = percpu->cpu_count;
	percpu->order = malloc((count + 1) * sizeof *percpu->order);
	percpu->sorted_cpus = malloc((count + 1) * sizeof *percpu->sorted_cpus);
	if (!percpu->order || !percpu->sorted_cpus)
		return false;
	for (size_t i = 0; i < count; i++)
		percpu->order[i] = (uint32_t)i;
	if (count)
		qsort_r(percpu->order, count, sizeof *percpu->order, by_cpu, percpu->cpus);
	for (size_t i = 0; i < count; i++)
		percpu->sorted_cpus[i] = percpu->cpus[percpu->order[i]];
	return true;
}

uint32_t percpu_cache_of(const struct percpu *percpu, size_t cpu)
{
	return percpu->order[cpu];
}

struct percpu_cell percpu_cell(const struct percpu *percpu, size_t birth, size_t death)
{
	uint32_t index = pairmap_get(&percpu->cell_index, percpu->order[birth], percpu->order[death]);
	return index == PAIRMAP_NONE ? (struct percpu_cell){0, 0} : percpu->cells[index];
}
