#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/allocstats_json.h"
#include "analyzer/command.h"
#include "analyzer/format.h"
#include "analyzer/info.h"
#include "analyzer/patches.h"
#include "analyzer/regions_output.h"

static const char *key_or(const struct trace *trace, const char *key, const char *otherwise)
{
	const char *value = trace_key(trace, key);
	return value && *value ? value : otherwise;
}

static void row(FILE *file, const char *name, const char *text)
{
	fprintf(file, "  %-14s ", name);
	print_safe(file, text);
	fputc('\n', file);
}

static void print_who(FILE *file, const struct trace *trace)
{
	const struct trace_info *info = trace_info(trace);
	char text[1024], utc[FORMAT_TEXT_BYTES], length[FORMAT_TEXT_BYTES];
	snprintf(text, sizeof text, "%s, pid %s", key_or(trace, "exe", "unknown program"),
		 key_or(trace, "pid", "?"));
	row(file, "program", text);
	snprintf(text, sizeof text, "%s: %s, %s CPUs, Linux %s", key_or(trace, "host", "unknown host"),
		 key_or(trace, "arch", "?"), key_or(trace, "cpus", "?"), key_or(trace, "kernel", "?"));
	row(file, "machine", text);
	const char *reason = info_end_reason(info);
	snprintf(text, sizeof text, "%s, %s; %s%s",
		 format_utc(utc, trace_realtime_ns(trace, trace_start_time(trace))),
		 format_seconds(length, trace_seconds(trace, info->last_time)),
		 info->complete ? "ended by " : "no end: killed, or still running", reason ? reason : "");
	row(file, "time", text);
}

static void print_how(FILE *file, const struct trace *trace)
{
	const struct trace_info *info = trace_info(trace);
	char text[1024], a[FORMAT_TEXT_BYTES], b[FORMAT_TEXT_BYTES];
	if (info->mode == TRACE_MODE_SAMPLE)
		snprintf(text, sizeof text, "sample: exact counters, one sample every %s",
			 format_bytes(a, (double)info->sample_bytes));
	else
		snprintf(text, sizeof text, "%s",
			 info->mode == TRACE_MODE_FULL ? "full: every event"
						       : "unknown: the process block is damaged");
	row(file, "mode", text);
	snprintf(text, sizeof text, "%s%s%s", key_or(trace, "malloc_source", "unknown"),
		 trace_key(trace, "malloc_source_reason") ? ": " : "",
		 key_or(trace, "malloc_source_reason", ""));
	row(file, "allocator", text);
	if (patches_text(trace, text, sizeof text))
		row(file, "patched", text);
	if (strcmp(key_or(trace, "locks", "0"), "1") == 0)
		row(file, "locks", "recorded: `mtrace-analyze locks`");
	if (info->flight_recorder) {
		snprintf(text, sizeof text, "flight recorder: holds the time from %s on",
			 format_seconds(a, trace_seconds(trace, info->first_time)));
		row(file, "window", text);
	}
	uint64_t events = info->counters[COUNTER_EVENTS];
	int used = snprintf(text, sizeof text, "%s", format_bytes(a, (double)info->trace_bytes));
	if (events && used > 0)
		snprintf(text + used, sizeof text - (size_t)used,
			 ", %.2f bytes an event (%.2f before compression)",
			 (double)info->stored_bytes / (double)events,
			 (double)info->raw_bytes / (double)events);
	row(file, "file", text);
	snprintf(text, sizeof text, "%s recorded, %s lost%s", format_count(a, events),
		 format_count(b, info->lost),
		 info->complete || info->rings ? "" : "; how many after the last snapshot is not known");
	row(file, "events", info->counters_known ? text : "unknown: no snapshot could be read");
}

static void print_calls(FILE *file, const struct trace_info *info)
{
	const uint64_t *counters = info->counters;
	char text[512], a[FORMAT_TEXT_BYTES], b[FORMAT_TEXT_BYTES], c[FORMAT_TEXT_BYTES],
		d[FORMAT_TEXT_BYTES];
	if (!info->counters_known)
		return;
	snprintf(text, sizeof text, "%s, %s requested; %s failed", format_count(a, info_allocs(counters)),
		 format_bytes(b, (double)counters[COUNTER_ALLOC_BYTES]),
		 format_count(c, counters[COUNTER_FAILED]));
	row(file, "allocations", text);
	snprintf(text, sizeof text, "%s, %s requested", format_count(a, counters[COUNTER_REALLOC]),
		 format_bytes(b, (double)counters[COUNTER_REALLOC_BYTES]));
	row(file, "reallocs", text);
	snprintf(text, sizeof text, "%s, and %s of NULL", format_count(a, info_frees(counters)),
		 format_count(b, counters[COUNTER_NULL_FREE]));
	row(file, "frees", text);
	snprintf(text, sizeof text, "%s mmap, %s munmap, %s madvise, %s mprotect",
		 format_count(a, counters[COUNTER_MMAP]), format_count(b, counters[COUNTER_MUNMAP]),
		 format_count(c, counters[COUNTER_MADVISE]), format_count(d, counters[COUNTER_MPROTECT]));
	row(file, "regions", text);
}

static void print_live(FILE *file, const struct trace *trace, const struct livemap_totals *live)
{
	char text[512], a[FORMAT_TEXT_BYTES], b[FORMAT_TEXT_BYTES], c[FORMAT_TEXT_BYTES];
	const struct peak *peak = &live->live_bytes_peak;
	bool exact = trace_info(trace)->mode == TRACE_MODE_FULL;
	if (!live->live_bytes_peak_time) {
		row(file, "live", exact ? "nothing was allocated" : "no block was sampled");
		return;
	}
	int used =
		snprintf(text, sizeof text, "%s%s at %s", exact ? "" : "about ", format_bytes(a, peak->value),
			 format_seconds(b, trace_seconds(trace, live->live_bytes_peak_time)));
	if (!exact && used > 0)
		snprintf(text + used, sizeof text - (size_t)used, " (95%%: %s to %s)",
			 format_bytes(a, peak_low(peak)), format_bytes(b, peak_high(peak)));
	row(file, "live, peak", text);
	snprintf(text, sizeof text, "%s%s in %s blocks", exact ? "" : "about ",
		 format_bytes(a, live->live_bytes.value), format_count(c, (uint64_t)live->live_blocks.value));
	row(file, "live, end", text);
}

static void print_threads(FILE *file, const struct trace *trace)
{
	char text[256], a[FORMAT_TEXT_BYTES];
	size_t threads, modules;
	trace_threads(trace, &threads);
	trace_modules(trace, &modules);
	snprintf(text, sizeof text, "%s, modules %zu", format_count(a, threads), modules);
	row(file, "threads", text);
}

static void print_unread(FILE *file, const struct trace_info *info, const struct merge_stats *stream)
{
	char text[256], a[FORMAT_TEXT_BYTES];
	if (!stream || !info->counters_known || !info_unread(info, stream))
		return;
	snprintf(text, sizeof text, "%s recorded events%s", format_count(a, info_unread(info, stream)),
		 info->flight_recorder ? ", overwritten or not readable" : " could not be read");
	row(file, "unread", text);
}

static void print_rseq(FILE *file, const struct trace *trace, const struct rseq_watch *watch)
{
	char text[512];
	struct rseq_verdict verdict = rseq_judge(trace, watch);
	row(file, "rseq", verdict.text);
	if (allocstats_text(trace, text, sizeof text))
		row(file, "caches", text);
}

void info_print(FILE *file, const struct trace *trace, const struct info_pass *pass)
{
	const struct merge_stats *stream = pass->stream;
	char text[256], a[FORMAT_TEXT_BYTES];
	print_safe(file, trace_info(trace)->path);
	fputs("\n", file);
	print_who(file, trace);
	print_how(file, trace);
	print_threads(file, trace);
	print_calls(file, trace_info(trace));
	if (pass->live)
		print_live(file, trace, pass->live);
	print_rseq(file, trace, pass->rseq);
	regions_print(file, pass->regions);
	print_unread(file, trace_info(trace), stream);
	if (stream && stream->recovered_events) {
		snprintf(text, sizeof text, "%s events from the rings file",
			 format_count(a, stream->recovered_events));
		row(file, "recovered", text);
	}
	if (trace_damage_count(trace)) {
		snprintf(text, sizeof text, "%s place(s), listed on stderr",
			 format_count(a, trace_damage_count(trace)));
		row(file, "damage", text);
	}
}
