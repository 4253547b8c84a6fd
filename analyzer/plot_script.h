/*
 * Writing gnuplot scripts: the look that all figures share, and panels stacked over one time axis.
 *
 * A script holds its data and draws itself twice, as PNG and as SVG:
 *
 *     script_begin(); script_data_begin(); ... script_data_end();
 *     for both targets: script_target(); script_title(); script_panel() from top to bottom;
 * script_end_target();
 */
#ifndef MTRACE_PLOT_SCRIPT_H
#define MTRACE_PLOT_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "analyzer/scale.h"

#define PLOT_WIDTH 1100 /* pixels */

/* Okabe and Ito's palette (Color Universal Design, 2008): told apart with any kind of colour vision. */
enum plot_color {
	PLOT_BLUE,
	PLOT_VERMILLION,
	PLOT_GREEN,
	PLOT_PURPLE,
	PLOT_ORANGE,
	PLOT_SKY,
	PLOT_YELLOW,
	PLOT_BLACK,
	PLOT_GREY,
	PLOT_COLORS,
};

const char *plot_color_rgb(enum plot_color color); /* "#0072B2" */

enum plot_target { PLOT_PNG, PLOT_SVG, PLOT_TARGETS };

struct plot_line {
	const char *title; /* in the key */
	const char *block; /* data block: "$rows" */
	unsigned x, y;	   /* columns, from 1 */
	unsigned y_upper;  /* 0: a line; else an area between the two columns */
	enum plot_color color;
	bool dashed; /* for a line that often lies on another one */
	bool points; /* for what not every row knows: a line would not show a value by itself */
};

#define PLOT_LINES_MAX 6

struct plot_panel {
	const char *unit; /* of series.h; scaled by the largest value */
	double largest;
	double height; /* relative to the other panels */
	struct plot_line lines[PLOT_LINES_MAX];
	size_t line_count;
};

/* A stretch of the time axis that is shaded, with its name above the first panel. */
struct plot_band {
	double start_s;
	double end_s;
	const char *name;
};

struct plot_axis {
	double start_s;
	double end_s;
	double divisor;	  /* 1, 60 or 3600 */
	const char *unit; /* "seconds", ... */
};

struct plot_frame {
	const char *title;
	const char *subtitle;
	unsigned height_px;
	struct plot_axis time;
	const struct plot_band *bands;
	size_t band_count;
	const struct plot_panel *panels;
	size_t panel_count;
};

/* Seconds up to 10 minutes, minutes up to 3 hours, then hours. */
struct plot_axis plot_time_axis(double start_s, double end_s);

/* Distance of the marks of an axis from 0 to `largest`: 1, 2 or 5 times a power of 10, at most `marks` of
 * them. */
double plot_axis_step(double largest, unsigned marks);

void script_begin(FILE *script, const char *name);
void script_data_begin(FILE *script, const char *block);
void script_value(FILE *script, double value); /* NaN is a gap in the line */
void script_data_end(FILE *script);

/* Terminal, output file <name>.png or .svg, and the common style. */
void script_target(FILE *script, enum plot_target target, const char *name, unsigned height_px);

/* Title and subtitle at the upper left, in two lines of 44 pixels together. */
void script_title(FILE *script, const char *title, const char *subtitle, unsigned height_px);

/* y axis from 0 to a whole mark above `largest`, in the scale that fits; returns that scale. */
struct scale script_y_axis(FILE *script, double largest, const char *unit);

/* All panels of a frame, for one target. */
void script_frame(FILE *script, enum plot_target target, const char *name, const struct plot_frame *frame);

#endif
