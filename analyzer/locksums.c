/* Blocks and events, one after the other: entries opened and placed, sums counted. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/array.h"
#include "analyzer/locks_exposure.h"
#include "analyzer/locksums_internal.h"

static bool out_of_memory(struct error *error)
{
	return error_set(error, ERROR_INTERNAL, NULL, ERROR_NO_OFFSET, "out of memory");
}

/* ---- open, close --------------------------------------------------------------------------------------- */

struct locks *locks_open(struct trace *trace, bool each)
{
	struct locks *locks = calloc(1, sizeof *locks);
	if (!locks)
		return NULL;
	const struct trace_info *info = trace_info(trace);
	locks->trace = trace;
	locks->reader = locks_reader_open(trace);
	locks->places = lockplaces_open(trace);
	locks->rows.each = each;
	locks->wrapped = info->flight_recorder && trace_seconds(trace, info->first_time) > 0.001;
	locks->start = locks->end = info->first_time;
	if (!trace_key_number(trace, "locks_every", &locks->every))
		locks->every = 0;
	if (!locks->reader || !locks->places) {
		locks_close(locks);
		return NULL;
	}
	return locks;
}

void locks_close(struct locks *locks)
{
	if (!locks)
		return;
	locks_reader_close(locks->reader);
	lockplaces_close(locks->places);
	lock_entries_free(&locks->entries);
	lock_rows_free(&locks->rows);
	idmap_clear(&locks->threads_by_number);
	pairmap_clear(&locks->sites_by_stack);
	free(locks->threads);
	free(locks->sites);
	free(locks->readings);
	free(locks->openings);
	free(locks);
}

/* ---- a block ------------------------------------------------------------------------------------------- */

static int by_time(const void *left, const void *right)
{
	const struct opening *a = left, *b = right;
	if (a->opened != b->opened)
		return a->opened < b->opened ? -1 : 1;
	return (a->record > b->record) - (a->record < b->record);
}

/* The next block, and which of its records open an entry. False on an error. */
static bool load(struct locks *locks, struct error *error)
{
	locks->opening_count = locks->opening_next = 0;
	locks->loaded = locks_reader_next(locks->reader, UINT64_MAX, &locks->block, error);
	if (!locks->loaded)
		return error->code == ERROR_NONE;
	if (!array_reserve(&locks->openings, &locks->opening_capacity, locks->block.count + 1,
			   sizeof *locks->openings))
		return out_of_memory(error);
	for (size_t i = 0; i < locks->block.count; i++)
		if (!lock_entries_find(&locks->entries, &locks->block.records[i]))
			locks->openings[locks->opening_count++] =
				(struct opening){locks->block.records[i].opened, i};
	if (locks->opening_count > 1)
		qsort(locks->openings, locks->opening_count, sizeof *locks->openings, by_time);
	if (!locks->known && locks->wrapped)
		locks->start = locks->block.time;
	locks->known = true;
	return true;
}

static struct lock_place place_of(struct locks *locks, const struct lock_world *world,
				  const struct lock_record *record)
{
	if (record->kind == LOCK_ATOMIC)
		return (struct lock_place){.kind = PLACE_LIBATOMIC};
	if (!record->address)
		return (struct lock_place){.kind = PLACE_NO_ROOM};
	return lockplaces_find(locks->places, world, record->address, record->opened);
}

/* What an entry held before the time that is left of a flight recorder is not counted. */
static bool open_entry(struct locks *locks, const struct lock_world *world, const struct lock_record *record)
{
	struct lock_record before = {.address = record->address,
				     .opened = record->opened,
				     .thread = record->thread,
				     .kind = record->kind};
	if (lock_entries_find(&locks->entries, record)) /* told of twice in one block */
		return true;
	struct lock_place place = place_of(locks, world, record);
	struct lock_slot slot = lock_rows_of(&locks->rows, &place, record->kind, record->address);
	if (locks->wrapped && record->opened < locks->start)
		before = *record;
	before.flags = 0;
	return slot.row != UINT32_MAX && lock_entries_add(&locks->entries, &before, slot);
}

static bool open_entries(struct locks *locks, const struct lock_world *world, uint64_t time)
{
	for (; locks->opening_next < locks->opening_count; locks->opening_next++) {
		const struct opening *opening = &locks->openings[locks->opening_next];
		if (opening->opened >= time && time != UINT64_MAX)
			return true;
		if (!open_entry(locks, world, &locks->block.records[opening->record]))
			return false;
	}
	return true;
}

/* ---- sums ---------------------------------------------------------------------------------------------- */

static struct lock_thread *thread_of(struct locks *locks, uint32_t number)
{
	uint32_t index = idmap_get(&locks->threads_by_number, number);
	if (index != IDMAP_NONE)
		return &locks->threads[index];
	index = (uint32_t)locks->thread_count;
	if (!array_reserve(&locks->threads, &locks->thread_capacity, locks->thread_count + 1,
			   sizeof *locks->threads) ||
	    !idmap_add(&locks->threads_by_number, number, index))
		return NULL;
	locks->threads[locks->thread_count++] = (struct lock_thread){.thread = number};
	return &locks->threads[index];
}

/* Blocks that follow each other within half an interval are one reading. */
static struct lock_reading *reading_of(struct locks *locks, const struct trace_locks *block)
{
	uint64_t interval = trace_interval(locks->trace);
	struct lock_reading *last = locks->reading_count ? &locks->readings[locks->reading_count - 1] : NULL;
	if (last && block->end_time < last->end + interval / 2)
		return last;
	if (!array_reserve(&locks->readings, &locks->reading_capacity, locks->reading_count + 1,
			   sizeof *locks->readings) ||
	    !locks->readings)
		return NULL;
	last = &locks->readings[locks->reading_count++];
	*last = (struct lock_reading){.start = locks->end};
	return last;
}

static bool count_record(struct locks *locks, struct lock_reading *reading, const struct lock_record *record)
{
	struct lock_entry *entry = lock_entries_find(&locks->entries, record);
	struct lock_thread *thread = thread_of(locks, record->thread);
	if (!entry || !thread)
		return false;
	struct lock_slot slot = entry->slot;
	struct lock_sums grown = lock_entries_take(&locks->entries, entry, record);
	lock_sums_add(&thread->kinds[record->kind], &grown);
	lock_sums_add(&locks->totals[record->kind], &grown);
	lock_sums_add(&locks->totals[0], &grown);
	reading->operations += lock_operations(&grown);
	if (lock_kind_held(record->kind)) {
		reading->contended += grown.contended;
		reading->wait += grown.wait;
	}
	double atomics = lock_atomics(record->kind, &grown);
	reading->atomics += atomics;
	return lock_rows_add(&locks->rows, slot, record->thread, &grown, atomics);
}

static bool count_block(struct locks *locks)
{
	struct lock_reading *reading = reading_of(locks, &locks->block);
	if (!reading)
		return false;
	for (size_t i = 0; i < locks->block.count; i++)
		if (!count_record(locks, reading, &locks->block.records[i]))
			return false;
	if (locks->block.end_time > locks->end)
		locks->end = locks->block.end_time;
	reading->end = locks->end;
	return lock_entries_sweep(&locks->entries);
}

/* All events before `time` are applied. */
static bool until(struct locks *locks, const struct lock_world *world, uint64_t time, struct error *error)
{
	if (!locks->begun && !load(locks, error))
		return false;
	locks->begun = true;
	while (locks->loaded) {
		if (!open_entries(locks, world, time))
			return out_of_memory(error);
		if (locks->opening_next < locks->opening_count)
			return true;
		if (!count_block(locks))
			return out_of_memory(error);
		if (!load(locks, error))
			return false;
	}
	return true;
}

/* ---- sites --------------------------------------------------------------------------------------------- */

static struct lock_site *site_of(struct locks *locks, uint32_t stack_id, unsigned kind)
{
	uint32_t index = pairmap_get(&locks->sites_by_stack, stack_id, kind);
	if (index != PAIRMAP_NONE)
		return &locks->sites[index];
	index = (uint32_t)locks->site_count;
	if (!array_reserve(&locks->sites, &locks->site_capacity, locks->site_count + 1,
			   sizeof *locks->sites) ||
	    !pairmap_add(&locks->sites_by_stack, stack_id, kind, index))
		return NULL;
	double unseen = locks->every > 1 ? (double)locks->every : 0; /* what one chosen call more would add */
	locks->sites[locks->site_count++] =
		(struct lock_site){.stack_id = stack_id, .kind = kind, .acquired.weight = unseen};
	return &locks->sites[index];
}

/* A call chosen with probability 1 / weight, which carries `value` (Horvitz and Thompson, as in estimate.h).
 */
static void add_chosen(struct estimate *sum, double weight, double value)
{
	sum->value += weight * value;
	sum->variance += weight * (weight - 1) * value * value;
	sum->floor += value;
	if (weight > 1)
		sum->weight = fmax(sum->weight, weight * value);
}

static bool take_call(struct locks *locks, const struct trace_event *event)
{
	if (event->args[0] >= LOCK_KINDS || !lock_kind_name((unsigned)event->args[0]))
		return true;
	struct lock_site *site = site_of(locks, event->stack_id, (unsigned)event->args[0]);
	double weight = event->size_bytes ? (double)event->size_bytes : 1;
	if (!site)
		return false;
	site->samples++;
	if (event->kind == EVENT_LOCK_HOLD) {
		add_chosen(&site->acquired, weight, 1);
		return true;
	}
	uint64_t wait = event->end_time > event->time ? event->end_time - event->time : 0;
	add_chosen(&site->contended, weight, 1);
	add_chosen(&site->wait, weight, (double)wait);
	return true;
}

/* ---- the pass ------------------------------------------------------------------------------------------ */

bool locks_event(struct locks *locks, const struct lock_world *world, const struct trace_event *event,
		 struct error *error)
{
	bool pending = locks->opening_next < locks->opening_count || !locks->begun;
	if (pending && !until(locks, world, event->time, error))
		return false;
	if (!lockplaces_event(locks->places, event))
		return out_of_memory(error);
	if (event->kind != EVENT_LOCK_WAIT && event->kind != EVENT_LOCK_HOLD)
		return true;
	return take_call(locks, event) || out_of_memory(error);
}

void locks_snapshot(struct locks *locks, const struct snapshot *snapshot)
{
	if (snapshot->user_cpu_us == SNAPSHOT_UNKNOWN || snapshot->system_cpu_us == SNAPSHOT_UNKNOWN)
		return;
	uint64_t own = snapshot->writer_cpu_us == SNAPSHOT_UNKNOWN ? 0 : snapshot->writer_cpu_us;
	uint64_t all = snapshot->user_cpu_us + snapshot->system_cpu_us;
	locks->last_cpu = (struct cpu_time){snapshot->mark.time, all > own ? all - own : 0};
	if (!locks->first_cpu.time)
		locks->first_cpu = locks->last_cpu;
}

bool locks_finish(struct locks *locks, const struct lock_world *world, struct error *error)
{
	return until(locks, world, UINT64_MAX, error);
}
