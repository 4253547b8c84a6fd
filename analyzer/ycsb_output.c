#include "analyzer/ycsb_output.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/command.h"
#include "analyzer/format.h"
#include "analyzer/ycsb_audit.h"

#define CELL_BYTES 40

/* ---- cells ------------------------------------------------------------------------------------------- */

static const char *real_cell(char *cell, double value, int decimals)
{
	if (isfinite(value))
		snprintf(cell, CELL_BYTES, "%.*f", decimals, value);
	else
		snprintf(cell, CELL_BYTES, "-");
	return cell;
}

/* Rates from 10 on have one decimal, smaller ones three digits. */
static const char *rate_cell(char *cell, double value)
{
	if (fabs(value) < 10)
		snprintf(cell, CELL_BYTES, "%.3g", value);
	else
		real_cell(cell, value, 1);
	return isfinite(value) ? cell : real_cell(cell, value, 1);
}

static const char *count_cell(char *cell, uint64_t value)
{
	char text[FORMAT_TEXT_BYTES];
	snprintf(cell, CELL_BYTES, "%.*s", CELL_BYTES - 1,
		 value == YCSB_UNKNOWN ? "-" : format_count(text, value));
	return cell;
}

/* A count that came as a product. */
static const char *whole_cell(char *cell, double value)
{
	if (isfinite(value) && value >= 0 && value < 1e18)
		return count_cell(cell, (uint64_t)llround(value));
	return real_cell(cell, value, 0);
}

static const char *percent_cell(char *cell, double share)
{
	if (isfinite(share))
		snprintf(cell, CELL_BYTES, "%.3g%%", 100 * share);
	else
		snprintf(cell, CELL_BYTES, "-");
	return cell;
}

/* ---- operations -------------------------------------------------------------------------------------- */

static const double shown_percentiles[] = {50, 95, 99, 99.9};
#define SHOWN (sizeof shown_percentiles / sizeof *shown_percentiles)

/* Ten operations above it are the least that a percentile needs to say anything about the next run. */
#define TAIL_LEAST 10

static bool tail_is_thin(const struct ycsb_operation *operation, double percentile)
{
	return operation->count == YCSB_UNKNOWN ||
	       (double)operation->count * (100 - percentile) / 100 < TAIL_LEAST - 1e-6;
}

/* Of `histogram`: more than the missing share took longer than its last bucket. */
static bool lies_beyond(const struct ycsb_operation *operation, double percentile)
{
	return operation->over_us > 0 && operation->over_count > 0 &&
	       (double)operation->over_count > (double)operation->count * (100 - percentile) / 100;
}

static const char *percentile_cell(char *cell, const struct ycsb_operation *operation, double percentile,
				   bool *thin)
{
	/* Of no operation at all YCSB prints 0. */
	double us = operation->count == 0 ? NAN : ycsb_percentile_us(operation, percentile);
	real_cell(cell, us, 0);
	if (isnan(us) && lies_beyond(operation, percentile))
		snprintf(cell, CELL_BYTES, ">%.0f", operation->over_us);
	if (!isnan(us) && tail_is_thin(operation, percentile)) {
		size_t length = strlen(cell);
		snprintf(cell + length, CELL_BYTES - length, "*");
		*thin = true;
	}
	return cell;
}

static void print_operation(FILE *file, const struct ycsb_operation *operation, bool *thin)
{
	char cell[CELL_BYTES];
	int length = (int)strlen(operation->name);
	fputs("  ", file);
	print_safe(file, operation->name);
	fprintf(file, "%*s", length < 22 ? 22 - length : 0, "");
	fprintf(file, " %13s", count_cell(cell, operation->count));
	fprintf(file, " %11s", real_cell(cell, operation->mean_us, 1));
	fprintf(file, " %9s", real_cell(cell, operation->min_us, 0));
	for (size_t i = 0; i < SHOWN; i++)
		fprintf(file, " %9s", percentile_cell(cell, operation, shown_percentiles[i], thin));
	fprintf(file, " %10s", real_cell(cell, operation->count == 0 ? NAN : operation->max_us, 0));
	if (operation->resolution_us > 0)
		fprintf(file, " %6.0f", operation->resolution_us);
	fputc('\n', file);
}

static bool any_resolution(const struct ycsb_run *run)
{
	for (size_t i = 0; i < run->operation_kinds; i++)
		if (run->operations[i].resolution_us > 0)
			return true;
	return false;
}

static void print_operations(FILE *file, const struct ycsb_run *run)
{
	bool thin = false;
	if (run->operation_kinds == 0)
		return;
	fprintf(file, "\n  %-22s %13s %11s %9s %9s %9s %9s %9s %10s%s\n", "latency (us)", "count", "mean",
		"min", "p50", "p95", "p99", "p99.9", "max", any_resolution(run) ? "   step" : "");
	for (size_t i = 0; i < run->operation_kinds; i++)
		print_operation(file, &run->operations[i], &thin);
	if (thin)
		fprintf(file, "  * fewer than %d operations were slower: says little about the next run\n",
			TAIL_LEAST);
}

static bool is_success(const char *status)
{
	return strcmp(status, "OK") == 0 || strcmp(status, "BATCHED_OK") == 0 || strcmp(status, "0") == 0;
}

/* "READ NOT_FOUND 12" for every status that is no success. */
static void print_failures(FILE *file, const struct ycsb_run *run)
{
	char cell[CELL_BYTES];
	bool any = false;
	for (size_t i = 0; i < run->operation_kinds; i++) {
		const struct ycsb_operation *operation = &run->operations[i];
		for (size_t r = 0; r < operation->return_count; r++) {
			if (is_success(operation->returns[r].name))
				continue;
			fputs(any ? ", " : "  failures     ", file);
			any = true;
			print_safe(file, operation->name);
			fputc(' ', file);
			print_safe(file, operation->returns[r].name);
			fprintf(file, " %s", count_cell(cell, operation->returns[r].count));
		}
	}
	if (any)
		fputc('\n', file);
}

/* ---- series ------------------------------------------------------------------------------------------ */

static void print_range(FILE *file, const struct ycsb_run *run)
{
	char low[CELL_BYTES], high[CELL_BYTES];
	double least = INFINITY, most = -INFINITY;
	size_t count = 0;
	for (size_t i = 0; i < run->interval_count; i++) {
		if (run->intervals[i].partial || isnan(run->intervals[i].ops_s))
			continue;
		least = fmin(least, run->intervals[i].ops_s);
		most = fmax(most, run->intervals[i].ops_s);
		count++;
	}
	if (count == 0) {
		fputs("  series       none\n", file);
		return;
	}
	fprintf(file, "  series       %zu interval%s of %.3g s, %s", count, count == 1 ? "" : "s",
		run->usual_interval_s, rate_cell(low, least));
	if (count > 1)
		fprintf(file, " to %s", rate_cell(high, most));
	fputs(" ops/s; ", file);
	print_safe(file, run->clock_text);
	fputc('\n', file);
}

static void print_series(FILE *file, const struct ycsb_run *run)
{
	char cell[CELL_BYTES], time[FORMAT_TEXT_BYTES];
	if (run->interval_count == 0)
		return;
	fprintf(file, "\n  %10s %9s %13s %13s %11s %11s\n", "t (s)", "length", "operations", "ops/s",
		"mean (us)", "p99 (us)");
	for (size_t i = 0; i < run->interval_count; i++) {
		const struct ycsb_interval *interval = &run->intervals[i];
		fprintf(file, "  %10.3f %9.3f %13s", interval->end_s, interval->end_s - interval->start_s,
			count_cell(cell, interval->operations));
		fprintf(file, " %13s", rate_cell(cell, interval->ops_s));
		fprintf(file, " %11s", real_cell(cell, interval->mean_us, 1));
		fprintf(file, " %11s", real_cell(cell, interval->p99_worst_us, 0));
		if (interval->end_ns != YCSB_NO_TIME)
			fprintf(file, "  %s", format_utc(time, interval->end_ns));
		fputs(interval->partial ? "  partial\n" : "\n", file);
	}
}

/* ---- run --------------------------------------------------------------------------------------------- */

static void print_heading(FILE *file, const struct ycsb_file *in, size_t index)
{
	const struct ycsb_run *run = &in->runs[index];
	fputc('\n', file);
	if (run->clients > 1)
		fprintf(file, "%u ", run->clients);
	print_safe(file, in->path);
	fprintf(file, "  (%s", ycsb_format_name(run->format));
	if (run->version[0]) {
		fputs(", YCSB ", file);
		print_safe(file, run->version);
	}
	if (run->client[0]) {
		fputs(", client ", file);
		print_safe(file, run->client);
	}
	if (in->run_count > 1 && run->clients > 1)
		fprintf(file, ", run %zu of %zu", index + 1, in->run_count);
	else if (in->run_count > 1)
		fprintf(file, ", run %zu of %zu, from line %" PRIu64, index + 1, in->run_count,
			run->first_line);
	fputs(")\n", file);
}

static void print_level(FILE *file, const struct ycsb_run *run, const struct ycsb_audit *audit)
{
	const char *phase = ycsb_phase_name(run->phase);
	fprintf(file, "  phase        %s", phase ? phase : "not known");
	if (audit->threads == YCSB_UNKNOWN)
		fputs(", threads not known", file);
	else
		fprintf(file, ", %" PRIu64 " thread%s (%s)", audit->threads, audit->threads == 1 ? "" : "s",
			ycsb_threads_source_name(audit->threads_source));
	if (!isnan(audit->threads_busy))
		fprintf(file, ", %.4g busy by Little's law", audit->threads_busy);
	if (run->target_ops_s > 0)
		fprintf(file, ", throttled to %.0f ops/s", run->target_ops_s);
	fputc('\n', file);
}

static void print_rate(FILE *file, const struct ycsb_run *run, const struct ycsb_audit *audit)
{
	char cell[CELL_BYTES], time[FORMAT_TEXT_BYTES];
	fprintf(file, "  throughput   %s ops/s", rate_cell(cell, run->throughput_ops_s));
	if (!isnan(run->runtime_ms))
		fprintf(file, " over %s", format_seconds(time, run->runtime_ms / 1000));
	fprintf(file, ", %s operations", whole_cell(cell, audit->operations_done));
	fprintf(file, ", %s failed\n", percent_cell(cell, run->error_rate));
}

static void print_findings(FILE *file, const struct ycsb_audit *audit)
{
	for (size_t i = 0; i < audit->finding_count; i++) {
		const struct ycsb_finding *finding = &audit->findings[i];
		fprintf(file, "%s  %-12s %s: ", i == 0 ? "\n" : "", ycsb_severity_name(finding->severity),
			finding->id);
		print_safe(file, finding->text);
		fputc('\n', file);
	}
}

static void print_run(FILE *file, const struct ycsb_file *in, size_t index, const struct ycsb_audit *audit,
		      const struct ycsb_output *output)
{
	const struct ycsb_run *run = &in->runs[index];
	print_heading(file, in, index);
	print_level(file, run, audit);
	print_rate(file, run, audit);
	print_failures(file, run);
	print_range(file, run);
	print_operations(file, run);
	if (output->series)
		print_series(file, run);
	print_findings(file, audit);
}

/* ---- overview ---------------------------------------------------------------------------------------- */

static const char *judgement(const struct ycsb_audit *audit)
{
	static const char *const words[] = {
		[YCSB_NOTE] = "good", [YCSB_WARNING] = "doubtful", [YCSB_INVALID] = "invalid"};
	return words[audit->worst];
}

static void print_line(FILE *file, const struct ycsb_file *in, size_t index, const struct ycsb_audit *audit)
{
	char cell[CELL_BYTES], name[64];
	const struct ycsb_run *run = &in->runs[index];
	const char *phase = ycsb_phase_name(run->phase), *slash = strrchr(in->path, '/');
	if (in->run_count > 1)
		snprintf(name, sizeof name, "#%zu", index + 1);
	else
		name[0] = 0;
	fprintf(file, "  %-5s %-4s", phase ? phase : "-", name);
	fprintf(file, " %7s", count_cell(cell, audit->threads));
	fprintf(file, " %8s", real_cell(cell, audit->threads_busy, 2));
	fprintf(file, " %13s", rate_cell(cell, run->throughput_ops_s));
	fprintf(file, " %14s", whole_cell(cell, audit->operations_done));
	fprintf(file, " %11s", real_cell(cell, audit->mean_us, 1));
	fprintf(file, " %8s  %-8s  ", percent_cell(cell, run->error_rate), judgement(audit));
	print_safe(file, slash ? slash + 1 : in->path);
	fputc('\n', file);
}

static void print_overview(FILE *file, const struct ycsb_file *files, size_t count)
{
	fprintf(file, "\n  %-5s %-4s %7s %8s %13s %14s %11s %8s  %-8s  %s\n", "phase", "run", "threads",
		"busy", "ops/s", "operations", "mean (us)", "failed", "is", "file");
	for (size_t f = 0; f < count; f++) {
		for (size_t r = 0; r < files[f].run_count; r++) {
			struct ycsb_audit audit;
			ycsb_audit(files, count, f, r, &audit);
			print_line(file, &files[f], r, &audit);
		}
	}
}

void ycsb_print(FILE *file, const struct ycsb_file *files, size_t count, const struct ycsb_output *output)
{
	size_t runs = 0;
	for (size_t f = 0; f < count; f++) {
		runs += files[f].run_count;
		for (size_t r = 0; r < files[f].run_count && !output->brief; r++) {
			struct ycsb_audit audit;
			ycsb_audit(files, count, f, r, &audit);
			print_run(file, &files[f], r, &audit, output);
		}
	}
	if (output->brief || runs > 1)
		print_overview(file, files, count);
}
