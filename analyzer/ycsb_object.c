#include "analyzer/ycsb_object.h"

static void put_count_or_null(json_t *object, const char *key, uint64_t value)
{
	json_put(object, key, value == YCSB_UNKNOWN ? NULL : json_count(value));
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
	for (size_t i = 0; i < operation->return_count; i++)
		put_count_or_null(returns, operation->returns[i].name, operation->returns[i].count);
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
		json_array_append_new(array, point);
	}
	return array;
}

static json_t *flags_object(unsigned flags)
{
	json_t *array = json_array();
	for (unsigned bit = 0; flags >> bit; bit++)
		if (flags >> bit & 1)
			json_array_append_new(array,
					      json_safe_string(ycsb_flag_name((enum ycsb_flag)(1u << bit))));
	return array;
}

static json_t *run_object(const struct ycsb_run *run)
{
	json_t *object = json_object(), *operations = json_object();
	json_put_string(object, "phase", ycsb_phase_name(run->phase));
	json_put_real(object, "throughput_ops_s", run->throughput_ops_s);
	json_put_real(object, "runtime_ms", run->runtime_ms);
	put_count_or_null(object, "threads", ycsb_threads(run));
	json_put_bool(object, "complete", run->complete);
	for (size_t i = 0; i < run->operation_kinds; i++)
		json_put(operations, run->operations[i].name, operation_object(&run->operations[i]));
	json_put(object, "operations", operations);
	json_put_real(object, "error_rate", run->error_rate);
	json_put(object, "series", series_object(run));
	json_put(object, "flags", flags_object(run->flags));
	json_put_string(object, "clock", run->clock_text);
	return object;
}

json_t *ycsb_object(const struct ycsb_file *files, size_t count)
{
	json_t *object = json_object(), *array = json_array();
	for (size_t f = 0; f < count; f++) {
		json_t *file = json_object(), *runs = json_array();
		json_put_string(file, "file", files[f].path);
		json_put_string(file, "format", ycsb_format_name(files[f].format));
		for (size_t r = 0; r < files[f].run_count; r++)
			json_array_append_new(runs, run_object(&files[f].runs[r]));
		json_put(file, "runs", runs);
		json_array_append_new(array, file);
	}
	json_put(object, "files", array);
	return object;
}
