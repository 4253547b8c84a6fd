#include "analyzer/ycsb_object.h"

#include <stdio.h>
#include <string.h>

#include "analyzer/utf8.h"
#include "analyzer/ycsb_audit.h"

static void put_count_or_null(json_t *object, const char *key, uint64_t value)
{
	json_put(object, key, value == YCSB_UNKNOWN ? NULL : json_count(value));
}

/* Names come from the file, perhaps cut within a character. */
static void put_named(json_t *object, const char *name, json_t *value)
{
	char key[YCSB_NAME_BYTES];
	snprintf(key, sizeof key, "%s", name);
	utf8_repair(key);
	json_put(object, key, value);
}

/* All that were printed, by "50", "99.9". */
static json_t *percentiles_object(const struct ycsb_operation *operation)
{
	json_t *object = json_object();
	for (size_t i = 0; i < operation->percentile_count; i++) {
		char name[32];
		snprintf(name, sizeof name, "%.10g", operation->percentiles[i].percentile);
		json_put_real(object, name, operation->percentiles[i].us);
	}
	return object;
}

/* Of measurementtype timeseries; NULL for every other. */
static json_t *means_array(const struct ycsb_operation *operation)
{
	if (operation->bucket_kind != YCSB_BUCKETS_MEANS)
		return NULL;
	json_t *array = json_array();
	for (size_t i = 0; i < operation->bucket_count; i++) {
		json_t *point = json_object();
		json_put_real(point, "t_s", operation->buckets[i].at);
		json_put_real(point, "mean_us", operation->buckets[i].value);
		json_array_append_new(array, point);
	}
	return array;
}

/* What lies beyond the last bucket of a histogram, and where that ends. */
static void put_beyond(json_t *object, const struct ycsb_operation *operation)
{
	bool known = operation->bucket_kind == YCSB_BUCKETS_MS && operation->over_us > 0;
	json_put(object, "beyond_us", known ? json_number(operation->over_us) : NULL);
	json_put(object, "beyond_count", known ? json_count(operation->over_count) : NULL);
}

static json_t *operation_object(const struct ycsb_operation *operation)
{
	json_t *object = json_object(), *returns = json_object();
	put_count_or_null(object, "count", operation->count);
	json_put_real(object, "mean_us", operation->mean_us);
	json_put_real(object, "min_us", operation->min_us);
	json_put_real(object, "max_us", operation->max_us);
	json_put_real(object, "p50_us", ycsb_percentile_us(operation, 50));
	json_put_real(object, "p95_us", ycsb_percentile_us(operation, 95));
	json_put_real(object, "p99_us", ycsb_percentile_us(operation, 99));
	json_put(object, "percentiles_us", percentiles_object(operation));
	json_put_real(object, "resolution_us", operation->resolution_us > 0 ? operation->resolution_us : NAN);
	put_beyond(object, operation);
	json_put(object, "means", means_array(operation));
	for (size_t i = 0; i < operation->return_count; i++)
		put_named(returns, operation->returns[i].name, json_count(operation->returns[i].count));
	json_put(object, "returns", returns);
	return object;
}

static json_t *series_object(const struct ycsb_run *run)
{
	json_t *array = json_array();
	for (size_t i = 0; i < run->interval_count; i++) {
		const struct ycsb_interval *interval = &run->intervals[i];
		json_t *point = json_object();
		json_put_real(point, "t_s", interval->end_s);
		json_put_real(point, "ops_s", interval->ops_s);
		json_put_real(point, "length_s", interval->end_s - interval->start_s);
		json_put_real(point, "mean_us", interval->mean_us);
		json_put_real(point, "p99_worst_us", interval->p99_worst_us);
		json_array_append_new(array, point);
	}
	return array;
}

static json_t *flags_array(const struct ycsb_audit *audit)
{
	json_t *array = json_array();
	for (size_t i = 0; i < audit->finding_count; i++)
		json_array_append_new(array, json_safe_string(audit->findings[i].id));
	return array;
}

static json_t *findings_array(const struct ycsb_audit *audit)
{
	json_t *array = json_array();
	for (size_t i = 0; i < audit->finding_count; i++) {
		json_t *finding = json_object();
		json_put_string(finding, "id", audit->findings[i].id);
		json_put_string(finding, "severity", ycsb_severity_name(audit->findings[i].severity));
		json_put_string(finding, "text", audit->findings[i].text);
		json_array_append_new(array, finding);
	}
	return array;
}

static void put_audit(json_t *object, const struct ycsb_run *run, const struct ycsb_audit *audit)
{
	put_count_or_null(object, "threads", audit->threads);
	json_put_string(object, "threads_source", ycsb_threads_source_name(audit->threads_source));
	json_put_real(object, "threads_busy", audit->threads_busy);
	put_count_or_null(object, "threads_asked", run->threads_asked);
	put_count_or_null(object, "threads_ended", run->threads_ended);
	put_count_or_null(object, "threads_named", audit->threads_named);
	put_count_or_null(object, "record_count", run->record_count);
	put_count_or_null(object, "operation_count", run->operation_count);
	double done = audit->operations_done;
	json_put(object, "operations_done",
		 done >= 0 && done < 1e18 ? json_count((uint64_t)(done + 0.5)) : NULL);
	json_put_real(object, "mean_us", audit->mean_us);
	json_put_bool(object, "valid", audit->worst < YCSB_INVALID);
}

static json_t *run_object(const struct ycsb_run *run, const struct ycsb_audit *audit)
{
	json_t *object = json_object(), *operations = json_object();
	json_put_string(object, "phase", ycsb_phase_name(run->phase));
	json_put_real(object, "throughput_ops_s", run->throughput_ops_s);
	json_put_real(object, "runtime_ms", run->runtime_ms);
	put_audit(object, run, audit);
	json_put_bool(object, "complete", run->complete);
	json_put_string(object, "client", run->client[0] ? run->client : NULL);
	json_put(object, "clients", run->clients > 1 ? json_count(run->clients) : NULL);
	json_put_string(object, "version", run->version[0] ? run->version : NULL);
	json_put_count(object, "first_line", run->first_line);
	for (size_t i = 0; i < run->operation_kinds; i++)
		put_named(operations, run->operations[i].name, operation_object(&run->operations[i]));
	json_put(object, "operations", operations);
	json_put_real(object, "error_rate", run->error_rate);
	json_put(object, "series", series_object(run));
	json_put(object, "flags", flags_array(audit));
	json_put(object, "findings", findings_array(audit));
	json_put_string(object, "clock", run->clock_text);
	return object;
}

json_t *ycsb_runs_array(const struct ycsb_file *files, size_t count, size_t file)
{
	json_t *runs = json_array();
	for (size_t r = 0; r < files[file].run_count; r++) {
		struct ycsb_audit audit;
		ycsb_audit(files, count, file, r, &audit);
		json_array_append_new(runs, run_object(&files[file].runs[r], &audit));
	}
	return runs;
}

json_t *ycsb_object(const struct ycsb_file *files, size_t count)
{
	json_t *object = json_object(), *array = json_array();
	for (size_t f = 0; f < count; f++) {
		json_t *file = json_object();
		json_put_string(file, "file", files[f].path);
		json_put_string(file, "format", ycsb_format_name(files[f].format));
		json_put_count(file, "unread_lines", files[f].unread_lines);
		json_put(file, "runs", ycsb_runs_array(files, count, f));
		json_array_append_new(array, file);
	}
	json_put(object, "files", array);
	return object;
}
