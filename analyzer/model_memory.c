#include "analyzer/model_memory.h"

#include <stdio.h>
#include <stdlib.h>

#include "analyzer/coverage_output.h"
#include "analyzer/coverage_series.h"
#include "analyzer/regions_series.h"

/* ---- the pass ------------------------------------------------------------------------------------------ */

static bool out_of_memory(struct error *error)
{
	return error_set(error, ERROR_INTERNAL, NULL, ERROR_NO_OFFSET, "out of memory");
}

bool stage_memory_open(struct stage *stage, const struct symbol_options *options, struct error *error)
{
	const struct trace_info *info = trace_info(stage->trace);
	stage->regions = regions_open(stage->trace, options);
	stage->pages = pages_open(stage->trace);
	stage->blocks = hugeblocks_open(stage->trace);
	if (!stage->regions || !stage->pages || !stage->blocks)
		return out_of_memory(error);
	stage->coverage = coverage_open(stage->trace, stage->regions, stage->pages);
	if (!stage->coverage)
		return out_of_memory(error);
	if (pages_due(stage->pages) == UINT64_MAX)
		return true;
	stage->map = plot_map_create(info->first_time, info->last_time, trace_interval(stage->trace));
	return stage->map || out_of_memory(error);
}

void stage_memory_close(struct stage *stage)
{
	json_decref(stage->hugepages);
	free(stage->hugepages_text);
	plot_map_free(stage->map);
	coverage_close(stage->coverage);
	hugeblocks_close(stage->blocks);
	pages_close(stage->pages);
	regions_close(stage->regions);
}

bool stage_memory_event(struct stage *stage, const struct trace_event *event, struct error *error)
{
	hugeblocks_event(stage->blocks);
	return regions_event(stage->regions, event, error) && pages_until(stage->pages, event->time, error) &&
	       coverage_event(stage->coverage, event, error);
}

static bool until(struct stage *stage, uint64_t time, struct error *error)
{
	return regions_until(stage->regions, time, error) && pages_until(stage->pages, time, error);
}

bool stage_memory_snapshot(struct stage *stage, const struct livemap *live, const struct snapshot *snapshot,
			   bool *looked, struct error *error)
{
	uint64_t time = snapshot->mark.time;
	const struct hugeblocks_world world = {live, stage->regions, stage->pages};
	*looked = false;
	if (!until(stage, time, error) || !coverage_snapshot(stage->coverage, snapshot, error) ||
	    !hugeblocks_snapshot(stage->blocks, &world, time, looked, error))
		return false;
	return !stage->map || plot_map_take(stage->map, time, stage->regions, stage->pages) ||
	       out_of_memory(error);
}

bool stage_memory_finish(struct stage *stage, const struct livemap *live, struct error *error)
{
	const struct hugeblocks_world world = {live, stage->regions, stage->pages};
	return until(stage, UINT64_MAX, error) && coverage_finish(stage->coverage, error) &&
	       hugeblocks_finish(stage->blocks, &world, trace_info(stage->trace)->last_time, error);
}

/* ---- for the report ------------------------------------------------------------------------------------ */

#define TOP_REPORT 5u /* breakers and mapping sites in the text */

bool stage_memory_render(struct stage *stage, struct symbols *symbols, struct error *error)
{
	const struct coverage_view view = {.trace = stage->trace,
					   .coverage = stage->coverage,
					   .regions = stage->regions,
					   .pages = stage->pages,
					   .blocks = stage->blocks,
					   .symbols = symbols};
	size_t bytes;
	if (!coverage_known(stage->coverage))
		return true;
	FILE *memory = open_memstream(&stage->hugepages_text, &bytes);
	bool good = memory && coverage_print(memory, &view, TOP_REPORT);
	good = memory && fclose(memory) == 0 && good;
	stage->hugepages = coverage_json(&view);
	return good || out_of_memory(error);
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

static void row_unused(const struct stage *stage, double *values)
{
	const struct hugeblocks_sums sums = hugeblocks_sums(hugeblocks_last(stage->blocks));
	values[SERIES_ALLOCATOR_RESIDENT] = (double)sums.resident_bytes;
	values[SERIES_ALLOCATOR_HUGE] = (double)sums.huge_bytes;
	if (stage->wrapped)
		return;
	values[SERIES_UNUSED] = sums.unused_bytes.value;
	values[SERIES_BLOAT] = sums.bloat_bytes.value;
	if (hugeblocks_exact(stage->blocks))
		return;
	values[SERIES_UNUSED_LOW] = sums.unused_bytes.low;
	values[SERIES_UNUSED_HIGH] = sums.unused_bytes.high;
	values[SERIES_BLOAT_LOW] = sums.bloat_bytes.low;
	values[SERIES_BLOAT_HIGH] = sums.bloat_bytes.high;
}

static void row_sites(const struct stage *stage, struct model_row *row)
{
	size_t count;
	const struct hugeblocks_site *sites = hugeblocks_sites(stage->blocks, &count);
	for (uint32_t i = 0; i < row->site_count; i++)
		if (row->sites[i].site < count)
			row->sites[i].huge_bytes = hugeblocks_site_bytes(&sites[row->sites[i].site]).value;
}

void stage_memory_row(const struct stage *stage, bool looked, struct model_row *row)
{
	regions_series(stage->regions, row->values);
	coverage_series(stage->coverage, row->values);
	if (!looked)
		return;
	row_unused(stage, row->values);
	row_sites(stage, row);
}
