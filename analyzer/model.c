#include "analyzer/model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/stats.h"

/* ---- rows -------------------------------------------------------------------------------------------- */

static struct model_row *timeline_room(struct timeline *timeline)
{
	if (timeline->row_count == timeline->row_capacity) {
		size_t capacity = timeline->row_capacity ? 2 * timeline->row_capacity : 64;
		struct model_row *rows = realloc(timeline->rows, capacity * sizeof *rows);
		if (!rows)
			return NULL;
		timeline->rows = rows;
		timeline->row_capacity = capacity;
	}
	return &timeline->rows[timeline->row_count];
}

/* Rates go by CLOCK_MONOTONIC where both ends have it: the wall clock may have been stepped in between. */
static double row_length_s(int64_t start_ns, const struct snapshot *before, const struct snapshot *after)
{
	if (!before)
		return (double)((int64_t)after->mark.realtime_ns - start_ns) / 1e9;
	return ((double)after->mark.monotonic_ns - (double)before->mark.monotonic_ns) / 1e9;
}

struct model_row *timeline_append(struct timeline *timeline, int64_t start_ns, const struct snapshot *before,
				  const struct snapshot *after, bool *skipped)
{
	int64_t start = before ? (int64_t)before->mark.realtime_ns : start_ns;
	int64_t end = (int64_t)after->mark.realtime_ns;
	int64_t last = timeline->row_count ? timeline->rows[timeline->row_count - 1].end_ns : INT64_MIN;
	double length_s = row_length_s(start, before, after);
	if (start < last)
		start = last;
	*skipped = end <= start || !(length_s > 0);
	if (*skipped)
		return NULL;
	struct model_row *row = timeline_room(timeline);
	if (!row)
		return NULL;
	*row = (struct model_row){.start_ns = start, .end_ns = end};
	series_between(before, after, length_s, row->values);
	timeline->row_count++;
	return row;
}

struct model_row *timeline_append_interval(struct timeline *timeline, int64_t start_ns, int64_t end_ns)
{
	struct model_row *row = timeline_room(timeline);
	if (!row)
		return NULL;
	*row = (struct model_row){.start_ns = start_ns, .end_ns = end_ns};
	for (size_t i = 0; i < SERIES_COUNT; i++)
		row->values[i] = NAN;
	timeline->row_count++;
	return row;
}

bool timeline_finish(struct timeline *timeline)
{
	timeline->usual_interval_s = NAN;
	if (timeline->row_count == 0)
		return true;
	double *lengths = malloc(timeline->row_count * sizeof *lengths);
	if (!lengths)
		return false;
	for (size_t i = 0; i < timeline->row_count; i++)
		lengths[i] = (double)(timeline->rows[i].end_ns - timeline->rows[i].start_ns) / 1e9;
	double usual_s = stats_median(lengths, timeline->row_count);
	for (size_t i = 0; i < timeline->row_count; i++)
		timeline->rows[i].brief = lengths[i] < usual_s / 4;
	timeline->usual_interval_s = usual_s;
	free(lengths);
	return true;
}

/* Keeps row->sites in order, largest first: most sites of a scan end at the first comparison. */
void row_take_sites(struct model_row *row, const struct live_site *sites, size_t count)
{
	row->site_count = 0;
	for (size_t i = 0; i < count; i++) {
		double live_bytes = sites[i].live_bytes.value;
		uint32_t at = row->site_count;
		if (!(live_bytes > 0) ||
		    (at == MODEL_ROW_SITES && live_bytes <= row->sites[at - 1].live_bytes))
			continue;
		if (at < MODEL_ROW_SITES)
			row->site_count++;
		else
			at--;
		for (; at > 0 && row->sites[at - 1].live_bytes < live_bytes; at--)
			row->sites[at] = row->sites[at - 1];
		row->sites[at] = (struct site_level){(uint32_t)i, live_bytes, NAN};
	}
}

/* ---- invariants -------------------------------------------------------------------------------------- */

static const char *row_check(const struct model_row *row, const struct model_row *next,
			     const struct timeline *timeline)
{
	if (row->start_ns >= row->end_ns)
		return "a row ends before it starts";
	if (next && row->end_ns > next->start_ns)
		return "a row overlaps with the next one";
	if (row->site_count > MODEL_ROW_SITES)
		return "a row has too many sites";
	for (uint32_t i = 0; i < row->site_count; i++) {
		if (row->sites[i].site >= timeline->site_count)
			return "a row names a site that is not there";
		if (i > 0 && row->sites[i].live_bytes > row->sites[i - 1].live_bytes)
			return "the sites of a row are out of order";
	}
	return NULL;
}

const char *model_check(const struct model *model)
{
	for (size_t i = 0; i < model->timeline_count; i++) {
		const struct timeline *timeline = &model->timelines[i];
		for (size_t j = 0; j < timeline->row_count; j++) {
			const struct model_row *row = &timeline->rows[j];
			const char *wrong =
				row_check(row, j + 1 < timeline->row_count ? row + 1 : NULL, timeline);
			if (wrong)
				return wrong;
		}
	}
	return NULL;
}
