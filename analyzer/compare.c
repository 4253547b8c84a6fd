#include "analyzer/compare.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/array.h"
#include "analyzer/stats.h"

/* clang-format off */
const struct metric_info metric_infos[METRICS] = {
	[METRIC_THROUGHPUT] = {"throughput_ops_s", "throughput", "throughput", "ops/s", false, false, NAN},
	[METRIC_MEAN] = {"mean_us", "mean", "mean latency", "us", true, true, NAN},
	[METRIC_P50] = {"p50_us", "p50", "p50 latency", "us", true, true, 50},
	[METRIC_P95] = {"p95_us", "p95", "p95 latency", "us", true, true, 95},
	[METRIC_P99] = {"p99_us", "p99", "p99 latency", "us", true, true, 99},
	[METRIC_P999] = {"p99_9_us", "p99.9", "p99.9 latency", "us", true, true, 99.9},
	[METRIC_RUNTIME] = {"runtime_ms", "runtime", "run time", "ms", true, false, NAN},
	[METRIC_PER_JOULE] = {"ops_per_joule", "joule", "operations per joule", "ops/J", false, false, NAN},
};
/* clang-format on */

const char *const compare_center_names[CENTERS] = {"median", "mean", "second-best"};
const double compare_effects[COMPARE_EFFECTS] = {0.01, 0.02, 0.05};

const char *run_use_name(enum run_use use)
{
	static const char *const names[RUN_USES] = {
		[RUN_USED] = "used",	   [RUN_WARMUP] = "warm-up",  [RUN_FIRST] = "first",
		[RUN_INVALID] = "invalid", [RUN_NOT_DONE] = "failed", [RUN_LOAD] = "load",
		[RUN_COPY] = "copy",
	};
	return names[use];
}

const char *verdict_name(enum verdict verdict)
{
	static const char *const names[] = {"faster", "slower", "equivalent", "undecided", "invalid"};
	return names[verdict];
}

bool compare_out_of_memory(struct error *error)
{
	return error_set(error, ERROR_INTERNAL, NULL, ERROR_NO_OFFSET, "out of memory");
}

/* ---- arms -------------------------------------------------------------------------------------------- */

bool compare_arm(struct compare *compare, const char *label, size_t *arm, struct error *error)
{
	size_t length = strlen(label);
	if (length == 0 || length >= COMPARE_LABEL_BYTES)
		return error_set(error, ERROR_USAGE, NULL, ERROR_NO_OFFSET,
				 "'%.60s' is no label of an arm: 1 to %d bytes, please", label,
				 COMPARE_LABEL_BYTES - 1);
	for (*arm = 0; *arm < compare->arm_count; ++*arm)
		if (strcmp(compare->arms[*arm].label, label) == 0)
			return true;
	if (compare->arm_count == COMPARE_ARMS_MAX)
		return error_set(error, ERROR_USAGE, NULL, ERROR_NO_OFFSET,
				 "more than %d arms: compare them in parts", COMPARE_ARMS_MAX);
	struct compare_arm *added = &compare->arms[compare->arm_count++];
	*added = (struct compare_arm){.usd_per_hour = NAN};
	memcpy(added->label, label, length + 1);
	return true;
}

/* ---- runs -------------------------------------------------------------------------------------------- */

struct compare_run *compare_add_run(struct compare *compare, size_t arm)
{
	if (!array_reserve(&compare->runs, &compare->run_capacity, compare->run_count + 1,
			   sizeof *compare->runs))
		return NULL;
	struct compare_run *run = &compare->runs[compare->run_count];
	*run = (struct compare_run){
		.arm = arm,
		.threads = YCSB_UNKNOWN,
		.block = COMPARE_NO_BLOCK,
		.order = compare->run_count,
		.start_ns = YCSB_NO_TIME,
		.end_ns = YCSB_NO_TIME,
		.operations = NAN,
		.mean_us = NAN,
		.error_rate = NAN,
		.threads_busy = NAN,
	};
	compare->run_count++;
	return run;
}

bool run_add_value(struct compare_run *run, const char *operation, enum compare_metric metric, double value,
		   double resolution)
{
	if (!isfinite(value) || value < 0)
		return true;
	if (!array_reserve(&run->values, &run->value_capacity, run->value_count + 1, sizeof *run->values))
		return false;
	struct run_value *added = &run->values[run->value_count++];
	*added = (struct run_value){.metric = metric, .value = value, .resolution = resolution};
	snprintf(added->operation, sizeof added->operation, "%s", operation);
	return true;
}

double run_value(const struct compare_run *run, const char *operation, enum compare_metric metric,
		 double *resolution)
{
	for (size_t i = 0; i < run->value_count; i++) {
		const struct run_value *value = &run->values[i];
		if (value->metric != metric || strcmp(value->operation, operation) != 0)
			continue;
		if (resolution)
			*resolution = value->resolution;
		return value->value;
	}
	return NAN;
}

__attribute__((format(printf, 3, 0))) static void set_finding(struct ycsb_finding *finding, const char *id,
							      const char *format, va_list arguments)
{
	finding->id = id;
	finding->severity = YCSB_WARNING;
	vsnprintf(finding->text, sizeof finding->text, format, arguments);
}

bool run_add_finding(struct compare_run *run, const char *id, enum ycsb_severity severity, const char *format,
		     ...)
{
	struct ycsb_finding *grown = realloc(run->findings, (run->finding_count + 1) * sizeof *grown);
	if (!grown)
		return false;
	run->findings = grown;
	va_list arguments;
	va_start(arguments, format);
	set_finding(&grown[run->finding_count], id, format, arguments);
	va_end(arguments);
	grown[run->finding_count++].severity = severity;
	return true;
}

bool compare_remark(struct compare *compare, const char *id, const char *format, ...)
{
	if (!array_reserve(&compare->remarks, &compare->remark_capacity, compare->remark_count + 1,
			   sizeof *compare->remarks))
		return false;
	va_list arguments;
	va_start(arguments, format);
	set_finding(&compare->remarks[compare->remark_count++], id, format, arguments);
	va_end(arguments);
	return true;
}

/* ---- centre ------------------------------------------------------------------------------------------ */

static double second_best(enum compare_metric metric, const double *values, size_t n)
{
	double best = NAN, second = NAN;
	double sign = metric_infos[metric].lower_is_better ? -1 : 1;
	for (size_t i = 0; i < n; i++) {
		if (isnan(best) || sign * values[i] > sign * best) {
			second = best;
			best = values[i];
		} else if (isnan(second) || sign * values[i] > sign * second) {
			second = values[i];
		}
	}
	return second;
}

double compare_center(enum compare_center center, enum compare_metric metric, const double *values, size_t n)
{
	switch (center) {
	case CENTER_MEAN:
		return stats_mean(values, n);
	case CENTER_SECOND_BEST:
		return second_best(metric, values, n);
	case CENTER_MEDIAN:
	case CENTERS:
		break;
	}
	return stats_median(values, n);
}

/* ---- the end ----------------------------------------------------------------------------------------- */

static void free_run(struct compare_run *run)
{
	free(run->source);
	free(run->workload);
	free(run->values);
	free(run->findings);
	free(run->trace);
	free(run->inside.values);
	json_decref(run->settings);
}

static void free_row(struct compare_row *row)
{
	free(row->base.values);
	free(row->arm.values);
	free(row->log_ratio);
	free(row->blocks);
}

static void free_difference(struct compare_difference *difference)
{
	free(difference->key);
	for (size_t i = 0; i < COMPARE_ARMS_MAX; i++)
		free(difference->values[i]);
}

void compare_free(struct compare *compare)
{
	for (size_t i = 0; i < compare->run_count; i++)
		free_run(&compare->runs[i]);
	for (size_t i = 0; i < compare->row_count; i++)
		free_row(&compare->rows[i]);
	for (size_t i = 0; i < compare->knee_count; i++)
		free(compare->knees[i].steps);
	for (size_t i = 0; i < compare->difference_count; i++)
		free_difference(&compare->differences[i]);
	for (size_t i = 0; i < compare->series_count; i++)
		free(compare->series[i].samples);
	free(compare->runs);
	free(compare->rows);
	free(compare->overall);
	free(compare->knees);
	free(compare->prices);
	free(compare->differences);
	free(compare->changes);
	free(compare->remarks);
	free(compare->treatment);
	free(compare->axis);
	free(compare->order);
	free(compare->traces_missing);
	*compare = (struct compare){0};
}
