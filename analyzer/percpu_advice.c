#include "analyzer/percpu_advice.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/allocstats.h"
#include "analyzer/allocstats_json.h"

/* ---- curves -------------------------------------------------------------------------------------------- */

static double position(const struct curve_point *points, size_t count, size_t at)
{
	uint64_t least = 1;
	for (size_t i = count; i-- > 0;)
		least = points[i].capacity_bytes ? points[i].capacity_bytes : least;
	double bytes = (double)points[at].capacity_bytes;
	return log2(bytes > 0 ? bytes : (double)least / 2);
}

static double extreme(const struct curve_point *points, size_t count, bool largest)
{
	double found = points[0].miss_ratio;
	for (size_t i = 1; i < count; i++)
		found = largest ? fmax(found, points[i].miss_ratio) : fmin(found, points[i].miss_ratio);
	return found;
}

size_t curve_knee(const struct curve_point *points, size_t count)
{
	if (count < 3 || extreme(points, count, true) - extreme(points, count, false) < CURVE_FLAT)
		return ADVICE_NONE;
	double left = position(points, count, 0), right = position(points, count, count - 1);
	double top = points[0].miss_ratio, bottom = points[count - 1].miss_ratio, farthest = 0;
	size_t knee = ADVICE_NONE;
	for (size_t i = 1; i + 1 < count; i++) {
		double share = (position(points, count, i) - left) / (right - left);
		double below = top + (bottom - top) * share - points[i].miss_ratio;
		if (below > farthest) {
			farthest = below;
			knee = i;
		}
	}
	return knee;
}

size_t curve_enough(const struct curve_point *points, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (points[i].miss_ratio <= extreme(points, count, false) + CURVE_FLAT)
			return i;
	return ADVICE_NONE;
}

/* ---- advice -------------------------------------------------------------------------------------------- */

/* The allocator sizes its caches by the CPUs there are, and only those on which the process may run fill. */
static uint64_t caches_of_cpus(const struct percpu *percpu)
{
	const struct topology *topology = percpu_topology(percpu);
	size_t seen;
	uint64_t allowed = 0;
	percpu_cpus(percpu, &seen);
	for (size_t i = 0; topology->allowed_known && i < topology->count; i++)
		allowed += topology->cpus[i].allowed;
	return allowed > seen ? allowed : seen;
}

struct advice advise(const struct percpu *percpu, enum cache_design design)
{
	struct curve_point points[CACHEMODEL_LANES_MAX];
	const struct cachemodel *model = percpu_model(percpu, design);
	const bool per_cpu = design == CACHE_PER_CPU;
	struct advice advice = {.knee = ADVICE_NONE, .enough = ADVICE_NONE};
	size_t count = model ? cachemodel_lanes(model) : 0, threads;
	percpu_threads(percpu, &threads);
	for (size_t i = 0; i < count; i++) {
		struct percpu_result result = percpu_result(percpu, design, i);
		points[i] = (struct curve_point){result.counts.capacity_bytes, 1 - result.hit_ratio};
		if (isnan(result.hit_ratio))
			count = 0;
	}
	advice.knee = curve_knee(points, count);
	advice.enough = curve_enough(points, count);
	advice.caches = per_cpu ? caches_of_cpus(percpu) : threads;
	advice.setting = per_cpu ? "tcmallocMaxPerCPUCacheSize" : "tcmallocMaxTotalThreadCacheBytes";
	advice.variable =
		per_cpu ? "MONGO_TCMALLOC_PER_CPU_CACHE_SIZE_BYTES" : "TCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES";
	if (advice.enough == ADVICE_NONE)
		return advice;
	struct cachemodel_result result = percpu_result(percpu, design, advice.enough).counts;
	advice.cost_bytes = (double)result.capacity_bytes * (per_cpu ? (double)advice.caches : 1);
	advice.cached_bytes = (double)result.cached_bytes_peak;
	return advice;
}

/* ---- in force ------------------------------------------------------------------------------------------ */

const char *percpu_state_name(enum percpu_state state)
{
	return state == PERCPU_ACTIVE ? "active" : state == PERCPU_INACTIVE ? "inactive" : "unknown";
}

static struct percpu_force force(enum percpu_state state, const char *reason)
{
	struct percpu_force result = {.state = state};
	snprintf(result.reason, sizeof result.reason, "%s", reason);
	return result;
}

struct percpu_force percpu_in_force(const struct percpu *percpu)
{
	const struct trace *trace = percpu_trace(percpu);
	const struct allocstats *stats = trace_allocator(trace);
	const char *kind = allocstats_kind_name(trace);
	int active = stats->kind ? allocstats_active(stats) : -1;
	struct rseq_verdict rseq = rseq_judge(trace, percpu_rseq(percpu));
	if (active == 1)
		return allocstats_limit_bytes(stats) == 0
			       ? force(PERCPU_ACTIVE,
				       "the allocator says so, and that their limit is 0: every call misses")
			       : force(PERCPU_ACTIVE, "the allocator says so");
	if (active == 0)
		return force(PERCPU_INACTIVE, "the allocator says so: it keeps caches per thread");
	if (kind && !strcmp(kind, "gperftools"))
		return force(PERCPU_INACTIVE, "gperftools has caches per thread only");
	if (kind && !strcmp(kind, "google-tcmalloc") && rseq.possible == 0)
		return force(PERCPU_INACTIVE, "google/tcmalloc could not register with rseq");
	if (rseq.owner && !strcmp(rseq.owner, "application"))
		return force(PERCPU_UNKNOWN,
			     "the program has registered with rseq; its allocator does not say for what");
	return force(PERCPU_UNKNOWN, "the allocator does not say, and is not known to have any");
}

/* ---- beside the allocator's own figures ---------------------------------------------------------------- */

static size_t lane_of_limit(const struct cachemodel *model, uint64_t limit_bytes)
{
	for (size_t i = 0; model && i < cachemodel_lanes(model); i++)
		if (cachemodel_result(model, i).capacity_bytes == limit_bytes)
			return i;
	return ADVICE_NONE;
}

struct agreement percpu_agreement(const struct percpu *percpu)
{
	const struct allocstats *stats = trace_allocator(percpu_trace(percpu));
	const struct cachemodel *model = percpu_model(percpu, CACHE_PER_CPU);
	struct agreement agreement = {.ratio = NAN};
	if (!stats->kind || allocstats_active(stats) != 1)
		return agreement;
	struct allocstats_cpu sum = allocstats_sum(stats);
	agreement.limit_bytes = allocstats_limit_bytes(stats);
	size_t lane = lane_of_limit(model, agreement.limit_bytes);
	if (lane == ADVICE_NONE || sum.underflows == ALLOCSTATS_UNKNOWN ||
	    sum.overflows == ALLOCSTATS_UNKNOWN)
		return agreement;
	struct cachemodel_result result = percpu_result(percpu, CACHE_PER_CPU, lane).counts;
	agreement.known = true;
	agreement.underflows = sum.underflows;
	agreement.overflows = sum.overflows;
	agreement.model_underflows = result.underflows;
	agreement.model_overflows = result.overflows;
	double reported = (double)(sum.underflows + sum.overflows);
	double predicted = (double)(result.underflows + result.overflows);
	agreement.ratio = reported > 0 ? predicted / reported : NAN;
	agreement.agrees = reported == predicted ||
			   (agreement.ratio <= AGREEMENT_FACTOR && agreement.ratio >= 1 / AGREEMENT_FACTOR);
	return agreement;
}
