#include "analyzer/format.h"
#include "analyzer/ftdc_summary.h"
#include "analyzer/ftdc_table.h"
#include "analyzer/json.h"

#define BYTES_PER_MB 1048576 /* what hostInfo calls MB */

/* ---- what server and machine say of themselves --------------------------------------------------------- */

static void put_text(json_t *object, const char *key, const struct ftdc *ftdc, const char *path)
{
	char text[512];
	bool known = ftdc_text(ftdc, path, text, sizeof text) && *text;
	json_put_string(object, key, known ? text : NULL);
}

static void put_number(json_t *object, const char *key, const struct ftdc *ftdc, const char *path,
		       int64_t factor)
{
	int64_t value;
	if (ftdc_number(ftdc, path, &value) && !__builtin_mul_overflow(value, factor, &value))
		json_put_signed(object, key, value);
	else
		json_put_null(object, key);
}

static void put_flag(json_t *object, const char *key, const struct ftdc *ftdc, const char *path)
{
	int64_t value;
	if (ftdc_number(ftdc, path, &value))
		json_put_bool(object, key, value != 0);
	else
		json_put_null(object, key);
}

static void put_server(json_t *object, const struct ftdc *ftdc)
{
	put_text(object, "version", ftdc, "buildInfo.version");
	put_text(object, "git_version", ftdc, "buildInfo.gitVersion");
	put_text(object, "allocator", ftdc, "buildInfo.allocator");
	put_text(object, "arch", ftdc, "hostInfo.system.cpuArch");
	put_text(object, "host", ftdc, "hostInfo.system.hostname");
	put_text(object, "os", ftdc, "hostInfo.os.name");
	put_text(object, "os_version", ftdc, "hostInfo.os.version");
	put_text(object, "kernel", ftdc, "hostInfo.extra.kernelVersion");
	put_text(object, "libc", ftdc, "hostInfo.extra.libcVersion");
	put_number(object, "cpus", ftdc, "hostInfo.system.numCores", 1);
	put_number(object, "numa_nodes", ftdc, "hostInfo.system.numNumaNodes", 1);
	put_number(object, "page_size", ftdc, "hostInfo.extra.pageSize", 1);
	put_number(object, "memory_bytes", ftdc, "hostInfo.system.memSizeMB", BYTES_PER_MB);
	put_number(object, "memory_limit_bytes", ftdc, "hostInfo.system.memLimitMB", BYTES_PER_MB);
	put_flag(object, "glibc_rseq_present", ftdc, "hostInfo.extra.glibc_rseq_present");
	put_flag(object, "glibc_rseq_disabled", ftdc, "hostInfo.extra.glibc_pthread_rseq_disabled");
}

/* ---- figures ------------------------------------------------------------------------------------------- */

static void put_figure(json_t *object, const char *key, const struct ftdc_point *point,
		       enum ftdc_figure figure, int64_t factor)
{
	int64_t value;
	if (ftdc_point_has(point, figure) && !__builtin_mul_overflow(point->figures[figure], factor, &value))
		json_put_signed(object, key, value);
	else
		json_put_null(object, key);
}

/* How much a counter grew; null where it fell, since the machine was started again in between. */
static void put_growth(json_t *object, const char *key, const struct ftdc_summary *summary,
		       enum ftdc_figure figure)
{
	int64_t grown;
	bool known = ftdc_point_has(&summary->first, figure) && ftdc_point_has(&summary->last, figure) &&
		     !__builtin_sub_overflow(summary->last.figures[figure], summary->first.figures[figure],
					     &grown) &&
		     grown >= 0;
	json_put(object, key, known ? json_integer(grown) : NULL);
}

static json_t *thp_json(const struct ftdc_summary *summary, const struct ftdc *ftdc)
{
	json_t *object = json_object();
	put_text(object, "enabled", ftdc, "hostInfo.extra.thp_enabled");
	put_text(object, "defrag", ftdc, "hostInfo.extra.thp_defrag");
	put_text(object, "max_ptes_none", ftdc, "hostInfo.extra.thp_max_ptes_none");
	bool known = ftdc_point_has(&summary->last, FIGURE_THP_OPTED_IN);
	json_put(object, "process_opted_in",
		 known ? json_boolean(summary->last.figures[FIGURE_THP_OPTED_IN] != 0) : NULL);
	put_growth(object, "fault_alloc", summary, FIGURE_THP_FAULT_ALLOC);
	put_growth(object, "fault_fallback", summary, FIGURE_THP_FAULT_FALLBACK);
	put_growth(object, "collapse_alloc", summary, FIGURE_THP_COLLAPSE_ALLOC);
	return object;
}

static void put_caches(json_t *object, const struct ftdc_summary *summary)
{
	json_put_string(object, "per_cpu_caches", ftdc_per_cpu_name(summary->per_cpu));
	json_put_string(object, "per_cpu_caches_at_start", ftdc_per_cpu_name(summary->first_per_cpu));
	put_figure(object, "per_cpu_cache_max_bytes", &summary->last, FIGURE_PER_CPU_MAX_BYTES, 1);
	put_figure(object, "per_cpu_cache_free_bytes", &summary->last, FIGURE_PER_CPU_FREE_BYTES, 1);
	put_figure(object, "thread_caches", &summary->last, FIGURE_THREAD_CACHES, 1);
	put_figure(object, "wiredtiger_cache_max_bytes", &summary->last, FIGURE_CACHE_MAX_BYTES, 1);
}

static json_t *point_json(const struct ftdc_point *point)
{
	json_t *object = json_object();
	json_put_signed(object, "unix_ms", point->time_ms);
	put_figure(object, "connections", point, FIGURE_CONNECTIONS, 1);
	put_figure(object, "resident_bytes", point, FIGURE_RESIDENT_MIB, BYTES_PER_MB);
	put_figure(object, "heap_bytes", point, FIGURE_HEAP_BYTES, 1);
	put_figure(object, "allocated_bytes", point, FIGURE_ALLOCATED_BYTES, 1);
	put_figure(object, "wiredtiger_cache_bytes", point, FIGURE_CACHE_BYTES, 1);
	put_figure(object, "wiredtiger_cache_dirty_bytes", point, FIGURE_CACHE_DIRTY_BYTES, 1);
	put_figure(object, "anon_huge_bytes", point, FIGURE_ANON_HUGE_KIB, 1024);
	return object;
}

static json_t *points_json(const struct ftdc_summary *summary)
{
	json_t *array = json_array();
	for (size_t i = 0; i < summary->point_count; i++)
		json_array_append_new(array, point_json(&summary->points[i]));
	return array;
}

/* ---- the object ---------------------------------------------------------------------------------------- */

static void put_utc(json_t *object, const char *key, const struct ftdc_summary *summary, int64_t time_ms)
{
	char utc[FORMAT_TEXT_BYTES];
	bool known = summary->samples && *ftdc_utc(utc, time_ms);
	json_put_string(object, key, known ? utc : NULL);
}

static void put_extent(json_t *object, const struct ftdc_summary *summary, const struct ftdc *ftdc)
{
	size_t files;
	ftdc_files(ftdc, &files);
	json_put_count(object, "files", files);
	json_put_count(object, "chunks", summary->chunks);
	json_put_count(object, "samples", summary->samples);
	json_put_count(object, "repeated_samples", summary->repeated_samples);
	json_put_count(object, "metrics", summary->names.count);
	put_utc(object, "start", summary, summary->start_ms);
	put_utc(object, "end", summary, summary->end_ms);
	if (summary->samples)
		json_put_real(object, "duration_s",
			      ((double)summary->end_ms - (double)summary->start_ms) / 1000);
	else
		json_put_null(object, "duration_s");
	json_put_count(object, "schema_changes", summary->schema_changes);
	json_put_count(object, "restarts", summary->restarts);
	json_put_count(object, "gaps", summary->gaps);
	json_put_real(object, "longest_gap_s", (double)summary->longest_gap_ms / 1000);
	json_put_count(object, "clock_steps_back", summary->clock_steps_back);
}

static json_t *damage_json(const struct ftdc *ftdc)
{
	size_t count;
	const struct ftdc_damage *damage = ftdc_damage(ftdc, &count);
	json_t *array = json_array();
	for (size_t i = 0; i < count; i++)
		json_array_append_new(array, json_damage(damage[i].file, damage[i].offset_bytes,
							 damage[i].bytes, damage[i].text));
	return array;
}

json_t *ftdc_summary_json(const struct ftdc_summary *summary, const struct ftdc *ftdc)
{
	json_t *object = json_object();
	put_extent(object, summary, ftdc);
	put_server(object, ftdc);
	json_put(object, "thp", thp_json(summary, ftdc));
	put_caches(object, summary);
	json_put(object, "series", points_json(summary));
	json_put(object, "damage", damage_json(ftdc));
	json_put_count(object, "damage_count", ftdc_damage_count(ftdc));
	return object;
}
