#include "analyzer/ftdc_summary.h"

#include <string.h>

#define PERIOD_DEFAULT_MS 1000 /* parameter diagnosticDataCollectionPeriodMillis */
#define GAP_PERIODS	  5

static const char *const figure_names[FIGURE_COUNT] = {
	[FIGURE_UPTIME_MS] = "serverStatus.uptimeMillis",
	[FIGURE_PID] = "serverStatus.pid",
	[FIGURE_CONNECTIONS] = "serverStatus.connections.current",
	[FIGURE_RESIDENT_MIB] = "serverStatus.mem.resident",
	[FIGURE_HEAP_BYTES] = "serverStatus.tcmalloc.generic.heap_size",
	[FIGURE_ALLOCATED_BYTES] = "serverStatus.tcmalloc.generic.current_allocated_bytes",
	[FIGURE_PER_CPU_CACHES] = "serverStatus.tcmalloc.usingPerCPUCaches",
	[FIGURE_PER_CPU_MAX_BYTES] = "serverStatus.tcmalloc.maxPerCPUCacheSizeBytes",
	[FIGURE_PER_CPU_FREE_BYTES] = "serverStatus.tcmalloc.tcmalloc.cpu_free",
	[FIGURE_THREAD_CACHES] = "serverStatus.tcmalloc.tcmalloc.thread_cache_count",
	[FIGURE_CACHE_BYTES] = "serverStatus.wiredTiger.cache.bytes currently in the cache",
	[FIGURE_CACHE_DIRTY_BYTES] = "serverStatus.wiredTiger.cache.tracked dirty bytes in the cache",
	[FIGURE_CACHE_MAX_BYTES] = "serverStatus.wiredTiger.cache.maximum bytes configured",
	[FIGURE_ANON_HUGE_KIB] = "systemMetrics.memory.AnonHugePages_kb",
	[FIGURE_THP_FAULT_ALLOC] = "systemMetrics.vmstat.thp_fault_alloc",
	[FIGURE_THP_FAULT_FALLBACK] = "systemMetrics.vmstat.thp_fault_fallback",
	[FIGURE_THP_COLLAPSE_ALLOC] = "systemMetrics.vmstat.thp_collapse_alloc",
	[FIGURE_THP_OPTED_IN] = "systemMetrics.status.process_opting_into_THP_if_enabled",
};

static size_t figure_of(const char *name)
{
	for (size_t i = 0; i < FIGURE_COUNT; i++)
		if (strcmp(figure_names[i], name) == 0)
			return i;
	return FIGURE_COUNT;
}

bool ftdc_summary_wants(void *context, const char *name)
{
	struct ftdc_summary *summary = context;
	bool memory = true;
	ftdc_names_add(&summary->names, name, &memory);
	summary->no_memory |= !memory;
	return figure_of(name) < FIGURE_COUNT;
}

/* ---- points -------------------------------------------------------------------------------------------- */

bool ftdc_point_has(const struct ftdc_point *point, enum ftdc_figure figure)
{
	return point->known >> figure & 1;
}

static struct ftdc_point point_at(const struct ftdc_summary *summary, const struct ftdc_chunk *chunk,
				  size_t sample)
{
	struct ftdc_point point = {.time_ms = chunk->time_ms[sample]};
	for (unsigned i = 0; i < FIGURE_COUNT; i++) {
		if (!summary->columns[i])
			continue;
		point.known |= UINT32_C(1) << i;
		point.figures[i] = summary->columns[i]->values[sample];
	}
	return point;
}

/* When there is no more room, every second point goes. */
static void keep_point(struct ftdc_summary *summary, const struct ftdc_point *point)
{
	if (summary->stride == 0)
		summary->stride = 1;
	if (summary->samples % summary->stride)
		return;
	if (summary->point_count == FTDC_POINTS_MAX) {
		for (size_t i = 1; i < FTDC_POINTS_MAX / 2; i++)
			summary->points[i] = summary->points[2 * i];
		summary->point_count = FTDC_POINTS_MAX / 2;
		summary->stride *= 2;
	}
	summary->points[summary->point_count++] = *point;
}

/* ---- time ---------------------------------------------------------------------------------------------- */

/* Milliseconds from `a` to `b`, where an int64_t holds them. */
static int64_t span_ms(int64_t a, int64_t b)
{
	int64_t span;
	if (__builtin_sub_overflow(b, a, &span))
		return b > a ? INT64_MAX : INT64_MIN;
	return span;
}

static bool fell(const struct ftdc_point *before, const struct ftdc_point *after, enum ftdc_figure figure)
{
	return ftdc_point_has(before, figure) && ftdc_point_has(after, figure) &&
	       after->figures[figure] < before->figures[figure];
}

static bool changed(const struct ftdc_point *before, const struct ftdc_point *after, enum ftdc_figure figure)
{
	return ftdc_point_has(before, figure) && ftdc_point_has(after, figure) &&
	       after->figures[figure] != before->figures[figure];
}

static void compare(struct ftdc_summary *summary, const struct ftdc_point *point)
{
	int64_t span = span_ms(summary->last.time_ms, point->time_ms);
	if (span < 0)
		summary->clock_steps_back++;
	if (span > GAP_PERIODS * summary->period_ms) {
		summary->gaps++;
		if (span > summary->longest_gap_ms)
			summary->longest_gap_ms = span;
	}
	if (fell(&summary->last, point, FIGURE_UPTIME_MS) || changed(&summary->last, point, FIGURE_PID))
		summary->restarts++;
}

/* ---- caches per CPU ------------------------------------------------------------------------------------ */

/* Before 8.0 "tcmalloc" is gperftools; 8.0 names what it has "tcmalloc-google" or "tcmalloc-gperf". */
static bool lacks_per_cpu_caches(const struct ftdc *ftdc)
{
	char allocator[64];
	return ftdc_text(ftdc, "buildInfo.allocator", allocator, sizeof allocator) &&
	       strcmp(allocator, "tcmalloc-google") != 0;
}

static enum ftdc_per_cpu per_cpu_state(const struct ftdc_point *point, const struct ftdc *ftdc)
{
	if (!ftdc_point_has(point, FIGURE_PER_CPU_CACHES))
		return lacks_per_cpu_caches(ftdc) ? PER_CPU_NONE : PER_CPU_UNKNOWN;
	if (!point->figures[FIGURE_PER_CPU_CACHES])
		return PER_CPU_INACTIVE;
	bool zero = ftdc_point_has(point, FIGURE_PER_CPU_MAX_BYTES) &&
		    point->figures[FIGURE_PER_CPU_MAX_BYTES] == 0;
	return zero ? PER_CPU_ZERO : PER_CPU_ACTIVE;
}

const char *ftdc_per_cpu_name(enum ftdc_per_cpu state)
{
	static const char *const names[] = {"unknown", "none", "active", "inactive", "zero-capacity"};
	return names[state];
}

/* ---- chunks -------------------------------------------------------------------------------------------- */

static void find_columns(struct ftdc_summary *summary, const struct ftdc_chunk *chunk)
{
	memset(summary->columns, 0, sizeof summary->columns);
	for (size_t i = 0; i < chunk->column_count; i++) {
		size_t figure = figure_of(chunk->columns[i].name);
		if (figure < FIGURE_COUNT)
			summary->columns[figure] = &chunk->columns[i];
	}
}

static void add_sample(struct ftdc_summary *summary, const struct ftdc_chunk *chunk, size_t sample)
{
	struct ftdc_point point = point_at(summary, chunk, sample);
	if (summary->samples == 0) {
		summary->first = point;
		summary->start_ms = summary->end_ms = point.time_ms;
	} else {
		compare(summary, &point);
	}
	keep_point(summary, &point);
	summary->last = point;
	summary->samples++;
	if (point.time_ms < summary->start_ms)
		summary->start_ms = point.time_ms;
	if (point.time_ms > summary->end_ms)
		summary->end_ms = point.time_ms;
}

void ftdc_summary_add(struct ftdc_summary *summary, const struct ftdc *ftdc, const struct ftdc_chunk *chunk)
{
	int64_t period;
	if (!ftdc_number(ftdc, "getParameter.diagnosticDataCollectionPeriodMillis", &period) || period < 1 ||
	    period > INT64_MAX / GAP_PERIODS)
		period = PERIOD_DEFAULT_MS;
	summary->period_ms = period;
	summary->schema_changes += summary->chunks > 0 && chunk->schema != summary->schema;
	summary->schema = chunk->schema;
	summary->chunks++;
	summary->repeated_samples += chunk->repeated;
	find_columns(summary, chunk);
	bool first = summary->samples == 0;
	for (size_t i = 0; i < chunk->samples; i++)
		add_sample(summary, chunk, i);
	if (chunk->samples)
		summary->per_cpu = per_cpu_state(&summary->last, ftdc);
	if (first && chunk->samples)
		summary->first_per_cpu = per_cpu_state(&summary->first, ftdc);
}

void ftdc_summary_free(struct ftdc_summary *summary)
{
	ftdc_names_free(&summary->names);
}
