/*
 * Measurements of the operations, and the text that YCSB 0.17 prints of them.
 *
 * Each worker writes its own struct measure_thread; the coordinating thread adds them up for status lines and
 * for the export block. Failed operations go to a series of their own ("READ-FAILED"), as since YCSB 0.6.
 */
#ifndef MTRACE_BENCH_MEASURE_H
#define MTRACE_BENCH_MEASURE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "bench/engine.h"
#include "bench/latency.h"

/* In the order of printing. */
enum operation { OP_READ, OP_UPDATE, OP_INSERT, OP_SCAN, OP_READ_MODIFY_WRITE, OP_CLEANUP, OP_COUNT };

/* Series of operation o: 2 * o for those that succeeded, 2 * o + 1 for those that failed. */
enum { SERIES_COUNT = 2 * OP_COUNT };

struct measure_thread {
	struct latency *_Atomic series[SERIES_COUNT]; /* made at first use, published with a release store */
	_Atomic uint64_t returns[OP_COUNT][STATUS_COUNT]; /* as latency's counters: relaxed, one writer */
	_Atomic uint64_t operations_done;
};

struct measure {
	struct measure_thread *threads;
	unsigned thread_count;
	struct latency_sum
		*before[SERIES_COUNT]; /* totals at the last status line; NULL: the series is empty yet */
};

void measure_init(struct measure *measure, unsigned thread_count);
void measure_destroy(struct measure *measure);

/* Worker: an operation took `elapsed_ns` and ended so. */
void measure_operation(struct measure_thread *thread, enum operation operation, enum op_status status,
		       uint64_t elapsed_ns);
/* Worker: only a latency, without a Return= count (READ-MODIFY-WRITE and CLEANUP, as in YCSB). */
void measure_latency(struct measure_thread *thread, enum operation operation, uint64_t elapsed_ns);
static inline void measure_done(struct measure_thread *thread)
{
	latency_add_relaxed(&thread->operations_done, 1);
}

uint64_t measure_operations_done(const struct measure *measure);
/* Operations of this kind that returned so, over all threads. */
uint64_t measure_returned(const struct measure *measure, enum operation operation, enum op_status status);

/* The times and counts of one status line. */
struct status_line {
	const char *label;	    /* before the time; usually "" */
	int64_t wall_ms;	    /* since the epoch */
	int64_t elapsed_ms;	    /* since the phase began */
	int64_t interval_ms;	    /* since the last line */
	uint64_t operations;	    /* so far */
	uint64_t operations_before; /* at the last line */
	uint64_t operations_left;   /* 0: none, or without end */
};

/* Prints a status line up to and without the summary of operations. */
void measure_print_progress(FILE *out, const struct status_line *line);

/* Prints "[READ: Count=..., ...] " for what has happened since the last call, one for each series ever used.
 */
void measure_print_interval(struct measure *measure, FILE *out);

/* Prints the export block: [OVERALL], then each operation. `percentiles` as hdrhistogram.percentiles. */
void measure_print_export(const struct measure *measure, FILE *out, int64_t runtime_ms,
			  const double *percentiles, unsigned percentile_count);

#endif
