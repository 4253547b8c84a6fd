/*
 * A campaign's summary: one CSV of all runs, and four panels against the thread level (throughput, mean
 * latency, p95 latency, number of operations).
 *
 * CSV: one row a run named OVERALL, then one an operation; latencies in microseconds, unknown fields empty.
 * p95 and p99 of OVERALL are empty: percentiles of several operations have no sum.
 *
 * Plot: every run is a point, a line goes through the median of each level. Left out are load phases (unless
 * there is nothing else), runs that the audit calls invalid, and runs without a thread level; how many is
 * said in the title.
 */
#ifndef MTRACE_YCSB_SUMMARY_H
#define MTRACE_YCSB_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>

#include "analyzer/error.h"
#include "analyzer/ycsb.h"

/*
 * Writes PREFIX.csv and PREFIX.gp, and lets gnuplot make PREFIX.png and PREFIX.svg of it. Without gnuplot, or
 * with no run to draw, a line on stderr says so and the rest is written all the same. The last part of the
 * prefix goes into gnuplot's language: it may hold letters, digits, '.', '_', '-' and '+' only, anything else
 * is ERROR_USAGE.
 */
bool ycsb_summary_write(const char *prefix, const struct ycsb_file *files, size_t count, struct error *error);

/* The checks of the prefix alone. */
bool ycsb_summary_prefix(const char *prefix, struct error *error);

#endif
