#include "analyzer/report_locks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/locks_client.h"

bool report_locks(struct report *report)
{
	size_t count = report->model.stage_count;
	report->lock_atomics_per_operation = malloc((count + 1) * sizeof *report->lock_atomics_per_operation);
	for (size_t i = 0; report->lock_atomics_per_operation && i < count; i++) {
		const struct stage *stage = &report->model.stages[i];
		enum lock_client_time over;
		double value = NAN;
		if (stage->locks)
			value = lock_atomics_per_operation(stage->locks, report->files, report->file_count,
							   &over);
		report->lock_atomics_per_operation[i] = value;
		if (stage->locks_json)
			json_put_real(json_object_get(stage->locks_json, "exposure"), "per_operation", value);
	}
	return report->lock_atomics_per_operation != NULL;
}

void report_locks_free(struct report *report)
{
	free(report->lock_atomics_per_operation);
}

char *report_locks_text(const struct report *report, size_t stage)
{
	const char *text = report->model.stages[stage].locks_text;
	double value = report->lock_atomics_per_operation ? report->lock_atomics_per_operation[stage] : NAN;
	char *whole = NULL;
	if (!text)
		return NULL;
	if (isnan(value))
		return strdup(text);
	if (asprintf(&whole, "%s  Atomic instructions for each operation of the client: %.4g\n", text,
		     value) < 0)
		return NULL;
	return whole;
}

/* ---- findings ------------------------------------------------------------------------------------------ */

/* So many of its threads wait for a lock at a time, on average; fewer calls than this say little. */
#define WAITERS_SHARE	       0.1
#define WAITERS_CALLS_AT_LEAST 100
#define NO_ROOM_SHARE	       0.1

static double number(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);
	return json_is_number(value) ? json_number_value(value) : NAN;
}

static bool is_held(const char *kind)
{
	return strcmp(kind, "mutex") == 0 || strcmp(kind, "rwlock") == 0 || strcmp(kind, "spin") == 0;
}

static bool find_lock(struct report *report, const char *path, const json_t *lock)
{
	const char *kind = json_string_value(json_object_get(lock, "kind"));
	const char *name = json_string_value(json_object_get(lock, "name"));
	double waiters = number(lock, "waiters"), threads = number(lock, "threads");
	double hold_ns = number(lock, "hold_mean_ns"), share = number(lock, "held_share");
	char held[96] = "";
	if (!kind || !name || !is_held(kind) || !(threads > 1) || !(waiters > WAITERS_SHARE * threads) ||
	    !(number(lock, "contended") >= WAITERS_CALLS_AT_LEAST))
		return true;
	if (!isnan(hold_ns))
		snprintf(held, sizeof held, "; it is held for %.3g us at a time, %.3g%% of the time",
			 hold_ns / 1e3, 100 * share);
	return findings_add(
		&report->findings, "lock-contention",
		"%s: %.3g of the %.0f threads that use the %s %s wait for it at any moment; %.3g%% of the "
		"calls find it taken%s.",
		path, waiters, threads, kind, name, 100 * number(lock, "contended_share"), held);
}

static bool find_no_room(struct report *report, const char *path, const json_t *locks)
{
	size_t i;
	json_t *lock;
	double lost = 0, all = number(locks, "operations");
	json_array_foreach (json_object_get(locks, "locks"), i, lock) {
		const char *place = json_string_value(json_object_get(lock, "place"));
		if (place && strcmp(place, "no-room") == 0)
			lost += number(lock, "operations");
	}
	if (!(lost > NO_ROOM_SHARE * all))
		return true;
	return findings_add(
		&report->findings, "locks-no-room",
		"%s: %.3g%% of the operations were on locks for which the recorder had no room: they "
		"count in the sums, and no lock of theirs has a name.",
		path, 100 * lost / all);
}

bool findings_collect_locks(struct report *report)
{
	bool fine = true;
	for (size_t i = 0; fine && i < report->model.stage_count; i++) {
		const struct stage *stage = &report->model.stages[i];
		const char *path = trace_info(stage->trace)->path;
		size_t j;
		json_t *lock;
		if (!stage->locks_json)
			continue;
		json_array_foreach (json_object_get(stage->locks_json, "locks"), j, lock)
			fine = fine && find_lock(report, path, lock);
		fine = fine && find_no_room(report, path, stage->locks_json);
	}
	return fine;
}
