#include "analyzer/hugeblocks_pass.h"

bool hugeblocks_pass_open(struct hugeblocks_pass *pass, const struct symbol_options *options,
			  struct error *error)
{
	struct trace *trace = pass->replay->trace;
	pass->pages = pages_open(trace);
	pass->regions = regions_open(trace, options);
	pass->blocks = hugeblocks_open(trace);
	if (!pass->pages || !pass->regions || !pass->blocks)
		return error_set(error, ERROR_INTERNAL, NULL, ERROR_NO_OFFSET, "out of memory");
	pass->watching = pages_due(pass->pages) != UINT64_MAX;
	return true;
}

static struct hugeblocks_world world_of(const struct hugeblocks_pass *pass)
{
	return (struct hugeblocks_world){pass->replay->live, pass->regions, pass->pages};
}

bool hugeblocks_pass_visit(void *context, const struct merge_item *item, struct error *error)
{
	struct hugeblocks_pass *pass = context;
	if (!pass->watching)
		return true;
	if (item->event) {
		hugeblocks_event(pass->blocks);
		return regions_event(pass->regions, item->event, error);
	}
	const struct hugeblocks_world world = world_of(pass);
	uint64_t time = item->snapshot->mark.time;
	bool looked;
	return regions_until(pass->regions, time, error) && pages_until(pass->pages, time, error) &&
	       hugeblocks_snapshot(pass->blocks, &world, time, &looked, error);
}

bool hugeblocks_pass_finish(struct hugeblocks_pass *pass, struct error *error)
{
	const struct hugeblocks_world world = world_of(pass);
	return !pass->watching ||
	       (regions_until(pass->regions, UINT64_MAX, error) &&
		pages_until(pass->pages, UINT64_MAX, error) &&
		hugeblocks_finish(pass->blocks, &world, trace_info(pass->replay->trace)->last_time, error));
}

void hugeblocks_pass_close(struct hugeblocks_pass *pass)
{
	hugeblocks_close(pass->blocks);
	regions_close(pass->regions);
	pages_close(pass->pages);
}
