/*
 * What a reader of the report has to know before believing its numbers, in words.
 */
#ifndef MTRACE_FINDINGS_H
#define MTRACE_FINDINGS_H

#include <stdbool.h>
#include <stddef.h>

struct report;

struct finding {
	const char *id; /* stable, e.g. "lost-events" */
	char *text;	/* one or more sentences */
};

struct finding_list {
	struct finding *items;
	size_t count;
};

/*
 * Looks through a report whose model, files, alignment and correlations are filled in. False where memory is
 * short; what was found so far stays in report->findings, to be freed with findings_free().
 *
 * Ids of traces: incomplete, damage, trace-note, no-counters, lost-events, wrapped, missing-chunks,
 * live-bytes-partial, malloc-blind, no-stacks, unwinder-missing, stackless, symbols-unmatched, no-wall-clock,
 * clock-step, huge-stale, no-intervals, estimated; of the allocator capacity-zero, per-thread-caches,
 * rseq-failed; of a server's own data these, and ftdc-no-overlap; of locks lock-contention and
 * locks-no-room. Of the client and the correlations:
 * ycsb-none, ycsb-no-overlap, ycsb-no-series, ycsb-no-clock, ycsb-elsewhere, ycsb-too-short, ycsb-flags,
 * series-unusable, run-unused, no-support. Of the plots: no-plots. Of inputs that cmd_report.c left out:
 * input-unread.
 */
bool findings_collect(struct report *report);

/* The part of it that is about the client: findings_client.c. */
bool findings_collect_client(struct report *report);

/* The part of it that is about the allocator and rseq: findings_allocator.c. */
bool findings_collect_allocator(struct report *report);

/* Adds one; the text is printf's. False where memory is short. */
bool findings_add(struct finding_list *list, const char *id, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

void findings_free(struct finding_list *list);

#endif
