/* Quantities, and the traces of the runs put into them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/command.h"
#include "analyzer/compare_frees.h"
#include "analyzer/compare_inside.h"
#include "analyzer/compare_locks.h"
#include "analyzer/compare_series.h"
#include "analyzer/model.h"
#include "analyzer/series.h"

/* Quantities that are no series of the report; those follow. */
enum own_quantity {
	OWN_COVERAGE = INSIDE_COVERAGE,
	OWN_OTHER_CPU,
	OWN_OTHER_THREAD,
	OWN_LOCK_ATOMICS = INSIDE_LOCK_ATOMICS,
	OWN_QUANTITIES
};

#define COVERED_MIN 0.5 /* share of a run's time of which a series must be known */

/* ---- names ------------------------------------------------------------------------------------------- */

static const struct inside_quantity own_quantities[OWN_QUANTITIES] = {
	[OWN_COVERAGE] = {"huge_coverage", "share of RSS on huge pages", "", QUANTITY_SHARE},
	[OWN_OTHER_CPU] = {"frees_other_cpu", "frees on another CPU than the allocation", "", QUANTITY_SHARE},
	[OWN_OTHER_THREAD] = {"frees_other_thread", "frees by another thread than the allocating one", "",
			      QUANTITY_SHARE},
	[OWN_LOCK_ATOMICS] = {"lock_atomics", "atomic instructions of lock calls", "instructions/s",
			      QUANTITY_PER_OPERATION},
};

static size_t trace_quantities(void)
{
	return OWN_QUANTITIES + SERIES_COUNT;
}

size_t inside_quantities(const struct compare *compare)
{
	return trace_quantities() + compare->series_count;
}

/* Something that adds up over a run; a percentage does not. */
static bool is_sum(const struct series_info *info)
{
	return info->kind == SERIES_RATE && strcmp(info->unit, "%") != 0;
}

static struct inside_quantity of_series(enum series_id id)
{
	const struct series_info *info = &series_infos[id];
	bool rate = is_sum(info);
	return (struct inside_quantity){
		.name = info->name,
		.title = info->title,
		.unit = rate && strcmp(info->unit, "CPUs") == 0 ? "us" : info->unit,
		.kind = rate ? QUANTITY_PER_OPERATION : QUANTITY_LEVEL,
	};
}

static struct inside_quantity of_user(const struct compare_series *series)
{
	static const struct {
		const char *unit;
		enum quantity_kind kind;
	} forms[] = {
		[MEANS_POWER] = {"W", QUANTITY_LEVEL},
		[MEANS_ENERGY] = {"W", QUANTITY_LEVEL},
		[MEANS_COUNTER] = {"", QUANTITY_PER_OPERATION},
		[MEANS_LEVEL] = {"", QUANTITY_LEVEL},
	};
	return (struct inside_quantity){series->name, series->name, forms[series->meaning].unit,
					forms[series->meaning].kind};
}

struct inside_quantity inside_quantity(const struct compare *compare, size_t index)
{
	if (index < OWN_QUANTITIES)
		return own_quantities[index];
	if (index < trace_quantities())
		return of_series((enum series_id)(index - OWN_QUANTITIES));
	return of_user(&compare->series[index - trace_quantities()]);
}

const char *inside_text(const struct inside_quantity *quantity, double value, char text[SCALE_TEXT_BYTES])
{
	char unit[24];
	if (isnan(value) || quantity->kind == QUANTITY_SHARE) {
		snprintf(text, SCALE_TEXT_BYTES, isnan(value) ? "unknown" : "%.1f%%", 100 * value);
		return text;
	}
	if (quantity->kind == QUANTITY_LEVEL)
		return scale_text(value, quantity->unit, text);
	/* "faults/s" becomes "faults/op" */
	snprintf(unit, sizeof unit, "%.*s", (int)strcspn(quantity->unit, "/"), quantity->unit);
	snprintf(text, SCALE_TEXT_BYTES, "%.3g %s/op", value, unit);
	return text;
}

/* ---- one run ----------------------------------------------------------------------------------------- */

struct window {
	int64_t start_ns, end_ns;
};

static double overlap_s(const struct model_row *row, const struct window *window)
{
	int64_t from = row->start_ns > window->start_ns ? row->start_ns : window->start_ns;
	int64_t to = row->end_ns < window->end_ns ? row->end_ns : window->end_ns;
	return to > from ? (double)(to - from) / 1e9 : 0;
}

/* Mean over the window, weighted by time; NaN where most of it is not known. */
static double mean_over(const struct timeline *timeline, enum series_id id, const struct window *window)
{
	double sum = 0, known_s = 0, all_s = (double)(window->end_ns - window->start_ns) / 1e9;
	for (size_t i = 0; i < timeline->row_count; i++) {
		double length_s = overlap_s(&timeline->rows[i], window), value = timeline->rows[i].values[id];
		if (length_s <= 0 || isnan(value))
			continue;
		sum += value * length_s;
		known_s += length_s;
	}
	return known_s >= COVERED_MIN * all_s && known_s > 0 ? sum / known_s : NAN;
}

double inside_mean(const struct timeline *timeline, enum series_id id, int64_t start_ns, int64_t end_ns)
{
	return mean_over(timeline, id, &(struct window){start_ns, end_ns});
}

/* Of a shell and the server that it started, the one that was there for longest. */
const struct timeline *inside_main_timeline(const struct model *model, int64_t start_ns, int64_t end_ns)
{
	const struct window window = {start_ns, end_ns};
	const struct timeline *longest = NULL;
	double most_s = 0;
	for (size_t t = 0; t < model->timeline_count; t++) {
		double length_s = 0;
		for (size_t i = 0; i < model->timelines[t].row_count; i++)
			length_s += overlap_s(&model->timelines[t].rows[i], &window);
		if (length_s > most_s) {
			longest = &model->timelines[t];
			most_s = length_s;
		}
	}
	return longest;
}

void inside_take(struct compare_run *run, const struct timeline *timeline, int64_t start_ns, int64_t end_ns)
{
	const struct window window = {start_ns, end_ns};
	double throughput = run_value(run, COMPARE_OVERALL, METRIC_THROUGHPUT, NULL);
	for (enum series_id id = 0; id < SERIES_COUNT; id++) {
		const struct series_info *info = &series_infos[id];
		if (info->from_ycsb || !info->correlated || series_from_server(id) != timeline->server)
			continue;
		double value = mean_over(timeline, id, &window);
		if (is_sum(info))
			value = (strcmp(info->unit, "CPUs") == 0 ? value * 1e6 : value) / throughput;
		run->inside.values[OWN_QUANTITIES + id] = value;
	}
	if (!timeline->server)
		run->inside.values[OWN_COVERAGE] =
			mean_over(timeline, SERIES_HUGE, &window) / mean_over(timeline, SERIES_RSS, &window);
}

static bool take_model(struct compare_run *run, const struct model *model, struct error *error)
{
	struct window window = {model->start_ns, model->end_ns};
	struct free_shares shares;
	run_window(run, &window.start_ns, &window.end_ns);
	const struct timeline *timeline = inside_main_timeline(model, window.start_ns, window.end_ns);
	if (!timeline)
		return error_set(error, ERROR_INPUT, run->trace, ERROR_NO_OFFSET,
				 "the trace and the run are of different times");
	inside_take(run, timeline, window.start_ns, window.end_ns);
	const struct stage *last = NULL;
	for (size_t s = 0; s < model->stage_count; s++)
		if (&model->timelines[model->stages[s].timeline] == timeline)
			last = &model->stages[s];
	if (!last)
		return true;
	if (!free_shares(last->trace, window.start_ns, window.end_ns, &shares, error))
		return false;
	compare_locks_take(run, timeline, last, window.start_ns, window.end_ns);
	run->inside.values[OWN_OTHER_CPU] = shares.other_cpu;
	run->inside.values[OWN_OTHER_THREAD] = shares.other_thread;
	return true;
}

static bool read_trace(struct compare_run *run, struct error *error)
{
	const char *const path = run->trace;
	struct model model = {0};
	const struct symbol_options options = {0};
	if (!model_read(&path, 1, &options, &model, error))
		return false;
	bool fine = take_model(run, &model, error);
	model_free(&model);
	run->inside.known = fine;
	return fine;
}

/* ---- the user's series ------------------------------------------------------------------------------- */

static void take_series(const struct compare *compare, struct compare_run *run)
{
	int64_t start_ns, end_ns;
	if (!run_window(run, &start_ns, &end_ns))
		return;
	double length_s = (double)(end_ns - start_ns) / 1e9;
	double operations = run_value(run, COMPARE_OVERALL, METRIC_THROUGHPUT, NULL) * length_s;
	for (size_t i = 0; i < compare->series_count; i++) {
		const struct compare_series *series = &compare->series[i];
		double value = series_over(series, start_ns, end_ns);
		if (series->meaning == MEANS_POWER || series->meaning == MEANS_ENERGY)
			value /= length_s;
		if (series->meaning == MEANS_COUNTER)
			value /= operations;
		run->inside.values[trace_quantities() + i] = value;
	}
}

/* ---- all runs ---------------------------------------------------------------------------------------- */

bool inside_room(const struct compare *compare, struct compare_run *run)
{
	if (run->inside.values)
		return true;
	run->inside.count = inside_quantities(compare);
	run->inside.lock_share_per_ns = NAN;
	run->inside.values = malloc(run->inside.count * sizeof *run->inside.values);
	for (size_t i = 0; run->inside.values && i < run->inside.count; i++)
		run->inside.values[i] = NAN;
	return run->inside.values != NULL;
}

static bool say_missing(struct compare *compare, size_t wanted, size_t read)
{
	const char *text = "No run has a trace: nothing is known of what happened inside.";
	if (wanted == 0 && !compare->axis) /* output alone: nobody expects one */
		return true;
	if (wanted > 0)
		text = read == 0 ? "None of the traces could be read; the messages say why."
				 : "Some of the traces could not be read; the messages say why.";
	if (wanted > 0 && wanted == read)
		return true;
	compare->traces_missing = strdup(text);
	return compare->traces_missing != NULL;
}

bool compare_read_traces(struct compare *compare, struct error *error)
{
	size_t wanted = 0, read = 0, done = 0;
	struct progress progress;
	for (size_t i = 0; i < compare->run_count; i++)
		wanted += compare->runs[i].use == RUN_USED && compare->runs[i].trace;
	progress_start(&progress, "reading traces");
	for (size_t i = 0; i < compare->run_count; i++) {
		struct compare_run *run = &compare->runs[i];
		struct error wrong = {0};
		if (run->use != RUN_USED)
			continue;
		if (!inside_room(compare, run))
			return compare_out_of_memory(error);
		take_series(compare, run);
		if (!run->trace)
			continue;
		progress_update(&progress, done++, wanted);
		if (read_trace(run, &wrong)) {
			read++;
		} else if (wrong.code == ERROR_INPUT) {
			error_print(&wrong);
			compare->inputs_left_out = true;
		} else {
			*error = wrong;
			return false;
		}
	}
	progress_end(&progress);
	return say_missing(compare, wanted, read) || compare_out_of_memory(error);
}
