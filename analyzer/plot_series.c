#include "analyzer/plot_series.h"

#include <math.h>
#include <string.h>

#include "analyzer/format.h"
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

/* ---- figures: which series share a panel ------------------------------------------------------------------
 */

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

#define LINE(series_, color_, title_)                                                                        \
	{                                                                                                    \
		.series = series_, .color = color_, .title = title_                                          \
	}
#define DASHED(series_, color_, title_)                                                                      \
	{                                                                                                    \
		.series = series_, .color = color_, .title = title_, .dashed = true                          \
	}
#define POINTS(series_, color_, title_)                                                                      \
	{                                                                                                    \
		.series = series_, .color = color_, .title = title_, .points = true                          \
	}
#define AREA(low_, high_, color_, title_)                                                                    \
	{                                                                                                    \
		.series = low_, .upper = high_, .color = color_, .title = title_                             \
	}

#define NEEDS_ANY SERIES_THROUGHPUT

/* clang-format off */
static const struct figure_plan figure_plans[] = {
	{ "overview", "Throughput above memory, allocator calls, region calls and page faults", 980, false, NEEDS_ANY, {
		{ "ops/s", 1.15, {
			LINE(SERIES_THROUGHPUT, PLOT_BLACK, "throughput")} },
		{ "bytes", 1.15, {
			LINE(SERIES_RSS, PLOT_VERMILLION, "RSS"),
			AREA(SERIES_LIVE_LOW, SERIES_LIVE_HIGH, PLOT_BLUE, "live bytes, 95% interval"),
			LINE(SERIES_LIVE, PLOT_BLUE, "live bytes"),
			LINE(SERIES_HUGE, PLOT_GREEN, "AnonHugePages")} },
		{ "calls/s", 1, {
			LINE(SERIES_ALLOCS, PLOT_BLUE, "allocations"),
			DASHED(SERIES_FREES, PLOT_VERMILLION, "frees"),
			LINE(SERIES_REALLOCS, PLOT_GREEN, "reallocs")} },
		{ "calls/s", 1, {
			LINE(SERIES_MMAPS, PLOT_BLUE, "mmap"),
			LINE(SERIES_MUNMAPS, PLOT_VERMILLION, "munmap"),
			LINE(SERIES_MADVISES, PLOT_GREEN, "madvise"),
			LINE(SERIES_MPROTECTS, PLOT_PURPLE, "mprotect"),
			LINE(SERIES_BRKS, PLOT_ORANGE, "brk")} },
		{ "faults/s", 1, {
			LINE(SERIES_MINOR_FAULTS, PLOT_BLUE, "minor faults"),
			LINE(SERIES_MAJOR_FAULTS, PLOT_VERMILLION, "major faults")} } } },
	{ "latency", "Throughput above the client's latency: mean, and the p99 of the slowest operation", 620, true, NEEDS_ANY, {
		{ "ops/s", 1, {LINE(SERIES_THROUGHPUT, PLOT_BLACK, "throughput")} },
		{ "us", 1, {LINE(SERIES_LATENCY_MEAN, PLOT_BLUE, "mean latency")} },
		{ "us", 1, {LINE(SERIES_LATENCY_P99, PLOT_VERMILLION, "p99, slowest operation")} } } },
	{ "cpu", "Allocated bytes, CPU time, context switches, CPU migrations and threads", 900, false, NEEDS_ANY, {
		{ "bytes/s", 1, {LINE(SERIES_ALLOC_BYTES, PLOT_BLUE, "allocated bytes")} },
		{ "CPUs", 1, {
			LINE(SERIES_CPU_USER, PLOT_BLUE, "user"),
			LINE(SERIES_CPU_SYSTEM, PLOT_VERMILLION, "system"),
			LINE(SERIES_WRITER_CPU, PLOT_GREEN, "trace writer")} },
		{ "switches/s", 1, {
			LINE(SERIES_VOLUNTARY, PLOT_BLUE, "voluntary"),
			LINE(SERIES_INVOLUNTARY, PLOT_VERMILLION, "involuntary")} },
		{ "migrations/s", 0.8, {LINE(SERIES_MIGRATIONS, PLOT_BLUE, "migrations seen")} },
		{ "threads", 0.8, {LINE(SERIES_THREADS, PLOT_BLUE, "threads")} } } },
	{ "tcmalloc", "What the allocator says of itself: heap, free memory in its tiers, misses of per-CPU caches", 820, false, NEEDS_ANY, {
		{ "bytes", 1, {
			LINE(SERIES_TCMALLOC_HEAP, PLOT_VERMILLION, "heap"),
			LINE(SERIES_TCMALLOC_ALLOCATED, PLOT_BLUE, "allocated"),
			LINE(SERIES_TCMALLOC_PAGEHEAP_UNMAPPED, PLOT_GREEN, "returned to the kernel")} },
		{ "bytes", 1, {
			LINE(SERIES_TCMALLOC_CPU_FREE, PLOT_BLUE, "per-CPU caches"),
			LINE(SERIES_TCMALLOC_THREAD_FREE, PLOT_VERMILLION, "thread caches"),
			LINE(SERIES_TCMALLOC_TRANSFER_FREE, PLOT_GREEN, "transfer cache"),
			LINE(SERIES_TCMALLOC_CENTRAL_FREE, PLOT_PURPLE, "central cache"),
			LINE(SERIES_TCMALLOC_PAGEHEAP_FREE, PLOT_ORANGE, "page heap")} },
		{ "misses/s", 1, {
			LINE(SERIES_TCMALLOC_UNDERFLOWS, PLOT_BLUE, "underflows"),
			LINE(SERIES_TCMALLOC_OVERFLOWS, PLOT_VERMILLION, "overflows")} },
		{ "ns/s", 0.8, {LINE(SERIES_TCMALLOC_LOCK_WAIT, PLOT_BLUE, "wait for its spinlocks")} } } },
	{ "coverage", "Huge pages: what is resident, what could be and what is on them, and their shares", 780, false,
	  SERIES_HUGE_MAPPED, {
		{ "ops/s", 0.8, {LINE(SERIES_THROUGHPUT, PLOT_BLACK, "throughput")} },
		{ "bytes", 1, {
			LINE(SERIES_RSS, PLOT_VERMILLION, "RSS"),
			POINTS(SERIES_HUGE_ELIGIBLE, PLOT_BLUE, "could be on huge pages"),
			POINTS(SERIES_HUGE_MAPPED, PLOT_GREEN, "on huge pages")} },
		{ "%", 1, {
			POINTS(SERIES_HUGE_COVERAGE, PLOT_GREEN, "of what is resident"),
			POINTS(SERIES_HUGE_COVERAGE_ELIGIBLE, PLOT_BLUE, "of what could be")} },
		{ "bytes", 0.8, {
			POINTS(SERIES_HUGE_BROKEN, PLOT_PURPLE, "was on huge pages that are gone")} } } },
	{ "unused", "Memory of the allocator: resident, on huge pages, and what no live block covers", 780, false,
	  SERIES_ALLOCATOR_RESIDENT, {
		{ "ops/s", 0.8, {LINE(SERIES_THROUGHPUT, PLOT_BLACK, "throughput")} },
		{ "bytes", 1, {
			POINTS(SERIES_ALLOCATOR_RESIDENT, PLOT_VERMILLION, "resident, allocator"),
			POINTS(SERIES_ALLOCATOR_HUGE, PLOT_GREEN, "of it on huge pages"),
			LINE(SERIES_LIVE, PLOT_BLUE, "live bytes")} },
		{ "bytes", 1, {
			AREA(SERIES_UNUSED_LOW, SERIES_UNUSED_HIGH, PLOT_VERMILLION, "unused, 95% interval"),
			POINTS(SERIES_UNUSED, PLOT_VERMILLION, "resident, no live block"),
			AREA(SERIES_BLOAT_LOW, SERIES_BLOAT_HIGH, PLOT_GREEN, "bloat, 95% interval"),
			POINTS(SERIES_BLOAT, PLOT_GREEN, "of it on huge pages")} },
		{ "bytes", 0.8, {
			LINE(SERIES_TCMALLOC_PAGEHEAP_FREE, PLOT_ORANGE, "free: page heap"),
			LINE(SERIES_TCMALLOC_CPU_FREE, PLOT_BLUE, "free: per-CPU caches"),
			LINE(SERIES_TCMALLOC_CENTRAL_FREE, PLOT_PURPLE, "free: central cache"),
			LINE(SERIES_TCMALLOC_TRANSFER_FREE, PLOT_GREEN, "free: transfer cache"),
			LINE(SERIES_TCMALLOC_THREAD_FREE, PLOT_VERMILLION, "free: thread caches")} } } },
};
/* clang-format on */

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
		 plotted->timeline->estimated ? "sample mode" : "full mode",
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
	return sizeof figure_plans / sizeof *figure_plans;
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

bool plot_series_useful(size_t figure, const struct report *report, size_t index)
{
	const struct figure_plan *plan = &figure_plans[figure];
	for (size_t i = 0; plan->client && i < index; i++)
		if (report->model.timelines[i].row_count > 0)
			return false; /* drawn with that one */
	if (report->model.timelines[index].row_count == 0)
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
