/* Traces into the model: one pass over each, in order of their start. */
#include "analyzer/model.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analyzer/allocstats_series.h"
#include "analyzer/model_locks.h"
#include "analyzer/model_memory.h"

/* Stages of one process follow each other; their clocks are interpolated, so a little overlap is none. */
#define STAGE_OVERLAP_NS 50000000

static bool out_of_memory(struct error *error)
{
	return error_set(error, ERROR_INTERNAL, NULL, ERROR_NO_OFFSET, "out of memory");
}

/* ---- opening: which process a trace belongs to ------------------------------------------------------- */

static bool same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static int stage_by_start(const void *left, const void *right)
{
	const struct stage *a = left, *b = right;
	return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

static bool given_twice(const char *const *paths, size_t at)
{
	struct stat one, other;
	if (stat(paths[at], &one))
		return false;
	for (size_t i = 0; i < at; i++)
		if (!stat(paths[i], &other) && one.st_dev == other.st_dev && one.st_ino == other.st_ino)
			return true;
	return false;
}

static bool error_pass(struct error *error, const struct error *from)
{
	*error = *from;
	return false;
}

static bool stage_open(struct stage *stage, const char *path, struct error *error)
{
	stage->trace = trace_open(path, error);
	if (!stage->trace)
		return false;
	const struct trace_info *info = trace_info(stage->trace);
	stage->start_ns = trace_realtime_ns(stage->trace, info->first_time);
	stage->end_ns = trace_realtime_ns(stage->trace, info->last_time);
	if (!trace_key_number(stage->trace, "pid", &stage->pid))
		stage->pid = UINT64_MAX;
	stage->wrapped = info->flight_recorder && trace_seconds(stage->trace, info->first_time) > 0.001;
	stage->max_huge_age_s = NAN;
	return true;
}

static bool stages_open(struct model *model, const char *const *paths, size_t count, struct error *error)
{
	model->stages = calloc(count, sizeof *model->stages);
	model->unread = calloc(count, sizeof *model->unread);
	if (!model->stages || !model->unread)
		return out_of_memory(error);
	for (size_t i = 0; i < count; i++) {
		if (given_twice(paths, i))
			return error_set(error, ERROR_USAGE, paths[i], ERROR_NO_OFFSET,
					 "this trace is given twice; name each file once");
		struct error *wrong = &model->unread[model->unread_count];
		if (stage_open(&model->stages[model->stage_count], paths[i], wrong))
			model->stage_count++;
		else if (wrong->code == ERROR_INPUT)
			model->unread_count++;
		else
			return error_pass(error, wrong);
	}
	if (!model->stage_count)
		return error_pass(error, &model->unread[0]);
	qsort(model->stages, model->stage_count, sizeof *model->stages, stage_by_start);
	return true;
}

static bool stage_continues(const struct stage *stage, const struct stage *earlier)
{
	return stage->pid != UINT64_MAX && stage->pid == earlier->pid &&
	       same_text(trace_key(stage->trace, "host"), trace_key(earlier->trace, "host")) &&
	       stage->start_ns >= earlier->end_ns - STAGE_OVERLAP_NS;
}

/* The timeline whose last stage this one continues, or a new one. */
static size_t timeline_of(struct model *model, size_t stage_index)
{
	const struct stage *stage = &model->stages[stage_index];
	for (size_t i = model->timeline_count; i-- > 0;) {
		const struct stage *last = NULL;
		for (size_t j = 0; j < stage_index; j++)
			if (model->stages[j].timeline == i)
				last = &model->stages[j];
		if (last && stage_continues(stage, last))
			return i;
	}
	return model->timeline_count++;
}

static void timeline_label(struct model *model, const struct stage *stage)
{
	struct timeline *timeline = &model->timelines[stage->timeline];
	const char *exe = trace_key(stage->trace, "exe");
	const char *slash = exe ? strrchr(exe, '/') : NULL;
	const char *name = slash && slash[1] ? slash + 1 : exe ? exe : "unknown program";
	char number[24] = "", pid[32] = "";
	if (model->timeline_count > 1)
		snprintf(number, sizeof number, "[%zu] ", stage->timeline + 1);
	if (stage->pid != UINT64_MAX)
		snprintf(pid, sizeof pid, ", pid %" PRIu64, stage->pid);
	snprintf(timeline->label, sizeof timeline->label, "%s%.40s%s", number, name, pid);
}

static bool timelines_make(struct model *model, struct error *error)
{
	model->timelines = calloc(model->stage_count, sizeof *model->timelines);
	if (!model->timelines)
		return out_of_memory(error);
	model->start_ns = INT64_MAX;
	model->end_ns = model->stages[0].end_ns;
	for (size_t i = 0; i < model->stage_count; i++) {
		struct stage *stage = &model->stages[i];
		int64_t zero_ns = trace_realtime_ns(stage->trace, trace_start_time(stage->trace));
		stage->timeline = timeline_of(model, i);
		if (zero_ns < model->start_ns)
			model->start_ns = zero_ns;
		if (stage->end_ns > model->end_ns)
			model->end_ns = stage->end_ns;
	}
	for (size_t i = 0; i < model->stage_count; i++) /* the last stage gives the name */
		timeline_label(model, &model->stages[i]);
	return true;
}

/* ---- one pass ---------------------------------------------------------------------------------------- */

struct pass {
	struct stage *stage;
	struct timeline *timeline;
	struct livemap *map;
	uint64_t sample_bytes; /* 0 in full mode */
	struct snapshot before;
	bool have_before;
	bool looked; /* at the live blocks, at the snapshot that is being worked on */
	size_t first_row;
	struct allocstats_cursor allocator;
	struct allocstats_series allocator_series;
};

static void pass_live_bytes(const struct pass *pass, struct model_row *row)
{
	const struct estimate *live = &livemap_totals(pass->map)->live_bytes;
	if (pass->stage->wrapped)
		return;
	row->values[SERIES_LIVE] = live->value;
	if (pass->sample_bytes) {
		row->values[SERIES_LIVE_LOW] = estimate_low(live);
		row->values[SERIES_LIVE_HIGH] = estimate_high(live);
	}
}

static void pass_watch_clocks(struct pass *pass, const struct snapshot *now)
{
	struct stage *stage = pass->stage;
	if (now->anon_huge_bytes != SNAPSHOT_UNKNOWN && now->anon_huge_age_ns != SNAPSHOT_UNKNOWN) {
		double age_s = (double)now->anon_huge_age_ns / 1e9;
		if (!(age_s <= stage->max_huge_age_s))
			stage->max_huge_age_s = age_s;
	}
	if (pass->have_before) {
		int64_t wall = (int64_t)(now->mark.realtime_ns - pass->before.mark.realtime_ns);
		int64_t steady = (int64_t)(now->mark.monotonic_ns - pass->before.mark.monotonic_ns);
		double step_s = fabs((double)(wall - steady)) / 1e9;
		if (step_s > stage->clock_step_s)
			stage->clock_step_s = step_s;
	}
}

/* What a flight recorder has left begins in the middle: its first snapshot has no interval. */
static bool pass_snapshot(struct pass *pass, const struct snapshot *now)
{
	pass_watch_clocks(pass, now);
	if (pass->have_before || !pass->stage->wrapped) {
		bool skipped;
		struct model_row *row =
			timeline_append(pass->timeline, pass->stage->start_ns,
					pass->have_before ? &pass->before : NULL, now, &skipped);
		if (!row && !skipped)
			return false;
		if (row) {
			size_t count;
			const struct live_site *sites = livemap_sites(pass->map, &count);
			pass_live_bytes(pass, row);
			row_take_sites(row, sites, count);
			stage_memory_row(pass->stage, pass->looked, row);
		}
	}
	pass->before = *now;
	pass->have_before = true;
	return true;
}

/* The record that stands before the snapshot in the trace goes into the row that ends with it. */
static bool pass_allocator(struct pass *pass, const struct snapshot *now, struct error *error)
{
	struct timeline *timeline = pass->timeline;
	if (allocstats_next(&pass->allocator, pass->stage->trace, now->mark.time, error))
		allocstats_series_add(&pass->allocator_series, &pass->allocator.stats,
				      timeline->rows + pass->first_row,
				      timeline->row_count - pass->first_row);
	return error->code == ERROR_NONE;
}

static bool pass_event(struct pass *pass, const struct trace_event *event)
{
	if (event_is_allocation(event->kind)) {
		double weight = pass->sample_bytes
					? 1 / sample_probability(event->size_bytes, pass->sample_bytes)
					: 1;
		size_classes_add(&pass->timeline->classes, event->size_bytes, weight);
		pass->timeline->stacks |= event->stack_id != 0;
	}
	return rseq_watch_event(&pass->stage->rseq, event) && livemap_apply(pass->map, event);
}

/* Before the row of a snapshot is made, which takes the levels of that moment. */
static bool pass_memory(struct pass *pass, const struct merge_item *item, struct error *error)
{
	if (item->event)
		return stage_locks_event(pass->stage, pass->map, item->event, error) &&
		       stage_memory_event(pass->stage, item->event, error);
	stage_locks_snapshot(pass->stage, item->snapshot);
	return stage_memory_snapshot(pass->stage, pass->map, item->snapshot, &pass->looked, error);
}

static bool pass_events(struct pass *pass, struct merge *merge, struct error *error)
{
	const struct trace_info *info = trace_info(pass->stage->trace);
	struct merge_item item;
	struct progress progress;
	bool fine = true;
	progress_start(&progress, "reading");
	for (uint64_t i = 0; fine && merge_next(merge, &item, error); i++) {
		fine = pass_memory(pass, &item, error) &&
		       (item.event ? pass_event(pass, item.event)
				   : pass_snapshot(pass, item.snapshot) &&
					     pass_allocator(pass, item.snapshot, error));
		if (i % 65536 == 0)
			progress_update(&progress, merge_stats(merge)->read_bytes, info->trace_bytes);
	}
	progress_end(&progress);
	if (error->code == ERROR_NONE && (!fine || !livemap_finish(pass->map)))
		return out_of_memory(error);
	if (error->code == ERROR_NONE && (!stage_locks_finish(pass->stage, pass->map, error) ||
					  !stage_memory_finish(pass->stage, pass->map, error)))
		return false;
	stage_locks_rows(pass->stage, pass->timeline->rows + pass->first_row,
			 pass->timeline->row_count - pass->first_row);
	pass->stage->totals = *livemap_totals(pass->map);
	pass->stage->stats = *merge_stats(merge);
	return error->code == ERROR_NONE;
}

/* ---- names --------------------------------------------------------------------------------------------- */

static bool keep_unmatched(struct stage *stage, const struct symbols *symbols)
{
	size_t count;
	const char *const *unmatched = symbols_unmatched(symbols, &count);
	if (count == 0)
		return true;
	stage->unmatched = calloc(count, sizeof *stage->unmatched);
	for (; stage->unmatched && stage->unmatched_count < count; stage->unmatched_count++) {
		stage->unmatched[stage->unmatched_count] = strdup(unmatched[stage->unmatched_count]);
		if (!stage->unmatched[stage->unmatched_count])
			return false;
	}
	return stage->unmatched != NULL;
}

static bool pass_names(struct pass *pass, const struct symbol_options *options, struct error *error)
{
	struct symbols *symbols = symbols_create(pass->stage->trace, options);
	bool fine = symbols &&
		    timeline_name_sites(pass->timeline, pass->first_row, pass->map, pass->stage->trace,
					symbols) &&
		    stage_memory_render(pass->stage, symbols, error) &&
		    stage_locks_render(pass->stage, symbols, error) && keep_unmatched(pass->stage, symbols);
	symbols_free(symbols);
	return fine ? true : out_of_memory(error);
}

/* ---- all of it --------------------------------------------------------------------------------------- */

static bool stage_read(struct model *model, struct stage *stage, const struct symbol_options *options,
		       struct error *error)
{
	const struct trace_info *info = trace_info(stage->trace);
	struct timeline *timeline = &model->timelines[stage->timeline];
	uint64_t unit_ns = trace_units_to_ns(stage->trace, 1024);
	struct pass pass = {.stage = stage, .timeline = timeline, .first_row = timeline->row_count};
	pass.sample_bytes = info->mode == TRACE_MODE_SAMPLE ? info->sample_bytes : 0;
	timeline->estimated |= info->mode == TRACE_MODE_SAMPLE;
	pass.map = livemap_create(pass.sample_bytes,
				  LIVEMAP_REORDER_NS * UINT64_C(1024) / (unit_ns ? unit_ns : 1024));
	if (!pass.map)
		out_of_memory(error);
	bool fine = stage_memory_open(stage, options, error) && stage_locks_open(stage, error) && pass.map;
	struct merge *merge = fine ? merge_open(stage->trace, error) : NULL;
	fine = fine && merge && pass_events(&pass, merge, error) && pass_names(&pass, options, error);
	merge_close(merge);
	allocstats_free(&pass.allocator.stats);
	livemap_free(pass.map);
	return fine;
}

bool model_read(const char *const *paths, size_t count, const struct symbol_options *options,
		struct model *out, struct error *error)
{
	*out = (struct model){0};
	bool fine = stages_open(out, paths, count, error) && timelines_make(out, error);
	for (size_t i = 0; fine && i < out->stage_count; i++)
		fine = stage_read(out, &out->stages[i], options, error);
	for (size_t i = 0; fine && i < out->timeline_count; i++)
		if (!timeline_finish(&out->timelines[i]))
			fine = out_of_memory(error);
	if (!fine)
		model_free(out);
	return fine;
}

void model_free(struct model *model)
{
	for (size_t i = 0; i < model->stage_count; i++) {
		struct stage *stage = &model->stages[i];
		for (size_t j = 0; j < stage->unmatched_count; j++)
			free(stage->unmatched[j]);
		free(stage->unmatched);
		rseq_watch_free(&stage->rseq);
		stage_locks_close(stage);
		stage_memory_close(stage);
		trace_close(stage->trace);
	}
	for (size_t i = 0; i < model->timeline_count; i++) {
		struct timeline *timeline = &model->timelines[i];
		for (size_t j = 0; j < timeline->site_count; j++)
			free(timeline->sites[j]);
		free(timeline->sites);
		free(timeline->rows);
	}
	free(model->stages);
	free(model->unread);
	free(model->timelines);
	*model = (struct model){0};
}
