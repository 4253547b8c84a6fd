#include "analyzer/report_json.h"

#include <math.h>

#include "analyzer/info.h"
#include "analyzer/json.h"
#include "analyzer/regions_output.h"
#include "analyzer/report_percpu.h"
#include "analyzer/ycsb_object.h"

static void put_traces(json_t *object, const struct report *report)
{
	json_t *traces = json_array();
	uint64_t most = 0;
	size_t main = 0;
	for (size_t i = 0; i < report->model.stage_count; i++) {
		const struct stage *stage = &report->model.stages[i];
		const struct info_pass pass = {&stage->totals, &stage->stats, &stage->rseq, stage->regions};
		json_t *trace = info_json(stage->trace, &pass);
		if (report->model.stage_count > 1) {
			json_put(trace, "hugepages", json_incref(stage->hugepages));
			json_put(trace, "percpu",
				 report->percpu ? json_incref(report->percpu[i].json) : NULL);
			json_put(trace, "locks", json_incref(stage->locks_json));
		}
		json_array_append_new(traces, trace);
		if (stage->stats.events > most) {
			most = stage->stats.events;
			main = i;
		}
	}
	json_put(object, "info", json_incref(json_array_get(traces, main)));
	json_put(object, "hugepages", json_incref(report->model.stages[main].hugepages));
	json_put(object, "percpu", report->percpu ? json_incref(report->percpu[main].json) : NULL);
	json_put(object, "locks", json_incref(report->model.stages[main].locks_json));
	json_put(object, "traces", traces);
}

/* As they were at the end of each trace. */
static json_t *regions_array(const struct report *report)
{
	json_t *array = json_array();
	for (size_t i = 0; i < report->model.stage_count; i++)
		regions_append_json(array, report->model.stages[i].regions, i + 1);
	return array;
}

/* ---- series ------------------------------------------------------------------------------------------ */

struct range {
	size_t known;
	double min, max, sum;
};

static struct range series_range(const struct timeline *timeline, size_t series)
{
	struct range range = {0, NAN, NAN, 0};
	for (size_t i = 0; i < timeline->row_count; i++) {
		double value = timeline->rows[i].values[series];
		if (isnan(value))
			continue;
		range.known++;
		range.sum += value;
		range.min = fmin(range.min, value);
		range.max = fmax(range.max, value);
	}
	return range;
}

static bool is_estimate(const struct timeline *timeline, size_t series)
{
	bool live = series == SERIES_LIVE || series == SERIES_LIVE_LOW || series == SERIES_LIVE_HIGH;
	return timeline->estimated && (live || (series >= SERIES_UNUSED && series <= SERIES_BLOAT_HIGH));
}

static json_t *series_object(const struct timeline *timeline, size_t trace, size_t series)
{
	const struct series_info *info = &series_infos[series];
	struct range range = series_range(timeline, series);
	json_t *object = json_object();
	json_put_string(object, "name", info->name);
	json_put_string(object, "unit", info->unit);
	json_put_string(object, "title", info->title);
	json_put_string(object, "kind", info->kind == SERIES_RATE ? "rate" : "level");
	json_put_string(object, "source", info->from_ycsb ? "ycsb" : timeline->server ? "ftdc" : "trace");
	json_put_count(object, "trace", trace + 1);
	json_put_bool(object, "estimated", is_estimate(timeline, series));
	json_put_count(object, "points", range.known);
	json_put_real(object, "min", range.min);
	json_put_real(object, "mean", range.known ? range.sum / (double)range.known : NAN);
	json_put_real(object, "max", range.max);
	return object;
}

static json_t *series_array(const struct report *report)
{
	json_t *array = json_array();
	for (size_t t = 0; t < report->model.timeline_count; t++)
		for (size_t s = 0; s < SERIES_COUNT; s++)
			if (series_from_server((enum series_id)s) == report->model.timelines[t].server)
				json_array_append_new(array,
						      series_object(&report->model.timelines[t], t, s));
	return array;
}

/* ---- client and correlations ------------------------------------------------------------------------- */

static json_t *segments_array(const struct report *report)
{
	json_t *array = json_array();
	for (size_t i = 0; i < report->alignment.segment_count; i++) {
		const struct segment *segment = &report->alignment.segments[i];
		json_t *object = json_object();
		json_put_string(object, "name", segment->name);
		json_put_real(object, "start_s", report_seconds(report, segment->start_ns));
		json_put_real(object, "end_s", report_seconds(report, segment->end_ns));
		json_put(object, "threads",
			 segment->threads == YCSB_UNKNOWN ? NULL : json_count(segment->threads));
		json_put_count(object, "clients", segment->clients);
		json_put_count(object, "intervals", segment->count);
		json_put_real(object, "interval_s", segment->interval_s);
		json_put_string(object, "grid", segment->on_rows ? "trace" : "ycsb");
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *correlation_object(const struct aligned *aligned, const struct correlate_result *row)
{
	json_t *object = json_object();
	json_put_string(object, "series", row->series);
	json_put_count(object, "trace", aligned->series[row->series_index].timeline + 1);
	json_put_string(object, "segment", row->segment);
	json_put_real(object, "spearman", row->spearman);
	json_put_real(object, "pearson", row->pearson);
	json_put_real(object, "lag_s", row->lag_s);
	json_put_real(object, "n_effective", row->n_effective);
	json_put_real(object, "p", row->p);
	json_put_real(object, "p_adjusted", row->p_adjusted);
	json_put_real(object, "spearman_lag0", row->spearman_lag0);
	json_put_real(object, "pearson_lag0", row->pearson_lag0);
	json_put_count(object, "intervals", row->count);
	json_put_count(object, "lags_tried", row->lags_tried);
	json_put_real(object, "lag_max_s", row->lag_max_s);
	json_put_bool(object, "usable", correlate_usable(row->verdict));
	json_put_string(object, "verdict", correlate_verdict_text(row->verdict));
	return object;
}

static json_t *correlations_array(const struct aligned *aligned)
{
	json_t *array = json_array();
	for (size_t i = 0; i < aligned->results.count; i++)
		json_array_append_new(array, correlation_object(aligned, &aligned->results.rows[i]));
	return array;
}

static json_t *findings_array(const struct finding_list *findings)
{
	json_t *array = json_array();
	for (size_t i = 0; i < findings->count; i++) {
		json_t *object = json_object();
		json_put_string(object, "id", findings->items[i].id);
		json_put_string(object, "text", findings->items[i].text);
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *plots_array(const struct report *report)
{
	json_t *array = json_array();
	for (size_t i = 0; i < report->figure_count; i++) {
		json_t *object = json_object();
		json_put_string(object, "name", report->figures[i].name);
		json_put_string(object, "caption", report->figures[i].caption);
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *ftdc_array(const struct report *report)
{
	json_t *array = json_array();
	for (size_t i = 0; i < report->server_count; i++)
		json_array_append(array, report->servers[i].summary);
	return array;
}

json_t *report_json(const struct report *report)
{
	json_t *object = json_object();
	put_traces(object, report);
	json_put(object, "ycsb", report->file_count ? ycsb_object(report->files, report->file_count) : NULL);
	json_put(object, "ftdc", ftdc_array(report));
	json_put(object, "regions", regions_array(report));
	json_put(object, "series", series_array(report));
	json_put(object, "segments", segments_array(report));
	json_put(object, "correlations", correlations_array(&report->aligned));
	json_put(object, "findings", findings_array(&report->findings));
	json_put(object, "plots", plots_array(report));
	return object;
}

bool report_json_write(const struct report *report, struct error *error)
{
	char path[REPORT_PATH_BYTES];
	if (!report_path(report, "report.json", path, error))
		return false;
	FILE *file = output_open(path, error);
	if (!file)
		return false;
	json_t *object = report_json(report);
	bool written = json_write(file, object, error);
	json_decref(object);
	return output_close(file, path, error) && written;
}
