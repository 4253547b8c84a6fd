#include "analyzer/plot_levels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/array.h"
#include "analyzer/escape.h"
#include "analyzer/plot_script.h"
#include "analyzer/stats.h"

#define HEIGHT_PX      760
#define COLUMNS	       2
#define TOP_PX	       84
#define LEFT_PX	       84
#define RIGHT_PX       24
#define GAP_X_PX       96
#define GAP_Y_PX       64
#define BOTTOM_PX      56
#define MARKS_MAX      5
#define INTERVAL_SHIFT 0.03 /* of the level, from line to line: beside their points and each other */

/* ---- collecting -------------------------------------------------------------------------------------- */

static struct level_line *line_of(struct level_panel *panel, const char *name)
{
	for (size_t i = 0; i < panel->line_count; i++)
		if (strcmp(panel->lines[i].name, name) == 0)
			return &panel->lines[i];
	if (panel->line_count == LEVEL_LINES_MAX)
		return NULL;
	struct level_line *line = &panel->lines[panel->line_count++];
	snprintf(line->name, sizeof line->name, "%s", name);
	return line;
}

bool level_add(struct level_panel *panel, const char *name, double level, double value)
{
	if (isnan(value) || isnan(level))
		return true;
	struct level_line *line = line_of(panel, name);
	if (!line)
		return true;
	if (!array_reserve(&line->points, &line->capacity, line->count + 1, sizeof *line->points))
		return false;
	line->points[line->count++] = (struct level_point){level, value};
	return true;
}

bool level_add_interval(struct level_panel *panel, const char *name, struct level_interval interval)
{
	struct level_line *line = line_of(panel, name);
	if (!line || isnan(interval.center) || isnan(interval.level))
		return true;
	if (!array_reserve(&line->intervals, &line->interval_capacity, line->interval_count + 1,
			   sizeof *line->intervals))
		return false;
	line->intervals[line->interval_count++] = interval;
	return true;
}

void level_panel_free(struct level_panel *panel)
{
	for (size_t i = 0; i < panel->line_count; i++) {
		free(panel->lines[i].points);
		free(panel->lines[i].intervals);
	}
	panel->line_count = 0;
}

/* ---- data -------------------------------------------------------------------------------------------- */

static void write_points(FILE *script, const struct level_line *line, size_t panel, size_t index)
{
	fprintf(script, "$points_%zu_%zu << EOD\n", panel, index);
	for (size_t i = 0; i < line->count; i++) {
		script_value(script, line->points[i].level);
		script_value(script, line->points[i].value);
		fputc('\n', script);
	}
	script_data_end(script);
}

/* The smallest level above `level`; infinity at the end. */
static double next_level(const struct level_line *line, double level)
{
	double next = INFINITY;
	for (size_t i = 0; i < line->count; i++)
		if (line->points[i].level > level && line->points[i].level < next)
			next = line->points[i].level;
	return next;
}

static double median_at(const struct level_line *line, double level, double *room)
{
	size_t count = 0;
	for (size_t i = 0; i < line->count; i++)
		if (line->points[i].level == level)
			room[count++] = line->points[i].value;
	return stats_median(room, count);
}

static void write_medians(FILE *script, const struct level_line *line, size_t panel, size_t index)
{
	double *room = malloc((line->count + 1) * sizeof *room);
	fprintf(script, "$medians_%zu_%zu << EOD\n", panel, index);
	for (double level = next_level(line, -INFINITY); room && isfinite(level);
	     level = next_level(line, level)) {
		script_value(script, level);
		script_value(script, median_at(line, level, room));
		fputc('\n', script);
	}
	script_data_end(script);
	free(room);
}

/* Level, centre, low, high; the last two are gaps where there is no interval. */
static void write_intervals(FILE *script, const struct level_line *line, size_t panel, size_t index)
{
	fprintf(script, "$intervals_%zu_%zu << EOD\n", panel, index);
	for (size_t i = 0; i < line->interval_count; i++) {
		const struct level_interval *interval = &line->intervals[i];
		script_value(script, interval->level);
		script_value(script, interval->center);
		script_value(script, interval->low);
		script_value(script, interval->high);
		fputc('\n', script);
	}
	script_data_end(script);
}

/* ---- axes -------------------------------------------------------------------------------------------- */

struct range {
	double least, most; /* levels */
	double largest;	    /* value */
};

static struct range range_of(const struct level_panel *panel)
{
	struct range range = {INFINITY, -INFINITY, 0};
	for (size_t l = 0; l < panel->line_count; l++) {
		for (size_t i = 0; i < panel->lines[l].count; i++) {
			const struct level_point *point = &panel->lines[l].points[i];
			range.least = fmin(range.least, point->level);
			range.most = fmax(range.most, point->level);
			range.largest = fmax(range.largest, point->value);
		}
		for (size_t i = 0; i < panel->lines[l].interval_count; i++)
			range.largest = fmax(range.largest, panel->lines[l].intervals[i].high);
	}
	return range;
}

static double next_of_panel(const struct level_panel *panel, double level)
{
	double next = INFINITY;
	for (size_t i = 0; i < panel->line_count; i++)
		next = fmin(next, next_level(&panel->lines[i], level));
	return next;
}

/* Marks at the levels themselves; they are named below the last row only. */
static void write_level_axis(FILE *script, const struct level_panel *panel, const char *level_name)
{
	struct range range = range_of(panel);
	if (!isfinite(range.least))
		range = (struct range){1, 2, 0};
	fprintf(script, "set logscale x 2\nset xrange [%.9g:%.9g]\nset xtics (", range.least / 1.3,
		range.most * 1.3);
	double level = next_of_panel(panel, -INFINITY);
	fprintf(script, "%.9g", isfinite(level) ? level : 1);
	while (isfinite(level = next_of_panel(panel, level)))
		fprintf(script, ", %.9g", level);
	fputs(")\nset xlabel ", script);
	escape_gnuplot(script, level_name);
	fputs(" textcolor rgb '#333333'\n", script);
}

static struct scale write_value_axis(FILE *script, const struct level_panel *panel)
{
	double largest = range_of(panel).largest;
	struct scale scale = scale_for(largest, panel->unit);
	double top = largest / scale.divisor, step = plot_axis_step(top, MARKS_MAX);
	double marks = top > 0 ? ceil(top / step - 1e-9) : 1;
	fprintf(script, "set yrange [0:%.9g]\nset ytics 0,%.9g\nset format y '%%g'\nset title ", marks * step,
		step);
	char title[128];
	snprintf(title, sizeof title, "%s (%s)", panel->title, scale.unit);
	escape_gnuplot(script, title);
	fputs(" textcolor rgb '#111111' offset 0,-0.4\n", script);
	return scale;
}

/* ---- panels ------------------------------------------------------------------------------------------ */

static void write_lines(FILE *script, const struct level_panel *panel, size_t index, double divisor)
{
	static const enum plot_color colors[LEVEL_LINES_MAX] = {PLOT_BLUE,   PLOT_VERMILLION, PLOT_GREEN,
								PLOT_PURPLE, PLOT_ORANGE,     PLOT_BLACK};
	for (size_t l = 0; l < panel->line_count; l++) {
		bool intervals = panel->lines[l].interval_count > 0;
		fprintf(script, "%s$%s_%zu_%zu using 1:($2/%.17g) with lines lw 1.4 lc rgb '%s' title ",
			l ? ", \\\n     " : "plot ", intervals ? "intervals" : "medians", index, l, divisor,
			plot_color_rgb(colors[l]));
		escape_gnuplot(script, panel->lines[l].name);
		if (intervals)
			fprintf(script,
				", \\\n     $intervals_%zu_%zu using "
				"($1*%.3f):($3/%.17g):(0):(($4-$3)/%.17g) "
				"with vectors heads size screen 0.003,90 lw 1.4 lc rgb '%s' notitle",
				index, l, 1 + INTERVAL_SHIFT * (double)(l + 1), divisor, divisor,
				plot_color_rgb(colors[l]));
		fprintf(script,
			", \\\n     $points_%zu_%zu using 1:($2/%.17g) with points pt 7 ps 0.6 lc rgb '%s' "
			"notitle",
			index, l, divisor, plot_color_rgb(colors[l]));
	}
	/* A panel without data (no p95 was printed) stays, empty, so that the others keep their places. */
	fputs(panel->line_count ? "\n" : "plot NaN notitle\n", script);
}

static void write_margins(FILE *script, size_t index, size_t panel_count)
{
	size_t rows = (panel_count + COLUMNS - 1) / COLUMNS, row = index / COLUMNS, column = index % COLUMNS;
	double width = (double)(PLOT_WIDTH - LEFT_PX - RIGHT_PX - GAP_X_PX * (COLUMNS - 1)) / COLUMNS;
	double height = (HEIGHT_PX - TOP_PX - BOTTOM_PX - GAP_Y_PX * (double)(rows - 1)) / (double)rows;
	double left = LEFT_PX + (double)column * (width + GAP_X_PX);
	double top = TOP_PX + (double)row * (height + GAP_Y_PX);
	fprintf(script,
		"set lmargin at screen %.5f\nset rmargin at screen %.5f\nset tmargin at screen %.5f\nset "
		"bmargin at screen %.5f\n",
		left / PLOT_WIDTH, (left + width) / PLOT_WIDTH, 1 - top / HEIGHT_PX,
		1 - (top + height) / HEIGHT_PX);
}

static void write_panel(FILE *script, const struct level_panel *panel, size_t index, size_t panel_count,
			const char *level_name)
{
	write_margins(script, index, panel_count);
	write_level_axis(script, panel, index + COLUMNS < panel_count ? "" : level_name);
	struct scale scale = write_value_axis(script, panel);
	if (panel->line_count > 1)
		fputs("set key at graph 0.02,0.98 left top vertical Left reverse samplen 1.6\n", script);
	else
		fputs("set key off\n", script);
	write_lines(script, panel, index, scale.divisor);
	fputs("unset label\n", script);
}

void plot_levels_write(FILE *script, const char *name, const char *title, const char *subtitle,
		       const char *level_name, const struct level_panel *panels, size_t panel_count)
{
	script_begin(script, name);
	for (size_t p = 0; p < panel_count; p++) {
		for (size_t l = 0; l < panels[p].line_count; l++) {
			write_points(script, &panels[p].lines[l], p, l);
			write_medians(script, &panels[p].lines[l], p, l);
			if (panels[p].lines[l].interval_count > 0)
				write_intervals(script, &panels[p].lines[l], p, l);
		}
	}
	for (enum plot_target target = PLOT_PNG; target < PLOT_TARGETS; target++) {
		script_target(script, target, name, HEIGHT_PX);
		fputs("set multiplot\n", script);
		script_title(script, title, subtitle, HEIGHT_PX);
		for (size_t p = 0; p < panel_count; p++)
			write_panel(script, &panels[p], p, panel_count, level_name);
		fputs("unset multiplot\nset output\nreset\n", script);
	}
}
