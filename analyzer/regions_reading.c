/* Readings of /proc/self/maps into the regions, and what they tell about owners. */
#include <stdlib.h>

#include "analyzer/regions_internal.h"

/* Heaps of ptmalloc's arenas begin at multiples of their size on 64-bit machines (glibc's arena.c,
 * HEAP_MAX_SIZE): the part in use, then the rest without access. */
#define ARENA_HEAP_BYTES (UINT64_C(64) << 20)
#define TCMALLOC_BLOCK	 (UINT64_C(1) << 30) /* google/tcmalloc reserves so much at once, aligned */
#define GUARD_BYTES_MAX	 (UINT64_C(1) << 20) /* below a stack; more than this is not the guard alone */

/* ---- one mapping against what is known ---------------------------------------------------------------- */

static uint64_t file_of(const struct trace_mapping *mapping)
{
	uint64_t file = (mapping->device * UINT64_C(0x9e3779b97f4a7c15)) ^ mapping->inode;
	if (!mapping->inode)
		return REGION_FILE_NONE;
	return file > REGION_FILE_UNKNOWN ? file : file + 2;
}

static bool same_thing(const struct region *old, const struct region *listed)
{
	return old->file == listed->file || old->file == REGION_FILE_UNKNOWN;
}

static bool has_anon_name(const struct trace_mapping *mapping)
{
	return mapping->name[0] == '[' && mapping->name[1] == 'a';
}

/* Of two views of the same memory: the call knows who mapped it, the reading whether it may be touched. */
static struct region both(const struct region *old, const struct region *listed,
			  const struct trace_mapping *mapping)
{
	struct region result = *listed;
	if (mapping->flags & MAPPING_OWN || !same_thing(old, listed))
		return result;
	if (listed->state != REGION_RESERVED && old->state != REGION_RESERVED)
		result.state = old->state;
	if (old->settled && !has_anon_name(mapping)) {
		result.owner = old->owner;
		result.settled = true;
		result.listed = old->listed;
	}
	return result;
}

static bool put_part(struct regions *regions, struct region part, uint64_t start, uint64_t end)
{
	part.start = start;
	part.end = end;
	return start >= end || regions_put(regions, &part);
}

/* ---- one block ---------------------------------------------------------------------------------------- */

/* What was known in the range, in order; `at` moves on with the mappings. */
struct past {
	const struct region *items;
	size_t count, at;
};

/* vsyscall on x86-64: the kernel's half of the addresses is no memory of the process. */
static bool is_kernels(const struct trace_mapping *mapping)
{
	return mapping->start >> 63;
}

static bool apply_mapping(struct regions *regions, const struct trace_mapping *mapping, uint64_t time,
			  struct past *past, uint64_t start, uint64_t end)
{
	if (is_kernels(mapping))
		return true;
	struct region listed = {.file = file_of(mapping),
				.state = mapping->flags & (MAPPING_READ | MAPPING_WRITE | MAPPING_EXEC)
						 ? REGION_COMMITTED
						 : REGION_RESERVED};
	listed.owner = owners_of_mapping(&regions->owners, mapping, time, &listed.settled);
	if (!listed.settled)
		listed.listed = (uint32_t)(mapping->start >> 12);
	while (past->at < past->count && past->items[past->at].end <= start)
		past->at++;
	for (size_t i = past->at; i < past->count && past->items[i].start < end; i++) {
		const struct region *old = &past->items[i];
		uint64_t from = old->start > start ? old->start : start, to = old->end < end ? old->end : end;
		if (!put_part(regions, listed, start, from) ||
		    !put_part(regions, both(old, &listed, mapping), from, to))
			return false;
		start = to;
	}
	return put_part(regions, listed, start, end);
}

static bool apply_block(struct regions *regions, const struct trace_maps *maps)
{
	size_t next = 0;
	struct region_list old = {0};
	bool good = true;
	for (size_t i = 0; good && i < maps->range_count; i++) {
		const struct maps_range *range = &maps->ranges[i];
		good = regions_cut(regions, range->start, range->end);
		struct region_list free_list = old; /* regions_cut() needs its list for what follows */
		old = regions->cut;
		regions->cut = free_list;
		struct past past = {old.items, old.count, 0};
		while (next < maps->mapping_count && maps->mappings[next].end <= range->start)
			next++;
		for (; good && next < maps->mapping_count && maps->mappings[next].start < range->end;
		     next++) {
			const struct trace_mapping *mapping = &maps->mappings[next];
			uint64_t start = mapping->start > range->start ? mapping->start : range->start;
			uint64_t end = mapping->end < range->end ? mapping->end : range->end;
			good = apply_mapping(regions, mapping, maps->time, &past, start, end);
			if (mapping->end > range->end)
				break; /* the rest of it belongs to another range */
		}
	}
	free(old.items);
	return good;
}

/* ---- owners of what only readings tell ---------------------------------------------------------------- */

/* Gives the parts of [start, end) whose owner is a guess to `kind`. */
static bool claim(struct regions *regions, uint64_t start, uint64_t end, enum owner_kind kind)
{
	uint32_t owner = owners_of_kind(&regions->owners, kind);
	if (owner == OWNER_NONE || !regions_cut(regions, start, end))
		return false;
	for (size_t i = 0; i < regions->cut.count; i++) {
		struct region region = regions->cut.items[i];
		if (!region.settled) {
			region.owner = owner;
			region.settled = true;
			region.listed = kind == OWNER_PTMALLOC_MMAP ? (uint32_t)(start >> 12) : 0;
		}
		if (!regions_put(regions, &region))
			return false;
	}
	return true;
}

static bool claim_stack(struct regions *regions, const struct region *stack)
{
	uint64_t start = stack->start, end = stack->end;
	const struct region *guard = start ? regionmap_at(&regions->map, start - 1) : NULL;
	if (guard && !guard->settled && guard->state == REGION_RESERVED)
		start = start - guard->start <= GUARD_BYTES_MAX ? guard->start : start - regions->page_bytes;
	return claim(regions, start, end, OWNER_THREAD_STACK);
}

bool regions_settle_stack(struct regions *regions, uint64_t address)
{
	const struct region *region = address ? regionmap_at(&regions->map, address) : NULL;
	if (region && !region->settled && region->state == REGION_COMMITTED)
		return claim_stack(regions, region);
	if (address && !region)
		regions_hint(regions, address, 0, OWNER_THREAD_STACK);
	return true;
}

/* Not joined with others: it will go alone. */
static bool claim_block(struct regions *regions, const struct region *region, const struct region_hint *hint)
{
	uint64_t start = hint->address / regions->page_bytes * regions->page_bytes;
	uint64_t bytes = region->end - start < hint->bytes ? region->end - start : hint->bytes;
	return claim(regions, start, start + bytes, hint->kind);
}

/* The newest first: what was there before may be gone. */
static bool follow_hints(struct regions *regions)
{
	bool good = true;
	for (size_t i = regions->hint_count; good && i-- > 0;) {
		const struct region_hint *hint = &regions->hints[i];
		const struct region *region = regionmap_at(&regions->map, hint->address);
		if (!region || region->settled || region->state != REGION_COMMITTED)
			continue;
		good = hint->kind == OWNER_THREAD_STACK ? claim_stack(regions, region)
							: claim_block(regions, region, hint);
	}
	regions->hint_count = 0;
	return good;
}

static bool list_guesses(const struct regions *regions, struct region_list *guesses)
{
	const struct region *region;
	for (uint64_t at = 0; (region = regionmap_from(&regions->map, at)); at = region->end)
		if (!region->settled && region->file == REGION_FILE_NONE && !region_list_add(guesses, region))
			return false;
	return true;
}

/* The first of the guesses that lie behind each other without a gap, back from `at` to at most `from`. */
static size_t run_start(const struct region_list *guesses, size_t at, uint64_t from)
{
	while (at > 0 && guesses->items[at].start > from &&
	       guesses->items[at - 1].end == guesses->items[at].start)
		at--;
	return at;
}

/* A heap of an arena: from a multiple of its size on memory in use, then memory without access to its end. */
static bool claim_arena(struct regions *regions, const struct region_list *guesses, size_t at)
{
	const struct region *rest = &guesses->items[at];
	if (rest->state != REGION_RESERVED)
		return true;
	uint64_t end = (rest->start / ARENA_HEAP_BYTES + 1) * ARENA_HEAP_BYTES,
		 start = end - ARENA_HEAP_BYTES;
	if (end > rest->end || start == rest->start)
		return true;
	const struct region *first = &guesses->items[run_start(guesses, at, start)];
	if (first->start > start || first->state == REGION_RESERVED)
		return true;
	return claim(regions, start, end, OWNER_PTMALLOC_ARENA);
}

static size_t run_end(const struct region_list *guesses, size_t at)
{
	while (at + 1 < guesses->count && guesses->items[at + 1].start == guesses->items[at].end)
		at++;
	return at;
}

/* google/tcmalloc's, reserved before the shim was there. Where ordinary addresses have the tag as well, only
 * whole blocks of its size can be told from them. */
static bool claim_tagged(struct regions *regions, uint64_t start, uint64_t end)
{
	enum owner_kind kind;
	bool strong;
	if (!owner_kind_by_tag(start, &kind, &strong))
		return true;
	if (!strong) {
		start = (start + TCMALLOC_BLOCK - 1) / TCMALLOC_BLOCK * TCMALLOC_BLOCK;
		end = end / TCMALLOC_BLOCK * TCMALLOC_BLOCK;
	}
	return start >= end || claim(regions, start, end, kind);
}

/* The kernel may list a module's data and what lies behind it as one. */
static bool claim_module(struct regions *regions, const struct region *guess, uint64_t time)
{
	enum owner_kind kind;
	uint64_t end;
	if (!owners_module_at(&regions->owners, guess->start, time, &kind, &end))
		return true;
	return claim(regions, guess->start, end < guess->end ? end : guess->end, kind);
}

static bool settle(struct regions *regions, uint64_t time)
{
	struct region_list guesses = {0};
	bool good = list_guesses(regions, &guesses);
	for (size_t i = 0; good && i < guesses.count; i++)
		good = claim_module(regions, &guesses.items[i], time) && claim_arena(regions, &guesses, i);
	for (size_t i = 0, last; good && i < guesses.count; i = last + 1) {
		last = run_end(&guesses, i);
		good = claim_tagged(regions, guesses.items[i].start, guesses.items[last].end);
	}
	free(guesses.items);
	return good &&
	       follow_hints(regions); /* last: a stack may share its line with what was found by place */
}

/* ---- the readings ------------------------------------------------------------------------------------- */

bool regions_read_until(struct regions *regions, uint64_t time, struct error *error)
{
	struct trace_maps maps;
	bool good = true;
	while (good && maps_reader_next(regions->readings, time, &maps, error)) {
		good = apply_block(regions, &maps);
		if (maps.own_stack)
			regions_hint(regions, maps.own_stack, 0, OWNER_THREAD_STACK);
	}
	if (good && !error->code)
		good = settle(regions, time);
	regions_peaks(regions);
	regions->next_reading = maps_reader_due(regions->readings);
	if (!good)
		error_set(error, ERROR_INTERNAL, NULL, ERROR_NO_OFFSET, "out of memory");
	return good && !error->code;
}
