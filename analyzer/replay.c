#include "analyzer/replay.h"

#include "analyzer/command.h"

#define PROGRESS_EVENTS 65536u

static uint64_t reorder_units(const struct trace *trace)
{
	uint64_t unit_ns = trace_units_to_ns(trace, 1000);
	return unit_ns ? (uint64_t)LIVEMAP_REORDER_NS * 1000 / unit_ns : LIVEMAP_REORDER_NS;
}

static bool out_of_memory(struct error *error)
{
	return error_set(error, ERROR_INTERNAL, NULL, ERROR_NO_OFFSET, "out of memory");
}

static bool replay_stream(struct replay *replay, struct merge *merge,
			  bool (*visit)(void *context, const struct merge_item *item, struct error *error),
			  void *context, struct error *error)
{
	struct progress progress;
	struct merge_item item;
	const struct merge_stats *stats = merge_stats(merge);
	bool good = true;
	progress_start(&progress, "reading events");
	while (good && merge_next(merge, &item, error)) {
		if (item.event && !livemap_apply(replay->live, item.event))
			good = out_of_memory(error);
		else if (visit)
			good = visit(context, &item, error);
		if (stats->events % PROGRESS_EVENTS == 0)
			progress_update(&progress, stats->read_bytes, trace_info(replay->trace)->trace_bytes);
	}
	progress_end(&progress);
	return good && !error->code;
}

bool replay_run(struct replay *replay,
		bool (*visit)(void *context, const struct merge_item *item, struct error *error),
		void *context, struct error *error)
{
	const struct trace_info *info = trace_info(replay->trace);
	uint64_t sample_bytes = info->mode == TRACE_MODE_SAMPLE ? info->sample_bytes : 0;
	replay->live = livemap_create(sample_bytes, reorder_units(replay->trace));
	if (!replay->live)
		return out_of_memory(error);
	struct merge *merge = merge_open(replay->trace, error);
	if (!merge)
		return false;
	merge_lookahead(merge, livemap_prefetch, replay->live);
	bool good = replay_stream(replay, merge, visit, context, error);
	if (!livemap_finish(replay->live))
		good = out_of_memory(error);
	replay->stream = *merge_stats(merge);
	merge_close(merge);
	return good;
}

void replay_free(struct replay *replay)
{
	livemap_free(replay->live);
	replay->live = NULL;
}
