#include "analyzer/report_html.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/escape.h"
#include "analyzer/format.h"
#include "analyzer/info.h"
#include "analyzer/report_locks.h"
#include "analyzer/report_text.h"
#include "analyzer/report_percpu.h"
#include "analyzer/scale.h"

static const char page_head[] = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
				"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
				"style-src 'unsafe-inline'; img-src data:\">\n"
				"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
				"<meta name=\"color-scheme\" content=\"light\">\n";

static const char page_style[] =
	"<style>\n"
	"body { font: 15px/1.5 'DejaVu Sans', Helvetica, Arial, sans-serif; color: #222; background: #fff;"
	" max-width: 1120px; margin: 2rem auto; padding: 0 1rem; }\n"
	"h1 { font-size: 1.5rem; font-weight: 600; margin: 0 0 .2rem; overflow-wrap: anywhere; }\n"
	"h2 { font-size: 1.15rem; font-weight: 600; margin: 2.2rem 0 .6rem; border-bottom: 1px solid #ddd; "
	"}\n"
	"p.sub { color: #555; margin: 0; }\n"
	"pre { background: #f6f7f9; padding: .8rem 1rem; overflow-x: auto; font-size: 13px; line-height: "
	"1.45; }\n"
	"table { border-collapse: collapse; font-size: 14px; }\n"
	"th { text-align: left; font-weight: 600; border-bottom: 1px solid #999; }\n"
	"th, td { padding: .2rem .9rem .2rem 0; vertical-align: top; }\n"
	"td { border-bottom: 1px solid #eee; overflow-wrap: anywhere; }\n"
	"th.n, td.n { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }\n"
	"tr.weak td { color: #777; }\n"
	"figure { margin: 1.2rem 0 1.8rem; break-inside: avoid; }\n"
	"figure img { width: 100%; height: auto; }\n"
	"figcaption { color: #555; font-size: 14px; }\n"
	"dt { font-weight: 600; }\n"
	"dd { margin: 0 0 .6rem 1.2rem; overflow-wrap: anywhere; }\n"
	"p.method { color: #555; font-size: 13px; }\n"
	"@media print { body { margin: 0; font-size: 10pt; } pre { white-space: pre-wrap; } a { color: "
	"inherit; } }\n"
	"</style>\n";

/* ---- parts ------------------------------------------------------------------------------------------- */

static void cell(FILE *file, const char *class, const char *text)
{
	fprintf(file, "<td%s>", class);
	escape_html(file, text);
	fputs("</td>", file);
}

#define NUMBER " class=\"n\""

static void number_cell(FILE *file, const char *format, double value)
{
	char text[48] = "";
	if (isfinite(value))
		snprintf(text, sizeof text, format, value);
	cell(file, NUMBER, text);
}

void html_base64(FILE *file, const unsigned char *data, size_t bytes)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	for (size_t i = 0; i < bytes; i += 3) {
		size_t have = bytes - i < 3 ? bytes - i : 3;
		unsigned group = (unsigned)data[i] << 16 | (have > 1 ? (unsigned)data[i + 1] << 8 : 0) |
				 (have > 2 ? (unsigned)data[i + 2] : 0);
		char four[4] = {digits[group >> 18], digits[group >> 12 & 63], digits[group >> 6 & 63],
				digits[group & 63]};
		for (size_t pad = have + 1; pad < 4; pad++)
			four[pad] = '=';
		fwrite(four, 1, 4, file);
	}
}

/* A whole number of base64 groups at a time. */
static void inline_file(FILE *file, const char *path)
{
	unsigned char data[3 * 4096];
	FILE *from = fopen(path, "rb");
	if (!from)
		return;
	for (size_t bytes; (bytes = fread(data, 1, sizeof data, from)) > 0;)
		html_base64(file, data, bytes);
	fclose(from);
}

/* Line by line, since a control character inside of one is shown as '?'. Writes to `text`. */
static void preformatted(FILE *file, char *text)
{
	fputs("<pre>", file);
	for (char *line = text, *end; *line; line = end) {
		end = line + strcspn(line, "\n");
		bool more = *end != 0;
		*end = 0;
		escape_html(file, line);
		fputc('\n', file);
		end += more;
	}
	fputs("</pre>\n", file);
}

/* ---- sections ---------------------------------------------------------------------------------------- */

static void write_head(FILE *file, const struct report *report)
{
	const struct model *model = &report->model;
	char start[FORMAT_TEXT_BYTES], length[FORMAT_TEXT_BYTES];
	fputs(page_head, file);
	fputs("<title>", file);
	escape_html(file, model->timelines[0].label);
	fputs(" - mtrace report</title>\n", file);
	fputs(page_style, file);
	fputs("</head>\n<body>\n<h1>", file);
	for (size_t i = 0; i < model->timeline_count; i++) {
		fputs(i ? "; " : "", file);
		escape_html(file, model->timelines[i].label);
	}
	fprintf(file, "</h1>\n<p class=\"sub\">mtrace report, from %s, %s</p>\n",
		format_utc(start, model->start_ns),
		format_seconds(length, report_seconds(report, model->end_ns)));
}

static void write_traces(FILE *file, const struct report *report)
{
	fputs("<h2>Traces</h2>\n", file);
	for (size_t i = 0; i < report->model.stage_count; i++) {
		const struct stage *stage = &report->model.stages[i];
		char *text = NULL;
		size_t bytes = 0;
		FILE *memory = open_memstream(&text, &bytes);
		if (!memory)
			continue;
		info_print(memory, stage->trace,
			   &(struct info_pass){&stage->totals, &stage->stats, &stage->rseq, stage->regions});
		if (fclose(memory) == 0)
			preformatted(file, text);
		free(text);
	}
}

static void write_memory(FILE *file, const struct report *report)
{
	for (size_t i = 0; i < report->model.stage_count; i++) {
		const struct stage *stage = &report->model.stages[i];
		char *text = stage->hugepages_text ? strdup(stage->hugepages_text) : NULL;
		if (!text)
			continue;
		fputs("<h2>Huge pages</h2>\n", file);
		preformatted(file, text);
		free(text);
	}
}

static void write_percpu(FILE *file, const struct report *report)
{
	for (size_t i = 0; report->percpu && i < report->model.stage_count; i++) {
		char *text = strdup(report->percpu[i].text);
		if (!text)
			continue;
		fputs("<h2>CPUs and caches</h2>\n", file);
		preformatted(file, text);
		free(text);
	}
}

static void write_locks(FILE *file, const struct report *report)
{
	for (size_t i = 0; i < report->model.stage_count; i++) {
		char *text = report_locks_text(report, i);
		if (text) {
			fputs("<h2>Locks</h2>\n", file);
			preformatted(file, text);
		}
		free(text);
	}
}

static void write_findings(FILE *file, const struct report *report)
{
	if (report->findings.count == 0)
		return;
	fputs("<h2>Findings</h2>\n<dl>\n", file);
	for (size_t i = 0; i < report->findings.count; i++) {
		fputs("<dt>", file);
		escape_html(file, report->findings.items[i].id);
		fputs("</dt><dd>", file);
		escape_html(file, report->findings.items[i].text);
		fputs("</dd>\n", file);
	}
	fputs("</dl>\n", file);
}

static void write_plots(FILE *file, const struct report *report)
{
	fputs("<h2>Plots</h2>\n", file);
	if (report->plots_missing[0]) {
		fputs("<p>", file);
		escape_html(file, report->plots_missing);
		fputs(".</p>\n", file);
	}
	for (size_t i = 0; i < report->figure_count; i++) {
		const struct figure_file *figure = &report->figures[i];
		char path[REPORT_PATH_BYTES];
		snprintf(path, sizeof path, "%s/plots/%s.svg", report->directory, figure->name);
		fputs("<figure>\n<img alt=\"", file);
		escape_html(file, figure->caption);
		fputs("\" src=\"data:image/svg+xml;base64,", file);
		inline_file(file, path);
		fputs("\">\n<figcaption>", file);
		escape_html(file, figure->caption);
		fprintf(file, " (plots/%s.png, .svg)</figcaption>\n</figure>\n", figure->name);
	}
}

static void write_correlation(FILE *file, const struct report *report, const struct correlate_result *row)
{
	char label[160], p[16], adjusted[16];
	fputs(row->verdict == CORRELATE_NO_SUPPORT ? "<tr class=\"weak\">" : "<tr>", file);
	cell(file, "", report_series_label(report, row, label, sizeof label));
	number_cell(file, "%.2f", row->spearman);
	number_cell(file, "%.2f", row->pearson);
	number_cell(file, "%.1f", row->lag_s);
	number_cell(file, "%.1f", row->n_effective);
	cell(file, NUMBER, report_p_text(row->p, p));
	cell(file, NUMBER, report_p_text(row->p_adjusted, adjusted));
	cell(file, "", correlate_verdict_text(row->verdict));
	fputs("</tr>\n", file);
}

static void write_segments(FILE *file, const struct report *report)
{
	fputs("<table>\n<tr><th>segment</th><th class=\"n\">from, s</th><th class=\"n\">to, s</th><th "
	      "class=\"n\">intervals"
	      "</th><th class=\"n\">length, s</th><th>compared on</th></tr>\n",
	      file);
	for (size_t i = 0; i < report->alignment.segment_count; i++) {
		const struct segment *segment = &report->alignment.segments[i];
		fputs("<tr>", file);
		cell(file, "", segment->name);
		number_cell(file, "%.1f", report_seconds(report, segment->start_ns));
		number_cell(file, "%.1f", report_seconds(report, segment->end_ns));
		number_cell(file, "%.0f", (double)segment->count);
		number_cell(file, "%.3g", segment->interval_s);
		cell(file, "", segment->on_rows ? "the trace's rows" : "the client's status lines");
		fputs("</tr>\n", file);
	}
	fputs("</table>\n", file);
}

static void write_correlations(FILE *file, const struct report *report)
{
	size_t *order = malloc((report->aligned.results.count + 1) * sizeof *order);
	size_t count = order ? report_pooled_order(report, order) : 0;
	if (report->alignment.segment_count) {
		fputs("<h2>Throughput and the trace</h2>\n", file);
		write_segments(file, report);
	}
	if (count) {
		fputs("<p></p>\n<table>\n<tr><th>series</th><th class=\"n\">Spearman</th><th "
		      "class=\"n\">Pearson</th><th "
		      "class=\"n\">lag, s</th><th class=\"n\">n eff</th><th class=\"n\">p</th><th "
		      "class=\"n\">p adj</th>"
		      "<th>verdict</th></tr>\n",
		      file);
		for (size_t i = 0; i < count; i++)
			write_correlation(file, report, &report->aligned.results.rows[order[i]]);
		fputs("</table>\n<p class=\"method\">", file);
		char lags[128];
		escape_html(file, report_lags_text(report, lags, sizeof lags));
		fputc(' ', file);
		escape_html(file, report_method);
		fputs(" Each segment by itself: correlations.csv.</p>\n", file);
	}
	free(order);
}

static void write_operation(FILE *file, const struct ycsb_operation *operation)
{
	char count[FORMAT_TEXT_BYTES], text[SCALE_TEXT_BYTES];
	if (operation->count == YCSB_UNKNOWN || operation->count == 0)
		return;
	fputs("<tr><td></td>", file);
	cell(file, "", operation->name);
	cell(file, NUMBER, format_count(count, operation->count));
	cell(file, NUMBER, scale_text(operation->mean_us, "us", text));
	cell(file, NUMBER, scale_text(ycsb_percentile_us(operation, 95), "us", text));
	cell(file, NUMBER, scale_text(ycsb_percentile_us(operation, 99), "us", text));
	fputs("</tr>\n", file);
}

static void write_run(FILE *file, const struct ycsb_run *run)
{
	char text[SCALE_TEXT_BYTES], line[400], threads[FORMAT_TEXT_BYTES] = "unknown";
	const char *phase = ycsb_phase_name(run->phase);
	uint64_t level = ycsb_threads(run);
	if (level != YCSB_UNKNOWN)
		format_count(threads, level);
	snprintf(line, sizeof line, "%s, %s thread%s: %s (%s)", phase ? phase : "phase unknown", threads,
		 level == 1 ? "" : "s", scale_text(run->throughput_ops_s, "ops/s", text), run->clock_text);
	fputs("<tr><td colspan=\"6\">", file);
	escape_html(file, line);
	fputs("</td></tr>\n", file);
	for (size_t i = 0; i < run->operation_kinds; i++)
		write_operation(file, &run->operations[i]);
}

static void write_client(FILE *file, const struct report *report)
{
	if (report->file_count == 0)
		return;
	fputs("<h2>YCSB</h2>\n", file);
	for (size_t f = 0; f < report->file_count; f++) {
		fputs("<p>", file);
		escape_html(file, report->files[f].path);
		fputs("</p>\n<table>\n<tr><th></th><th>operation</th><th class=\"n\">count</th><th "
		      "class=\"n\">mean</th><th "
		      "class=\"n\">p95</th><th class=\"n\">p99</th></tr>\n",
		      file);
		for (size_t r = 0; r < report->files[f].run_count; r++)
			write_run(file, &report->files[f].runs[r]);
		fputs("</table>\n", file);
	}
}

bool report_html_write(const struct report *report, struct error *error)
{
	char path[REPORT_PATH_BYTES];
	if (!report_path(report, "index.html", path, error))
		return false;
	FILE *file = output_open(path, error);
	if (!file)
		return false;
	write_head(file, report);
	write_traces(file, report);
	write_memory(file, report);
	write_percpu(file, report);
	write_locks(file, report);
	write_findings(file, report);
	write_plots(file, report);
	write_correlations(file, report);
	write_client(file, report);
	fputs("</body>\n</html>\n", file);
	return output_close(file, path, error);
}
