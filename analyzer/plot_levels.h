/*
 * Panels of values against a level that was set (threads): a point a measurement, a line through the median
 * of each level, or through centres with their intervals where these were added. Two panels a row; the
 * level's axis is logarithmic to base 2.
 */
#ifndef MTRACE_PLOT_LEVELS_H
#define MTRACE_PLOT_LEVELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define LEVEL_LINES_MAX	 6
#define LEVEL_NAME_BYTES 48

struct level_point {
	double level;
	double value;
};

struct level_interval {
	double level;
	double center, low, high;
};

struct level_line {
	char name[LEVEL_NAME_BYTES];
	struct level_point *points;
	size_t count, capacity;
	struct level_interval *intervals;
	size_t interval_count, interval_capacity;
};

/* Starts with a title and a unit (of series.h: the scale follows from it) and no lines. */
struct level_panel {
	const char *title;
	const char *unit;
	struct level_line lines[LEVEL_LINES_MAX]; /* in order of appearance; further ones are dropped */
	size_t line_count;
};

/* Adds a measurement to the line of that name. NaN is passed over. False where memory is short. */
bool level_add(struct level_panel *panel, const char *line, double level, double value);

/* Adds a centre with its interval (NaN: none) to the line of that name, in order of the levels. The line then
 * goes through these centres. False where memory is short. */
bool level_add_interval(struct level_panel *panel, const char *line, struct level_interval interval);

void level_panel_free(struct level_panel *panel);

/* The whole script, which draws `name`.png and `name`.svg; `name` is safe in single quotes. Sorts nothing of
 * the panels'. */
void plot_levels_write(FILE *script, const char *name, const char *title, const char *subtitle,
		       const char *level_name, const struct level_panel *panels, size_t panel_count);

#endif
