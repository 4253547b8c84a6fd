#include "analyzer/lockplace.h"

#include <stdlib.h>

#include "analyzer/array.h"
#include "analyzer/regionmap.h"

#define CACHE_BITS	12u
#define STACK_BYTES_MAX (UINT64_C(8) << 20) /* what glibc gives a thread unless told otherwise */

/* Of an address that was asked for before: where its block began. */
struct cached {
	uint64_t address;
	uint64_t start; /* 0: a search found none */
};

struct thread_stack {
	uint32_t thread;
	uint64_t address; /* one in it */
};

struct lockplaces {
	const struct trace *trace;
	struct thread_stack *stacks;
	size_t stack_count, stack_capacity;
	struct cached cache[1u << CACHE_BITS];
	uint64_t searched; /* blocks */
};

struct lockplaces *lockplaces_open(const struct trace *trace)
{
	struct lockplaces *places = calloc(1, sizeof *places);
	if (places)
		places->trace = trace;
	return places;
}

void lockplaces_close(struct lockplaces *places)
{
	if (!places)
		return;
	free(places->stacks);
	free(places);
}

/* ---- stacks -------------------------------------------------------------------------------------------- */

static void forget_stack(struct lockplaces *places, uint32_t thread)
{
	for (size_t i = 0; i < places->stack_count; i++)
		if (places->stacks[i].thread == thread)
			places->stacks[i--] = places->stacks[--places->stack_count];
}

bool lockplaces_event(struct lockplaces *places, const struct trace_event *event)
{
	if (event->kind == EVENT_THREAD_EXIT)
		forget_stack(places, event->thread);
	if (event->kind != EVENT_THREAD_START || !event->address)
		return true;
	if (!array_reserve(&places->stacks, &places->stack_capacity, places->stack_count + 1,
			   sizeof *places->stacks))
		return false;
	places->stacks[places->stack_count++] = (struct thread_stack){event->thread, event->address};
	return true;
}

/* The thread whose stack lies in the same region. */
static uint64_t stack_thread(const struct lockplaces *places, const struct region *region)
{
	for (size_t i = places->stack_count; i-- > 0;)
		if (places->stacks[i].address >= region->start && places->stacks[i].address < region->end)
			return places->stacks[i].thread;
	return PLACE_NO_THREAD;
}

/* Before the mappings were read: stacks grow down, and a thread's first frame is near the top of its own. */
static bool below_a_frame(const struct lockplaces *places, uint64_t address, uint64_t *thread)
{
	uint64_t nearest = STACK_BYTES_MAX;
	for (size_t i = 0; i < places->stack_count; i++) {
		uint64_t frame = places->stacks[i].address;
		if (frame < address || frame - address >= nearest)
			continue;
		nearest = frame - address;
		*thread = places->stacks[i].thread;
	}
	return nearest < STACK_BYTES_MAX;
}

/* ---- blocks -------------------------------------------------------------------------------------------- */

static bool covers(const struct live_block *block, uint64_t address)
{
	return block && address >= block->address && address - block->address < block->size_bytes;
}

/* Blocks do not overlap: the nearest one that begins before the address is the only one that can hold it. */
static const struct live_block *near(const struct livemap *live, uint64_t address, bool *decided)
{
	uint64_t start = address & ~UINT64_C(7);
	for (uint64_t back = 0; back < PLACE_NEAR_BYTES && back < start; back += 8) {
		const struct live_block *block = livemap_find(live, start - back);
		if (!block)
			continue;
		*decided = true;
		return covers(block, address) ? block : NULL;
	}
	*decided = false;
	return NULL;
}

struct search {
	uint64_t address;
	uint64_t start; /* found */
	uint64_t blocks;
};

static void look(void *context, const struct live_block *block)
{
	struct search *search = context;
	search->blocks++;
	if (covers(block, search->address))
		search->start = block->address;
}

static const struct live_block *far(struct lockplaces *places, const struct livemap *live, uint64_t address)
{
	struct search search = {.address = address};
	if (places->searched >= PLACE_SEARCH_MAX)
		return NULL;
	livemap_each(live, look, &search);
	places->searched += search.blocks;
	return search.start ? livemap_find(live, search.start) : NULL;
}

static const struct live_block *block_around(struct lockplaces *places, const struct livemap *live,
					     uint64_t address)
{
	size_t at = (size_t)((address >> 3) * UINT64_C(0x9e3779b97f4a7c15) >> (64 - CACHE_BITS));
	struct cached *cached = &places->cache[at];
	bool known = cached->address == address, decided;
	if (known && cached->start) {
		const struct live_block *block = livemap_find(live, cached->start);
		if (covers(block, address))
			return block;
		known = false;
	}
	const struct live_block *block = near(live, address, &decided);
	if (!decided && !known)
		block = far(places, live, address);
	*cached = (struct cached){address, block ? block->address : 0};
	return block;
}

/* ---- all of it ----------------------------------------------------------------------------------------- */

/* Index, or SIZE_MAX. Modules may follow each other at one address. */
static size_t module_at(const struct trace *trace, uint64_t address, uint64_t time)
{
	size_t count, found = SIZE_MAX;
	const struct trace_module *modules = trace_modules(trace, &count);
	for (size_t i = 0; i < count && modules[i].start <= address; i++)
		if (address < modules[i].end && (found == SIZE_MAX || modules[i].loaded_time <= time) &&
		    (!modules[i].unloaded_time || time < modules[i].unloaded_time))
			found = i;
	return found;
}

struct lock_place lockplaces_find(struct lockplaces *places, const struct lock_world *world, uint64_t address,
				  uint64_t time)
{
	size_t owner_count = 0, module = module_at(places->trace, address, time);
	if (module != SIZE_MAX)
		return (struct lock_place){PLACE_MODULE, module,
					   address - trace_modules(places->trace, &(size_t){0})[module].bias};
	const struct region *region =
		world->regions ? regionmap_at(regions_map(world->regions), address) : NULL;
	const struct region_owner *owners = region ? regions_owners(world->regions, &owner_count) : NULL;
	bool owned = region && region->owner < owner_count;
	if (owned && owners[region->owner].kind == OWNER_THREAD_STACK)
		return (struct lock_place){PLACE_STACK, stack_thread(places, region), 0};
	const struct live_block *block = world->live ? block_around(places, world->live, address) : NULL;
	if (block) {
		size_t sites;
		return (struct lock_place){PLACE_BLOCK,
					   livemap_sites(world->live, &sites)[block->site].stack_id,
					   address - block->address};
	}
	if (owned)
		return (struct lock_place){PLACE_REGION, region->owner, address};
	uint64_t thread;
	if (below_a_frame(places, address, &thread))
		return (struct lock_place){PLACE_STACK, thread, 0};
	return (struct lock_place){PLACE_ADDRESS, 0, address};
}
