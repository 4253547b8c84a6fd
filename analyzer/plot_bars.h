/*
 * Figures that are no lines over time: live bytes stacked by site, and bars by size class.
 */
#ifndef MTRACE_PLOT_BARS_H
#define MTRACE_PLOT_BARS_H

#include <stdbool.h>
#include <stdio.h>

#include "analyzer/report.h"

/* Sites shown by name; the others are stacked below them as one. */
#define PLOT_SITES_MAX 7

/* False where no allocation has a stack or nothing was live at the end of any row. */
bool plot_sites_useful(const struct timeline *timeline);
/* Writes the whole script, which draws `name`.png and `name`.svg. */
void plot_sites_write(FILE *script, const char *name, const struct report *report, size_t index);

/* The same for live bytes on huge pages: false where no look found any. The sites are the largest of those
 * that the rows kept for their live bytes. */
bool plot_huge_sites_useful(const struct timeline *timeline);
void plot_huge_sites_write(FILE *script, const char *name, const struct report *report, size_t index);

bool plot_sizes_useful(const struct timeline *timeline);
void plot_sizes_write(FILE *script, const char *name, const struct report *report, size_t index);

#endif
