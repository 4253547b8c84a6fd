#include "analyzer/report_plot.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/gnuplot.h"
#include "analyzer/plot_bars.h"
#include "analyzer/percpu_plot.h"
#include "analyzer/plot_series.h"
#include "analyzer/report_percpu.h"

/* ---- files and gnuplot ------------------------------------------------------------------------------- */

/* A figure of one timeline; `number` tells figures apart that share a writer. */
struct figure {
	const char *name;
	const char *caption;
	void (*write)(FILE *script, const char *name, size_t number, const struct report *report,
		      size_t timeline);
	size_t number;
};

static bool make_folder(const char *path, struct error *error)
{
	if (mkdir(path, 0777) == 0 || errno == EEXIST)
		return true;
	return error_set(error, ERROR_INTERNAL, path, ERROR_NO_OFFSET, "cannot make this folder: %s",
			 strerror(errno));
}

/* "sites.png", "overview-2.gp": a name that make_figure() gives. */
static bool is_ours(const char *file)
{
	static const char *const others[] = {"sites",	     "sizes",	     "sites-huge",   "map",
					     "percpu-curve", "thread-curve", "percpu-matrix"};
	const size_t other_count = sizeof others / sizeof *others;
	const char *dot = strrchr(file, '.');
	if (!dot || (strcmp(dot, ".gp") != 0 && strcmp(dot, ".png") != 0 && strcmp(dot, ".svg") != 0))
		return false;
	for (size_t i = 0; i < plot_series_figures() + other_count; i++) {
		const char *name = i < other_count ? others[i] : plot_series_name(i - other_count);
		size_t length = strlen(name);
		if (strncmp(file, name, length) != 0)
			continue;
		const char *rest = file + length;
		if (*rest == '-')
			rest += 1 + strspn(rest + 1, "0123456789");
		if (rest == dot)
			return true;
	}
	return false;
}

/* Figures of an earlier report, which this one may not have: beside its own they would pass for them. What
 * cannot be removed is said when it cannot be written. */
static void remove_old(const char *folder)
{
	DIR *directory = opendir(folder);
	if (!directory)
		return;
	for (struct dirent *entry; (entry = readdir(directory));)
		if (is_ours(entry->d_name))
			unlinkat(dirfd(directory), entry->d_name, 0);
	closedir(directory);
}

static void draw(struct report *report, const char *name, const char *caption)
{
	char folder[REPORT_PATH_BYTES], script[64], message[200];
	snprintf(folder, sizeof folder, "%s/plots", report->directory);
	snprintf(script, sizeof script, "%s.gp", name);
	enum gnuplot_result result = gnuplot_run("gnuplot", folder, script, message, sizeof message);
	if (result == GNUPLOT_DONE) {
		struct figure_file *figure = &report->figures[report->figure_count++];
		snprintf(figure->name, sizeof figure->name, "%s", name);
		snprintf(figure->caption, sizeof figure->caption, "%s", caption);
	} else if (result == GNUPLOT_MISSING) {
		snprintf(report->plots_missing, sizeof report->plots_missing,
			 "gnuplot is not installed (Debian: gnuplot-nox). The scripts are in plots/: with "
			 "gnuplot there, "
			 "`gnuplot -d NAME.gp` in that folder draws them");
	} else {
		snprintf(report->plots_missing, sizeof report->plots_missing,
			 "gnuplot could not draw plots/%s: %.120s", script, message);
	}
}

/* Writes a script and draws it, unless gnuplot has failed before: then the script alone is left behind. */
static bool make_figure(struct report *report, size_t timeline, const struct figure *figure,
			struct error *error)
{
	char name[40], file_name[64], path[REPORT_PATH_BYTES];
	if (report->figure_count == REPORT_FIGURES_MAX)
		return true;
	if (timeline == 0)
		snprintf(name, sizeof name, "%s", figure->name);
	else
		snprintf(name, sizeof name, "%s-%zu", figure->name, timeline + 1);
	snprintf(file_name, sizeof file_name, "plots/%s.gp", name);
	if (!report_path(report, file_name, path, error))
		return false;
	FILE *script = output_open(path, error);
	if (!script)
		return false;
	figure->write(script, name, figure->number, report, timeline);
	if (!output_close(script, path, error))
		return false;
	if (!report->plots_missing[0])
		draw(report, name, figure->caption);
	return true;
}

/* ---- which figures ----------------------------------------------------------------------------------- */

static void write_series(FILE *script, const char *name, size_t number, const struct report *report,
			 size_t timeline)
{
	plot_series_write(script, name, number, report, timeline);
}

static void write_sites(FILE *script, const char *name, size_t number, const struct report *report,
			size_t timeline)
{
	(void)number;
	plot_sites_write(script, name, report, timeline);
}

static void write_sizes(FILE *script, const char *name, size_t number, const struct report *report,
			size_t timeline)
{
	(void)number;
	plot_sizes_write(script, name, report, timeline);
}

static void write_huge_sites(FILE *script, const char *name, size_t number, const struct report *report,
			     size_t timeline)
{
	(void)number;
	plot_huge_sites_write(script, name, report, timeline);
}

/* The longest of its stages that has a map; NULL where none has. */
static const struct stage *mapped_stage(const struct report *report, size_t timeline)
{
	const struct stage *found = NULL;
	for (size_t i = 0; i < report->model.stage_count; i++) {
		const struct stage *stage = &report->model.stages[i];
		if (stage->timeline != timeline || !stage->map || !plot_map_useful(stage->map))
			continue;
		if (!found || stage->end_ns - stage->start_ns > found->end_ns - found->start_ns)
			found = stage;
	}
	return found;
}

static void write_map(FILE *script, const char *name, size_t number, const struct report *report,
		      size_t timeline)
{
	(void)number;
	const struct stage *stage = mapped_stage(report, timeline);
	plot_map_write(script, name, report->model.timelines[timeline].label, stage->map,
		       report_seconds(report, stage->start_ns), report_seconds(report, stage->end_ns));
}

/* What the trace's looks at pages give. */
static bool page_figures(struct report *report, size_t at, struct error *error)
{
	struct figure sites = {"sites-huge", "Live bytes on huge pages by the call stack that allocated them",
			       write_huge_sites, 0};
	struct figure map = {"map", "Address space against time: on huge pages, on small ones, given back",
			     write_map, 0};
	if (plot_huge_sites_useful(&report->model.timelines[at]) && !make_figure(report, at, &sites, error))
		return false;
	return !mapped_stage(report, at) || make_figure(report, at, &map, error);
}

static void write_percpu(FILE *script, const char *name, size_t number, const struct report *report,
			 size_t timeline)
{
	percpu_figure_write(script, name, number, report_percpu_of(report, timeline));
}

static bool percpu_figures(struct report *report, size_t at, struct error *error)
{
	const struct percpu *percpu = report_percpu_of(report, at);
	for (size_t i = 0; percpu && i < PERCPU_FIGURES; i++) {
		struct figure figure = {percpu_figure_name(i), percpu_figure_caption(i), write_percpu, i};
		if (percpu_figure_useful(i, percpu) && !make_figure(report, at, &figure, error))
			return false;
	}
	return true;
}

static bool timeline_figures(struct report *report, size_t at, struct error *error)
{
	const struct timeline *timeline = &report->model.timelines[at];
	struct figure sites = {"sites", "Live bytes by the call stack that allocated them", write_sites, 0};
	struct figure sizes = {"sizes", "Allocations by size class: calls, and bytes asked for", write_sizes,
			       0};
	for (size_t i = 0; i < plot_series_figures(); i++) {
		struct figure series = {plot_series_name(i), plot_series_caption(i), write_series, i};
		if (plot_series_useful(i, report, at) && !make_figure(report, at, &series, error))
			return false;
	}
	if (plot_sites_useful(timeline) && !make_figure(report, at, &sites, error))
		return false;
	if (plot_sizes_useful(timeline) && !make_figure(report, at, &sizes, error))
		return false;
	return page_figures(report, at, error) && percpu_figures(report, at, error);
}

bool report_plot_write(struct report *report, struct error *error)
{
	char folder[REPORT_PATH_BYTES];
	report->figures = calloc(REPORT_FIGURES_MAX, sizeof *report->figures);
	if (!report->figures)
		return error_set(error, ERROR_INTERNAL, NULL, ERROR_NO_OFFSET, "out of memory");
	if (!report_path(report, "plots", folder, error) || !make_folder(folder, error))
		return false;
	remove_old(folder);
	struct progress progress;
	progress_start(&progress, "drawing");
	bool fine = true;
	for (size_t i = 0; fine && i < report->model.timeline_count; i++) {
		progress_update(&progress, i, report->model.timeline_count);
		fine = timeline_figures(report, i, error);
	}
	progress_end(&progress);
	return fine;
}
