#include "analyzer/compare_json.h"

#include <math.h>

#include "analyzer/compare_inside.h"
#include "analyzer/compare_parts_json.h"

/* ---- small ------------------------------------------------------------------------------------------- */

json_t *compare_count_or_null(uint64_t value)
{
	return value == YCSB_UNKNOWN ? NULL : json_count(value);
}

void compare_put_ratio(json_t *object, const struct ratio *ratio)
{
	json_put_real(object, "ratio", ratio->ratio);
	json_put_real(object, "ratio_low", ratio->low);
	json_put_real(object, "ratio_high", ratio->high);
	json_put_real(object, "p", ratio->p);
	json_put_string(object, "method", ratio_method_name(ratio->method));
	json_put_real(object, "degrees_of_freedom", ratio->freedom);
}

static json_t *numbers(const double *values, size_t n)
{
	json_t *array = json_array();
	for (size_t i = 0; i < n; i++)
		json_array_append_new(array, json_number(values[i]));
	return array;
}

/* By effect: "1", "2", "5" percent. */
static json_t *by_effect(const struct compare_reach *reach, bool runs)
{
	static const char *const names[COMPARE_EFFECTS] = {"1", "2", "5"};
	json_t *object = json_object();
	for (size_t i = 0; i < COMPARE_EFFECTS; i++) {
		if (runs)
			json_put(object, names[i], reach->runs[i] ? json_count(reach->runs[i]) : NULL);
		else
			json_put_real(object, names[i], reach->power[i]);
	}
	return object;
}

static json_t *reach_object(const struct compare_reach *reach)
{
	const struct noise *noise = &reach->noise;
	json_t *object = json_object();
	json_put_real(object, "noise_within_blocks", noise->method == RATIO_PAIRED ? noise->difference : NAN);
	json_put_real(object, "noise_base", noise->method == RATIO_WELCH ? noise->base : NAN);
	json_put_real(object, "noise_arm", noise->method == RATIO_WELCH ? noise->arm : NAN);
	json_put_real(object, "detectable_percent", 100 * reach->detectable);
	json_put(object, "power_by_percent", by_effect(reach, false));
	json_put(object, "runs_needed_by_percent", by_effect(reach, true));
	return object;
}

/* ---- rows -------------------------------------------------------------------------------------------- */

static json_t *side_object(const struct compare *compare, const struct compare_side *side)
{
	json_t *object = json_object();
	json_put_string(object, "label", compare->arms[side->arm].label);
	json_put_count(object, "n", side->n);
	json_put_real(object, "center", side->center);
	json_put_real(object, "min", side->min);
	json_put_real(object, "max", side->max);
	json_put(object, "values", numbers(side->values, side->n));
	json_put_real(object, "error_rate", side->error_rate);
	json_put_real(object, "threads_busy", side->threads_busy);
	return object;
}

static json_t *row_object(const struct compare *compare, const struct compare_row *row)
{
	json_t *object = json_object(), *flags = json_array();
	json_put_string(object, "workload", *row->workload ? row->workload : NULL);
	json_put(object, "threads", compare_count_or_null(row->threads));
	json_put_string(object, "operation", row->operation);
	json_put_string(object, "metric", metric_infos[row->metric].name);
	json_put(object, "base", side_object(compare, &row->base));
	json_put(object, "arm", side_object(compare, &row->arm));
	compare_put_ratio(object, &row->ratio);
	json_put_real(object, "p_adjusted", row->p_adjusted);
	json_put_real(object, "center_ratio", row->center_ratio);
	json_put_string(object, "verdict", verdict_name(row->verdict));
	json_put_string(object, "text", row->text);
	for (size_t i = 0; i < row->flag_count; i++)
		json_array_append_new(flags, json_string(row->flags[i]));
	json_put(object, "flags", flags);
	json_put(object, "reach", reach_object(&row->reach));
	return object;
}

static json_t *rows_array(const struct compare *compare)
{
	json_t *array = json_array();
	for (size_t i = 0; i < compare->row_count; i++)
		json_array_append_new(array, row_object(compare, &compare->rows[i]));
	return array;
}

static json_t *overall_array(const struct compare *compare)
{
	json_t *array = json_array();
	for (size_t i = 0; i < compare->overall_count; i++) {
		const struct compare_overall *overall = &compare->overall[i];
		json_t *object = json_object();
		json_put_string(object, "workload", *overall->workload ? overall->workload : NULL);
		json_put_string(object, "operation", overall->operation);
		json_put_string(object, "metric", metric_infos[overall->metric].name);
		json_put_string(object, "base", compare->arms[overall->base].label);
		json_put_string(object, "arm", compare->arms[overall->arm].label);
		json_put_count(object, "levels", overall->levels);
		json_put_string(object, "unit",
				overall->by_block   ? "block"
				: overall->by_level ? "level"
						    : "run");
		compare_put_ratio(object, &overall->ratio);
		json_put_real(object, "p_adjusted", overall->p_adjusted);
		json_put_string(object, "verdict", verdict_name(overall->verdict));
		json_put_string(object, "text", overall->text);
		json_put(object, "reach", reach_object(&overall->reach));
		json_array_append_new(array, object);
	}
	return array;
}

/* ---- settings and runs ------------------------------------------------------------------------------- */

static json_t *metrics_array(const struct compare_settings *settings)
{
	json_t *array = json_array();
	for (size_t i = 0; i < METRICS; i++)
		if (settings->metrics[i])
			json_array_append_new(array, json_string(metric_infos[i].name));
	return array;
}

static json_t *settings_object(const struct compare *compare)
{
	const struct compare_settings *settings = &compare->settings;
	json_t *object = json_object();
	json_put_string(object, "center", compare_center_names[settings->center]);
	json_put_bool(object, "exclude_first", settings->exclude_first);
	json_put_bool(object, "trim_warmup", settings->trim_warmup);
	json_put_bool(object, "paired", settings->paired);
	json_put(object, "metrics", metrics_array(settings));
	json_put_real(object, "equivalence_percent", 100 * settings->equivalence);
	json_put_string(object, "treatment", settings->treatment ? settings->treatment : compare->treatment);
	json_put_string(object, "axis", compare->axis);
	json_put_string(object, "order", compare->order);
	json_put_real(object, "interval_level", 1 - RATIO_LEVEL);
	json_put_count(object, "comparisons", compare->family);
	return object;
}

static json_t *findings_array(const struct ycsb_finding *findings, size_t count, bool severity)
{
	json_t *array = json_array();
	for (size_t i = 0; i < count; i++) {
		json_t *object = json_object();
		json_put_string(object, "id", findings[i].id);
		if (severity)
			json_put_string(object, "severity", ycsb_severity_name(findings[i].severity));
		json_put_string(object, "text", findings[i].text);
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *inside_object(const struct compare *compare, const struct compare_run *run)
{
	json_t *object = json_object();
	for (size_t i = 0; i < run->inside.count; i++)
		if (!isnan(run->inside.values[i]))
			json_put_real(object, inside_quantity(compare, i).name, run->inside.values[i]);
	return object;
}

static json_t *run_object(const struct compare *compare, const struct compare_run *run)
{
	json_t *object = json_object();
	json_put_string(object, "file", run->source);
	json_put_string(object, "arm", compare->arms[run->arm].label);
	json_put_string(object, "workload", *run->workload ? run->workload : NULL);
	json_put(object, "threads", compare_count_or_null(run->threads));
	json_put(object, "block",
		 run->block == COMPARE_NO_BLOCK ? NULL : json_count(run->block & UINT32_MAX));
	json_put_string(object, "use", run_use_name(run->use));
	json_put_real(object, "throughput_ops_s", run_value(run, COMPARE_OVERALL, METRIC_THROUGHPUT, NULL));
	json_put_real(object, "ops_per_joule", run_value(run, COMPARE_OVERALL, METRIC_PER_JOULE, NULL));
	json_put_real(object, "error_rate", run->error_rate);
	json_put_real(object, "trimmed_s", run->trimmed_s);
	json_put(object, "findings", findings_array(run->findings, run->finding_count, true));
	json_put(object, "inside", inside_object(compare, run));
	return object;
}

static json_t *runs_array(const struct compare *compare)
{
	json_t *array = json_array();
	for (size_t i = 0; i < compare->run_count; i++)
		json_array_append_new(array, run_object(compare, &compare->runs[i]));
	return array;
}

/* ---- all of it --------------------------------------------------------------------------------------- */

json_t *compare_object(const struct compare *compare)
{
	json_t *object = json_object(), *arms = json_array();
	for (size_t i = 0; i < compare->arm_count; i++)
		json_array_append_new(arms, json_safe_string(compare->arms[i].label));
	json_put(object, "arms", arms);
	json_put(object, "settings", settings_object(compare));
	json_put(object, "rows", rows_array(compare));
	json_put(object, "overall", overall_array(compare));
	json_put(object, "knee", compare_knee_array(compare));
	json_put(object, "price", compare_price_array(compare));
	json_put(object, "differences", compare_difference_array(compare));
	json_put(object, "inside", compare_inside_object(compare));
	json_put(object, "remarks", findings_array(compare->remarks, compare->remark_count, false));
	json_put(object, "runs", runs_array(compare));
	return object;
}
