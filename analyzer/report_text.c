#include "analyzer/report_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/format.h"
#include "analyzer/info.h"
#include "analyzer/report_locks.h"
#include "analyzer/report_percpu.h"
#include "analyzer/scale.h"
#include "analyzer/stats.h"

#define TEXT_COLUMNS 100

const char *report_p_text(double p, char out[16])
{
	if (isnan(p))
		snprintf(out, 16, "-");
	else if (p < 0.0001)
		snprintf(out, 16, "< 0.0001");
	else
		snprintf(out, 16, "%.*f", p < 0.01 ? 4 : 3, p);
	return out;
}

static void heading(FILE *file, const char *text)
{
	fprintf(file, "\n%s\n", text);
}

/* Breaks at blanks; lines after the first are indented by `indent`. `column` is where the first one begins.
 */
static void wrapped(FILE *file, const char *text, int column, int indent)
{
	while (*text) {
		int length = (int)strcspn(text, " ");
		if (column > indent && column + length > TEXT_COLUMNS) {
			fprintf(file, "\n%*s", indent, "");
			column = indent;
		}
		char word[512];
		snprintf(word, sizeof word, "%.*s", length, text);
		print_safe(file, word);
		column += length + 1;
		text += length;
		if (*text == ' ') {
			text++;
			if (column + (int)strcspn(text, " ") <= TEXT_COLUMNS)
				fputc(' ', file);
		}
	}
	fputc('\n', file);
}

/* ---- client ------------------------------------------------------------------------------------------ */

static void print_operation(FILE *file, const struct ycsb_operation *operation)
{
	char count[FORMAT_TEXT_BYTES], mean[SCALE_TEXT_BYTES], p95[SCALE_TEXT_BYTES], p99[SCALE_TEXT_BYTES];
	if (operation->count == YCSB_UNKNOWN || operation->count == 0 ||
	    strcmp(operation->name, "CLEANUP") == 0)
		return;
	fputs("      ", file);
	print_safe(file, operation->name);
	fprintf(file, "%*s %12s  mean %s, p95 %s, p99 %s\n", (int)(18 - strlen(operation->name) % 18), "",
		format_count(count, operation->count), scale_text(operation->mean_us, "us", mean),
		scale_text(ycsb_percentile_us(operation, 95), "us", p95),
		scale_text(ycsb_percentile_us(operation, 99), "us", p99));
}

static void print_run(FILE *file, const struct ycsb_run *run)
{
	char threads[FORMAT_TEXT_BYTES], throughput[SCALE_TEXT_BYTES], length[FORMAT_TEXT_BYTES];
	const char *phase = ycsb_phase_name(run->phase);
	uint64_t level = ycsb_threads(run);
	fprintf(file, "    %s, %s thread%s: %s", phase ? phase : "phase unknown",
		level == YCSB_UNKNOWN ? "unknown" : format_count(threads, level), level == 1 ? "" : "s",
		scale_text(run->throughput_ops_s, "ops/s", throughput));
	if (!isnan(run->runtime_ms))
		fprintf(file, " over %s", format_seconds(length, run->runtime_ms / 1000));
	fprintf(file, "; ");
	print_safe(file, run->clock_text);
	fputc('\n', file);
	for (size_t i = 0; i < run->operation_kinds; i++)
		print_operation(file, &run->operations[i]);
}

static void print_client(FILE *file, const struct report *report)
{
	if (report->file_count == 0)
		return;
	heading(file, "YCSB");
	for (size_t f = 0; f < report->file_count; f++) {
		fputs("  ", file);
		print_safe(file, report->files[f].path);
		fprintf(file, " (%s)\n", ycsb_format_name(report->files[f].format));
		for (size_t r = 0; r < report->files[f].run_count; r++)
			print_run(file, &report->files[f].runs[r]);
	}
}

static void print_segments(FILE *file, const struct report *report)
{
	for (size_t i = 0; i < report->alignment.segment_count; i++) {
		const struct segment *segment = &report->alignment.segments[i];
		char low[SCALE_TEXT_BYTES], high[SCALE_TEXT_BYTES], middle[SCALE_TEXT_BYTES];
		double *sorted = malloc((segment->count + 1) * sizeof *sorted);
		size_t known = 0;
		for (size_t j = 0; sorted && j < segment->count; j++)
			if (!isnan(segment->throughput[j]))
				sorted[known++] = segment->throughput[j];
		if (sorted)
			stats_sort(sorted, known);
		fprintf(file,
			"  %s: %zu intervals of %.3g s on the %s, from %.1f s to %.1f s of the trace;\n",
			segment->name, segment->count, segment->interval_s,
			segment->on_rows ? "trace's rows" : "client's status lines",
			report_seconds(report, segment->start_ns), report_seconds(report, segment->end_ns));
		if (known)
			fprintf(file, "      throughput %s, between %s and %s\n",
				scale_text(stats_quantile_sorted(sorted, known, 0.5), "ops/s", middle),
				scale_text(sorted[0], "ops/s", low),
				scale_text(sorted[known - 1], "ops/s", high));
		free(sorted);
	}
}

/* ---- correlations ------------------------------------------------------------------------------------ */

static void print_correlation(FILE *file, const struct report *report, const struct correlate_result *row)
{
	char label[160], p[16], adjusted[16];
	report_series_label(report, row, label, sizeof label);
	fprintf(file, "  %-28s %8.2f %8.2f %7.1f %7.1f %9s %9s  %s\n", label, row->spearman, row->pearson,
		row->lag_s, row->n_effective, report_p_text(row->p, p),
		report_p_text(row->p_adjusted, adjusted), correlate_verdict_text(row->verdict));
}

static void print_correlations(FILE *file, const struct report *report)
{
	size_t *order = malloc((report->aligned.results.count + 1) * sizeof *order);
	size_t count = order ? report_pooled_order(report, order) : 0;
	if (report->alignment.segment_count) {
		heading(file, "Throughput and the trace");
		print_segments(file, report);
	}
	if (count) {
		fprintf(file, "\n  %-28s %8s %8s %7s %7s %9s %9s\n", "series", "Spearman", "Pearson", "lag s",
			"n eff", "p", "p adj");
		for (size_t i = 0; i < count; i++)
			print_correlation(file, report, &report->aligned.results.rows[order[i]]);
		char lags[128];
		fprintf(file, "\n  %s\n  ", report_lags_text(report, lags, sizeof lags));
		wrapped(file, report_method, 2, 2);
	}
	free(order);
}

/* ---- all of it --------------------------------------------------------------------------------------- */

static void print_findings(FILE *file, const struct report *report)
{
	if (report->findings.count == 0)
		return;
	heading(file, "Findings");
	for (size_t i = 0; i < report->findings.count; i++) {
		const struct finding *finding = &report->findings.items[i];
		int column = fprintf(file, "  - %s: ", finding->id);
		wrapped(file, finding->text, column, 4);
	}
}

static void print_memory(FILE *file, const struct report *report)
{
	for (size_t i = 0; i < report->model.stage_count; i++) {
		const struct stage *stage = &report->model.stages[i];
		if (!stage->hugepages_text)
			continue;
		heading(file, "Huge pages");
		fputs(stage->hugepages_text, file);
	}
}

static void print_percpu(FILE *file, const struct report *report)
{
	for (size_t i = 0; report->percpu && i < report->model.stage_count; i++) {
		heading(file, "CPUs and caches");
		fputs(report->percpu[i].text, file);
	}
}

static void print_locks(FILE *file, const struct report *report)
{
	for (size_t i = 0; i < report->model.stage_count; i++) {
		char *text = report_locks_text(report, i);
		if (text) {
			heading(file, "Locks");
			fputs(text, file);
		}
		free(text);
	}
}

static void print_files(FILE *file, const struct report *report)
{
	heading(file, "Written");
	fputs("  ", file);
	print_safe(file, report->directory);
	fputs("/index.html   the report, with plots\n", file);
	fprintf(file,
		"  beside it: report.json, summary.txt, series.csv, aligned.csv, correlations.csv, "
		"sizes.csv, sites.csv, unused.csv"
		"%s%s\n",
		report->server_count ? ", server.csv" : "", report->figure_count ? ", plots/" : "");
}

void report_text_print(FILE *file, const struct report *report)
{
	for (size_t i = 0; i < report->model.stage_count; i++) {
		const struct stage *stage = &report->model.stages[i];
		if (i > 0)
			fputc('\n', file);
		info_print(file, stage->trace,
			   &(struct info_pass){&stage->totals, &stage->stats, &stage->rseq, stage->regions});
	}
	print_memory(file, report);
	print_percpu(file, report);
	print_locks(file, report);
	print_client(file, report);
	print_correlations(file, report);
	print_findings(file, report);
	print_files(file, report);
}

bool report_text_write(const struct report *report, struct error *error)
{
	char path[REPORT_PATH_BYTES];
	if (!report_path(report, "summary.txt", path, error))
		return false;
	FILE *file = output_open(path, error);
	if (!file)
		return false;
	report_text_print(file, report);
	return output_close(file, path, error);
}
