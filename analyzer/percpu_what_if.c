#include "analyzer/percpu_what_if.h"

#include <math.h>

#include "analyzer/percpu_advice.h"
#include "analyzer/percpu_rank.h"

/* ---- lanes ------------------------------------------------------------------------------------------- */

static const char *design_name(enum cache_design design)
{
	return design == CACHE_PER_CPU ? "per-cpu" : "per-thread";
}

static json_t *lane_types_json(const struct percpu *percpu, size_t lane)
{
	const struct topology *topology = percpu_topology(percpu);
	if (!topology_is_mixed(topology) || percpu_is_sampled(percpu))
		return NULL;
	json_t *array = json_array();
	for (uint32_t i = 0; i < topology->type_count; i++) {
		struct cachemodel_cache sum = percpu_type(percpu, i, lane).calls;
		json_t *object = json_object();
		json_put_string(object, "type", topology->types[i].name);
		json_put_real(object, "hit_ratio",
			      cachemodel_hit_ratio(sum.allocs + sum.frees, sum.underflows, sum.overflows));
		json_put_count(object, "underflows", sum.underflows);
		json_put_count(object, "overflows", sum.overflows);
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *lane_json(const struct percpu *percpu, enum cache_design design, size_t lane)
{
	const struct percpu_result result = percpu_result(percpu, design, lane);
	const struct cachemodel_result *counts = &result.counts;
	json_t *object = json_object();
	json_put_string(object, "design", design_name(design));
	json_put_count(object, "capacity_bytes", counts->capacity_bytes);
	json_put_real(object, "hit_ratio", result.hit_ratio);
	json_put_real(object, "hit_ratio_low", result.low);
	json_put_real(object, "hit_ratio_high", result.high);
	json_put_count(object, "allocs", result.allocs);
	json_put_count(object, "frees", result.frees);
	json_put_count(object, "underflows", counts->underflows);
	json_put_count(object, "overflows", counts->overflows);
	json_put_count(object, "fetches", counts->fetches);
	json_put_count(object, "fetched_objects", counts->fetched_objects);
	json_put_count(object, "releases", counts->releases);
	json_put_count(object, "released_objects", counts->released_objects);
	json_put_count(object, "central_fetches", counts->central_fetches);
	json_put_count(object, "central_fetched_objects", counts->central_fetched_objects);
	json_put_count(object, "central_releases", counts->central_releases);
	json_put_count(object, "central_released_objects", counts->central_released_objects);
	json_put_count(object, "cached_bytes_peak", counts->cached_bytes_peak);
	if (design == CACHE_PER_CPU)
		json_put(object, "types", lane_types_json(percpu, lane));
	return object;
}

json_t *percpu_what_if_json(const struct percpu *percpu)
{
	json_t *array = json_array();
	for (unsigned d = 0; d < CACHE_DESIGNS; d++) {
		const struct cachemodel *model = percpu_model(percpu, (enum cache_design)d);
		for (size_t i = 0; model && i < cachemodel_lanes(model); i++)
			json_array_append_new(array, lane_json(percpu, (enum cache_design)d, i));
	}
	return array;
}

static json_t *lane_capacity(const struct percpu *percpu, enum cache_design design, size_t lane)
{
	return lane == ADVICE_NONE ? NULL
				   : json_count(percpu_result(percpu, design, lane).counts.capacity_bytes);
}

json_t *percpu_advice_json(const struct percpu *percpu)
{
	json_t *array = json_array();
	for (unsigned d = 0; d < CACHE_DESIGNS; d++) {
		if (!percpu_model(percpu, (enum cache_design)d))
			continue;
		struct advice advice = advise(percpu, (enum cache_design)d);
		bool any = advice.enough != ADVICE_NONE;
		json_t *object = json_object();
		json_put_string(object, "design", design_name((enum cache_design)d));
		json_put(object, "knee_bytes", lane_capacity(percpu, (enum cache_design)d, advice.knee));
		json_put(object, "recommended_bytes",
			 lane_capacity(percpu, (enum cache_design)d, advice.enough));
		json_put_string(object, "setting", advice.setting);
		json_put_string(object, "environment", advice.variable);
		json_put_count(object, "caches", advice.caches);
		json_put_real(object, "cost_bytes_max", any ? advice.cost_bytes : NAN);
		json_put_real(object, "cached_bytes_peak", any ? advice.cached_bytes : NAN);
		json_array_append_new(array, object);
	}
	return array;
}

json_t *percpu_agreement_json(const struct percpu *percpu)
{
	struct agreement agreement = percpu_agreement(percpu);
	if (!agreement.known)
		return NULL;
	json_t *object = json_object();
	json_put_count(object, "limit_bytes", agreement.limit_bytes);
	json_put_count(object, "underflows", agreement.underflows);
	json_put_count(object, "overflows", agreement.overflows);
	json_put_count(object, "model_underflows", agreement.model_underflows);
	json_put_count(object, "model_overflows", agreement.model_overflows);
	json_put_real(object, "ratio", agreement.ratio);
	json_put_bool(object, "agrees", agreement.agrees);
	return object;
}
