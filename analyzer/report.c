#include "analyzer/report.h"

#include <math.h>
#include <stdio.h>

#include "analyzer/command.h"

const char report_method[] = "Each YCSB run is a segment of its own; runs of several clients at the same "
			     "time are one. Throughput comes from "
			     "the differences between status lines. Both sides meet on the coarser of the "
			     "two grids, the client's status "
			     "intervals or the trace's rows, as means weighted by overlap. Spearman is at "
			     "the lag of the best match among those "
			     "tried (positive: the series leads; at most 10 s, and a quarter of the shortest "
			     "run); n eff is the number of independent "
			     "intervals after autocorrelation; p pays "
			     "for the lags tried, and p adj also for the number of series "
			     "(Benjamini-Hochberg; 0.05 is the limit). Segments "
			     "are pooled, never mixed. Correlation is association, not cause.";

bool report_path(const struct report *report, const char *name, char path[REPORT_PATH_BYTES],
		 struct error *error)
{
	int length = snprintf(path, REPORT_PATH_BYTES, "%s/%s", report->directory, name);
	if (length <= 0 || length >= REPORT_PATH_BYTES)
		return error_set(error, ERROR_USAGE, report->directory, ERROR_NO_OFFSET,
				 "this path is too long");
	for (size_t i = 0; i < sizeof report->inputs / sizeof *report->inputs; i++)
		if (!output_spares(path, report->inputs[i].paths, report->inputs[i].count, error))
			return false;
	return true;
}

const char *report_lags_text(const struct report *report, char *out, size_t bytes)
{
	const struct correlate_results *results = &report->aligned.results;
	double least_s = INFINITY, most_s = 0;
	for (size_t i = 0; i < results->count; i++) {
		const struct correlate_result *row = &results->rows[i];
		if (row->segment || !correlate_usable(row->verdict))
			continue;
		least_s = fmin(least_s, row->lag_max_s);
		most_s = fmax(most_s, row->lag_max_s);
	}
	if (most_s == 0)
		snprintf(out, bytes, "Lags tried: 0 s only.");
	else if (least_s < most_s)
		snprintf(out, bytes, "Lags tried: up to %.3g to %.3g s either way, by series.", least_s,
			 most_s);
	else
		snprintf(out, bytes, "Lags tried: up to %.3g s either way.", most_s);
	return out;
}

static bool row_before(const struct correlate_result *a, const struct correlate_result *b)
{
	if (a->p_adjusted != b->p_adjusted)
		return a->p_adjusted < b->p_adjusted;
	return a->p < b->p;
}

/* Insertion sort: a few dozen rows, and equal ones keep the order of the series. */
size_t report_pooled_order(const struct report *report, size_t *order)
{
	const struct correlate_results *results = &report->aligned.results;
	size_t count = 0;
	for (size_t i = 0; i < results->count; i++) {
		const struct correlate_result *row = &results->rows[i];
		if (row->segment || !correlate_usable(row->verdict))
			continue;
		size_t at = count++;
		for (; at > 0 && row_before(row, &results->rows[order[at - 1]]); at--)
			order[at] = order[at - 1];
		order[at] = i;
	}
	return count;
}

const char *report_series_label(const struct report *report, const struct correlate_result *row, char *out,
				size_t bytes)
{
	if (report->model.timeline_count > 1)
		snprintf(out, bytes, "%s [%zu]", row->series,
			 report->aligned.series[row->series_index].timeline + 1);
	else
		snprintf(out, bytes, "%s", row->series);
	return out;
}
