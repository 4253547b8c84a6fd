#include "analyzer/model_ftdc.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/ftdc_damage.h"
#include "analyzer/ftdc_series.h"

#define NS_PER_MS  INT64_C(1000000)
#define AROUND_NS  INT64_C(60000000000)
#define LONGEST_MS 60000 /* between two samples; a longer gap is a gap */

/* What a pass collects. */
struct pass {
	const struct model *model;
	struct ftdc_summary summary;
	struct ftdc_series series;
	struct timeline timeline;
	bool no_memory;
};

static bool wanted(void *context, const char *name)
{
	struct pass *pass = context;
	bool summarized = ftdc_summary_wants(&pass->summary, name);
	return ftdc_series_wants(name) || summarized;
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

static bool in_time(const struct pass *pass, int64_t start_ms, int64_t end_ms)
{
	const int64_t first_ms = (pass->model->start_ns - AROUND_NS) / NS_PER_MS,
		      last_ms = (pass->model->end_ns + AROUND_NS) / NS_PER_MS;
	return start_ms >= first_ms && end_ms <= last_ms && end_ms - start_ms <= LONGEST_MS;
}

static void add_row(struct pass *pass, int64_t start_ms, int64_t end_ms, const double *values)
{
	struct model_row *row =
		timeline_append_interval(&pass->timeline, start_ms * NS_PER_MS, end_ms * NS_PER_MS);
	if (row)
		memcpy(row->values + SERIES_SERVER_FIRST, values + SERIES_SERVER_FIRST,
		       FTDC_SERIES_COUNT * sizeof *values);
	pass->no_memory |= !row;
}

static void add_chunk(struct pass *pass, const struct ftdc_chunk *chunk)
{
	double values[SERIES_COUNT];
	int64_t start_ms, last_ns = INT64_MIN;
	ftdc_series_chunk(&pass->series, chunk);
	for (size_t i = 0; i < chunk->samples; i++) {
		if (!ftdc_series_sample(&pass->series, chunk, i, &start_ms, values) ||
		    !in_time(pass, start_ms, chunk->time_ms[i]))
			continue;
		if (pass->timeline.row_count)
			last_ns = pass->timeline.rows[pass->timeline.row_count - 1].end_ns;
		if (start_ms * NS_PER_MS >= last_ns) /* the clock may have been set back */
			add_row(pass, start_ms, chunk->time_ms[i], values);
	}
}

static struct ftdc *read_all(struct pass *pass, const char *path, struct error *error)
{
	const struct ftdc_options options = {.wanted = wanted, .context = pass};
	struct ftdc_chunk chunk;
	struct progress progress;
	struct ftdc *ftdc = ftdc_open(path, &options, error);
	progress_start(&progress, "diagnostic data");
	while (ftdc && !pass->no_memory && ftdc_next(ftdc, &chunk, error)) {
		ftdc_summary_add(&pass->summary, ftdc, &chunk);
		add_chunk(pass, &chunk);
		progress_update(&progress, ftdc_done_bytes(ftdc), ftdc_total_bytes(ftdc));
	}
	progress_end(&progress);
	return ftdc;
}

/* ---- timelines ----------------------------------------------------------------------------------------- */

static void put_label(struct timeline *timeline, const struct ftdc *ftdc, size_t number)
{
	char host[64], port[16];
	if (!ftdc_text(ftdc, "hostInfo.system.hostname", host, sizeof host) || !*host)
		snprintf(host, sizeof host, "host unknown");
	bool known = ftdc_text(ftdc, "getCmdLineOpts.parsed.net.port", port, sizeof port);
	snprintf(timeline->label, sizeof timeline->label, "[%zu] diagnostic data, %.50s%s%s", number, host,
		 known ? ":" : "", known ? port : "");
}

/* A single trace has no number, as long as it is alone. */
static void number_first(struct model *model)
{
	char label[sizeof model->timelines[0].label];
	if (model->timeline_count != 1 || model->timelines[0].label[0] == '[')
		return;
	snprintf(label, sizeof label, "[1] %.90s", model->timelines[0].label);
	memcpy(model->timelines[0].label, label, sizeof label);
}

static bool add_timeline(struct model *model, struct timeline *timeline, const struct ftdc *ftdc)
{
	struct timeline *grown = realloc(model->timelines, (model->timeline_count + 1) * sizeof *grown);
	if (!grown)
		return false;
	model->timelines = grown;
	number_first(model);
	timeline->server = true;
	put_label(timeline, ftdc, model->timeline_count + 1);
	if (!timeline_finish(timeline))
		return false;
	grown[model->timeline_count++] = *timeline;
	*timeline = (struct timeline){0};
	return true;
}

static bool finish(struct pass *pass, struct model *model, const struct ftdc *ftdc,
		   struct report_server *server)
{
	if (pass->no_memory || pass->summary.no_memory)
		return false;
	server->summary = ftdc_summary_json(&pass->summary, ftdc);
	server->overlaps = pass->timeline.row_count > 0;
	server->damaged = ftdc_damage_count(ftdc) > 0;
	server->per_cpu = pass->summary.per_cpu;
	ftdc_print_damage(ftdc);
	return server->summary && (!server->overlaps || add_timeline(model, &pass->timeline, ftdc));
}

bool model_add_ftdc(struct model *model, const char *path, struct report_server *server, struct error *error)
{
	struct pass *pass = calloc(1, sizeof *pass);
	*server = (struct report_server){.path = path};
	if (!pass)
		return error_set(error, ERROR_INTERNAL, NULL, ERROR_NO_OFFSET, "out of memory");
	pass->model = model;
	struct ftdc *ftdc = read_all(pass, path, error);
	if (ftdc && error->code == ERROR_NONE && !finish(pass, model, ftdc, server))
		error_set(error, ERROR_INTERNAL, NULL, ERROR_NO_OFFSET, "out of memory");
	ftdc_close(ftdc);
	ftdc_summary_free(&pass->summary);
	free(pass->timeline.rows);
	free(pass);
	return error->code == ERROR_NONE;
}
