#include "analyzer/allocstats_json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/allocstats.h"
#include "analyzer/format.h"
#include "analyzer/json.h"

const char *allocstats_kind_name(const struct trace *trace)
{
	switch (trace_allocator(trace)->kind) {
	case ALLOCATOR_GOOGLE:
		return "google-tcmalloc";
	case ALLOCATOR_GPERFTOOLS:
		return "gperftools";
	default:
		return trace_key(trace, "allocator_statistics");
	}
}

static json_t *known(uint64_t value)
{
	return value == ALLOCSTATS_UNKNOWN ? NULL : json_count(value);
}

static double age_s(uint64_t age_ns)
{
	return age_ns == SNAPSHOT_UNKNOWN ? NAN : (double)age_ns / 1e9;
}

static json_t *values_json(const struct allocstats *stats)
{
	json_t *object = json_object();
	for (size_t i = 0; i < stats->value_count; i++)
		json_put_count(object, stats->values[i].name, stats->values[i].value);
	return object;
}

static json_t *cpus_json(const struct allocstats *stats)
{
	json_t *array = json_array();
	for (size_t i = 0; i < stats->cpu_count; i++) {
		const struct allocstats_cpu *cpu = &stats->cpus[i];
		json_t *object = json_object();
		json_put_count(object, "cpu", cpu->cpu);
		json_put(object, "used_bytes", known(cpu->used_bytes));
		json_put(object, "unallocated_bytes", known(cpu->unallocated_bytes));
		json_put(object, "underflows", known(cpu->underflows));
		json_put(object, "overflows", known(cpu->overflows));
		json_put(object, "reclaims", known(cpu->reclaims));
		json_array_append_new(array, object);
	}
	return array;
}

json_t *allocstats_json(const struct trace *trace)
{
	const struct allocstats *stats = trace_allocator(trace);
	bool read = stats->kind != 0;
	int active = read ? allocstats_active(stats) : -1;
	json_t *object = json_object();
	json_put_string(object, "kind", allocstats_kind_name(trace));
	json_put_real(object, "at_s", read ? trace_seconds(trace, stats->mark.time) : NAN);
	json_put_real(object, "values_age_s", read ? age_s(stats->values_age_ns) : NAN);
	json_put_real(object, "per_cpu_age_s", read ? age_s(stats->per_cpu_age_ns) : NAN);
	json_put(object, "per_cpu_caches_active", active < 0 ? NULL : json_boolean(active));
	json_put(object, "max_per_cpu_cache_bytes", read ? known(allocstats_limit_bytes(stats)) : NULL);
	json_put(object, "values", read ? values_json(stats) : NULL);
	json_put(object, "cpus", read && stats->cpu_count ? cpus_json(stats) : NULL);
	return object;
}

/* ---- in words ------------------------------------------------------------------------------------------ */

static const char *const cpu_free_names[] = {"tcmalloc.cpu_free", NULL};
static const char *const thread_free_names[] = {"tcmalloc.thread_cache_free",
						"tcmalloc.thread_cache_free_bytes", NULL};

/* ", 3.2 MiB in them" */
static void add_bytes(char *text, size_t bytes, uint64_t value, const char *before, const char *behind)
{
	char number[FORMAT_TEXT_BYTES];
	size_t used = strlen(text);
	if (value != ALLOCSTATS_UNKNOWN && used < bytes)
		snprintf(text + used, bytes - used, "%s%s%s", before, format_bytes(number, (double)value),
			 behind);
}

bool allocstats_text(const struct trace *trace, char *text, size_t bytes)
{
	const struct allocstats *stats = trace_allocator(trace);
	if (stats->kind == 0)
		return false;
	int active = allocstats_active(stats);
	const char *state = active == 1	  ? ", per-CPU caches active"
			    : active == 0 ? ", per-CPU caches not active"
					  : "";
	snprintf(text, bytes, "%s%s", allocstats_kind_name(trace), state);
	if (active == 1)
		add_bytes(text, bytes, allocstats_limit_bytes(stats), ", at most ", " for a CPU");
	if (active == 1)
		add_bytes(text, bytes, allocstats_first(stats, cpu_free_names), ", ", " free in them");
	else
		add_bytes(text, bytes, allocstats_first(stats, thread_free_names), ", ",
			  " free in caches of threads");
	return true;
}
