#include "analyzer/locks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/array.h"
#include "analyzer/command.h"
#include "analyzer/locks_exposure.h"
#include "analyzer/locks_internal.h"
#include "analyzer/merge.h"

/* A record that opens an entry: to be placed when the events have come to that time. */
struct opening {
	uint64_t opened;
	size_t record; /* index into the block */
};

struct locks {
	struct trace *trace;
	struct locks_reader *reader;
	struct lockplaces *places;
	struct lock_entries entries;
	struct lock_rows rows;
	struct lock_thread *threads;
	size_t thread_count, thread_capacity;
	struct idmap threads_by_number;
	struct lock_site *sites;
	size_t site_count, site_capacity;
	struct pairmap sites_by_stack; /* stack id and kind */
	struct lock_reading *readings;
	size_t reading_count, reading_capacity;
	struct lock_sums totals[LOCK_KINDS];

	struct trace_locks block; /* being placed */
	bool loaded, begun;
	struct opening *openings; /* of it, by time */
	size_t opening_count, opening_capacity, opening_next;

	bool wrapped; /* a flight recorder that has lost its beginning */
	bool known;
	uint64_t start, end;
	uint64_t every;

	struct cpu_time {
		uint64_t time, cpu_us;
	} first_cpu, last_cpu; /* by snapshots; time 0: none */
};

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
			   sizeof *locks->readings))
		return NULL;
	locks->readings[locks->reading_count] = (struct lock_reading){.start = locks->end};
	return &locks->readings[locks->reading_count++];
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
	reading->contended += grown.contended;
	reading->wait += grown.wait;
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
	locks->sites[locks->site_count++] = (struct lock_site){.stack_id = stack_id, .kind = kind};
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

#define PROGRESS_EVENTS 65536u

static bool read_stream(struct locks *locks, struct livemap *live, struct regions *regions,
			struct merge *merge, struct error *error)
{
	const struct lock_world world = {live, regions};
	const struct merge_stats *stats = merge_stats(merge);
	struct progress progress;
	struct merge_item item;
	bool good = true;
	progress_start(&progress, "reading events");
	while (good && merge_next(merge, &item, error)) {
		if (item.snapshot)
			locks_snapshot(locks, item.snapshot);
		else if (!locks_event(locks, &world, item.event, error) ||
			 !regions_event(regions, item.event, error))
			good = false;
		else if (!livemap_apply(live, item.event))
			good = out_of_memory(error);
		if (stats->events % PROGRESS_EVENTS == 0)
			progress_update(&progress, stats->read_bytes, trace_info(locks->trace)->trace_bytes);
	}
	progress_end(&progress);
	return good && !error->code && locks_finish(locks, &world, error);
}

static struct livemap *live_of(const struct trace *trace)
{
	const struct trace_info *info = trace_info(trace);
	uint64_t unit_ns = trace_units_to_ns(trace, 1024);
	return livemap_create(info->mode == TRACE_MODE_SAMPLE ? info->sample_bytes : 0,
			      LIVEMAP_REORDER_NS * UINT64_C(1024) / (unit_ns ? unit_ns : 1024));
}

struct locks *locks_read(struct trace *trace, bool each, const struct symbol_options *options,
			 struct regions **regions, struct error *error)
{
	struct locks *locks = locks_open(trace, each);
	struct livemap *live = live_of(trace);
	*regions = regions_open(trace, options);
	struct merge *merge = locks && live && *regions ? merge_open(trace, error) : NULL;
	bool good = false;
	if (merge) {
		merge_lookahead(merge, livemap_prefetch, live);
		good = read_stream(locks, live, *regions, merge, error);
	}
	merge_close(merge);
	livemap_free(live);
	if (good)
		return locks;
	if (!error->code)
		out_of_memory(error);
	locks_close(locks);
	return NULL;
}

/* ---- what was found ------------------------------------------------------------------------------------ */

bool locks_recorded(const struct locks *locks)
{
	return locks->known || locks_reader_due(locks->reader) != UINT64_MAX;
}

bool locks_known(const struct locks *locks)
{
	return locks->known;
}

const struct trace *locks_trace(const struct locks *locks)
{
	return locks->trace;
}

const struct lock_row *locks_rows(const struct locks *locks, size_t *count)
{
	*count = locks->rows.count;
	return locks->rows.items;
}

const struct lock_thread *locks_threads(const struct locks *locks, size_t *count)
{
	*count = locks->thread_count;
	return locks->threads;
}

const struct lock_site *locks_sites(const struct locks *locks, size_t *count)
{
	*count = locks->site_count;
	return locks->sites;
}

const struct lock_reading *locks_readings(const struct locks *locks, size_t *count)
{
	*count = locks->reading_count;
	return locks->readings;
}

const struct lock_sums *locks_totals(const struct locks *locks, unsigned kind)
{
	return &locks->totals[kind < LOCK_KINDS ? kind : 0];
}

uint64_t locks_start(const struct locks *locks)
{
	return locks->start;
}

uint64_t locks_end(const struct locks *locks)
{
	return locks->end;
}

double locks_elapsed_s(const struct locks *locks)
{
	double length_s = trace_seconds(locks->trace, locks->end) - trace_seconds(locks->trace, locks->start);
	return locks->known && length_s > 0 ? length_s : 0;
}

double locks_cpus(const struct locks *locks)
{
	struct cpu_time from = locks->first_cpu, to = locks->last_cpu;
	double begin_s = trace_seconds(locks->trace, locks->start),
	       to_s = trace_seconds(locks->trace, to.time);
	if (!to.time)
		return NAN;
	/* The process's CPU time began with it. */
	if (!locks->wrapped && trace_seconds(locks->trace, from.time) > (begin_s + to_s) / 2)
		from = (struct cpu_time){locks->start, 0};
	double length_s = to_s - trace_seconds(locks->trace, from.time);
	bool known = length_s > 0 && to.cpu_us > from.cpu_us;
	return known ? (double)(to.cpu_us - from.cpu_us) / 1e6 / length_s : NAN;
}

uint64_t locks_every(const struct locks *locks)
{
	return locks->every;
}

/* ---- histograms ---------------------------------------------------------------------------------------- */

void lock_bucket_ns(unsigned bucket, uint64_t *low_ns, uint64_t *high_ns)
{
	*low_ns = bucket ? (uint64_t)LOCK_BUCKET_NS << 2 * (bucket - 1) : 0;
	*high_ns = bucket + 1 < LOCK_BUCKETS ? (uint64_t)LOCK_BUCKET_NS << 2 * bucket : UINT64_MAX;
}

unsigned lock_quantile(const uint64_t buckets[LOCK_BUCKETS], double quantile)
{
	double all = 0, seen = 0;
	for (unsigned i = 0; i < LOCK_BUCKETS; i++)
		all += (double)buckets[i];
	for (unsigned i = 0; i < LOCK_BUCKETS && all > 0; i++) {
		seen += (double)buckets[i];
		if (buckets[i] && seen >= quantile * all)
			return i;
	}
	return LOCK_BUCKETS;
}
