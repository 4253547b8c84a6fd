#include "analyzer/compare_plot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/command.h"
#include "analyzer/compare_knee.h"
#include "analyzer/gnuplot.h"
#include "analyzer/plot_levels.h"
#include "analyzer/stats.h"

#define PATH_BYTES  4096
#define PANELS_MAX  6
#define TITLE_BYTES 96

struct figure {
	const char *workload;
	struct level_panel panels[PANELS_MAX];
	char titles[PANELS_MAX][TITLE_BYTES];
	char operations[PANELS_MAX][YCSB_NAME_BYTES];
	size_t count;
	size_t points;
};

/* ---- paths ------------------------------------------------------------------------------------------- */

static const char *base_name(const char *prefix)
{
	const char *slash = strrchr(prefix, '/');
	return slash ? slash + 1 : prefix;
}

bool compare_plot_prefix(const char *prefix, struct error *error)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-+";
	const char *name = base_name(prefix);
	if (*name == 0 || *name == '-' || name[strspn(name, allowed)] != 0 ||
	    strlen(prefix) + 16 >= PATH_BYTES)
		return error_set(
			error, ERROR_USAGE, prefix, ERROR_NO_OFFSET,
			"no name for files: give --plot letters, digits and . _ - + (not - first) behind "
			"the folder");
	return true;
}

/* ---- panels ------------------------------------------------------------------------------------------ */

static enum compare_metric metric_of(size_t panel)
{
	return panel == 0 ? METRIC_THROUGHPUT : METRIC_P95;
}

static void add_panel(struct figure *figure, const char *operation)
{
	for (size_t i = 0; i < figure->count; i++)
		if (strcmp(figure->operations[i], operation) == 0)
			return;
	if (figure->count == PANELS_MAX)
		return;
	size_t panel = figure->count++;
	const struct metric_info *info = &metric_infos[metric_of(panel)];
	snprintf(figure->operations[panel], YCSB_NAME_BYTES, "%s", operation);
	if (panel == 0)
		snprintf(figure->titles[panel], TITLE_BYTES, "Throughput");
	else
		snprintf(figure->titles[panel], TITLE_BYTES, "%s, %s", info->title, operation);
	figure->panels[panel].title = figure->titles[panel];
	figure->panels[panel].unit = info->unit;
}

static bool is_drawn(const struct compare_run *run, const struct figure *figure)
{
	return run->use == RUN_USED && run->threads != YCSB_UNKNOWN && run->threads > 0 &&
	       strcmp(run->workload, figure->workload) == 0;
}

static void find_panels(const struct compare *compare, struct figure *figure)
{
	add_panel(figure, COMPARE_OVERALL);
	for (size_t i = 0; i < compare->run_count; i++) {
		const struct compare_run *run = &compare->runs[i];
		for (size_t v = 0; is_drawn(run, figure) && v < run->value_count; v++)
			if (run->values[v].metric == METRIC_P95)
				add_panel(figure, run->values[v].operation);
	}
}

/* Geometric mean and its interval by Student's t on the logarithms. */
static struct level_interval interval_of(const struct cell_values *values, double level)
{
	double log_sum = 0, squares = 0;
	for (size_t i = 0; i < values->count; i++)
		log_sum += log(values->values[i]);
	double mean = log_sum / (double)values->count;
	for (size_t i = 0; i < values->count; i++)
		squares += (log(values->values[i]) - mean) * (log(values->values[i]) - mean);
	struct level_interval interval = {level, exp(mean), NAN, NAN};
	if (values->count > 1) {
		double n = (double)values->count,
		       half = ratio_t_critical(RATIO_LEVEL, n - 1) * sqrt(squares / (n - 1) / n);
		interval.low = exp(mean - half);
		interval.high = exp(mean + half);
	}
	return interval;
}

static bool add_interval(const struct compare *compare, struct figure *figure, size_t panel, size_t arm,
			 uint64_t threads)
{
	struct cell_values values;
	bool fine = cell_values(compare, figure->workload, threads, arm, figure->operations[panel],
				metric_of(panel), &values);
	if (fine && values.count > 0)
		fine = level_add_interval(&figure->panels[panel], compare->arms[arm].label,
					  interval_of(&values, (double)threads));
	cell_values_free(&values);
	return fine;
}

/* The smallest level of the figure above `level`; YCSB_UNKNOWN behind the last. */
static uint64_t next_level(const struct compare *compare, const struct figure *figure, uint64_t level)
{
	uint64_t next = YCSB_UNKNOWN;
	for (size_t i = 0; i < compare->run_count; i++) {
		const struct compare_run *run = &compare->runs[i];
		if (is_drawn(run, figure) && run->threads > level && run->threads < next)
			next = run->threads;
	}
	return next;
}

static bool add_arm(const struct compare *compare, struct figure *figure, size_t panel, size_t arm)
{
	for (size_t i = 0; i < compare->run_count; i++) {
		const struct compare_run *run = &compare->runs[i];
		double value = run_value(run, figure->operations[panel], metric_of(panel), NULL);
		if (run->arm != arm || !is_drawn(run, figure) || isnan(value))
			continue;
		figure->points++;
		if (!level_add(&figure->panels[panel], compare->arms[arm].label, (double)run->threads, value))
			return false;
	}
	for (uint64_t level = next_level(compare, figure, 0); level != YCSB_UNKNOWN;
	     level = next_level(compare, figure, level))
		if (!add_interval(compare, figure, panel, arm, level))
			return false;
	return true;
}

static bool fill(const struct compare *compare, struct figure *figure)
{
	find_panels(compare, figure);
	for (size_t panel = 0; panel < figure->count; panel++)
		for (size_t arm = 0; arm < compare->arm_count; arm++)
			if (!add_arm(compare, figure, panel, arm))
				return false;
	return true;
}

/* ---- drawing ----------------------------------------------------------------------------------------- */

static void draw(const char *prefix, const char *name)
{
	char folder[PATH_BYTES], script[PATH_BYTES], message[256];
	size_t length = strlen(prefix) - strlen(name);
	snprintf(folder, sizeof folder, "%.*s", length ? (int)length : 1, length ? prefix : ".");
	snprintf(script, sizeof script, "%s.gp", name);
	enum gnuplot_result result = gnuplot_run("gnuplot", folder, script, message, sizeof message);
	if (result == GNUPLOT_MISSING)
		fprintf(stderr, "mtrace-analyze: gnuplot is not installed: no plots, but %s.gp draws them\n",
			prefix);
	else if (result != GNUPLOT_DONE)
		fprintf(stderr, "mtrace-analyze: gnuplot cannot draw %s.gp: %s\n", prefix, message);
}

static bool write_figure(const char *prefix, const struct compare *compare, const struct figure *figure,
			 struct error *error)
{
	char path[PATH_BYTES + 8], title[160];
	snprintf(path, sizeof path, "%s.gp", prefix);
	snprintf(title, sizeof title, "%s%s%s, %zu arms", figure->workload, *figure->workload ? ": " : "",
		 "throughput and p95 latency", compare->arm_count);
	FILE *script = output_open(path, error);
	if (!script)
		return false;
	plot_levels_write(
		script, base_name(prefix), title,
		compare->arm_count > LEVEL_LINES_MAX
			? "points: runs; lines: geometric means, and 95% intervals, of the first arms, each "
			  "alone"
			: "points: runs; lines: geometric means, with the 95% interval of each arm alone",
		"threads", figure->panels, figure->count);
	if (!output_close(script, path, error))
		return false;
	draw(prefix, base_name(prefix));
	return true;
}

static bool plot_workload(const char *prefix, const struct compare *compare, const char *workload,
			  size_t *number, struct error *error)
{
	char numbered[PATH_BYTES];
	struct figure *figure = calloc(1, sizeof *figure);
	if (!figure)
		return error_set(error, ERROR_INTERNAL, NULL, ERROR_NO_OFFSET, "out of memory");
	figure->workload = workload;
	bool fine = fill(compare, figure) ||
		    error_set(error, ERROR_INTERNAL, NULL, ERROR_NO_OFFSET, "out of memory");
	snprintf(numbered, sizeof numbered, *number ? "%s-%zu" : "%s", prefix, *number + 1);
	if (fine && figure->points > 0) {
		++*number;
		fine = write_figure(numbered, compare, figure, error);
	}
	for (size_t i = 0; i < figure->count; i++)
		level_panel_free(&figure->panels[i]);
	free(figure);
	return fine;
}

static bool is_first_of_workload(const struct compare *compare, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (strcmp(compare->runs[i].workload, compare->runs[index].workload) == 0)
			return false;
	return true;
}

bool compare_plot(const char *prefix, const struct compare *compare, struct error *error)
{
	size_t number = 0;
	for (size_t i = 0; i < compare->run_count; i++)
		if (is_first_of_workload(compare, i) &&
		    !plot_workload(prefix, compare, compare->runs[i].workload, &number, error))
			return false;
	if (number == 0)
		fputs("mtrace-analyze: no run has a level of threads: nothing to plot\n", stderr);
	return true;
}
