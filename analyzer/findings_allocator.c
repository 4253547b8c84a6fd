/* What the allocator's own figures and the rseq registrations give away. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/allocstats.h"
#include "analyzer/findings.h"
#include "analyzer/format.h"
#include "analyzer/report.h"

/*
 * With capacity 0 every allocation of a small size is an underflow; those beyond the largest size class pass
 * the caches by. A cache that works has one per several dozen.
 */
#define UNDERFLOW_SHARE		 0.8
#define UNDERFLOW_CALLS_AT_LEAST 1000

/* Over those intervals of the trace in which both are known. */
struct misses {
	double underflows, allocs;
};

static struct misses count_misses(const struct timeline *timeline, const struct stage *stage)
{
	struct misses misses = {0, 0};
	for (size_t i = 0; i < timeline->row_count; i++) {
		const struct model_row *row = &timeline->rows[i];
		double length_s = (double)(row->end_ns - row->start_ns) / 1e9;
		double underflows = row->values[SERIES_TCMALLOC_UNDERFLOWS],
		       allocs = row->values[SERIES_ALLOCS];
		if (row->start_ns < stage->start_ns || row->end_ns > stage->end_ns || isnan(underflows) ||
		    isnan(allocs))
			continue;
		misses.underflows += underflows * length_s;
		misses.allocs += allocs * length_s;
	}
	return misses;
}

/* Appends to what stands in `text`. */
__attribute__((format(printf, 3, 4))) static void add(char *text, size_t bytes, const char *format, ...)
{
	size_t used = strlen(text);
	va_list args;
	va_start(args, format);
	vsnprintf(text + used, bytes - used, format, args);
	va_end(args);
}

static void add_value(char *text, size_t bytes, const struct allocstats *stats, const char *name)
{
	uint64_t value = allocstats_value(stats, name);
	if (value != ALLOCSTATS_UNKNOWN)
		add(text, bytes, "%s%s %" PRIu64, *text ? ", " : "", name, value);
}

static void put_evidence(char *text, size_t bytes, const struct allocstats *stats,
			 const struct misses *misses)
{
	uint64_t limit = allocstats_limit_bytes(stats);
	text[0] = '\0';
	if (limit != ALLOCSTATS_UNKNOWN)
		add(text, bytes, "limit of one CPU's cache %" PRIu64 " bytes", limit);
	add_value(text, bytes, stats, "tcmalloc.cpu_free");
	if (misses->allocs > 0)
		add(text, bytes, "%s%.0f underflows for %.0f allocations", *text ? ", " : "",
		    misses->underflows, misses->allocs);
}

static bool find_capacity(struct report *report, const struct stage *stage, const struct timeline *timeline)
{
	const struct allocstats *stats = trace_allocator(stage->trace);
	char evidence[256];
	if (stats->kind == 0 || allocstats_active(stats) != 1)
		return true;
	struct misses misses = count_misses(timeline, stage);
	bool misses_all = misses.allocs >= UNDERFLOW_CALLS_AT_LEAST &&
			  misses.underflows >= UNDERFLOW_SHARE * misses.allocs;
	if (allocstats_limit_bytes(stats) != 0 && !misses_all)
		return true;
	put_evidence(evidence, sizeof evidence, stats, &misses);
	return findings_add(&report->findings, "capacity-zero",
			    "%s: TCMalloc's per-CPU caches are active and hold nothing (%s): each allocation "
			    "and each free "
			    "goes to the transfer cache, under its lock. mongod 8 gets there in a container "
			    "with cgroup v2 "
			    "and no memory limit. MONGO_TCMALLOC_PER_CPU_CACHE_SIZE_BYTES=16777216 in its "
			    "environment, or a "
			    "memory limit for the container, gives them room.",
			    trace_info(stage->trace)->path, evidence);
}

static void put_thread_caches(char *text, size_t bytes, const struct allocstats *stats)
{
	text[0] = '\0';
	add_value(text, bytes, stats, "tcmalloc.max_total_thread_cache_bytes");
	add_value(text, bytes, stats, "tcmalloc.current_total_thread_cache_bytes");
	add_value(text, bytes, stats, "tcmalloc.thread_cache_count");
}

static bool find_fallback(struct report *report, const struct stage *stage, const struct rseq_verdict *rseq)
{
	const struct allocstats *stats = trace_allocator(stage->trace);
	char caches[256];
	if (stats->kind == 0 || allocstats_active(stats) != 0)
		return true;
	put_thread_caches(caches, sizeof caches, stats);
	return findings_add(
		&report->findings, "per-thread-caches",
		"%s: TCMalloc has per-CPU caches and does not use them: it fell back to caches of "
		"threads, which are small for all threads together%s%s%s. rseq is %s.",
		trace_info(stage->trace)->path, *caches ? " (" : "", caches, *caches ? ")" : "", rseq->text);
}

/* Where the finding before has not said it. */
static bool find_rseq_failed(struct report *report, const struct stage *stage,
			     const struct rseq_verdict *rseq)
{
	const struct trace_info *info = trace_info(stage->trace);
	if (rseq->possible != 0 || !info->counters_known || info->counters[COUNTER_RSEQ_FAILED] == 0 ||
	    allocstats_active(trace_allocator(stage->trace)) == 0)
		return true;
	return findings_add(&report->findings, "rseq-failed",
			    "%s: the program asked for rseq and did not get it: rseq is %s.", info->path,
			    rseq->text);
}

static bool find_server(struct report *report, const struct report_server *server)
{
	struct finding_list *list = &report->findings;
	if (!server->overlaps &&
	    !findings_add(
		    list, "ftdc-no-overlap",
		    "%s: no sample lies within the time of the traces: it gives no series. Is it of the "
		    "same time, and are the clocks of both machines right?",
		    server->path))
		return false;
	if (server->per_cpu == PER_CPU_ZERO)
		return findings_add(
			list, "capacity-zero",
			"%s: mongod's own data: TCMalloc's caches per CPU are in use, with a capacity of "
			"0. `mtrace-analyze doctor --ftdc` says what mends it.",
			server->path);
	if (server->per_cpu == PER_CPU_INACTIVE)
		return findings_add(
			list, "per-thread-caches",
			"%s: mongod's own data: TCMalloc could not have rseq, and uses caches per thread "
			"instead. `mtrace-analyze doctor --ftdc` says what mends it.",
			server->path);
	return true;
}

bool findings_collect_allocator(struct report *report)
{
	for (size_t i = 0; i < report->server_count; i++)
		if (!find_server(report, &report->servers[i]))
			return false;
	for (size_t i = 0; i < report->model.stage_count; i++) {
		const struct stage *stage = &report->model.stages[i];
		struct rseq_verdict rseq = rseq_judge(stage->trace, &stage->rseq);
		if (!find_capacity(report, stage, &report->model.timelines[stage->timeline]) ||
		    !find_fallback(report, stage, &rseq) || !find_rseq_failed(report, stage, &rseq))
			return false;
	}
	return true;
}
