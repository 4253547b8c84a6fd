/* A whole trace into the sums, and what was found. */
#include <math.h>

#include "analyzer/command.h"
#include "analyzer/locksums_internal.h"
#include "analyzer/merge.h"

static bool out_of_memory(struct error *error)
{
	return error_set(error, ERROR_INTERNAL, NULL, ERROR_NO_OFFSET, "out of memory");
}

/* ---- a whole trace ------------------------------------------------------------------------------------- */

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

struct lock_sums locks_totals_held(const struct locks *locks, bool held)
{
	struct lock_sums sums = {0};
	for (unsigned kind = 1; kind < LOCK_KINDS; kind++)
		if (lock_kind_held(kind) == held)
			lock_sums_add(&sums, &locks->totals[kind]);
	return sums;
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
