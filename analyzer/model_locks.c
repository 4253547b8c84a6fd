#include "analyzer/model_locks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyzer/locks_json.h"
#include "analyzer/locks_text.h"
#include "analyzer/span.h"

#define TOP_JSON 50u /* locks, sites and threads in report.json */
#define TOP_TEXT 5u

static const double saved_ns[] = {1, 5, 20};

static bool out_of_memory(struct error *error)
{
	return error_set(error, ERROR_INTERNAL, NULL, ERROR_NO_OFFSET, "out of memory");
}

bool stage_locks_open(struct stage *stage, struct error *error)
{
	stage->locks = locks_open(stage->trace, false);
	if (!stage->locks)
		return out_of_memory(error);
	if (locks_recorded(stage->locks))
		return true;
	locks_close(stage->locks);
	stage->locks = NULL;
	return true;
}

void stage_locks_close(struct stage *stage)
{
	json_decref(stage->locks_json);
	free(stage->locks_text);
	locks_close(stage->locks);
}

/* ---- the pass ------------------------------------------------------------------------------------------ */

bool stage_locks_event(struct stage *stage, const struct livemap *live, const struct trace_event *event,
		       struct error *error)
{
	const struct lock_world world = {live, stage->regions};
	return !stage->locks || locks_event(stage->locks, &world, event, error);
}

void stage_locks_snapshot(struct stage *stage, const struct snapshot *snapshot)
{
	if (stage->locks)
		locks_snapshot(stage->locks, snapshot);
}

bool stage_locks_finish(struct stage *stage, const struct livemap *live, struct error *error)
{
	const struct lock_world world = {live, stage->regions};
	return !stage->locks || locks_finish(stage->locks, &world, error);
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

enum { RATES = 4 };

static const enum series_id rate_series[RATES] = {SERIES_LOCK_OPERATIONS, SERIES_LOCK_CONTENDED,
						  SERIES_LOCK_WAIT, SERIES_LOCK_ATOMICS};

/* A reading as a span of each series. */
static void spans_of(const struct stage *stage, const struct lock_reading *reading, struct span *spans,
		     size_t stride)
{
	int64_t start_ns = trace_realtime_ns(stage->trace, reading->start),
		end_ns = trace_realtime_ns(stage->trace, reading->end);
	double length_s = (double)(end_ns - start_ns) / 1e9;
	const double sums[RATES] = {(double)reading->operations, (double)reading->contended,
				    (double)trace_units_to_ns(stage->trace, reading->wait), reading->atomics};
	for (size_t i = 0; i < RATES; i++)
		spans[i * stride] = (struct span){start_ns, end_ns, length_s > 0 ? sums[i] / length_s : NAN};
}

void stage_locks_rows(const struct stage *stage, struct model_row *rows, size_t count)
{
	size_t readings_count;
	if (!stage->locks || !locks_known(stage->locks))
		return;
	const struct lock_reading *readings = locks_readings(stage->locks, &readings_count);
	struct span *spans = malloc((RATES * readings_count + 1) * sizeof *spans);
	for (size_t i = 0; spans && i < readings_count; i++)
		spans_of(stage, &readings[i], &spans[i], readings_count);
	for (size_t s = 0; spans && s < RATES; s++) {
		struct span_list list = {.spans = spans + s * readings_count, .count = readings_count};
		for (size_t i = 0; i < count; i++)
			rows[i].values[rate_series[s]] = span_mean(&list, rows[i].start_ns, rows[i].end_ns);
	}
	free(spans);
}

/* ---- for the report ------------------------------------------------------------------------------------ */

bool stage_locks_render(struct stage *stage, struct symbols *symbols, struct error *error)
{
	if (!stage->locks || !locks_known(stage->locks))
		return true;
	struct locks_view view = {.locks = stage->locks,
				  .regions = stage->regions,
				  .symbols = symbols,
				  .top = TOP_TEXT,
				  .cpus = locks_cpus(stage->locks),
				  .per_operation = NAN,
				  .saved_ns = saved_ns,
				  .saved_count = sizeof saved_ns / sizeof *saved_ns};
	size_t bytes;
	FILE *memory = open_memstream(&stage->locks_text, &bytes);
	bool good = memory && locks_print_summary(memory, &view);
	good = memory && fclose(memory) == 0 && good;
	view.top = TOP_JSON;
	stage->locks_json = locks_json(&view);
	return good || out_of_memory(error);
}
