#include "analyzer/plot_series.h"

#include <math.h>
#include <string.h>

#include "analyzer/format.h"
#include "analyzer/plot_figures.h"
#include "analyzer/plot_script.h"

/* ---- data: rows of one timeline, throughput of all segments ------------------------------------------ */

/* Rates stand in the middle of their interval, levels at its end. */
enum { COLUMN_MIDDLE = 1, COLUMN_END = 2, COLUMN_SERIES = 3 };

struct plotted {
	const struct report *report;
	const struct timeline *timeline;
	double largest[SERIES_COUNT]; /* of what is drawn; NaN where nothing is known */
	size_t rows_per_point;
};

/* Mean of the known values of a series over some rows. */
static double rows_mean(const struct model_row *rows, size_t count, size_t series)
{
	double sum = 0;
	size_t known = 0;
	for (size_t i = 0; i < count; i++) {
		if (rows[i].brief || isnan(rows[i].values[series]))
			continue;
		sum += rows[i].values[series];
		known++;
	}
	return known ? sum / (double)known : NAN;
}

static void keep_largest(double *largest, double value)
{
	if (!isnan(value) && !(*largest >= value))
		*largest = value;
}

static void write_rows(FILE *script, struct plotted *plotted)
{
	const struct timeline *timeline = plotted->timeline;
	script_data_begin(script, "$rows");
	for (size_t i = 0; i < timeline->row_count; i += plotted->rows_per_point) {
		size_t count = timeline->row_count - i < plotted->rows_per_point ? timeline->row_count - i
										 : plotted->rows_per_point;
		const struct model_row *rows = &timeline->rows[i];
		if (count == 1 && rows->brief)
			continue;
		double start_s = report_seconds(plotted->report, rows[0].start_ns);
		double end_s = report_seconds(plotted->report, rows[count - 1].end_ns);
		if (i > 0 && rows[0].start_ns > rows[-1].end_ns)
			fputs("\n", script); /* nothing was traced in between: the line is broken */
		script_value(script, (start_s + end_s) / 2);
		script_value(script, end_s);
		for (size_t s = 0; s < SERIES_COUNT; s++) {
			double value = rows_mean(rows, count, s);
			script_value(script, value);
			keep_largest(&plotted->largest[s], value);
		}
		fputs("\n", script);
	}
	script_data_end(script);
}

static double values_mean(const double *values, size_t count)
{
	double sum = 0;
	size_t known = 0;
	for (size_t i = 0; i < count; i++) {
		if (isnan(values[i]))
			continue;
		sum += values[i];
		known++;
	}
	return known ? sum / (double)known : NAN;
}

static void write_segment(FILE *script, const struct segment *segment, struct plotted *plotted)
{
	size_t step = segment->count / PLOT_POINTS_MAX + 1;
	for (size_t i = 0; i < segment->count; i += step) {
		size_t count = segment->count - i < step ? segment->count - i : step;
		double start_s = report_seconds(plotted->report, segment->grid[i].start_ns);
		double end_s = report_seconds(plotted->report, segment->grid[i + count - 1].end_ns);
		script_value(script, (start_s + end_s) / 2);
		for (int series = SERIES_THROUGHPUT; series <= SERIES_LATENCY_P99; series++) {
			double value =
				values_mean(segment_values(segment, (enum series_id)series) + i, count);
			script_value(script, value);
			keep_largest(&plotted->largest[series], value);
		}
		fputs("\n", script);
	}
}

/* Columns: middle, throughput, mean and worst p99 latency, as the client printed them. */
static void write_clients(FILE *script, struct plotted *plotted)
{
	const struct alignment *alignment = &plotted->report->alignment;
	for (size_t i = SERIES_THROUGHPUT; i <= SERIES_LATENCY_P99; i++)
		plotted->largest[i] = NAN;
	script_data_begin(script, "$clients");
	for (size_t s = 0; s < alignment->segment_count; s++) {
		fputs(s ? "\n" : "", script); /* a broken line */
		write_segment(script, &alignment->segments[s], plotted);
	}
	script_data_end(script);
}

/* ---- panels -------------------------------------------------------------------------------------------- */

static bool from_client(enum series_id series)
{
	return series_infos[series].from_ycsb;
}

static unsigned column_of(enum series_id series)
{
	return from_client(series) ? 2 + (unsigned)(series - SERIES_THROUGHPUT)
				   : COLUMN_SERIES + (unsigned)series;
}

/* Lines without a single known value are left out. */
static void plan_panel(const struct panel_plan *plan, const struct plotted *plotted, struct plot_panel *panel)
{
	*panel = (struct plot_panel){.unit = plan->unit, .largest = NAN, .height = plan->height};
	for (const struct line_plan *from = plan->lines; from->title; from++) {
		if (isnan(plotted->largest[from->series]))
			continue;
		struct plot_line *line = &panel->lines[panel->line_count++];
		*line = (struct plot_line){.title = from->title,
					   .color = from->color,
					   .dashed = from->dashed,
					   .points = from->points};
		line->block = from_client(from->series) ? "$clients" : "$rows";
		line->x = series_infos[from->series].kind == SERIES_LEVEL ? COLUMN_END : COLUMN_MIDDLE;
		line->y = column_of(from->series);
		line->y_upper = from->upper ? column_of(from->upper) : 0;
		keep_largest(&panel->largest, plotted->largest[from->upper ? from->upper : from->series]);
	}
}

/* ---- one figure -------------------------------------------------------------------------------------------
 */

#define SUBTITLE_BYTES 240

static void subtitle_of(const struct plotted *plotted, char *out)
{
	char start[FORMAT_TEXT_BYTES], mean[64] = "";
	if (plotted->rows_per_point > 1)
		snprintf(mean, sizeof mean, ", each point the mean of %zu intervals",
			 plotted->rows_per_point);
	snprintf(out, SUBTITLE_BYTES, "%s, from %s%s",
		 plotted->timeline->server	? "diagnostic data"
		 : plotted->timeline->estimated ? "sample mode"
						: "full mode",
		 format_utc(start, plotted->report->model.start_ns), mean);
}

static size_t bands_of(const struct report *report, const struct plot_axis *time, struct plot_band *bands,
		       size_t room)
{
	size_t count = 0;
	for (size_t i = 0; i < report->alignment.segment_count && count < room; i++) {
		const struct segment *segment = &report->alignment.segments[i];
		struct plot_band band = {fmax(report_seconds(report, segment->start_ns), time->start_s),
					 fmin(report_seconds(report, segment->end_ns), time->end_s),
					 segment->name};
		if (band.end_s > band.start_s)
			bands[count++] = band;
	}
	return count;
}

#define BANDS_MAX 200

/* Says which lines are not drawn because they are 0 throughout. */
static void subtitle_add_zeros(const struct plot_panel *panel, char *subtitle)
{
	for (size_t i = 0; i < panel->line_count; i++) {
		size_t used = strlen(subtitle);
		snprintf(subtitle + used, SUBTITLE_BYTES - used, "%s%s",
			 i ? ", " : "; always 0: ", panel->lines[i].title);
	}
}

/* Panels without a line, or with nothing but zeros, fall away, and the figure gets lower by their share. */
static size_t plan_panels(const struct figure_plan *plan, const struct plotted *plotted,
			  struct plot_panel *panels, char *subtitle, unsigned *height_px)
{
	size_t planned = 0, count = 0;
	for (; plan->panels[planned].unit; planned++) {
		plan_panel(&plan->panels[planned], plotted, &panels[count]);
		if (panels[count].largest > 0)
			count++;
		else
			subtitle_add_zeros(&panels[count], subtitle);
	}
	*height_px = plan->height_px * (unsigned)(count + 1) / (unsigned)(planned + 1);
	return count;
}

static void write_frame(FILE *script, const char *name, const struct figure_plan *plan,
			const struct plotted *plotted)
{
	const struct timeline *timeline = plotted->timeline;
	struct plot_panel panels[PANELS_MAX];
	struct plot_band bands[BANDS_MAX];
	char subtitle[SUBTITLE_BYTES];
	struct plot_frame frame = {
		.title = timeline->label, .subtitle = subtitle, .bands = bands, .panels = panels};
	subtitle_of(plotted, subtitle);
	frame.panel_count = plan_panels(plan, plotted, panels, subtitle, &frame.height_px);
	frame.time = plot_time_axis(
		report_seconds(plotted->report, timeline->rows[0].start_ns),
		report_seconds(plotted->report, timeline->rows[timeline->row_count - 1].end_ns));
	frame.band_count = bands_of(plotted->report, &frame.time, bands, BANDS_MAX);
	for (int target = 0; target < PLOT_TARGETS; target++)
		script_frame(script, (enum plot_target)target, name, &frame);
}

/* ---- what others see --------------------------------------------------------------------------------- */

size_t plot_series_figures(void)
{
	return figure_plan_count;
}

const char *plot_series_name(size_t figure)
{
	return figure_plans[figure].name;
}

const char *plot_series_caption(size_t figure)
{
	return figure_plans[figure].caption;
}

static bool has_value(const struct report *report, const struct timeline *timeline, enum series_id series)
{
	for (size_t i = 0; !from_client(series) && i < timeline->row_count; i++)
		if (!timeline->rows[i].brief && timeline->rows[i].values[series] > 0)
			return true;
	for (size_t s = 0; from_client(series) && s < report->alignment.segment_count; s++)
		for (size_t i = 0; i < report->alignment.segments[s].count; i++)
			if (segment_values(&report->alignment.segments[s], series)[i] > 0)
				return true;
	return false;
}

/* Of timelines that are a server's own data, and of no others. */
static bool about_server(const struct figure_plan *plan)
{
	for (const struct panel_plan *panel = plan->panels; panel->unit; panel++)
		for (const struct line_plan *line = panel->lines; line->title; line++)
			if (series_from_server(line->series))
				return true;
	return false;
}

bool plot_series_useful(size_t figure, const struct report *report, size_t index)
{
	const struct figure_plan *plan = &figure_plans[figure];
	for (size_t i = 0; plan->client && i < index; i++)
		if (report->model.timelines[i].row_count > 0)
			return false; /* drawn with that one */
	if (report->model.timelines[index].row_count == 0 ||
	    report->model.timelines[index].server != about_server(plan))
		return false;
	if (plan->needs != NEEDS_ANY)
		return has_value(report, &report->model.timelines[index], plan->needs);
	for (const struct panel_plan *panel = plan->panels; panel->unit; panel++)
		for (const struct line_plan *line = panel->lines; line->title; line++)
			if (has_value(report, &report->model.timelines[index], line->series))
				return true;
	return false;
}

void plot_series_write(FILE *script, const char *name, size_t figure, const struct report *report,
		       size_t index)
{
	struct plotted plotted = {.report = report, .timeline = &report->model.timelines[index]};
	plotted.rows_per_point = plotted.timeline->row_count / PLOT_POINTS_MAX + 1;
	for (size_t i = 0; i < SERIES_COUNT; i++)
		plotted.largest[i] = NAN;
	script_begin(script, name);
	write_rows(script, &plotted);
	write_clients(script, &plotted);
	write_frame(script, name, &figure_plans[figure], &plotted);
}
