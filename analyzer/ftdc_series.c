#include "analyzer/ftdc_series.h"

#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	EXTRA_DIRTY = SERIES_SERVER_LAST + 1,
	EXTRA_CACHE_MAX,
	EXTRA_UPTIME,
	EXTRA_END,
};
_Static_assert(EXTRA_END - EXTRA_DIRTY <= FTDC_SERIES_EXTRA, "room for what series are made of");

#define SECTOR_BYTES 512.0 /* of /proc/diskstats, whatever the disk's are */
#define PER_MS	     1e-3
#define SHARE	     1e-4 /* microseconds a second as percent */
#define SERVER	     "serverStatus."
#define CACHE	     SERVER "wiredTiger.cache."
#define SYSTEM	     "systemMetrics."
#define MEMBERS	     "replSetGetStatus.members."

/* What is given to one series several times, or by several columns, adds up. */
static const struct source {
	const char *metric; /* a pattern, where it has a '*' */
	unsigned figure;    /* enum series_id, or one of the extra ones */
	double unit;
} sources[] = {
	{SERVER "opcounters.insert", SERIES_SERVER_INSERTS, 1},
	{SERVER "opcounters.query", SERIES_SERVER_QUERIES, 1},
	{SERVER "opcounters.update", SERIES_SERVER_UPDATES, 1},
	{SERVER "opcounters.delete", SERIES_SERVER_DELETES, 1},
	{SERVER "opcounters.getmore", SERIES_SERVER_GETMORES, 1},
	{SERVER "opcounters.command", SERIES_SERVER_COMMANDS, 1},
	{SERVER "connections.current", SERIES_SERVER_CONNECTIONS, 1},
	{SERVER "flowControl.timeAcquiringMicros", SERIES_SERVER_FLOW_CONTROL, 1},
	{SERVER "mem.resident", SERIES_SERVER_RESIDENT, 1048576},
	{SERVER "tcmalloc.generic.heap_size", SERIES_SERVER_HEAP, 1},
	{SERVER "tcmalloc.generic.current_allocated_bytes", SERIES_SERVER_ALLOCATED, 1},
	{SERVER "tcmalloc.tcmalloc.cpu_free", SERIES_SERVER_CPU_FREE, 1},
	{SERVER "tcmalloc.tcmalloc.pageheap_free_bytes", SERIES_SERVER_PAGEHEAP_FREE, 1},
	{CACHE "bytes currently in the cache", SERIES_SERVER_CACHE, 1},
	{CACHE "tracked dirty bytes in the cache", EXTRA_DIRTY, 1},
	{CACHE "maximum bytes configured", EXTRA_CACHE_MAX, 1},
	{CACHE "pages read into cache", SERIES_SERVER_CACHE_READ, 1},
	{CACHE "pages written from cache", SERIES_SERVER_CACHE_WRITTEN, 1},
	{CACHE "modified pages evicted", SERIES_SERVER_EVICTED, 1},
	{CACHE "unmodified pages evicted", SERIES_SERVER_EVICTED, 1},
	{CACHE "pages evicted by application threads", SERIES_SERVER_EVICTED_APP, 1},
	{SERVER "wiredTiger.transaction.transaction checkpoint currently running", SERIES_SERVER_CHECKPOINT,
	 1},
	{SERVER "uptimeMillis", EXTRA_UPTIME, 1},
	{SYSTEM "memory.AnonHugePages_kb", SERIES_SERVER_ANON_HUGE, 1024},
	{SYSTEM "memory.MemAvailable_kb", SERIES_SERVER_AVAILABLE, 1024},
	{SYSTEM "vmstat.thp_fault_alloc", SERIES_SERVER_THP_FAULTS, 1},
	{SYSTEM "vmstat.thp_fault_fallback", SERIES_SERVER_THP_FALLBACKS, 1},
	{SYSTEM "vmstat.thp_collapse_alloc", SERIES_SERVER_THP_COLLAPSES, 1},
	{SYSTEM "vmstat.pgmajfault", SERIES_SERVER_MAJOR_FAULTS, 1},
	{SYSTEM "disks.*.read_sectors", SERIES_SERVER_DISK_READ, SECTOR_BYTES},
	{SYSTEM "disks.*.write_sectors", SERIES_SERVER_DISK_WRITTEN, SECTOR_BYTES},
	{SYSTEM "cpu.user_ms", SERIES_SERVER_CPU_USER, PER_MS},
	{SYSTEM "cpu.system_ms", SERIES_SERVER_CPU_SYSTEM, PER_MS},
	{SYSTEM "cpu.iowait_ms", SERIES_SERVER_CPU_IOWAIT, PER_MS},
	{SYSTEM "pressure.cpu.some.totalMicros", SERIES_SERVER_PRESSURE_CPU, SHARE},
	{SYSTEM "pressure.memory.some.totalMicros", SERIES_SERVER_PRESSURE_MEMORY, SHARE},
	{SYSTEM "pressure.io.some.totalMicros", SERIES_SERVER_PRESSURE_IO, SHARE},
};
enum { SOURCES = sizeof sources / sizeof *sources };

/* ---- columns ------------------------------------------------------------------------------------------- */

static unsigned source_of(const char *name)
{
	for (unsigned i = 0; i < SOURCES; i++)
		if (strcmp(sources[i].metric, name) == 0 ||
		    (strchr(sources[i].metric, '*') && fnmatch(sources[i].metric, name, 0) == 0))
			return i;
	return SOURCES;
}

/* The field of a member of the replica set; NULL for another metric. */
static const char *member_field(const char *name, unsigned long *member)
{
	char *end;
	if (strncmp(name, MEMBERS, strlen(MEMBERS)) != 0)
		return NULL;
	*member = strtoul(name + strlen(MEMBERS), &end, 10);
	return *end == '.' && *member < FTDC_MEMBERS_MAX ? end + 1 : NULL;
}

static const int64_t **member_column(struct ftdc_member *member, const char *field)
{
	if (strcmp(field, "optimeDate") == 0)
		return &member->optime_ms;
	if (strcmp(field, "state") == 0)
		return &member->state;
	return strcmp(field, "self") == 0 ? &member->self : NULL;
}

bool ftdc_series_wants(const char *name)
{
	struct ftdc_member unused;
	unsigned long member;
	const char *field = member_field(name, &member);
	return field ? member_column(&unused, field) != NULL : source_of(name) < SOURCES;
}

void ftdc_series_chunk(struct ftdc_series *series, const struct ftdc_chunk *chunk)
{
	series->column_count = 0;
	memset(series->members, 0, sizeof series->members);
	for (size_t i = 0; i < chunk->column_count; i++) {
		const struct ftdc_column *column = &chunk->columns[i];
		unsigned long member;
		const char *field = member_field(column->name, &member);
		const int64_t **place = field ? member_column(&series->members[member], field) : NULL;
		unsigned source = source_of(column->name);
		if (place)
			*place = column->values;
		if (source == SOURCES || series->column_count == FTDC_COLUMNS_MAX)
			continue;
		series->columns[series->column_count] = column->values;
		series->source_of[series->column_count++] = (unsigned char)source;
	}
}

/* ---- samples ------------------------------------------------------------------------------------------- */

static void add_up(const struct ftdc_series *series, size_t sample, double *sums)
{
	for (size_t i = 0; i < FTDC_SERIES_COUNT + FTDC_SERIES_EXTRA; i++)
		sums[i] = NAN;
	for (size_t i = 0; i < series->column_count; i++) {
		const struct source *source = &sources[series->source_of[i]];
		double *sum = &sums[source->figure - SERIES_SERVER_FIRST];
		double value = (double)series->columns[i][sample] * source->unit;
		*sum = isnan(*sum) ? value : *sum + value;
	}
}

static double sum_of(const double *sums, unsigned figure)
{
	return sums[figure - SERIES_SERVER_FIRST];
}

/* How far this member's last operation is behind the primary's; NaN without a primary, or a replica set. */
static double lag_s(const struct ftdc_series *series, size_t sample)
{
	double primary_ms = NAN, own_ms = NAN;
	for (size_t i = 0; i < FTDC_MEMBERS_MAX; i++) {
		const struct ftdc_member *member = &series->members[i];
		if (!member->optime_ms || !member->state)
			continue;
		if (member->state[sample] == 1)
			primary_ms = (double)member->optime_ms[sample];
		if (member->self && member->self[sample])
			own_ms = (double)member->optime_ms[sample];
	}
	return (primary_ms - own_ms) / 1000;
}

static bool restarted(const struct ftdc_series *series, const double *sums)
{
	return sum_of(sums, EXTRA_UPTIME) < sum_of(series->before, EXTRA_UPTIME);
}

static void put_values(const struct ftdc_series *series, const double *sums, double length_s, double *values)
{
	bool broken = restarted(series, sums);
	for (unsigned id = SERIES_SERVER_FIRST; id <= SERIES_SERVER_LAST; id++) {
		double now = sum_of(sums, id), before = sum_of(series->before, id);
		values[id] = now;
		if (series_infos[id].kind == SERIES_RATE)
			values[id] = broken || now < before ? NAN : (now - before) / length_s;
	}
	double room = sum_of(sums, EXTRA_CACHE_MAX);
	if (room > 0) {
		values[SERIES_SERVER_CACHE_FILL] = 100 * sum_of(sums, SERIES_SERVER_CACHE) / room;
		values[SERIES_SERVER_CACHE_DIRTY] = 100 * sum_of(sums, EXTRA_DIRTY) / room;
	}
}

bool ftdc_series_sample(struct ftdc_series *series, const struct ftdc_chunk *chunk, size_t sample,
			int64_t *start_ms, double values[SERIES_COUNT])
{
	double sums[FTDC_SERIES_COUNT + FTDC_SERIES_EXTRA];
	const int64_t now_ms = chunk->time_ms[sample];
	add_up(series, sample, sums);
	bool interval = series->started && now_ms > series->before_ms;
	*start_ms = series->before_ms;
	if (interval) {
		put_values(series, sums, ((double)now_ms - (double)series->before_ms) / 1000, values);
		values[SERIES_SERVER_LAG] = lag_s(series, sample);
	}
	memcpy(series->before, sums, sizeof sums);
	series->before_ms = now_ms;
	series->started = true;
	return interval;
}
