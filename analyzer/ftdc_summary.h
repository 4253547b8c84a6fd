/*
 * What the diagnostic data of a server says in short: server, machine, allocator, and a few figures over
 * time. Collected in one pass; memory does not follow the length of the data.
 */
#ifndef MTRACE_FTDC_SUMMARY_H
#define MTRACE_FTDC_SUMMARY_H

#include <jansson.h>
#include <stdio.h>

#include "analyzer/ftdc.h"
#include "analyzer/ftdc_names.h"

/* The metrics that the summary reads; their names are in ftdc_summary.c. */
enum ftdc_figure {
	FIGURE_UPTIME_MS,
	FIGURE_PID,
	FIGURE_CONNECTIONS,
	FIGURE_RESIDENT_MIB,
	FIGURE_HEAP_BYTES,
	FIGURE_ALLOCATED_BYTES,
	FIGURE_PER_CPU_CACHES, /* 0 or 1 */
	FIGURE_PER_CPU_MAX_BYTES,
	FIGURE_PER_CPU_FREE_BYTES,
	FIGURE_THREAD_CACHES,
	FIGURE_CACHE_BYTES, /* WiredTiger's */
	FIGURE_CACHE_DIRTY_BYTES,
	FIGURE_CACHE_MAX_BYTES,
	FIGURE_ANON_HUGE_KIB, /* of the whole system */
	FIGURE_THP_FAULT_ALLOC,
	FIGURE_THP_FAULT_FALLBACK,
	FIGURE_THP_COLLAPSE_ALLOC,
	FIGURE_THP_OPTED_IN, /* 0 or 1 */
	FIGURE_COUNT
};

/* Figures of one sample. */
struct ftdc_point {
	int64_t time_ms;
	uint32_t known; /* bit i: figures[i] was there */
	int64_t figures[FIGURE_COUNT];
};

#define FTDC_POINTS_MAX 128u

/* google/tcmalloc's caches per CPU, as serverStatus shows them (MongoDB 8.0 and newer). */
enum ftdc_per_cpu {
	PER_CPU_UNKNOWN,
	PER_CPU_NONE,	  /* an allocator that has no such caches */
	PER_CPU_ACTIVE,	  /* in use */
	PER_CPU_INACTIVE, /* tcmalloc could not have rseq and falls back to caches per thread */
	PER_CPU_ZERO,	  /* in use, with a capacity of zero: each allocation goes past them */
};

/* Zero-initialize; ftdc_summary_free() afterwards. */
struct ftdc_summary {
	uint64_t chunks, samples, repeated_samples;
	struct ftdc_names names; /* of all metrics */
	bool no_memory;
	uint64_t schema_changes;
	uint64_t restarts;	/* mongod's uptime fell, or its process id changed */
	uint64_t gaps;		/* more than five periods between two samples */
	int64_t longest_gap_ms; /* 0: none */
	uint64_t clock_steps_back;
	int64_t period_ms;
	int64_t start_ms, end_ms; /* earliest and latest sample; meaningful where samples > 0 */
	enum ftdc_per_cpu first_per_cpu, per_cpu;  /* of the first and of the last sample */
	struct ftdc_point points[FTDC_POINTS_MAX]; /* evenly spread over the samples, the first among them */
	size_t point_count;
	uint64_t stride; /* samples from one point to the next */
	struct ftdc_point first, last;
	uint64_t schema;
	const struct ftdc_column *columns[FIGURE_COUNT]; /* of the chunk being added */
};

/* For ftdc_options.wanted: context is the summary. */
bool ftdc_summary_wants(void *context, const char *name);

void ftdc_summary_add(struct ftdc_summary *summary, const struct ftdc *ftdc, const struct ftdc_chunk *chunk);
void ftdc_summary_free(struct ftdc_summary *summary);

bool ftdc_point_has(const struct ftdc_point *point, enum ftdc_figure figure);

/* "active", "inactive", "zero-capacity", "none", "unknown": stable. */
const char *ftdc_per_cpu_name(enum ftdc_per_cpu state);

/* Both after the last chunk, with the reader still open. The object is the caller's; NULL when out of memory.
 */
json_t *ftdc_summary_json(const struct ftdc_summary *summary, const struct ftdc *ftdc);
void ftdc_summary_print(FILE *file, const struct ftdc_summary *summary, const struct ftdc *ftdc);

#endif
