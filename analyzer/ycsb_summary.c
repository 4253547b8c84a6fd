#include "analyzer/ycsb_summary.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/command.h"
#include "analyzer/escape.h"
#include "analyzer/gnuplot.h"
#include "analyzer/plot_levels.h"
#include "analyzer/ycsb_audit.h"

#define PATH_BYTES 4096

/* ---- paths ------------------------------------------------------------------------------------------- */

static const char *base_name(const char *prefix)
{
	const char *slash = strrchr(prefix, '/');
	return slash ? slash + 1 : prefix;
}

bool ycsb_summary_prefix(const char *prefix, struct error *error)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-+";
	const char *name = base_name(prefix);
	if (*name == 0 || *name == '-' || name[strspn(name, allowed)] != 0)
		return error_set(
			error, ERROR_USAGE, prefix, ERROR_NO_OFFSET,
			"no name for files: give --summary letters, digits and . _ - + (not - first) "
			"behind the folder");
	if (strlen(prefix) + 8 >= PATH_BYTES)
		return error_set(error, ERROR_USAGE, NULL, ERROR_NO_OFFSET,
				 "the path given to --summary is too long");
	return true;
}

/* ---- CSV --------------------------------------------------------------------------------------------- */

static void put_real(FILE *file, double value)
{
	fputc(',', file);
	if (isfinite(value))
		fprintf(file, "%.12g", value);
}

static void put_count(FILE *file, uint64_t value)
{
	fputc(',', file);
	if (value != YCSB_UNKNOWN)
		fprintf(file, "%" PRIu64, value);
}

static void put_text(FILE *file, const char *text)
{
	fputc(',', file);
	escape_csv(file, text ? text : "");
}

static void put_flags(FILE *file, const struct ycsb_audit *audit)
{
	fputc(',', file);
	for (size_t i = 0; i < audit->finding_count; i++)
		fprintf(file, "%s%s", i ? " " : "", audit->findings[i].id);
}

/* What is the same in every row of a run. */
static void put_run(FILE *file, const struct ycsb_file *in, size_t index, const struct ycsb_audit *audit)
{
	const struct ycsb_run *run = &in->runs[index];
	escape_csv(file, in->path);
	put_count(file, index + 1);
	put_text(file, run->client);
	put_text(file, ycsb_phase_name(run->phase));
	put_count(file, audit->threads);
}

static void put_overall(FILE *file, const struct ycsb_file *in, size_t index, const struct ycsb_audit *audit)
{
	const struct ycsb_run *run = &in->runs[index];
	put_run(file, in, index, audit);
	put_text(file, "OVERALL");
	put_real(file, run->throughput_ops_s);
	put_real(file, audit->operations_done);
	put_real(file, audit->mean_us);
	fputs(",,,,,", file);
	put_real(file, run->runtime_ms);
	put_real(file, run->error_rate);
	put_text(file, ycsb_threads_source_name(audit->threads_source));
	put_real(file, audit->threads_busy);
	fprintf(file, ",%d,%d", run->complete, audit->worst < YCSB_INVALID);
	put_flags(file, audit);
	fputc('\n', file);
}

static void put_operation(FILE *file, const struct ycsb_file *in, size_t index,
			  const struct ycsb_audit *audit, const struct ycsb_operation *operation)
{
	put_run(file, in, index, audit);
	put_text(file, operation->name);
	put_real(file, operation->count == YCSB_UNKNOWN
			       ? NAN
			       : (double)operation->count / (in->runs[index].runtime_ms / 1000));
	put_count(file, operation->count);
	put_real(file, operation->mean_us);
	put_real(file, operation->min_us);
	put_real(file, ycsb_percentile_us(operation, 50));
	put_real(file, ycsb_percentile_us(operation, 95));
	put_real(file, ycsb_percentile_us(operation, 99));
	put_real(file, operation->max_us);
	fprintf(file, ",,,,,%d,%d,\n", in->runs[index].complete, audit->worst < YCSB_INVALID);
}

static void put_table(FILE *file, const struct ycsb_file *files, size_t count)
{
	fputs("file,run,client,phase,threads,operation,throughput_ops_s,operations,mean_us,min_us,p50_us,p95_"
	      "us,p99_us,max_us,"
	      "runtime_ms,error_rate,threads_source,threads_busy,complete,valid,flags\n",
	      file);
	for (size_t f = 0; f < count; f++) {
		for (size_t r = 0; r < files[f].run_count; r++) {
			struct ycsb_audit audit;
			ycsb_audit(files, count, f, r, &audit);
			put_overall(file, &files[f], r, &audit);
			for (size_t i = 0; i < files[f].runs[r].operation_kinds; i++)
				put_operation(file, &files[f], r, &audit, &files[f].runs[r].operations[i]);
		}
	}
}

/* ---- plot -------------------------------------------------------------------------------------------- */

enum { PANEL_THROUGHPUT, PANEL_MEAN, PANEL_P95, PANEL_COUNT, PANELS };

static bool has_phase(const struct ycsb_file *files, size_t count, bool load)
{
	for (size_t f = 0; f < count; f++)
		for (size_t r = 0; r < files[f].run_count; r++)
			if ((files[f].runs[r].phase == YCSB_PHASE_LOAD) == load)
				return true;
	return false;
}

static bool add_run(struct level_panel *panels, const struct ycsb_run *run, const struct ycsb_audit *audit)
{
	double level = (double)audit->threads;
	bool fine = level_add(&panels[PANEL_THROUGHPUT], "all operations", level, run->throughput_ops_s) &&
		    level_add(&panels[PANEL_COUNT], "all operations", level, audit->operations_done);
	for (size_t i = 0; fine && i < run->operation_kinds; i++) {
		const struct ycsb_operation *operation = &run->operations[i];
		enum ycsb_operation_class class = ycsb_classify(operation->name);
		if (class != YCSB_OP_DONE && class != YCSB_OP_FOREIGN)
			continue;
		fine = level_add(&panels[PANEL_MEAN], operation->name, level, operation->mean_us) &&
		       level_add(&panels[PANEL_P95], operation->name, level,
				 ycsb_percentile_us(operation, 95));
	}
	return fine;
}

/* False where memory is short. */
static bool fill_panels(struct level_panel *panels, const struct ycsb_file *files, size_t count,
			size_t *drawn, size_t *left_out)
{
	bool runs_only = has_phase(files, count, false);
	for (size_t f = 0; f < count; f++) {
		for (size_t r = 0; r < files[f].run_count; r++) {
			struct ycsb_audit audit;
			const struct ycsb_run *run = &files[f].runs[r];
			ycsb_audit(files, count, f, r, &audit);
			if (runs_only && run->phase == YCSB_PHASE_LOAD)
				continue;
			if (audit.worst == YCSB_INVALID || audit.threads == YCSB_UNKNOWN ||
			    audit.threads == 0) {
				++*left_out;
				continue;
			}
			if (!add_run(panels, run, &audit))
				return false;
			++*drawn;
		}
	}
	return true;
}

static bool write_script(const char *path, const char *name, const struct level_panel *panels,
			 const char *title, struct error *error)
{
	FILE *script = output_open(path, error);
	if (!script)
		return false;
	plot_levels_write(script, name, title, "points: runs; lines: medians", "threads", panels, PANELS);
	return output_close(script, path, error);
}

static void draw(const char *prefix, const char *name)
{
	char folder[PATH_BYTES], script[PATH_BYTES], message[200];
	size_t length = (size_t)(name - prefix);
	snprintf(folder, sizeof folder, "%.*s", length ? (int)length : 1, length ? prefix : ".");
	snprintf(script, sizeof script, "%s.gp", name);
	enum gnuplot_result result = gnuplot_run("gnuplot", folder, script, message, sizeof message);
	if (result == GNUPLOT_MISSING)
		fprintf(stderr,
			"mtrace-analyze: no plot: gnuplot is not installed (Debian: gnuplot-nox); `gnuplot "
			"-d "
			"%s` in the folder of %s.gp draws it\n",
			script, prefix);
	else if (result == GNUPLOT_FAILED)
		fprintf(stderr, "mtrace-analyze: gnuplot could not draw %s.gp: %s\n", prefix, message);
}

static bool write_plot(const char *prefix, const struct ycsb_file *files, size_t count,
		       struct level_panel *panels, struct error *error)
{
	char path[PATH_BYTES], title[160];
	size_t drawn = 0, left_out = 0;
	if (!fill_panels(panels, files, count, &drawn, &left_out))
		return error_set(error, ERROR_INTERNAL, NULL, ERROR_NO_OFFSET, "out of memory");
	if (drawn == 0) {
		fprintf(stderr, "mtrace-analyze: no plot: no run is valid and has a thread level\n");
		return true;
	}
	snprintf(title, sizeof title, "%zu run%s against threads", drawn, drawn == 1 ? "" : "s");
	if (left_out > 0)
		snprintf(title + strlen(title), sizeof title - strlen(title),
			 " (%zu left out: invalid, or of unknown level)", left_out);
	snprintf(path, sizeof path, "%s.gp", prefix);
	if (!write_script(path, base_name(prefix), panels, title, error))
		return false;
	draw(prefix, base_name(prefix));
	return true;
}

bool ycsb_summary_write(const char *prefix, const struct ycsb_file *files, size_t count, struct error *error)
{
	char path[PATH_BYTES];
	struct level_panel panels[PANELS] = {
		[PANEL_THROUGHPUT] = {.title = "Throughput", .unit = "ops/s"},
		[PANEL_MEAN] = {.title = "Mean latency", .unit = "us"},
		[PANEL_P95] = {.title = "p95 latency", .unit = "us"},
		[PANEL_COUNT] = {.title = "Operations", .unit = "operations"},
	};
	if (!ycsb_summary_prefix(prefix, error))
		return false;
	snprintf(path, sizeof path, "%s.csv", prefix);
	FILE *file = output_open(path, error);
	if (!file)
		return false;
	put_table(file, files, count);
	bool written = output_close(file, path, error) && write_plot(prefix, files, count, panels, error);
	for (size_t i = 0; i < PANELS; i++)
		level_panel_free(&panels[i]);
	return written;
}
