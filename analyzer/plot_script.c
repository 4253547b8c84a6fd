#include "analyzer/plot_script.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analyzer/escape.h"

/* Left and right edge of the panels, in pixels; the key stands to the right of them. */
#define PANEL_LEFT_PX  84
#define PANEL_RIGHT_PX 880
#define TOP_PX	       78 /* title, subtitle, names of the bands */
#define BOTTOM_PX      60 /* time axis and its label */
#define GAP_PX	       18 /* between panels */
#define CHARACTER_PX   6.6
#define MARKS_MAX      5

const char *plot_color_rgb(enum plot_color color)
{
	static const char *const rgb[PLOT_COLORS] = {
		[PLOT_BLUE] = "#0072B2",   [PLOT_VERMILLION] = "#D55E00", [PLOT_GREEN] = "#009E73",
		[PLOT_PURPLE] = "#CC79A7", [PLOT_ORANGE] = "#E69F00",	  [PLOT_SKY] = "#56B4E9",
		[PLOT_YELLOW] = "#F0E442", [PLOT_BLACK] = "#222222",	  [PLOT_GREY] = "#BBBBBB",
	};
	return rgb[color];
}

struct plot_axis plot_time_axis(double start_s, double end_s)
{
	double length_s = end_s - start_s;
	if (length_s <= 600)
		return (struct plot_axis){start_s, end_s, 1, "seconds"};
	if (length_s <= 3 * 3600)
		return (struct plot_axis){start_s, end_s, 60, "minutes"};
	return (struct plot_axis){start_s, end_s, 3600, "hours"};
}

double plot_axis_step(double largest, unsigned marks)
{
	static const double steps[] = {1, 2, 5};
	if (!(largest > 0) || isinf(largest))
		return 1;
	double power = pow(10, floor(log10(largest / marks)));
	for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
		if (largest <= steps[i] * power * marks)
			return steps[i] * power;
	return 10 * power;
}

/* ---- parts of a script ------------------------------------------------------------------------------- */

void script_begin(FILE *script, const char *name)
{
	fprintf(script,
		"# Draws %s.png and %s.svg; `gnuplot -d %s.gp` in this folder draws them again.\n"
		"set encoding utf8\n",
		name, name, name);
}

void script_data_begin(FILE *script, const char *block)
{
	fprintf(script, "%s << EOD\n", block);
}

void script_value(FILE *script, double value)
{
	if (isfinite(value))
		fprintf(script, " %.9g", value);
	else
		fputs(" NaN", script);
}

void script_data_end(FILE *script)
{
	fputs("EOD\n", script);
}

void script_target(FILE *script, enum plot_target target, const char *name, unsigned height_px)
{
	if (target == PLOT_PNG)
		fprintf(script,
			"\nset terminal pngcairo noenhanced size %d,%u font 'DejaVu Sans,10' background rgb "
			"'white'\n",
			PLOT_WIDTH, height_px);
	else
		fprintf(script,
			"\nset terminal svg noenhanced size %d,%u dynamic font 'DejaVu Sans, Helvetica, "
			"Arial, sans-serif,12'"
			" background rgb 'white'\n",
			PLOT_WIDTH, height_px);
	fprintf(script, "title_font = ',%d'\nsmall_font = ',%d'\n", target == PLOT_PNG ? 13 : 16,
		target == PLOT_PNG ? 9 : 11);
	fprintf(script,
		"set output '%s.%s'\n"
		"set border 3 lc rgb '#999999' lw 0.8\n"
		"set tics nomirror out scale 0.5 textcolor rgb '#333333'\n"
		"set grid y lt 1 lc rgb '#e6e6e6' lw 0.6\n"
		"set key at graph 1.015,1.0 left top vertical reverse Left samplen 1.6 spacing 1.15 "
		"textcolor rgb '#222222'\n"
		"set style fill solid 1.0 noborder\n",
		name, target == PLOT_PNG ? "png" : "svg");
}

void script_title(FILE *script, const char *title, const char *subtitle, unsigned height_px)
{
	fputs("set label 1 ", script);
	escape_gnuplot(script, title);
	fprintf(script, " at screen %.5f,%.5f left font title_font textcolor rgb '#111111'\nset label 2 ",
		(double)PANEL_LEFT_PX / PLOT_WIDTH, 1 - 16.0 / height_px);
	escape_gnuplot(script, subtitle);
	fprintf(script, " at screen %.5f,%.5f left textcolor rgb '#555555'\n",
		(double)PANEL_LEFT_PX / PLOT_WIDTH, 1 - 37.0 / height_px);
}

struct scale script_y_axis(FILE *script, double largest, const char *unit)
{
	if (!(largest > 0))
		largest = 0;
	struct scale scale = scale_for(largest, unit);
	double top = largest / scale.divisor, step = plot_axis_step(top, MARKS_MAX);
	double marks = top > 0 ? ceil(top / step - 1e-9) : 1;
	fprintf(script, "set yrange [0:%.9g]\nset ytics 0,%.9g\nset format y '%%g'\nset label 3 ",
		marks * step, step);
	escape_gnuplot(script, scale.unit);
	/* A label, not ylabel: it stands at the same place beside every panel, however wide the figures are.
	 */
	fprintf(script, " at screen 0.017, graph 0.5 center rotate by 90 textcolor rgb '#333333'\n");
	return scale;
}

/* ---- panels ------------------------------------------------------------------------------------------ */

static void write_bands(FILE *script, const struct plot_frame *frame)
{
	const struct plot_axis *time = &frame->time;
	for (size_t i = 0; i < frame->band_count; i++) {
		const struct plot_band *band = &frame->bands[i];
		fprintf(script,
			"set object %zu rectangle from %.9g, graph 0 to %.9g, graph 1 behind fillcolor rgb "
			"'#f1f4f8' fillstyle "
			"solid noborder\n",
			i + 1, band->start_s / time->divisor, band->end_s / time->divisor);
	}
}

/* The name, or its part before the first comma, or nothing: what fits over the band. */
static void fitting_name(const char *name, double room, char *out, size_t bytes)
{
	escape_shorten(name, 60, out, bytes);
	if ((double)strlen(out) > room)
		out[strcspn(out, ",")] = 0;
	if ((double)strlen(out) > room)
		out[0] = 0;
}

static void write_band_names(FILE *script, const struct plot_frame *frame)
{
	const struct plot_axis *time = &frame->time;
	double px_per_s = (PANEL_RIGHT_PX - PANEL_LEFT_PX) / (time->end_s - time->start_s);
	for (size_t i = 0; i < frame->band_count; i++) {
		const struct plot_band *band = &frame->bands[i];
		char shown[128];
		fitting_name(band->name, (band->end_s - band->start_s) * px_per_s / CHARACTER_PX, shown,
			     sizeof shown);
		if (!shown[0])
			continue;
		fprintf(script, "set label %zu ", i + 10);
		escape_gnuplot(script, shown);
		fprintf(script,
			" at %.9g, graph 1.0 center offset character 0,0.6 font small_font textcolor rgb "
			"'#666666'\n",
			(band->start_s + band->end_s) / 2 / time->divisor);
	}
}

static void write_line(FILE *script, const struct plot_line *line, double time_divisor, double divisor)
{
	fprintf(script, "%s using ($%u/%g):($%u/%.17g)", line->block, line->x, time_divisor, line->y,
		divisor);
	if (line->y_upper)
		fprintf(script,
			":($%u/%.17g) with filledcurves fillstyle transparent solid 0.3 noborder lc rgb '%s' "
			"title ",
			line->y_upper, divisor, plot_color_rgb(line->color));
	else
		fprintf(script, " with %s lc rgb '%s' lw 1.4 dashtype %s title ",
			line->points ? "linespoints pt 7 ps 0.35" : "lines", plot_color_rgb(line->color),
			line->dashed ? "(8,6)" : "solid");
	escape_gnuplot(script, line->title);
}

static void write_lines(FILE *script, const struct plot_panel *panel, const struct plot_axis *time,
			const struct scale *scale)
{
	for (size_t i = 0; i < panel->line_count; i++) {
		fputs(i ? ", \\\n     " : "plot ", script);
		write_line(script, &panel->lines[i], time->divisor, scale->divisor);
	}
	fputs("\n", script);
}

static void write_panel(FILE *script, const struct plot_frame *frame, const struct plot_panel *panel,
			double top_px, double height_px)
{
	double all_px = frame->height_px;
	fprintf(script, "set tmargin at screen %.5f\nset bmargin at screen %.5f\n", 1 - top_px / all_px,
		1 - (top_px + height_px) / all_px);
	struct scale scale = script_y_axis(script, panel->largest, panel->unit);
	write_lines(script, panel, &frame->time, &scale);
}

void script_frame(FILE *script, enum plot_target target, const char *name, const struct plot_frame *frame)
{
	double shares = 0, top_px = TOP_PX;
	for (size_t i = 0; i < frame->panel_count; i++)
		shares += frame->panels[i].height;
	double room_px = frame->height_px - TOP_PX - BOTTOM_PX - GAP_PX * (double)(frame->panel_count - 1);
	script_target(script, target, name, frame->height_px);
	fprintf(script, "set lmargin at screen %.5f\nset rmargin at screen %.5f\nset xrange [%.9g:%.9g]\n",
		(double)PANEL_LEFT_PX / PLOT_WIDTH, (double)PANEL_RIGHT_PX / PLOT_WIDTH,
		frame->time.start_s / frame->time.divisor, frame->time.end_s / frame->time.divisor);
	fputs("set multiplot\n", script);
	write_bands(script, frame);
	write_band_names(script, frame);
	script_title(script, frame->title, frame->subtitle, frame->height_px);
	fputs("set format x ''\n", script);
	for (size_t i = 0; i < frame->panel_count; i++) {
		double height_px = room_px * frame->panels[i].height / shares;
		if (i + 1 == frame->panel_count)
			fprintf(script,
				"set format x '%%g'\nset xlabel '%s since the start of the trace' textcolor "
				"rgb '#333333'\n",
				frame->time.unit);
		write_panel(script, frame, &frame->panels[i], top_px, height_px);
		fputs("unset label\n", script);
		top_px += height_px + GAP_PX;
	}
	fputs("unset multiplot\nset output\nreset\n", script);
}
