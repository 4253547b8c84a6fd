/* What a trace says about itself: the object that `info --json` prints, and report.json holds as `info`. */
#ifndef MTRACE_INFO_H
#define MTRACE_INFO_H

#include "analyzer/json.h"
#include "analyzer/livemap.h"
#include "analyzer/merge.h"
#include "analyzer/reader.h"
#include "analyzer/regions.h"
#include "analyzer/rseq.h"

/* Sums of counters, as README.md uses the words. */
uint64_t info_allocs(const uint64_t counters[COUNTER_COUNT]); /* malloc, calloc, new, memalign family */
uint64_t info_frees(const uint64_t counters[COUNTER_COUNT]);  /* free, delete; not of NULL */

/* Of a pass over all events. What is NULL was not made, and what comes from it is null. */
struct info_pass {
	const struct livemap_totals *live;
	const struct merge_stats *stream;
	const struct rseq_watch *rseq;
	const struct regions *regions;
};

/* The object; owned by the caller. Call it after the pass, so that damage found by it is listed. */
json_t *info_json(const struct trace *trace, const struct info_pass *pass);

/* The same for people, on one screen. */
void info_print(FILE *file, const struct trace *trace, const struct info_pass *pass);

/*
 * Recorded events that a pass over all of them did not give: damaged, cut off, or overwritten by a flight
 * recorder. Those that were never recorded are `lost`.
 */
uint64_t info_unread(const struct trace_info *info, const struct merge_stats *stream);

/* "exit", "_exit", "quick_exit", "exec", or NULL. */
const char *info_end_reason(const struct trace_info *info);

#endif
