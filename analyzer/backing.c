#include "analyzer/backing.h"

typedef bool backed_visit(void *context, const struct backed *backed);

/* Up to the end of the next run or of the gap before it. */
static void backed_next(const struct pages *pages, struct backed *backed, uint64_t region_end)
{
	struct page_run run;
	backed->flags = 0;
	backed->end = region_end;
	if (!pages_from(pages, backed->start, &run) || run.start >= region_end)
		return;
	if (run.start > backed->start) {
		backed->end = run.start;
		return;
	}
	backed->flags = run.flags;
	backed->end = run.end < region_end ? run.end : region_end;
}

static bool walk_region(const struct pages *pages, struct backed *backed, backed_visit *visit, void *context)
{
	const struct region *region = backed->region;
	for (uint64_t at = region->start; at < region->end; at = backed->end) {
		backed->start = at;
		backed_next(pages, backed, region->end);
		if (!visit(context, backed))
			return false;
	}
	return true;
}

bool backing_walk(const struct regions *regions, const struct pages *pages, backed_visit *visit,
		  void *context)
{
	size_t count;
	const struct region_owner *owners = regions_owners(regions, &count);
	const struct regionmap *map = regions_map(regions);
	for (const struct region *region = regionmap_from(map, 0); region;
	     region = regionmap_from(map, region->end)) {
		struct backed backed = {.region = region, .owner = &owners[region->owner]};
		if (backed.owner->kind != OWNER_TRACER && !walk_region(pages, &backed, visit, context))
			return false;
	}
	return true;
}
