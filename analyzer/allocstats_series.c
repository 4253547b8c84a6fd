#include "analyzer/allocstats_series.h"

#include <math.h>

struct level_names {
	enum series_id series;
	const char *names[4]; /* ends with NULL; the first one that is there */
};

static const struct level_names levels[] = {
	{SERIES_TCMALLOC_ALLOCATED, {"generic.current_allocated_bytes"}},
	{SERIES_TCMALLOC_HEAP, {"generic.heap_size"}},
	{SERIES_TCMALLOC_CPU_FREE, {"tcmalloc.cpu_free"}},
	{SERIES_TCMALLOC_THREAD_FREE, {"tcmalloc.thread_cache_free", "tcmalloc.thread_cache_free_bytes"}},
	{SERIES_TCMALLOC_CENTRAL_FREE, {"tcmalloc.central_cache_free", "tcmalloc.central_cache_free_bytes"}},
	{SERIES_TCMALLOC_TRANSFER_FREE,
	 {"tcmalloc.transfer_cache_free", "tcmalloc.transfer_cache_free_bytes"}},
	{SERIES_TCMALLOC_PAGEHEAP_FREE, {"tcmalloc.pageheap_free_bytes"}},
	{SERIES_TCMALLOC_PAGEHEAP_UNMAPPED, {"tcmalloc.pageheap_unmapped_bytes"}},
	{SERIES_TCMALLOC_METADATA, {"tcmalloc.metadata_bytes"}},
};

/* Within the interval that the record ends. */
static bool is_fresh(const struct allocstats_series *series, const struct allocstats *stats, uint64_t age_ns)
{
	uint64_t now_ns = stats->mark.monotonic_ns;
	return age_ns <= now_ns && now_ns - age_ns > series->before_ns;
}

static double level(uint64_t value)
{
	return value == ALLOCSTATS_UNKNOWN ? NAN : (double)value;
}

static void put_levels(const struct allocstats_series *series, const struct allocstats *stats,
		       struct model_row *row)
{
	if (is_fresh(series, stats, stats->per_cpu_age_ns))
		row->values[SERIES_TCMALLOC_CPU_UNALLOCATED] = level(allocstats_sum(stats).unallocated_bytes);
	if (!is_fresh(series, stats, stats->values_age_ns))
		return;
	for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
		row->values[levels[i].series] = level(allocstats_first(stats, levels[i].names));
}

/* A count that went back is another process's, or wrong: it starts anew. */
static void put_count(struct allocstats_count *last, struct allocstats_count now, enum series_id series,
		      struct model_row *rows)
{
	bool rises = last->time_ns && now.time_ns > last->time_ns && now.value >= last->value;
	double per_s =
		rises ? (double)(now.value - last->value) * 1e9 / (double)(now.time_ns - last->time_ns) : NAN;
	for (size_t i = last->next_row; last->time_ns && i < now.next_row; i++)
		rows[i].values[series] = per_s;
	*last = now;
}

static void put_counts(struct allocstats_series *series, const struct allocstats *stats,
		       struct model_row *rows, size_t row_count)
{
	const struct allocstats_cpu sum = allocstats_sum(stats);
	const struct {
		enum series_id series;
		uint64_t value, age_ns;
	} counts[ALLOCSTATS_COUNTS] = {
		{SERIES_TCMALLOC_UNDERFLOWS, sum.underflows, stats->per_cpu_age_ns},
		{SERIES_TCMALLOC_OVERFLOWS, sum.overflows, stats->per_cpu_age_ns},
		{SERIES_TCMALLOC_RECLAIMS, sum.reclaims, stats->per_cpu_age_ns},
		{SERIES_TCMALLOC_LOCK_WAIT, allocstats_value(stats, "tcmalloc.spinlock_total_delay_ns"),
		 stats->values_age_ns},
	};
	for (size_t i = 0; i < ALLOCSTATS_COUNTS; i++) {
		if (counts[i].value == ALLOCSTATS_UNKNOWN || !is_fresh(series, stats, counts[i].age_ns))
			continue;
		put_count(&series->counts[i],
			  (struct allocstats_count){counts[i].value,
						    stats->mark.monotonic_ns - counts[i].age_ns, row_count},
			  counts[i].series, rows);
	}
}

void allocstats_series_add(struct allocstats_series *series, const struct allocstats *stats,
			   struct model_row *rows, size_t count)
{
	if (count)
		put_levels(series, stats, &rows[count - 1]);
	put_counts(series, stats, rows, count);
	series->before_ns = stats->mark.monotonic_ns;
}
