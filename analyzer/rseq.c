#include "analyzer/rseq.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/array.h"
#include "analyzer/format.h"
#include "analyzer/json.h"

#define RSEQ_FLAG_UNREGISTER 1 /* include/uapi/linux/rseq.h */

/* ---- events -------------------------------------------------------------------------------------------- */

/* The place of a thread in watch->registered; NULL: out of memory. */
static bool *registered_of(struct rseq_watch *watch, uint32_t thread)
{
	uint32_t index = idmap_get(&watch->threads, thread);
	if (index != IDMAP_NONE)
		return &watch->registered[index];
	if (!array_reserve(&watch->registered, &watch->capacity, watch->count + 1, sizeof(bool)) ||
	    !idmap_add(&watch->threads, thread, (uint32_t)watch->count))
		return NULL;
	watch->registered[watch->count] = false;
	return &watch->registered[watch->count++];
}

/* Of an area that the program did not register (glibc's) it is no matter here: others still have theirs. */
static void unregister(struct rseq_watch *watch, uint32_t thread)
{
	uint32_t index = idmap_get(&watch->threads, thread);
	if (index == IDMAP_NONE || !watch->registered[index])
		return;
	watch->registered[index] = false;
	watch->registered_now--;
}

static bool register_thread(struct rseq_watch *watch, const struct trace_event *event)
{
	bool *registered = registered_of(watch, event->thread);
	if (!registered)
		return false;
	watch->registered_now += !*registered;
	*registered = true;
	if (watch->registrations == watch->failures)
		watch->first_success_time = event->time;
	watch->registrations++;
	return true;
}

bool rseq_watch_event(struct rseq_watch *watch, const struct trace_event *event)
{
	if (event->kind != EVENT_RSEQ)
		return true;
	if (event->args[0] & RSEQ_FLAG_UNREGISTER) {
		if (event->result == 0)
			unregister(watch, event->thread);
		return true;
	}
	if (event->result == 0)
		return register_thread(watch, event);
	watch->registrations++;
	if (watch->failures++ == 0)
		watch->first_failure_errno = (int)-event->result;
	return true;
}

void rseq_watch_free(struct rseq_watch *watch)
{
	idmap_clear(&watch->threads);
	free(watch->registered);
	*watch = (struct rseq_watch){0};
}

/* ---- the verdict --------------------------------------------------------------------------------------- */

/* Successful registrations that the counters have. Old ones need not be among the events: a flight recorder
 * overwrites them. */
static uint64_t counted_successes(const struct trace_info *info)
{
	uint64_t all = info->counters[COUNTER_RSEQ], failed = info->counters[COUNTER_RSEQ_FAILED];
	return info->counters_known && all > failed ? all - failed : 0;
}

static bool application_owns(uint64_t counted, const struct rseq_watch *watch)
{
	uint64_t seen = watch ? watch->registrations - watch->failures : 0;
	return counted > seen || (watch && watch->registered_now > 0);
}

static const char *failures_text(char *text, size_t bytes, uint64_t failures, int first_errno)
{
	char count[FORMAT_TEXT_BYTES];
	const char *name = first_errno ? strerrorname_np(first_errno) : NULL;
	if (failures == 0)
		text[0] = '\0';
	else if (!first_errno)
		snprintf(text, bytes, "; %s registration(s) by the program failed",
			 format_count(count, failures));
	else
		snprintf(text, bytes,
			 "; %s registration(s) by the program failed, the first with errno %d (%s)",
			 format_count(count, failures), first_errno, name ? name : "unknown");
	return text;
}

static void put_text(struct rseq_verdict *verdict, uint64_t failures, bool was_registered)
{
	char failed[128], since[FORMAT_TEXT_BYTES];
	failures_text(failed, sizeof failed, failures, verdict->first_failure_errno);
	char *text = verdict->text;
	const size_t bytes = sizeof verdict->text;
	if (!verdict->owner)
		snprintf(text, bytes, "not known%s", failed);
	else if (!strcmp(verdict->owner, "application"))
		snprintf(text, bytes, "the program's, since %s%s: per-CPU caches can work",
			 isnan(verdict->since_s) ? "a time that is not in the trace"
						 : format_seconds(since, verdict->since_s),
			 failed);
	else if (!strcmp(verdict->owner, "glibc"))
		snprintf(text, bytes,
			 "glibc's, from the start%s: an allocator cannot register for per-CPU caches "
			 "(GLIBC_TUNABLES=glibc.pthread.rseq=0 leaves rseq to it)",
			 failed);
	else
		snprintf(text, bytes, "nobody's%s%s", was_registered ? "; the program has unregistered" : "",
			 failures	  ? failed
			 : was_registered ? ""
					  : ", nobody has tried");
}

struct rseq_verdict rseq_judge(const struct trace *trace, const struct rseq_watch *watch)
{
	const struct trace_info *info = trace_info(trace);
	const char *at_start = trace_key(trace, "rseq_owner");
	uint64_t counted = counted_successes(info), failures = info->counters[COUNTER_RSEQ_FAILED];
	bool seen = watch && watch->registrations > watch->failures;
	bool first_seen = watch && watch->failures == failures;
	struct rseq_verdict verdict = {.since_s = NAN, .possible = -1};
	if (first_seen)
		verdict.first_failure_errno = watch->first_failure_errno;
	if (application_owns(counted, watch)) {
		verdict.owner = "application";
		verdict.possible = 1;
		if (seen && watch->registrations - watch->failures >= counted)
			verdict.since_s = trace_seconds(trace, watch->first_success_time);
	} else if (at_start && !strcmp(at_start, "glibc")) {
		verdict.owner = "glibc";
		verdict.since_s = 0;
		verdict.possible = 0;
	} else if (at_start) {
		verdict.owner = "none";
		verdict.possible = seen ? 1 : failures ? 0 : -1;
	}
	put_text(&verdict, failures, seen);
	return verdict;
}

static json_t *known_count(const struct trace *trace, enum counter counter)
{
	const struct trace_info *info = trace_info(trace);
	return info->counters_known ? json_count(info->counters[counter]) : NULL;
}

json_t *rseq_json(const struct trace *trace, const struct rseq_watch *watch)
{
	struct rseq_verdict verdict = rseq_judge(trace, watch);
	json_t *object = json_object();
	json_put_string(object, "owner", verdict.owner);
	json_put_real(object, "since_s", verdict.since_s);
	json_put(object, "registrations", known_count(trace, COUNTER_RSEQ));
	json_put(object, "failures", known_count(trace, COUNTER_RSEQ_FAILED));
	json_put(object, "first_failure_errno",
		 verdict.first_failure_errno ? json_integer(verdict.first_failure_errno) : NULL);
	json_put(object, "per_cpu_caches_possible",
		 verdict.possible < 0 ? NULL : json_boolean(verdict.possible));
	return object;
}
