/*
 * The plots of a report, by gnuplot: PNG and SVG of each figure, beside the script that draws them.
 *
 * Where gnuplot is missing or fails the scripts are written all the same, and report->plots_missing says why
 * there are no plots and what to do. Figures that an earlier report left in the folder are removed first.
 */
#ifndef MTRACE_REPORT_PLOT_H
#define MTRACE_REPORT_PLOT_H

#include "analyzer/report.h"

/* Fills in report->figures and report->plots_missing. False with `error` set where a file cannot be written
 * or memory is short. */
bool report_plot_write(struct report *report, struct error *error);

#endif
