/*
 * Figures of series: panels of a timeline's rows, below the client's throughput, over one time axis.
 *
 * More than PLOT_POINTS_MAX rows are drawn as means over equal numbers of rows, which the title then says.
 */
#ifndef MTRACE_PLOT_SERIES_H
#define MTRACE_PLOT_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "analyzer/report.h"

#define PLOT_POINTS_MAX 1200

/* Figures are numbered from 0. */
size_t plot_series_figures(void);
const char *plot_series_name(size_t figure); /* "overview" */
const char *plot_series_caption(size_t figure);

/* False where there is nothing to draw: every value is 0 or not known, or the figure is about the client and
 * was drawn with the first timeline. Only useful figures may be written. */
bool plot_series_useful(size_t figure, const struct report *report, size_t index);

/* Writes the whole script, which draws `name`.png and `name`.svg. */
void plot_series_write(FILE *script, const char *name, size_t figure, const struct report *report,
		       size_t index);

#endif
