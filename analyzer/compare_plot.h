/*
 * A comparison's figure: throughput, and p95 latency of each operation, against threads. Each run is a point;
 * lines go through the geometric means of the arms, with their 95% intervals.
 */
#ifndef MTRACE_COMPARE_PLOT_H
#define MTRACE_COMPARE_PLOT_H

#include "analyzer/compare.h"

/*
 * Writes PREFIX.gp and lets gnuplot make PREFIX.png and PREFIX.svg of it; of several workloads PREFIX-2, ...
 * follow. Without gnuplot, or with nothing to draw, a line on stderr says so.
 */
bool compare_plot(const char *prefix, const struct compare *compare, struct error *error);

/* Whether files can be called so: the last part of the prefix goes into gnuplot's language. ERROR_USAGE. */
bool compare_plot_prefix(const char *prefix, struct error *error);

#endif
