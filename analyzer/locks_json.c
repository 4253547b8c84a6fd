#include "analyzer/locks_json.h"

#include <math.h>
#include <stdlib.h>

#include "analyzer/locks_exposure.h"
#include "analyzer/model.h"

/* ---- sums ---------------------------------------------------------------------------------------------- */

static void put_ns(json_t *object, const char *key, const struct locks_view *view, uint64_t units)
{
	json_put_count(object, key, trace_units_to_ns(locks_trace(view->locks), units));
}

static double per_second(const struct locks_view *view, double count)
{
	double elapsed_s = locks_elapsed_s(view->locks);
	return elapsed_s > 0 ? count / elapsed_s : NAN;
}

static double mean_waiters(const struct locks_view *view, const struct lock_sums *sums)
{
	return per_second(view, (double)trace_units_to_ns(locks_trace(view->locks), sums->wait) / 1e9);
}

/* NaN where `count` is 0. */
static double mean_ns(const struct locks_view *view, uint64_t units, uint64_t count)
{
	double ns = (double)trace_units_to_ns(locks_trace(view->locks), units);
	return count ? ns / (double)count : NAN;
}

static void put_calls(json_t *object, const struct locks_view *view, const struct lock_sums *sums)
{
	uint64_t operations = lock_operations(sums);
	json_put_count(object, "operations", operations);
	json_put_real(object, "operations_per_s", per_second(view, (double)operations));
	json_put_count(object, "acquired", sums->acquired);
	json_put_count(object, "released", sums->released);
	json_put_count(object, "shared", sums->shared);
	json_put_count(object, "contended", sums->contended);
	json_put_count(object, "failed", sums->failed);
	put_ns(object, "wait_ns", view, sums->wait);
}

/* A bucket as an interval: [from, to), `to` null for the last one. */
static json_t *bucket_json(unsigned bucket)
{
	uint64_t low, high;
	json_t *pair = json_array();
	lock_bucket_ns(bucket, &low, &high);
	json_array_append_new(pair, json_count(low));
	json_array_append_new(pair, high == UINT64_MAX ? json_null() : json_count(high));
	return pair;
}

static json_t *quantile_json(const uint64_t *buckets, double quantile)
{
	unsigned bucket = lock_quantile(buckets, quantile);
	return bucket < LOCK_BUCKETS ? bucket_json(bucket) : NULL;
}

static json_t *buckets_json(const uint64_t *buckets)
{
	json_t *array = json_array();
	for (unsigned i = 0; i < LOCK_BUCKETS; i++) {
		if (!buckets[i])
			continue;
		json_t *object = json_object();
		uint64_t low, high;
		lock_bucket_ns(i, &low, &high);
		json_put_count(object, "from_ns", low);
		json_put(object, "to_ns", high == UINT64_MAX ? NULL : json_count(high));
		json_put_count(object, "calls", buckets[i]);
		json_array_append_new(array, object);
	}
	return array;
}

static void put_wait(json_t *object, const struct locks_view *view, const struct lock_sums *sums)
{
	json_put_real(object, "wait_mean_ns", mean_ns(view, sums->wait, sums->contended));
	json_put(object, "wait_p50_ns", quantile_json(sums->waits, 0.5));
	json_put(object, "wait_p90_ns", quantile_json(sums->waits, 0.9));
	json_put(object, "wait_p99_ns", quantile_json(sums->waits, 0.99));
	put_ns(object, "wait_longest_ns", view, sums->wait_longest);
	json_put(object, "waits", buckets_json(sums->waits));
	json_put_real(object, "waiters", mean_waiters(view, sums));
}

static void put_hold(json_t *object, const struct locks_view *view, const struct lock_sums *sums)
{
	double mean = mean_ns(view, sums->hold, sums->held);
	json_put_count(object, "held", sums->held);
	json_put_real(object, "hold_mean_ns", mean);
	json_put(object, "hold_p50_ns", quantile_json(sums->holds, 0.5));
	json_put(object, "hold_p99_ns", quantile_json(sums->holds, 0.99));
	json_put(object, "hold_longest_ns",
		 sums->held ? json_count(trace_units_to_ns(locks_trace(view->locks), sums->hold_longest))
			    : NULL);
	json_put(object, "holds", buckets_json(sums->holds));
	json_put_real(object, "held_share", per_second(view, mean * (double)sums->acquired / 1e9));
}

/* ---- locks --------------------------------------------------------------------------------------------- */

static void put_name(json_t *object, char *name)
{
	json_put_string(object, "name", name);
	free(name);
}

static json_t *stack_json(const struct locks_view *view, uint32_t stack_id)
{
	struct trace_stack stack;
	struct symbol_stack names;
	json_t *array = json_array();
	if (!trace_stack(locks_trace(view->locks), stack_id, &stack) ||
	    !symbols_stack(view->symbols, &stack, &names))
		return array;
	for (size_t i = 0; i < names.depth; i++)
		json_array_append_new(array, json_safe_string(names.frames[i]->name));
	symbol_stack_free(&names);
	return array;
}

static void put_place(json_t *object, const struct locks_view *view, const struct lock_place *place)
{
	size_t count;
	const struct trace_module *modules = trace_modules(locks_trace(view->locks), &count);
	json_put_string(object, "place", lock_place_name(place->kind));
	json_put_string(object, "module", place->kind == PLACE_MODULE ? modules[place->key].path : NULL);
	json_put(object, "offset",
		 place->kind == PLACE_MODULE || place->kind == PLACE_BLOCK ? json_count(place->offset)
									   : NULL);
	json_put(object, "stack", place->kind == PLACE_BLOCK ? stack_json(view, (uint32_t)place->key) : NULL);
}

static json_t *lock_json(const struct locks_view *view, const struct lock_row *row)
{
	json_t *object = json_object();
	put_name(object, lock_row_name(view, row));
	json_put_string(object, "kind", lock_kind_name(row->kind));
	json_put(object, "address", row->address ? json_count(row->address) : NULL);
	put_place(object, view, &row->place);
	json_put(object, "locks", row->address ? json_count(row->locks) : NULL);
	put_calls(object, view, &row->sums);
	json_put_real(object, "contended_share",
		      row->sums.acquired + row->sums.failed
			      ? (double)row->sums.contended / (double)(row->sums.acquired + row->sums.failed)
			      : NAN);
	put_wait(object, view, &row->sums);
	put_hold(object, view, &row->sums);
	json_put_count(object, "threads", row->threads);
	json_put_count(object, "threads_waited", row->threads_waited);
	json_put_bool(object, "other_threads", row->other_threads);
	return object;
}

static json_t *locks_array(const struct locks_view *view)
{
	size_t count;
	size_t *order = lock_rows_order(view->locks, &count);
	const struct lock_row *rows = locks_rows(view->locks, &count);
	json_t *array = json_array();
	for (size_t i = 0; order && i < count && (!view->top || i < view->top); i++)
		json_array_append_new(array, lock_json(view, &rows[order[i]]));
	free(order);
	return array;
}

/* ---- sites and threads --------------------------------------------------------------------------------- */

static void put_estimate(json_t *object, const char *name, const struct estimate *estimate, double scale,
			 bool exact)
{
	char bound[40];
	json_put_count(object, name, (uint64_t)llround(estimate->value * scale));
	snprintf(bound, sizeof bound, "%s_low", name);
	json_put_count(object, bound,
		       (uint64_t)llround((exact ? estimate->value : estimate_low(estimate)) * scale));
	snprintf(bound, sizeof bound, "%s_high", name);
	json_put_count(object, bound,
		       (uint64_t)llround((exact ? estimate->value : estimate_high(estimate)) * scale));
}

static json_t *site_json(const struct locks_view *view, const struct lock_site *site)
{
	const struct trace *trace = locks_trace(view->locks);
	const bool exact = locks_every(view->locks) == 1;
	const double unit_ns = (double)trace_units_to_ns(trace, 1024) / 1024;
	const struct lock_calls calls = lock_site_operations(site);
	json_t *object = json_object();
	put_name(object, site_name(view->symbols, trace, site->stack_id));
	char *source = lock_site_source(view, site);
	json_put_string(object, "source", source);
	free(source);
	json_put(object, "stack", stack_json(view, site->stack_id));
	json_put_count(object, "stack_id", site->stack_id);
	json_put_string(object, "kind", lock_kind_name(site->kind));
	json_put_bool(object, "estimated", !exact);
	if (calls.known)
		put_estimate(object, "operations", &calls.value, 1, exact);
	else
		json_put_null(object, "operations");
	put_estimate(object, "contended", &site->contended, 1, exact);
	put_estimate(object, "wait_ns", &site->wait, unit_ns, exact);
	json_put_count(object, "samples", site->samples);
	return object;
}

static json_t *sites_array(const struct locks_view *view)
{
	size_t count;
	size_t *order = lock_sites_order(view->locks, &count);
	const struct lock_site *sites = locks_sites(view->locks, &count);
	json_t *array = json_array();
	for (size_t i = 0; order && i < count && (!view->top || i < view->top); i++)
		json_array_append_new(array, site_json(view, &sites[order[i]]));
	free(order);
	return array;
}

static json_t *thread_json(const struct locks_view *view, const struct lock_thread *thread)
{
	const struct lock_sums all = lock_thread_sums(thread);
	json_t *object = json_object(), *kinds = json_array();
	put_name(object, lock_thread_name(locks_trace(view->locks), thread->thread));
	json_put(object, "thread", thread->thread == PLACE_NO_THREAD ? NULL : json_count(thread->thread));
	put_calls(object, view, &all);
	for (unsigned kind = 1; kind < LOCK_KINDS; kind++) {
		if (!lock_operations(&thread->kinds[kind]) && !thread->kinds[kind].contended)
			continue;
		json_t *part = json_object();
		json_put_string(part, "kind", lock_kind_name(kind));
		put_calls(part, view, &thread->kinds[kind]);
		json_array_append_new(kinds, part);
	}
	json_put(object, "kinds", kinds);
	return object;
}

static json_t *threads_array(const struct locks_view *view)
{
	size_t count;
	size_t *order = lock_threads_order(view->locks, &count);
	const struct lock_thread *threads = locks_threads(view->locks, &count);
	json_t *array = json_array();
	for (size_t i = 0; order && i < count && (!view->top || i < view->top); i++)
		json_array_append_new(array, thread_json(view, &threads[order[i]]));
	free(order);
	return array;
}

static json_t *kinds_array(const struct locks_view *view)
{
	json_t *array = json_array();
	for (unsigned kind = 1; kind < LOCK_KINDS; kind++) {
		const struct lock_sums *sums = locks_totals(view->locks, kind);
		if (!lock_operations(sums) && !sums->contended)
			continue;
		json_t *object = json_object();
		json_put_string(object, "kind", lock_kind_name(kind));
		put_calls(object, view, sums);
		json_array_append_new(array, object);
	}
	return array;
}

/* ---- exposure, time ------------------------------------------------------------------------------------ */

static json_t *exposure_json(const struct locks_view *view)
{
	const struct lock_exposure exposure = lock_exposure(view->locks, view->cpus);
	json_t *object = json_object(), *gains = json_array();
	json_put_real(object, "atomic_ops_per_s", exposure.atomics_per_s);
	json_put_real(object, "per_operation", view->per_operation);
	json_put_count(object, "atomic_ops", (uint64_t)llround(exposure.atomics));
	json_put_real(object, "cpus_busy", exposure.cpus);
	json_put_real(object, "hottest_lock_atomic_ops_per_s", exposure.hottest_per_s);
	for (size_t i = 0; i < view->saved_count; i++) {
		json_t *gain = json_object();
		json_put_real(gain, "saved_ns", view->saved_ns[i]);
		json_put_real(gain, "at_most_percent", lock_gain_percent(&exposure, view->saved_ns[i]));
		json_array_append_new(gains, gain);
	}
	json_put(object, "gain", gains);
	return object;
}

#define SERIES_MAX 4096u /* readings in the output: neighbours are joined beyond that */

static json_t *series_array(const struct locks_view *view)
{
	const struct trace *trace = locks_trace(view->locks);
	size_t count;
	const struct lock_reading *readings = locks_readings(view->locks, &count);
	size_t step = count / SERIES_MAX + 1;
	json_t *array = json_array();
	for (size_t i = 0; i < count; i += step) {
		struct lock_reading sum = readings[i];
		for (size_t j = i + 1; j < i + step && j < count; j++) {
			sum.end = readings[j].end;
			sum.operations += readings[j].operations;
			sum.contended += readings[j].contended;
			sum.wait += readings[j].wait;
		}
		double length_s = trace_seconds(trace, sum.end) - trace_seconds(trace, sum.start);
		json_t *object = json_object();
		json_put_real(object, "t_s", trace_seconds(trace, sum.end));
		json_put_real(object, "length_s", length_s);
		json_put_real(object, "operations_per_s", (double)sum.operations / length_s);
		json_put_real(object, "contended_for_locks_per_s", (double)sum.contended / length_s);
		json_put_real(object, "waiters_for_locks",
			      (double)trace_units_to_ns(trace, sum.wait) / 1e9 / length_s);
		json_array_append_new(array, object);
	}
	return array;
}

json_t *locks_json(const struct locks_view *view)
{
	const struct trace *trace = locks_trace(view->locks);
	size_t rows, unmatched_count;
	if (!locks_known(view->locks))
		return NULL;
	json_t *object = json_object(), *unmatched = json_array();
	locks_rows(view->locks, &rows);
	json_put_string(object, "trace", trace_info(trace)->path);
	json_put_real(object, "elapsed_s", locks_elapsed_s(view->locks));
	json_put(object, "locks_every",
		 locks_every(view->locks) ? json_count(locks_every(view->locks)) : NULL);
	put_calls(object, view, locks_totals(view->locks, 0));
	json_put_real(object, "waiters", mean_waiters(view, locks_totals(view->locks, 0)));
	const struct lock_sums held = locks_totals_held(view->locks, true);
	json_put_count(object, "contended_for_locks", held.contended);
	json_put_real(object, "waiters_for_locks", mean_waiters(view, &held));
	json_put(object, "kinds", kinds_array(view));
	json_put_count(object, "locks_total", rows);
	json_put(object, "locks", locks_array(view));
	json_put(object, "sites", sites_array(view));
	json_put(object, "threads", threads_array(view));
	json_put(object, "exposure", exposure_json(view));
	json_put(object, "series", series_array(view));
	const char *const *names = symbols_unmatched(view->symbols, &unmatched_count);
	for (size_t i = 0; i < unmatched_count; i++)
		json_array_append_new(unmatched, json_safe_string(names[i]));
	json_put(object, "unmatched_modules", unmatched);
	return object;
}
