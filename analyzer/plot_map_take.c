#include "analyzer/backing.h"
#include "analyzer/plot_map.h"

static bool take(void *context, const struct backed *backed)
{
	struct plot_map *map = context;
	const char *owner = backed->owner->name;
	if (backed_resident(backed))
		return plot_map_add(map, backed->start, backed->end,
				    backed_huge(backed) ? MAP_HUGE : MAP_SMALL, owner);
	if (backed->region->state == REGION_RELEASED)
		return plot_map_add(map, backed->start, backed->end, MAP_RELEASED, owner);
	return true;
}

bool plot_map_take(struct plot_map *map, uint64_t time, const struct regions *regions,
		   const struct pages *pages)
{
	if (!pages_known(pages) || !pages_decided(pages) || !plot_map_due(map, time))
		return true;
	plot_map_begin(map, time);
	return backing_walk(regions, pages, take, map);
}
