/* Values onto grids: YCSB's onto the rows, the series onto the segments, and these to correlate(). */
#include "analyzer/align.h"

#include <math.h>
#include <stdlib.h>

#include "analyzer/span.h"

/* ---- YCSB's values on the rows ----------------------------------------------------------------------- */

const double *segment_values(const struct segment *segment, enum series_id series)
{
	if (series == SERIES_THROUGHPUT)
		return segment->throughput;
	return series == SERIES_LATENCY_MEAN ? segment->latency_mean_us : segment->latency_p99_us;
}

/* All grids one after the other; where two segments overlap, the earlier one keeps the time. */
static size_t grid_spans(const struct alignment *alignment, enum series_id series, struct span *spans)
{
	size_t count = 0;
	int64_t last_ns = INT64_MIN;
	for (size_t s = 0; s < alignment->segment_count; s++) {
		const struct segment *segment = &alignment->segments[s];
		const double *values = segment_values(segment, series);
		for (size_t i = 0; i < segment->count; i++) {
			struct grid_interval at = segment->grid[i];
			if (at.start_ns < last_ns)
				at.start_ns = last_ns;
			if (at.end_ns <= at.start_ns)
				continue;
			spans[count++] = (struct span){at.start_ns, at.end_ns, values[i]};
			last_ns = at.end_ns;
		}
	}
	return count;
}

bool align_rows(const struct alignment *alignment, struct model *model)
{
	static const enum series_id filled[] = {SERIES_THROUGHPUT, SERIES_LATENCY_MEAN, SERIES_LATENCY_P99};
	size_t points = 0;
	for (size_t s = 0; s < alignment->segment_count; s++)
		points += alignment->segments[s].count;
	struct span *spans = malloc((points + 1) * sizeof *spans);
	if (!spans)
		return false;
	for (size_t f = 0; f < sizeof filled / sizeof *filled; f++) {
		size_t count = grid_spans(alignment, filled[f], spans);
		for (size_t t = 0; t < model->timeline_count; t++) {
			struct timeline *timeline = &model->timelines[t];
			struct span_list list = {spans, count, 0};
			for (size_t i = 0; i < timeline->row_count; i++) {
				struct model_row *row = &timeline->rows[i];
				row->values[filled[f]] = span_mean(&list, row->start_ns, row->end_ns);
			}
		}
	}
	free(spans);
	return true;
}

/* ---- series on the grids ----------------------------------------------------------------------------- */

/* Rates hold for the whole row; a level, read at the ends, counts as the mean of both readings. */
static double row_mean(const struct timeline *timeline, size_t at, enum series_id series)
{
	const struct model_row *row = &timeline->rows[at];
	if (series_infos[series].kind == SERIES_RATE || at == 0 || row[-1].end_ns != row->start_ns)
		return row->values[series];
	return (row[-1].values[series] + row->values[series]) / 2;
}

static void take_spans(const struct timeline *timeline, enum series_id series, struct span *spans)
{
	for (size_t i = 0; i < timeline->row_count; i++) {
		const struct model_row *row = &timeline->rows[i];
		spans[i] = (struct span){row->start_ns, row->end_ns, row_mean(timeline, i, series)};
	}
}

/* The rows that lie within the segment's run. */
static struct span_list spans_within(const struct span *spans, size_t count, const struct segment *segment)
{
	size_t first = 0;
	while (first < count && spans[first].start_ns < segment->run_start_ns)
		first++;
	while (count > first && spans[count - 1].end_ns > segment->run_end_ns)
		count--;
	return (struct span_list){spans + first, count - first, 0};
}

/* The series over one segment; NULL where no value is known. False where memory is short. */
static bool grid_values(const struct timeline *timeline, const struct span *spans,
			const struct segment *segment, double **out)
{
	struct span_list list = spans_within(spans, timeline->row_count, segment);
	double *values = malloc(segment->count * sizeof *values);
	bool known = false;
	if (!values)
		return false;
	for (size_t i = 0; i < segment->count; i++) {
		values[i] = span_mean(&list, segment->grid[i].start_ns, segment->grid[i].end_ns);
		known |= !isnan(values[i]);
	}
	if (!known) {
		free(values);
		values = NULL;
	}
	*out = values;
	return true;
}

static bool series_fill(struct aligned_series *series, const struct model *model,
			const struct alignment *alignment)
{
	const struct timeline *timeline = &model->timelines[series->timeline];
	struct span *spans = malloc((timeline->row_count + 1) * sizeof *spans);
	series->values = calloc(alignment->segment_count, sizeof *series->values);
	bool fine = spans && series->values;
	if (fine)
		take_spans(timeline, series->series, spans);
	for (size_t s = 0; fine && s < alignment->segment_count; s++)
		fine = grid_values(timeline, spans, &alignment->segments[s], &series->values[s]);
	free(spans);
	return fine;
}

static bool is_tested(const struct model *model, size_t timeline, enum series_id id)
{
	if (!series_infos[id].correlated || series_from_server(id) != model->timelines[timeline].server)
		return false;
	for (size_t t = 0; series_infos[id].optional && t < model->timeline_count; t++)
		for (size_t r = 0; r < model->timelines[t].row_count; r++)
			if (!isnan(model->timelines[t].rows[r].values[id]))
				return true;
	return !series_infos[id].optional;
}

static bool all_series_fill(const struct model *model, const struct alignment *alignment, struct aligned *out)
{
	out->segment_count = alignment->segment_count;
	out->series = calloc(model->timeline_count * SERIES_COUNT, sizeof *out->series);
	if (!out->series)
		return false;
	for (size_t t = 0; t < model->timeline_count; t++) {
		for (size_t id = 0; id < SERIES_COUNT; id++) {
			if (!is_tested(model, t, (enum series_id)id))
				continue;
			struct aligned_series *series = &out->series[out->series_count++];
			*series = (struct aligned_series){t, (enum series_id)id, NULL};
			if (!series_fill(series, model, alignment))
				return false;
		}
	}
	return true;
}

static bool run_correlate(const struct alignment *alignment, struct aligned *out)
{
	struct correlate_segment *segments = calloc(alignment->segment_count, sizeof *segments);
	struct correlate_series *series = calloc(out->series_count + 1, sizeof *series);
	bool fine = segments && series;
	for (size_t s = 0; fine && s < alignment->segment_count; s++) {
		const struct segment *from = &alignment->segments[s];
		segments[s] = (struct correlate_segment){from->name, from->interval_s, from->count,
							 from->throughput};
	}
	for (size_t i = 0; fine && i < out->series_count; i++) {
		const struct aligned_series *from = &out->series[i];
		series[i] = (struct correlate_series){series_infos[from->series].name,
						      (const double *const *)from->values};
	}
	fine = fine &&
	       correlate(segments, alignment->segment_count, series, out->series_count, &out->results);
	free(segments);
	free(series);
	return fine;
}

bool align_correlate(const struct model *model, const struct alignment *alignment, struct aligned *out)
{
	*out = (struct aligned){0};
	if (alignment->segment_count == 0)
		return true;
	bool fine = all_series_fill(model, alignment, out) && run_correlate(alignment, out);
	if (!fine)
		aligned_free(out);
	return fine;
}

void aligned_free(struct aligned *aligned)
{
	for (size_t i = 0; i < aligned->series_count; i++) {
		for (size_t s = 0; aligned->series[i].values && s < aligned->segment_count; s++)
			free(aligned->series[i].values[s]);
		free(aligned->series[i].values);
	}
	free(aligned->series);
	correlate_results_free(&aligned->results);
	*aligned = (struct aligned){0};
}
