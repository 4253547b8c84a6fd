#include "analyzer/compare_parts_json.h"

#include <math.h>

#include "analyzer/compare_inside.h"
#include "analyzer/compare_locks.h"

/* ---- levels of threads ------------------------------------------------------------------------------- */

static json_t *step_object(const struct knee_step *step)
{
	json_t *object = json_object(), *p95 = json_array();
	json_put_count(object, "from_threads", step->from);
	json_put_count(object, "to_threads", step->to);
	json_put_real(object, "throughput_ratio", step->to_ops_s / step->from_ops_s);
	json_put_real(object, "from_mean_us", step->from_mean_us);
	json_put_real(object, "to_mean_us", step->to_mean_us);
	for (size_t i = 0; i < step->p95_count; i++) {
		json_t *latency = json_object();
		json_put_string(latency, "operation", step->p95[i].operation);
		json_put_real(latency, "from_p95_us", step->p95[i].from_us);
		json_put_real(latency, "to_p95_us", step->p95[i].to_us);
		json_array_append_new(p95, latency);
	}
	json_put(object, "p95", p95);
	return object;
}

static json_t *knee_object(const struct compare *compare, const struct compare_knee *knee)
{
	json_t *object = json_object(), *steps = json_array();
	json_put_string(object, "workload", *knee->workload ? knee->workload : NULL);
	json_put_string(object, "arm", compare->arms[knee->arm].label);
	json_put_count(object, "peak_threads", knee->peak_threads);
	json_put_real(object, "peak_ops_s", knee->peak_ops_s);
	json_put_bool(object, "peak_is_last_level", knee->peak_is_last);
	json_put_count(object, "sweet_spot_threads", knee->sweet_threads);
	json_put_real(object, "sweet_spot_ops_s", knee->sweet_ops_s);
	json_put_real(object, "sweet_spot_of_peak", knee->sweet_ops_s / knee->peak_ops_s);
	json_put_real(object, "sweet_spot_of_peak_low", knee->sweet_ratio.low);
	json_put_real(object, "sweet_spot_of_peak_high", knee->sweet_ratio.high);
	for (size_t i = 0; i < knee->step_count; i++)
		json_array_append_new(steps, step_object(&knee->steps[i]));
	json_put(object, "steps", steps);
	return object;
}

json_t *compare_knee_array(const struct compare *compare)
{
	json_t *array = json_array();
	for (size_t i = 0; i < compare->knee_count; i++)
		json_array_append_new(array, knee_object(compare, &compare->knees[i]));
	return array;
}

/* ---- money ------------------------------------------------------------------------------------------- */

json_t *compare_price_array(const struct compare *compare)
{
	if (compare->price_count == 0)
		return NULL;
	json_t *array = json_array();
	for (size_t i = 0; i < compare->price_count; i++) {
		const struct compare_price *price = &compare->prices[i];
		json_t *object = json_object();
		json_put_string(object, "workload", *price->workload ? price->workload : NULL);
		json_put(object, "threads", compare_count_or_null(price->threads));
		json_put_string(object, "arm", compare->arms[price->arm].label);
		json_put_real(object, "usd_per_hour", price->usd_per_hour);
		json_put_real(object, "ops_per_usd", price->ops_per_usd);
		json_put_real(object, "of_best", price->relative);
		json_put_bool(object, "best", price->best);
		json_put_real(object, "ratio", price->ratio.ratio);
		json_put_real(object, "ratio_low", price->ratio.low);
		json_put_real(object, "ratio_high", price->ratio.high);
		json_array_append_new(array, object);
	}
	return array;
}

/* ---- settings ---------------------------------------------------------------------------------------- */

json_t *compare_difference_array(const struct compare *compare)
{
	json_t *array = json_array();
	for (size_t i = 0; i < compare->difference_count; i++) {
		const struct compare_difference *difference = &compare->differences[i];
		json_t *object = json_object(), *values = json_object(), *confounds = json_array();
		json_put_string(object, "key", difference->key);
		json_put_bool(object, "treatment", difference->treatment);
		for (size_t arm = 0; arm < compare->arm_count; arm++) {
			json_put_string(values, compare->arms[arm].label, difference->values[arm]);
			if (difference->differs[arm] && !difference->treatment)
				json_array_append_new(confounds, json_safe_string(compare->arms[arm].label));
		}
		json_put(object, "values", values);
		json_put(object, "confounds", confounds);
		json_array_append_new(array, object);
	}
	return array;
}

/* ---- inside ------------------------------------------------------------------------------------------ */

static const char *unit_kind(enum quantity_kind kind)
{
	return kind == QUANTITY_SHARE ? "share" : kind == QUANTITY_LEVEL ? "level" : "per-operation";
}

static json_t *change_object(const struct compare *compare, const struct inside_change *change)
{
	struct inside_quantity quantity = inside_quantity(compare, change->quantity);
	json_t *object = json_object();
	json_put_string(object, "name", quantity.name);
	json_put_string(object, "unit", quantity.unit);
	json_put_string(object, "kind", unit_kind(quantity.kind));
	json_put_string(object, "base", compare->arms[change->base].label);
	json_put_string(object, "arm", compare->arms[change->arm].label);
	json_put_real(object, "base_center", change->base_center);
	json_put_real(object, "arm_center", change->arm_center);
	json_put_count(object, "up", change->up);
	json_put_count(object, "down", change->down);
	json_put_count(object, "pairs", change->pairs);
	json_put_bool(object, "within_blocks", change->within_blocks);
	json_put_real(object, "consistency", change->consistency);
	json_put_real(object, "ratio", change->ratio.ratio);
	json_put_real(object, "ratio_low", change->ratio.low);
	json_put_real(object, "ratio_high", change->ratio.high);
	return object;
}

static json_t *regression_object(const struct inside_regression *fit)
{
	if (!fit->known)
		return NULL;
	json_t *object = json_object();
	json_put_count(object, "runs", fit->runs);
	json_put_count(object, "levels", fit->groups);
	json_put_real(object, "percent_per_10_points", 100 * expm1(fit->slope / 10));
	json_put_real(object, "percent_low", 100 * expm1(fit->low / 10));
	json_put_real(object, "percent_high", 100 * expm1(fit->high / 10));
	json_put_real(object, "p", fit->p);
	return object;
}

json_t *compare_inside_object(const struct compare *compare)
{
	json_t *object = json_object(), *changes = json_array();
	for (size_t i = 0; i < compare->change_count; i++)
		json_array_append_new(changes, change_object(compare, &compare->changes[i]));
	json_put(object, "associated", changes);
	json_put(object, "throughput_on_coverage", regression_object(&compare->regression));
	json_put(object, "locks", compare_locks_array(compare));
	json_put_string(object, "missing", compare->traces_missing);
	return object;
}
