/*
 * The figures of `percpu`: the miss-ratio curve of each simulated design, with its knee and the capacity that
 * is recommended, and where blocks went from CPU to CPU.
 */
#ifndef MTRACE_PERCPU_PLOT_H
#define MTRACE_PERCPU_PLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "analyzer/error.h"
#include "analyzer/percpu.h"

/* Cells of the matrix on each side; with more CPUs, neighbours are put together. */
#define PERCPU_PLOT_CELLS 128u

#define PERCPU_FIGURES	  3u /* curve of each design, matrix */

const char *percpu_figure_name(size_t figure); /* "percpu-curve", "thread-curve", "percpu-matrix" */
const char *percpu_figure_caption(size_t figure);
bool percpu_figure_useful(size_t figure, const struct percpu *percpu);
/* Writes the gnuplot script, which draws NAME.png and NAME.svg (plot_script.h). */
void percpu_figure_write(FILE *script, const char *name, size_t figure, const struct percpu *percpu);

/*
 * Writes NAME.gp of each useful figure into `folder` and draws it. False with `error` set where a script
 * cannot be written, or gnuplot is missing or fails: the scripts are there all the same.
 */
bool percpu_plot_write(const char *folder, const struct percpu *percpu, struct error *error);

#endif
