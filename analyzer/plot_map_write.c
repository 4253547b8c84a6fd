#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/command.h"
#include "analyzer/escape.h"
#include "analyzer/format.h"
#include "analyzer/gnuplot.h"
#include "analyzer/plot_map_internal.h"
#include "analyzer/plot_script.h"

#define HEIGHT_PX   820
#define LEFT_PX	    84
#define RIGHT_PX    880
#define TOP_PX	    80
#define BOTTOM_PX   56
#define LABEL_PX    13 /* an owner's name needs so much */
#define LINE_PX	    6  /* and a line below a group, not to hide it */
#define OTHER_OWNER "other"

/* Shades of a state: by how much of the row is in one of the states, up to a quarter, a half, ... */
#define SHADES 4u

static const enum plot_color colors[MAP_STATES] = {
	[MAP_HUGE] = PLOT_BLUE, [MAP_SMALL] = PLOT_ORANGE, [MAP_RELEASED] = PLOT_GREY};
static const char *const titles[MAP_STATES] = {[MAP_HUGE] = "resident, huge pages",
					       [MAP_SMALL] = "resident, small pages",
					       [MAP_RELEASED] = "given back"};

/* ---- pixels -------------------------------------------------------------------------------------------- */

/* 0: nothing; 1 to SHADES: MAP_HUGE, light to dark; then the other states likewise. */
static unsigned pixel(const struct map_cell *cell, uint64_t row_bytes)
{
	unsigned most = 0;
	double sum = 0;
	for (unsigned state = 0; state < MAP_STATES; state++) {
		sum += (double)cell->bytes[state];
		if (cell->bytes[state] > cell->bytes[most])
			most = state;
	}
	if (!(sum > 0))
		return 0;
	double shade = ceil(fmin(sum / (double)row_bytes, 1) * SHADES);
	return most * SHADES + (unsigned)fmax(shade, 1);
}

static void write_pixels(FILE *script, const struct plot_map *map)
{
	script_data_begin(script, "$map");
	for (uint32_t i = 0; i < map->row_count; i++) {
		for (uint32_t column = 0; column < map->columns; column++) {
			uint32_t shown = plot_map_shown(map, column);
			fprintf(script, "%s%u", column ? " " : "",
				shown == UINT32_MAX ? 0 : pixel(&map->rows[i].cells[shown], map->row_bytes));
		}
		fputc('\n', script);
	}
	script_data_end(script);
}

/* A colour, mixed with white. */
static void write_shade(FILE *script, unsigned value, enum plot_color color, unsigned shade)
{
	const double share = 0.25 + 0.75 * shade / SHADES;
	unsigned rgb = (unsigned)strtoul(plot_color_rgb(color) + 1, NULL, 16), mixed = 0;
	for (unsigned shift = 0; shift < 24; shift += 8) {
		double part = rgb >> shift & 255;
		mixed |= (unsigned)lround(255 - share * (255 - part)) << shift;
	}
	fprintf(script, ", %u '#%06x'", value, mixed);
}

static void write_palette(FILE *script)
{
	fputs("set palette defined (0 '#ffffff'", script);
	for (unsigned state = 0; state < MAP_STATES; state++)
		for (unsigned shade = 1; shade <= SHADES; shade++)
			write_shade(script, state * SHADES + shade, colors[state], shade);
	fprintf(script, ")\nset cbrange [0:%u]\nunset colorbox\n", MAP_STATES * SHADES);
}

/* ---- owners at the side ------------------------------------------------------------------------------- */

static bool same_group(const struct map_row *before, const struct map_row *row)
{
	return before->owner == row->owner && before->index + 1 == row->index;
}

static const char *owner_name(const struct plot_map *map, uint32_t owner)
{
	return owner < map->owner_count ? map->owners[owner] : OTHER_OWNER;
}

/* A line at the end of each group, and its owner and address where there is room. */
static void write_group(FILE *script, const struct plot_map *map, uint32_t first, uint32_t end,
			double divisor)
{
	double px_per_row = (double)(HEIGHT_PX - TOP_PX - BOTTOM_PX) / map->row_count;
	double row = (double)map->row_bytes / divisor;
	char name[160], shown[160];
	if (end < map->row_count && (end - first) * px_per_row >= LINE_PX)
		fprintf(script,
			"set arrow from graph 0, first %.9g to graph 1, first %.9g nohead front lc rgb "
			"'#999999' lw 0.3\n",
			end * row, end * row);
	if ((end - first) * px_per_row < LABEL_PX)
		return;
	snprintf(name, sizeof name, "%s  %#" PRIx64, owner_name(map, map->rows[first].owner),
		 map->rows[first].index * map->row_bytes);
	fputs("set label ", script);
	escape_gnuplot(script, escape_shorten(name, 40, shown, sizeof shown));
	fprintf(script, " at graph 1.012, first %.9g left font small_font textcolor rgb '#333333'\n",
		(first + end) / 2.0 * row);
}

static void write_groups(FILE *script, const struct plot_map *map, double divisor)
{
	uint32_t first = 0;
	for (uint32_t i = 1; i <= map->row_count; i++) {
		if (i < map->row_count && same_group(&map->rows[i - 1], &map->rows[i]))
			continue;
		write_group(script, map, first, i, divisor);
		first = i;
	}
}

/* ---- the figure ---------------------------------------------------------------------------------------- */

static void write_axes(FILE *script, const struct plot_axis *time)
{
	fprintf(script,
		"set lmargin at screen %.5f\nset rmargin at screen %.5f\nset tmargin at screen %.5f\n"
		"set bmargin at screen %.5f\nset xrange [%.9g:%.9g]\n"
		"set xlabel '%s since the start of the trace' textcolor rgb '#333333'\n"
		"set key at graph 0,1.0 left bottom horizontal reverse Left samplen 1.2 width 1\nunset "
		"grid\n",
		(double)LEFT_PX / PLOT_WIDTH, (double)RIGHT_PX / PLOT_WIDTH, 1 - (double)TOP_PX / HEIGHT_PX,
		(double)BOTTOM_PX / HEIGHT_PX, time->start_s / time->divisor, time->end_s / time->divisor,
		time->unit);
}

static void write_plot(FILE *script, const struct plot_map *map, const struct plot_axis *time, double divisor)
{
	double column = (time->end_s - time->start_s) / time->divisor / map->columns;
	double row = (double)map->row_bytes / divisor;
	fprintf(script, "plot $map matrix using (%.9g+($1+0.5)*%.9g):(($2+0.5)*%.9g):3 with image notitle",
		time->start_s / time->divisor, column, row);
	for (unsigned state = 0; state < MAP_STATES; state++)
		fprintf(script, ", \\\n     NaN with boxes lc rgb '%s' title '%s'",
			plot_color_rgb(colors[state]), titles[state]);
	fputs("\n", script);
}

void plot_map_write(FILE *script, const char *name, const char *title, const struct plot_map *map,
		    double start_s, double end_s)
{
	struct plot_axis time = plot_time_axis(start_s, end_s > start_s ? end_s : start_s + 1);
	double bytes = (double)map->row_count * (double)map->row_bytes;
	char subtitle[200], row[FORMAT_TEXT_BYTES];
	snprintf(subtitle, sizeof subtitle,
		 "address space against time, what was never resident left out; a row is %s, lighter where "
		 "less of it is in use",
		 format_bytes(row, (double)map->row_bytes));
	script_begin(script, name);
	write_pixels(script, map);
	for (int target = 0; target < PLOT_TARGETS; target++) {
		script_target(script, (enum plot_target)target, name, HEIGHT_PX);
		script_title(script, title, subtitle, HEIGHT_PX);
		struct scale scale = script_y_axis(script, bytes, "bytes");
		fprintf(script, "set yrange [0:%.9g]\n", bytes / scale.divisor);
		write_axes(script, &time);
		write_palette(script);
		write_groups(script, map, scale.divisor);
		write_plot(script, map, &time, scale.divisor);
		fputs("set output\nreset\n", script);
	}
}

/* ---- into one file ------------------------------------------------------------------------------------ */

static bool copy_file(const char *from, const char *to, struct error *error)
{
	char block[65536];
	FILE *source = fopen(from, "rb");
	if (!source)
		return error_set(error, ERROR_INTERNAL, to, ERROR_NO_OFFSET, "gnuplot wrote no picture");
	FILE *out = output_open(to, error);
	for (size_t bytes; out && (bytes = fread(block, 1, sizeof block, source)) > 0;)
		fwrite(block, 1, bytes, out);
	fclose(source);
	return out && output_close(out, to, error);
}

static bool run_gnuplot(const char *folder, const char *path, struct error *error)
{
	char message[200];
	switch (gnuplot_run("gnuplot", folder, "map.gp", message, sizeof message)) {
	case GNUPLOT_DONE:
		return true;
	case GNUPLOT_MISSING:
		return error_set(error, ERROR_INTERNAL, path, ERROR_NO_OFFSET,
				 "cannot be drawn: gnuplot is not installed (Debian: gnuplot-nox)");
	default:
		return error_set(error, ERROR_INTERNAL, path, ERROR_NO_OFFSET, "gnuplot could not draw: %s",
				 message);
	}
}

static bool draw_in(const char *folder, const char *path, const char *ending, const char *title,
		    const struct plot_map *map, double start_s, double end_s, struct error *error)
{
	char script_path[4096], picture[4096];
	snprintf(script_path, sizeof script_path, "%s/map.gp", folder);
	snprintf(picture, sizeof picture, "%s/map%s", folder, ending);
	FILE *script = output_open(script_path, error);
	if (!script)
		return false;
	plot_map_write(script, "map", title, map, start_s, end_s);
	return output_close(script, script_path, error) && run_gnuplot(folder, path, error) &&
	       copy_file(picture, path, error);
}

static void remove_folder(const char *folder)
{
	static const char *const files[] = {"map.gp", "map.png", "map.svg"};
	char path[4096];
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		snprintf(path, sizeof path, "%s/%s", folder, files[i]);
		unlink(path);
	}
	rmdir(folder);
}

bool plot_map_path(const char *path, struct error *error)
{
	const char *ending = strrchr(path, '.');
	if (ending && (strcmp(ending, ".png") == 0 || strcmp(ending, ".svg") == 0))
		return true;
	return error_set(error, ERROR_USAGE, path, ERROR_NO_OFFSET,
			 "its name has to end with .png or .svg, which says what to draw");
}

bool plot_map_draw(const char *path, const char *title, const struct plot_map *map, double start_s,
		   double end_s, struct error *error)
{
	const char *ending = strrchr(path, '.'), *temporary = getenv("TMPDIR");
	char folder[3072];
	if (!plot_map_path(path, error))
		return false;
	if (!plot_map_useful(map))
		return error_set(error, ERROR_USAGE, path, ERROR_NO_OFFSET,
				 "cannot be drawn: the trace holds no look at pages");
	snprintf(folder, sizeof folder, "%s/mtrace-map-XXXXXX", temporary && *temporary ? temporary : "/tmp");
	if (!mkdtemp(folder))
		return error_set(error, ERROR_INTERNAL, folder, ERROR_NO_OFFSET,
				 "cannot make a temporary folder: %s", strerror(errno));
	bool good = draw_in(folder, path, ending, title, map, start_s, end_s, error);
	remove_folder(folder);
	return good;
}
