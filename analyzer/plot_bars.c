#include "analyzer/plot_bars.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "analyzer/escape.h"
#include "analyzer/plot_script.h"
#include "analyzer/plot_series.h"

static const char *mode_of(const struct timeline *timeline)
{
	return timeline->estimated ? "sample mode, estimated" : "full mode, exact";
}

static void put_number(FILE *script, const char *setting, double value)
{
	fprintf(script, "%s%.5f\n", setting, value);
}

/* ---- sites ------------------------------------------------------------------------------------------- */

/* What is stacked: live bytes, or those on huge pages. */
struct site_measure {
	const char *what;
	bool huge;
};

/* NaN: not known in this row. */
static double level_bytes(const struct site_measure *measure, const struct site_level *level)
{
	return measure->huge ? level->huge_bytes : level->live_bytes;
}

/* The sites with the highest sums over the rows, largest first. */
struct top_sites {
	uint32_t sites[PLOT_SITES_MAX];
	size_t count;
};

static bool find_top_sites(const struct timeline *timeline, const struct site_measure *measure,
			   struct top_sites *top)
{
	double *sums = calloc(timeline->site_count + 1, sizeof *sums);
	top->count = 0;
	if (!sums)
		return false;
	for (size_t r = 0; r < timeline->row_count; r++) {
		const struct model_row *row = &timeline->rows[r];
		for (uint32_t i = 0; i < row->site_count; i++)
			if (level_bytes(measure, &row->sites[i]) > 0)
				sums[row->sites[i].site] += level_bytes(measure, &row->sites[i]);
	}
	while (top->count < PLOT_SITES_MAX) {
		size_t best = timeline->site_count;
		for (size_t i = 0; i < timeline->site_count; i++)
			if (sums[i] > 0 && (best == timeline->site_count || sums[i] > sums[best]))
				best = i;
		if (best == timeline->site_count)
			break;
		sums[best] = 0;
		top->sites[top->count++] = (uint32_t)best;
	}
	free(sums);
	return true;
}

static double row_site(const struct model_row *row, const struct site_measure *measure, uint32_t site)
{
	for (uint32_t i = 0; i < row->site_count; i++)
		if (row->sites[i].site == site)
			return level_bytes(measure, &row->sites[i]);
	return 0;
}

/* Over all sites; on huge pages over those that the row kept. NaN where it is not known. */
static double row_all(const struct model_row *row, const struct site_measure *measure)
{
	double sum = 0;
	if (!measure->huge)
		return row->values[SERIES_LIVE];
	for (uint32_t i = 0; i < row->site_count; i++)
		sum += row->sites[i].huge_bytes;
	return row->site_count ? sum : NAN;
}

/* Columns: time, then heights from the bottom: all other sites, the last of the top ones, ..., everything. */
static double write_stack(FILE *script, const struct report *report, const struct timeline *timeline,
			  const struct site_measure *measure, const struct top_sites *top,
			  double time_divisor)
{
	double largest = 0;
	size_t step = timeline->row_count / PLOT_POINTS_MAX + 1;
	script_data_begin(script, "$stack");
	for (size_t r = 0; r < timeline->row_count; r += step) {
		const struct model_row *row = &timeline->rows[r];
		double shown = 0, all = row_all(row, measure);
		if (row->brief || isnan(all))
			continue;
		for (size_t i = 0; i < top->count; i++)
			shown += row_site(row, measure, top->sites[i]);
		double height = fmax(all - shown, 0);
		script_value(script, report_seconds(report, row->end_ns) / time_divisor);
		script_value(script, height);
		for (size_t i = top->count; i-- > 0;) {
			height += row_site(row, measure, top->sites[i]);
			script_value(script, height);
		}
		fputs("\n", script);
		largest = fmax(largest, height);
	}
	script_data_end(script);
	return largest;
}

static void stack_lines(FILE *script, const struct timeline *timeline, const struct top_sites *top,
			double divisor)
{
	static const enum plot_color colors[PLOT_SITES_MAX] = {
		PLOT_BLUE, PLOT_ORANGE, PLOT_GREEN, PLOT_VERMILLION, PLOT_SKY, PLOT_PURPLE, PLOT_YELLOW};
	for (size_t i = 0; i <= top->count; i++) {
		char name[256];
		bool rest = i == top->count;
		fprintf(script, "%s$stack using 1:($%zu/%.17g) with filledcurves y1=0 lc rgb '%s' title ",
			i ? ", \\\n     " : "plot ", 2 + top->count - i, divisor,
			plot_color_rgb(rest ? PLOT_GREY : colors[i]));
		escape_gnuplot(script,
			       rest ? "all other sites"
				    : escape_shorten(timeline->sites[top->sites[i]], 120, name, sizeof name));
	}
	fputs("\n", script);
}

bool plot_sites_useful(const struct timeline *timeline)
{
	bool live = false;
	for (size_t r = 0; r < timeline->row_count && !live; r++)
		live = timeline->rows[r].site_count > 0 && !isnan(timeline->rows[r].values[SERIES_LIVE]);
	return timeline->stacks && live;
}

bool plot_huge_sites_useful(const struct timeline *timeline)
{
	bool huge = false;
	for (size_t r = 0; r < timeline->row_count && !huge; r++)
		for (uint32_t i = 0; i < timeline->rows[r].site_count; i++)
			huge |= timeline->rows[r].sites[i].huge_bytes > 0;
	return timeline->stacks && huge;
}

#define SITES_PLOT_PX  380
#define SITES_KEY_PX   20 /* a line of the key */
#define SITES_ABOVE_PX 62
#define SITES_BELOW_PX 66

static void write_sites(FILE *script, const char *name, const struct report *report, size_t index,
			const struct site_measure *measure)
{
	const struct timeline *timeline = &report->model.timelines[index];
	struct top_sites top;
	char subtitle[160];
	if (!find_top_sites(timeline, measure, &top))
		return;
	struct plot_axis time =
		plot_time_axis(report_seconds(report, timeline->rows[0].start_ns),
			       report_seconds(report, timeline->rows[timeline->row_count - 1].end_ns));
	unsigned height_px =
		SITES_ABOVE_PX + SITES_PLOT_PX + SITES_BELOW_PX + SITES_KEY_PX * (unsigned)(top.count + 1);
	snprintf(subtitle, sizeof subtitle, "%s by allocating call stack (%s)", measure->what,
		 mode_of(timeline));
	script_begin(script, name);
	double largest = write_stack(script, report, timeline, measure, &top, time.divisor);
	for (int target = 0; target < PLOT_TARGETS; target++) {
		script_target(script, (enum plot_target)target, name, height_px);
		script_title(script, timeline->label, subtitle, height_px);
		struct scale scale = script_y_axis(script, largest, "bytes");
		put_number(script, "set lmargin at screen ", 84.0 / PLOT_WIDTH);
		put_number(script, "set rmargin at screen ", 1 - 24.0 / PLOT_WIDTH);
		put_number(script, "set tmargin at screen ", 1 - (double)SITES_ABOVE_PX / height_px);
		put_number(script, "set bmargin at screen ",
			   1 - (double)(SITES_ABOVE_PX + SITES_PLOT_PX) / height_px);
		fprintf(script,
			"set key at screen %.5f,%.5f left top vertical reverse Left samplen 1.6 maxcols 1\n"
			"set xrange [%.9g:%.9g]\nset xlabel '%s since the start of the trace' textcolor rgb "
			"'#333333'\n",
			84.0 / PLOT_WIDTH, (double)(SITES_KEY_PX * (top.count + 1) + 4) / height_px,
			time.start_s / time.divisor, time.end_s / time.divisor, time.unit);
		stack_lines(script, timeline, &top, scale.divisor);
		fputs("set output\nreset\n", script);
	}
}

void plot_sites_write(FILE *script, const char *name, const struct report *report, size_t index)
{
	write_sites(script, name, report, index, &(struct site_measure){"live bytes", false});
}

void plot_huge_sites_write(FILE *script, const char *name, const struct report *report, size_t index)
{
	write_sites(script, name, report, index, &(struct site_measure){"live bytes on huge pages", true});
}

/* ---- size classes ------------------------------------------------------------------------------------ */

bool plot_sizes_useful(const struct timeline *timeline)
{
	for (unsigned i = 0; i < SIZE_CLASSES; i++)
		if (timeline->classes.allocs[i] > 0)
			return true;
	return false;
}

/* "48", "1K", "1.5M": the upper bound of a class, as short as it can be. */
static void class_mark(unsigned size_class, char *out, size_t bytes)
{
	static const char suffixes[] = "\0KMGTPE";
	double value = (double)size_class_upper_bytes(size_class);
	unsigned power = 0;
	if (size_class == SIZE_CLASSES - 1) {
		snprintf(out, bytes, "more");
		return;
	}
	for (; value >= 1024; power++)
		value /= 1024;
	snprintf(out, bytes, "%g%.1s", value, suffixes + power);
}

struct class_range {
	unsigned first, last; /* with anything in them */
	double largest_allocs, largest_bytes;
};

/* Columns: number of the class, calls, bytes, the class's mark. */
static struct class_range write_classes(FILE *script, const struct size_classes *classes)
{
	struct class_range range = {SIZE_CLASSES, 0, 0, 0};
	script_data_begin(script, "$classes");
	for (unsigned i = 0; i < SIZE_CLASSES; i++) {
		char mark[16];
		if (classes->allocs[i] > 0) {
			range.first = i < range.first ? i : range.first;
			range.last = i;
		}
		range.largest_allocs = fmax(range.largest_allocs, classes->allocs[i]);
		range.largest_bytes = fmax(range.largest_bytes, classes->alloc_bytes[i]);
		class_mark(i, mark, sizeof mark);
		fprintf(script, "%u %.9g %.9g \"%s\"\n", i, classes->allocs[i], classes->alloc_bytes[i],
			mark);
	}
	script_data_end(script);
	return range;
}

#define SIZES_PLOT_PX 600

static void size_panel(FILE *script, double top, double bottom, double largest, const char *unit,
		       unsigned column, enum plot_color color)
{
	put_number(script, "set tmargin at screen ", top);
	put_number(script, "set bmargin at screen ", bottom);
	struct scale scale = script_y_axis(script, largest, unit);
	fprintf(script,
		"plot $classes using 1:($%u/%.17g):xtic(4) with boxes lc rgb '%s' notitle\nunset label\n",
		column, scale.divisor, plot_color_rgb(color));
}

void plot_sizes_write(FILE *script, const char *name, const struct report *report, size_t index)
{
	const struct timeline *timeline = &report->model.timelines[index];
	char subtitle[160];
	snprintf(subtitle, sizeof subtitle, "allocations by size class, up to the size given in bytes (%s)",
		 mode_of(timeline));
	script_begin(script, name);
	struct class_range range = write_classes(script, &timeline->classes);
	for (int target = 0; target < PLOT_TARGETS; target++) {
		script_target(script, (enum plot_target)target, name, SIZES_PLOT_PX);
		put_number(script, "set lmargin at screen ", 84.0 / PLOT_WIDTH);
		put_number(script, "set rmargin at screen ", 1 - 24.0 / PLOT_WIDTH);
		fprintf(script,
			"set boxwidth 0.8\nset xrange [%g:%g]\nset xtics rotate by -45 scale 0\nset "
			"multiplot\n",
			range.first - 0.7, range.last + 0.7);
		script_title(script, timeline->label, subtitle, SIZES_PLOT_PX);
		size_panel(script, 0.89, 0.56, range.largest_allocs, "calls", 2, PLOT_BLUE);
		size_panel(script, 0.44, 0.11, range.largest_bytes, "bytes", 3, PLOT_ORANGE);
		fputs("unset multiplot\nset output\nreset\n", script);
	}
}
