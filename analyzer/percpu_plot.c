#include "analyzer/percpu_plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/command.h"
#include "analyzer/format.h"
#include "analyzer/gnuplot.h"
#include "analyzer/percpu_advice.h"
#include "analyzer/plot_script.h"

#define CURVE_PX      460u
#define MATRIX_PX     760u
#define FIGURE_MATRIX CACHE_DESIGNS /* the curves come first, by design */

static const struct {
	const char *name, *caption;
} figures[PERCPU_FIGURES] = {
	{"percpu-curve", "Misses by capacity: per-CPU caches as in google/tcmalloc"},
	{"thread-curve", "Misses by capacity: per-thread caches as in gperftools"},
	{"percpu-matrix", "Blocks by the CPU that allocated them and the CPU that freed them"},
};

const char *percpu_figure_name(size_t figure)
{
	return figures[figure].name;
}

const char *percpu_figure_caption(size_t figure)
{
	return figures[figure].caption;
}

/* ---- curves -------------------------------------------------------------------------------------------- */

/* Columns: position, misses of all calls, of allocations, of frees, low and high of the first; in percent. */
static double write_curve(FILE *script, const struct percpu *percpu, enum cache_design design, size_t lanes)
{
	double largest = 0;
	script_data_begin(script, "$curve");
	for (size_t i = 0; i < lanes; i++) {
		const struct percpu_result result = percpu_result(percpu, design, i);
		char capacity[FORMAT_TEXT_BYTES];
		fprintf(script, "%zu", i);
		script_value(script, 100 * (1 - result.hit_ratio));
		script_value(script,
			     result.allocs ? 100.0 * (double)result.counts.underflows / (double)result.allocs
					   : NAN);
		script_value(script, result.frees
					     ? 100.0 * (double)result.counts.overflows / (double)result.frees
					     : NAN);
		script_value(script, 100 * (1 - result.high));
		script_value(script, 100 * (1 - result.low));
		fprintf(script, " \"%s\"\n", format_bytes(capacity, (double)result.counts.capacity_bytes));
		if (result.allocs)
			largest = fmax(largest,
				       100.0 * (double)result.counts.underflows / (double)result.allocs);
		if (result.frees)
			largest =
				fmax(largest, 100.0 * (double)result.counts.overflows / (double)result.frees);
	}
	script_data_end(script);
	return largest;
}

static void mark_lane(FILE *script, unsigned label, size_t lane, const char *text, double height)
{
	if (lane == ADVICE_NONE)
		return;
	fprintf(script,
		"set arrow %u from first %zu, graph 0 to first %zu, graph %.2f nohead lc rgb '#888888' dt 2\n"
		"set label %u '%s' at first %zu, graph %.2f center offset 0,0.6 textcolor rgb '#555555'\n",
		label, lane, lane, height, label, text, lane, height);
}

static void plot_curve(FILE *script, const struct percpu *percpu)
{
	fprintf(script, "plot ");
	if (percpu_is_sampled(percpu))
		fprintf(script,
			"$curve using 1:5:6 with filledcurves lc rgb '%s' fs transparent solid 0.2 "
			"title '95%% interval', \\\n     ",
			plot_color_rgb(PLOT_BLUE));
	fprintf(script,
		"$curve using 1:2:xtic(7) with linespoints lc rgb '%s' lw 2 pt 7 ps 0.6 title 'all calls', "
		"\\\n"
		"     $curve using 1:3 with linespoints lc rgb '%s' pt 7 ps 0.4 title 'underflows of "
		"allocations', \\\n"
		"     $curve using 1:4 with linespoints lc rgb '%s' pt 7 ps 0.4 title 'overflows of frees'\n",
		plot_color_rgb(PLOT_BLUE), plot_color_rgb(PLOT_VERMILLION), plot_color_rgb(PLOT_GREEN));
}

static void write_curves(FILE *script, const char *name, const struct percpu *percpu,
			 enum cache_design design)
{
	const struct advice advice = advise(percpu, design);
	const size_t lanes = cachemodel_lanes(percpu_model(percpu, design));
	script_begin(script, name);
	double largest = write_curve(script, percpu, design, lanes);
	for (int target = 0; target < PLOT_TARGETS; target++) {
		script_target(script, (enum plot_target)target, name, CURVE_PX);
		script_title(script, figures[design].caption,
			     design == CACHE_PER_CPU ? "share of calls that miss, by capacity of one CPU"
						     : "share of calls that miss, by capacity of all threads",
			     CURVE_PX);
		fprintf(script,
			"set tmargin at screen 0.86\nset bmargin at screen 0.2\nset lmargin at screen 0.08\n"
			"set rmargin at screen 0.97\nset key at graph 0.99,0.98 right top vertical\n"
			"set xrange [-0.5:%g]\nset yrange [0:%.9g]\nset format y '%%g%%%%'\n"
			"set xtics rotate by -35 scale 0\n",
			(double)lanes - 0.5, fmax(largest, 0.01) * 1.15);
		mark_lane(script, 11, advice.knee, "knee", 0.55);
		mark_lane(script, 12, advice.enough, "recommended", 0.45);
		plot_curve(script, percpu);
		fputs("set output\nreset\n", script);
	}
}

/* ---- matrix -------------------------------------------------------------------------------------------- */

/* Rows: freeing CPU; columns: allocating one. Returns how many CPUs are in a cell's side. */
static size_t write_cells(FILE *script, const struct percpu *percpu, size_t cpus, double *largest)
{
	const size_t step = cpus ? (cpus + PERCPU_PLOT_CELLS - 1) / PERCPU_PLOT_CELLS : 1;
	script_data_begin(script, "$cells");
	for (size_t death = 0; death < cpus; death += step) {
		for (size_t birth = 0; birth < cpus; birth += step) {
			double blocks = 0;
			for (size_t i = birth; i < birth + step && i < cpus; i++)
				for (size_t j = death; j < death + step && j < cpus; j++)
					blocks += percpu_cell(percpu, i, j).blocks;
			fprintf(script, "%s%.9g", birth ? " " : "", blocks);
			*largest = fmax(*largest, blocks);
		}
		fputs("\n", script);
	}
	script_data_end(script);
	return step;
}

/* The numbers of some twenty CPUs along each side. */
static void write_cpu_marks(FILE *script, char axis, const struct percpu_cpu *cpus, size_t count, size_t step)
{
	size_t cells = (count + step - 1) / step, every = cells / 20 + 1;
	fprintf(script, "set %ctics scale 0 (", axis);
	for (size_t i = 0; i < cells; i += every)
		fprintf(script, "%s\"%u\" %zu", i ? ", " : "", cpus[i * step].cpu, i);
	fputs(")\n", script);
}

static void write_matrix(FILE *script, const char *name, const struct percpu *percpu)
{
	size_t count = 0;
	double largest = 0;
	const struct percpu_cpu *cpus = percpu_cpus(percpu, &count);
	script_begin(script, name);
	size_t step = write_cells(script, percpu, count, &largest);
	for (int target = 0; target < PLOT_TARGETS; target++) {
		script_target(script, (enum plot_target)target, name, MATRIX_PX);
		script_title(script, figures[FIGURE_MATRIX].caption,
			     "number of blocks; on the diagonal those that stayed", MATRIX_PX);
		fputs("set tmargin at screen 0.9\nset bmargin at screen 0.09\nset lmargin at screen 0.12\n"
		      "set rmargin at screen 0.84\nset size ratio -1\nunset key\nunset grid\n"
		      "set xlabel 'allocated on CPU' textcolor rgb '#333333'\n"
		      "set ylabel 'freed on CPU' textcolor rgb '#333333'\n",
		      script);
		fprintf(script,
			"set palette defined (0 '#ffffff', 0.15 '#cfe3f3', 0.5 '%s', 1 '#08306b')\n"
			"set cbrange [0:%.9g]\nset format cb '%%.0s%%c'\nset autoscale xfix\nset autoscale "
			"yfix\n",
			plot_color_rgb(PLOT_SKY), fmax(largest, 1));
		write_cpu_marks(script, 'x', cpus, count, step);
		write_cpu_marks(script, 'y', cpus, count, step);
		fputs("plot $cells matrix with image notitle\nset output\nreset\n", script);
	}
}

/* ---- public -------------------------------------------------------------------------------------------- */

bool percpu_figure_useful(size_t figure, const struct percpu *percpu)
{
	size_t cpus;
	percpu_cpus(percpu, &cpus);
	if (figure == FIGURE_MATRIX)
		return cpus > 0 && percpu_totals(percpu)->flow.placed.samples > 0;
	const struct cachemodel *model = percpu_model(percpu, (enum cache_design)figure);
	return model && cachemodel_allocs(model) > 0 &&
	       !isnan(percpu_result(percpu, (enum cache_design)figure, 0).hit_ratio);
}

void percpu_figure_write(FILE *script, const char *name, size_t figure, const struct percpu *percpu)
{
	if (figure == FIGURE_MATRIX)
		write_matrix(script, name, percpu);
	else
		write_curves(script, name, percpu, (enum cache_design)figure);
}

static bool draw(const char *folder, const char *script, struct error *error)
{
	char message[200];
	enum gnuplot_result result = gnuplot_run("gnuplot", folder, script, message, sizeof message);
	if (result == GNUPLOT_DONE)
		return true;
	return error_set(error, ERROR_INTERNAL, script, ERROR_NO_OFFSET, "%s%.150s",
			 result == GNUPLOT_MISSING
				 ? "gnuplot is not installed (Debian: gnuplot-nox); the scripts are there"
				 : "gnuplot could not draw it: ",
			 result == GNUPLOT_MISSING ? "" : message);
}

bool percpu_plot_write(const char *folder, const struct percpu *percpu, struct error *error)
{
	bool good = true;
	for (size_t i = 0; i < PERCPU_FIGURES; i++) {
		char path[4096], script[64];
		if (!percpu_figure_useful(i, percpu))
			continue;
		snprintf(script, sizeof script, "%s.gp", figures[i].name);
		if (snprintf(path, sizeof path, "%s/%s", folder, script) >= (int)sizeof path)
			return error_set(error, ERROR_USAGE, folder, ERROR_NO_OFFSET,
					 "this path is too long");
		const char *trace = trace_info(percpu_trace(percpu))->path;
		FILE *file = output_spares(path, &trace, 1, error) ? output_open(path, error) : NULL;
		if (!file)
			return false;
		percpu_figure_write(file, figures[i].name, i, percpu);
		if (!output_close(file, path, error))
			return false;
		good = good && draw(folder, script, error);
	}
	return good;
}
