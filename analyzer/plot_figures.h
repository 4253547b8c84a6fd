/* Figures of series: which of them share a panel. Drawn by plot_series.c. */
#ifndef MTRACE_PLOT_FIGURES_H
#define MTRACE_PLOT_FIGURES_H

#include <stdbool.h>
#include <stddef.h>

#include "analyzer/plot_script.h"
#include "analyzer/series.h"

#define NEEDS_ANY SERIES_THROUGHPUT

struct line_plan {
	enum series_id series;
	enum plot_color color;
	const char *title;
	bool dashed;
	bool points;
	enum series_id upper; /* the other edge of an area; SERIES_THROUGHPUT (0): a line */
};

/* Lists end with an entry without title or unit. */
struct panel_plan {
	const char *unit;
	double height;
	struct line_plan lines[PLOT_LINES_MAX + 1];
};

#define PANELS_MAX 5

struct figure_plan {
	const char *name;
	const char *caption;
	unsigned height_px;
	bool client;	      /* about the client alone: drawn once */
	enum series_id needs; /* of no use without it; NEEDS_ANY: without any of its lines */
	struct panel_plan panels[PANELS_MAX + 1];
};

extern const struct figure_plan figure_plans[];
extern const size_t figure_plan_count;

#endif
