#include "analyzer/info.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/allocstats_json.h"
#include "analyzer/format.h"
#include "analyzer/patches.h"
#include "analyzer/regions_output.h"
#include "analyzer/sites.h"

uint64_t info_allocs(const uint64_t counters[COUNTER_COUNT])
{
	return counters[COUNTER_MALLOC] + counters[COUNTER_CALLOC] + counters[COUNTER_NEW] +
	       counters[COUNTER_ALIGNED];
}

uint64_t info_frees(const uint64_t counters[COUNTER_COUNT])
{
	return counters[COUNTER_FREE] + counters[COUNTER_DELETE];
}

uint64_t info_unread(const struct trace_info *info, const struct merge_stats *stream)
{
	uint64_t accounted = stream->events + info->counters[COUNTER_LOST_DISK];
	uint64_t recorded = info->counters[COUNTER_EVENTS];
	return recorded > accounted ? recorded - accounted : 0;
}

const char *info_end_reason(const struct trace_info *info)
{
	static const char *const names[] = {[END_EXIT] = "exit",
					    [END_UNDERSCORE_EXIT] = "_exit",
					    [END_QUICK_EXIT] = "quick_exit",
					    [END_EXEC] = "exec"};
	if (!info->complete || info->end_reason >= sizeof names / sizeof *names)
		return NULL;
	return names[info->end_reason];
}

static const char *mode_name(enum trace_mode mode)
{
	return mode == TRACE_MODE_FULL ? "full" : mode == TRACE_MODE_SAMPLE ? "sample" : NULL;
}

/* ---- parts --------------------------------------------------------------------------------------------- */

static void put_key_number(json_t *object, const struct trace *trace, const char *name, const char *key)
{
	uint64_t value;
	json_put(object, name, trace_key_number(trace, key, &value) ? json_count(value) : NULL);
}

static void put_key(json_t *object, const struct trace *trace, const char *name, const char *key)
{
	json_put_string(object, name, trace_key(trace, key));
}

static void put_head(json_t *object, const struct trace *trace)
{
	const struct trace_info *info = trace_info(trace);
	char text[FORMAT_TEXT_BYTES];
	int64_t start_ns = trace_realtime_ns(trace, trace_start_time(trace));
	json_put_string(object, "trace", info->path);
	json_put_count(object, "format_version", info->format_version);
	json_put_string(object, "mode", mode_name(info->mode));
	json_put(object, "sample_bytes", info->sample_bytes ? json_count(info->sample_bytes) : NULL);
	json_put_bool(object, "complete", info->complete);
	json_put_string(object, "end_reason", info_end_reason(info));
	json_put(object, "exit_status", info->complete ? json_integer(info->end_status) : NULL);
	json_put_bool(object, "flight_recorder", info->flight_recorder);
	json_put_bool(object, "rings", info->rings);
	json_put_real(object, "duration_s", trace_seconds(trace, info->last_time));
	json_put_real(object, "first_kept_s", trace_seconds(trace, info->first_time));
	json_put_string(object, "start_time_utc", start_ns ? format_utc(text, start_ns) : NULL);
}

static void put_machine(json_t *object, const struct trace *trace)
{
	static const char *const texts[] = {"exe",	   "argv",	    "host",	    "kernel",
					    "arch",	   "glibc_version", "version_shim", "unwinder",
					    "thp_enabled", "thp_defrag"};
	static const char *const numbers[] = {
		"pid",	       "ppid",	      "uid",	  "page_size", "pmd_size_bytes", "cpus",
		"stack_depth", "interval_ms", "ring_mib", "max_mib",   "tick_hz",	 "time_shift"};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		put_key(object, trace, texts[i], texts[i]);
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		put_key_number(object, trace, numbers[i], numbers[i]);
}

struct counted {
	const char *name;
	enum counter counter;
};

static const struct counted plain_counters[] = {
	{"alloc_bytes", COUNTER_ALLOC_BYTES},
	{"reallocs", COUNTER_REALLOC},
	{"realloc_bytes", COUNTER_REALLOC_BYTES},
	{"null_frees", COUNTER_NULL_FREE},
	{"failed", COUNTER_FAILED},
	{"usable_size_calls", COUNTER_USABLE_SIZE},
	{"mmaps", COUNTER_MMAP},
	{"munmaps", COUNTER_MUNMAP},
	{"mremaps", COUNTER_MREMAP},
	{"mprotects", COUNTER_MPROTECT},
	{"madvises", COUNTER_MADVISE},
	{"brks", COUNTER_BRK},
	{"prctls", COUNTER_PRCTL},
	{"region_failures", COUNTER_REGION_FAILED},
	{"membarriers", COUNTER_MEMBARRIER},
	{"thread_starts", COUNTER_THREAD_START},
	{"forks", COUNTER_FORK},
	{"dlopens", COUNTER_DLOPEN},
	{"migrations", COUNTER_MIGRATIONS},
	{"stackless", COUNTER_STACKLESS},
};

static const struct counted lost_counters[] = {
	{"ring_full", COUNTER_LOST_RING_FULL},	 {"no_thread", COUNTER_LOST_NO_THREAD},
	{"reentry", COUNTER_LOST_REENTRY},	 {"disk", COUNTER_LOST_DISK},
	{"sample_set", COUNTER_LOST_SAMPLE_SET}, {"stopped", COUNTER_LOST_STOPPED},
};

static void put_counter(json_t *object, const struct trace_info *info, const char *name, uint64_t value)
{
	json_put(object, name, info->counters_known ? json_count(value) : NULL);
}

static void put_counters(json_t *object, const struct trace_info *info)
{
	json_t *causes = json_object();
	put_counter(object, info, "events", info->counters[COUNTER_EVENTS]);
	put_counter(object, info, "lost", info->lost);
	for (size_t i = 0; i < sizeof lost_counters / sizeof *lost_counters; i++)
		put_counter(causes, info, lost_counters[i].name, info->counters[lost_counters[i].counter]);
	json_put(object, "lost_by_cause", causes);
	put_counter(object, info, "allocs", info_allocs(info->counters));
	put_counter(object, info, "frees", info_frees(info->counters));
	for (size_t i = 0; i < sizeof plain_counters / sizeof *plain_counters; i++)
		put_counter(object, info, plain_counters[i].name, info->counters[plain_counters[i].counter]);
}

static void put_live(json_t *object, const struct trace *trace, const struct livemap_totals *live)
{
	static const char *const names[] = {
		"live_bytes_peak", "live_bytes_peak_at_s", "live_bytes_end", "live_blocks_end",
		"remote_frees",	   "unknown_frees",	   "lost_frees",     "reordered"};
	bool exact = trace_info(trace)->mode == TRACE_MODE_FULL;
	if (!live) {
		for (size_t i = 0; i < sizeof names / sizeof *names; i++)
			json_put_null(object, names[i]);
		return;
	}
	json_put_peak(object, names[0], &live->live_bytes_peak, exact);
	json_put(object, names[1],
		 live->live_bytes_peak_time ? json_real(trace_seconds(trace, live->live_bytes_peak_time))
					    : NULL);
	json_put_estimate(object, names[2], &live->live_bytes, exact);
	json_put_estimate(object, names[3], &live->live_blocks, exact);
	json_put(object, names[4], exact ? json_count(live->remote_frees) : NULL);
	json_put_count(object, names[5], live->unknown_frees);
	json_put_count(object, names[6], live->lost_frees);
	json_put_count(object, names[7], live->reordered);
}

static void put_stream(json_t *object, const struct trace_info *info, const struct merge_stats *stream)
{
	bool known = stream && info->counters_known;
	json_put(object, "events_read", stream ? json_count(stream->events) : NULL);
	json_put(object, "events_unread", known ? json_count(info_unread(info, stream)) : NULL);
	json_put(object, "events_recovered", stream ? json_count(stream->recovered_events) : NULL);
	json_put(object, "events_late", stream ? json_count(stream->late_events) : NULL);
	json_put(object, "chunks_missing", stream ? json_count(stream->missing_chunks) : NULL);
}

static json_t *build_id_json(const struct trace_module *module)
{
	if (!module->build_id_bytes)
		return NULL;
	char *text = malloc(2 * module->build_id_bytes + 1);
	if (!text)
		return NULL;
	for (size_t i = 0; i < module->build_id_bytes; i++)
		snprintf(text + 2 * i, 3, "%02x", module->build_id[i]);
	json_t *value = json_string(text);
	free(text);
	return value;
}

static json_t *modules_json(const struct trace *trace)
{
	size_t count;
	const struct trace_module *modules = trace_modules(trace, &count);
	json_t *array = json_array();
	for (size_t i = 0; i < count; i++) {
		json_t *module = json_object();
		json_put_string(module, "path", modules[i].path);
		json_put(module, "build_id", build_id_json(&modules[i]));
		json_put_count(module, "start", modules[i].start);
		json_put_count(module, "end", modules[i].end);
		json_array_append_new(array, module);
	}
	return array;
}

static json_t *damage_json(const struct trace *trace)
{
	size_t count;
	const struct trace_damage *damage = trace_damage(trace, &count);
	json_t *array = json_array();
	for (size_t i = 0; i < count; i++)
		json_array_append_new(array, json_damage(damage[i].file, damage[i].offset_bytes,
							 damage[i].bytes, damage[i].text));
	return array;
}

/* Whether MTRACE_LOCKS=1 was set; traces from before that do not say. */
static void put_locks(json_t *object, const struct trace *trace)
{
	const char *on = trace_key(trace, "locks");
	json_put_bool(object, "locks", on && strcmp(on, "1") == 0);
	put_key_number(object, trace, "locks_every", "locks_every");
}

/* ---- the object ---------------------------------------------------------------------------------------- */

json_t *info_json(const struct trace *trace, const struct info_pass *pass)
{
	const struct trace_info *info = trace_info(trace);
	json_t *object = json_object();
	size_t threads;
	trace_threads(trace, &threads);
	put_head(object, trace);
	put_machine(object, trace);
	json_put_count(object, "threads", threads);
	put_locks(object, trace);
	put_counters(object, info);
	put_live(object, trace, pass->live);
	put_stream(object, info, pass->stream);
	json_put(object, "rseq", rseq_json(trace, pass->rseq));
	json_put(object, "allocator", allocstats_json(trace));
	put_key(object, trace, "malloc_source", "malloc_source");
	put_key(object, trace, "malloc_source_reason", "malloc_source_reason");
	json_put(object, "patched", patches_json(trace));
	json_put(object, "patched_at_s", patched_at_json(trace));
	json_put(object, "regions", regions_owners_json(pass->regions));
	json_put_count(object, "trace_bytes", info->trace_bytes);
	json_put_count(object, "stored_bytes", info->stored_bytes);
	json_put_count(object, "raw_bytes", info->raw_bytes);
	json_put_count(object, "blocks", info->blocks);
	json_put(object, "modules", modules_json(trace));
	json_put(object, "damage", damage_json(trace));
	json_put_count(object, "damage_count", trace_damage_count(trace));
	return object;
}
