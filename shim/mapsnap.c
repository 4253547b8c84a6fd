#include "shim/mapsnap.h"

#include <string.h>

#include "shim/clock.h"
#include "shim/maps.h"
#include "shim/own.h"
#include "shim/raw.h"
#include "shim/text.h"
#include "shim/tracefile.h"
#include "shim/writer.h"

#define RANGES_MAX	2048u /* of one block */
#define MAPPINGS_MAX	2048u
#define NAMES_BYTES_MAX (160u << 10)
#define NAME_BYTES_MAX	4200u /* PATH_MAX and " (deleted)" */
#define LEVEL		1

/* A mapping as it was last written; what changes must show in it. */
struct known {
	uint64_t start, end, offset, device, inode;
	uint64_t name_hash;
	uint32_t flags;
	uint32_t reserved;
};

struct list {
	struct known *items;
	size_t count, capacity;
};

/* Room for one block, laid out for its largest size; put together when it is written. */
struct block {
	struct maps_header header;
	struct maps_range ranges[RANGES_MAX];
	struct mapping_record mappings[MAPPINGS_MAX];
	char names[NAMES_BYTES_MAX];
};

static struct {
	struct list before, now; /* the last reading, and the one that is being made */
	size_t before_at;	 /* next one of `before` to be compared */
	struct block *block;
	uint32_t last_name; /* offset of the name added last, and its hash */
	uint64_t last_name_hash;
	uint64_t seen_to;  /* end of the last mapping that was read */
	uint64_t whole_to; /* whole reading: addresses below it lie in a range */
	bool whole, want_whole;
	bool failed;		   /* no memory for a list */
	bool read;		   /* once at least */
	uint64_t last_ns, cost_ns; /* of the last reading */
} state;

/* ---- the list of what is known ------------------------------------------------------------------------ */

static bool list_add(struct list *list, const struct known *item)
{
	if (!list_reserve(&list->items, &list->capacity, list->count, sizeof *list->items))
		return false;
	list->items[list->count++] = *item;
	return true;
}

/* ---- the block ---------------------------------------------------------------------------------------- */

static void block_empty(void)
{
	struct maps_header *header = &state.block->header;
	header->ranges = header->mappings = 0;
	header->names_bytes = 1; /* the empty name */
	state.block->names[0] = '\0';
	state.last_name_hash = 0;
}

static void block_write(void)
{
	struct block *block = state.block;
	struct maps_header *header = &block->header;
	if (header->ranges == 0)
		return;
	uint8_t *at = (uint8_t *)&block->ranges[header->ranges];
	memmove(at, block->mappings, header->mappings * sizeof *block->mappings);
	at += header->mappings * sizeof *block->mappings;
	memmove(at, block->names, header->names_bytes);
	at += header->names_bytes;
	header->end_time = clock_now();
	tracefile_append(BLOCK_MAPS, block, (size_t)(at - (uint8_t *)block),
			 (struct block_times){header->time, header->end_time}, LEVEL);
	block_empty();
}

/*
 * Between start and end things are as this block says. Starts rise from call to call, and what one block has
 * told lies below all that the next one tells.
 */
static void add_range(uint64_t start, uint64_t end)
{
	struct maps_header *header = &state.block->header;
	struct maps_range *last = header->ranges ? &state.block->ranges[header->ranges - 1] : NULL;
	if (last && start <= last->end) {
		last->end = end > last->end ? end : last->end;
		return;
	}
	if (header->ranges == RANGES_MAX)
		block_write();
	state.block->ranges[header->ranges++] = (struct maps_range){start, end};
}

/* The block is full. Of what lies above `address` it holds nothing, so the next one speaks about that. */
static void block_continue(uint64_t address)
{
	struct maps_header *header = &state.block->header;
	struct maps_range *last = &state.block->ranges[header->ranges - 1];
	uint64_t rest_end = last->end;
	if (rest_end > address) {
		last->end = address;
		header->ranges -= last->start >= address;
	}
	block_write();
	if (rest_end > address)
		add_range(address, rest_end);
}

static uint32_t add_name(const char *name, uint64_t hash)
{
	struct maps_header *header = &state.block->header;
	if (!*name)
		return 0;
	if (hash == state.last_name_hash)
		return state.last_name;
	size_t bytes = strlen(name) + 1;
	state.last_name_hash = hash;
	state.last_name = header->names_bytes;
	memcpy(state.block->names + header->names_bytes, name, bytes);
	header->names_bytes += (uint32_t)bytes;
	return state.last_name;
}

static void add_mapping(const struct known *item, const char *name)
{
	struct maps_header *header = &state.block->header;
	if (header->mappings == MAPPINGS_MAX || header->ranges == RANGES_MAX ||
	    header->names_bytes + NAME_BYTES_MAX > NAMES_BYTES_MAX)
		block_continue(item->start);
	add_range(item->start, item->end);
	state.block->mappings[header->mappings++] =
		(struct mapping_record){.start = item->start,
					.end = item->end,
					.offset = item->offset,
					.device = item->device,
					.inode = item->inode,
					.flags = item->flags,
					.name = add_name(name, item->name_hash)};
}

/* ---- comparing ---------------------------------------------------------------------------------------- */

/* Takes from the last reading what lies below or at `item`. True where it holds the same mapping. */
static bool was_known(const struct known *item)
{
	while (state.before_at < state.before.count) {
		const struct known *old = &state.before.items[state.before_at];
		if (old->start > item->start)
			return false;
		state.before_at++;
		if (memcmp(old, item, sizeof *old) == 0)
			return true;
		add_range(old->start, old->end);
	}
	return false;
}

static void tell(const struct known *item, const char *name)
{
	if (state.whole) {
		add_range(state.whole_to, item->end);
		add_mapping(item, name);
		state.whole_to = item->end;
	} else if (!was_known(item)) {
		add_mapping(item, name);
	}
	state.failed |= !list_add(&state.now, item);
}

/*
 * The kernel joins neighbours, ours and the guest's among them: what is ours stands for itself. A mapping
 * that has grown since the piece of the list before it was read overlaps with what came then.
 */
static bool visit(const struct mapping *mapping, void *unused)
{
	(void)unused;
	char name[NAME_BYTES_MAX];
	size_t name_bytes = strnlen(mapping->name, sizeof name - 1);
	memcpy(name, mapping->name, name_bytes);
	name[name_bytes] = '\0';
	uint32_t flags = (mapping->prot & PROT_READ ? MAPPING_READ : 0) |
			 (mapping->prot & PROT_WRITE ? MAPPING_WRITE : 0) |
			 (mapping->prot & PROT_EXEC ? MAPPING_EXEC : 0) |
			 (mapping->shared ? MAPPING_SHARED : 0);
	uint64_t start = mapping->start > state.seen_to ? mapping->start : state.seen_to;
	for (uint64_t end; start < mapping->end; start = end) {
		bool own = own_at(start, mapping->end, &end);
		struct known item = {.start = start,
				     .end = end,
				     .offset = mapping->inode ? mapping->offset + start - mapping->start : 0,
				     .device = mapping->device,
				     .inode = mapping->inode,
				     .name_hash = text_hash(name),
				     .flags = flags | (own ? MAPPING_OWN : 0)};
		tell(&item, name);
		state.seen_to = end;
	}
	return !state.failed;
}

/* ---- reading ------------------------------------------------------------------------------------------ */

static void begin(bool whole)
{
	state.whole = whole;
	state.before_at = state.now.count = 0;
	state.seen_to = state.whole_to = 0;
	state.failed = false;
	block_empty();
	state.block->header.time = clock_now();
	state.block->header.own_stack = writer_is_self() ? (uintptr_t)__builtin_frame_address(0) : 0;
	state.block->header.flags = whole ? MAPS_WHOLE : 0;
}

/* What the last reading had behind the last mapping of this one is gone. */
static void end(void)
{
	for (; !state.whole && state.before_at < state.before.count; state.before_at++)
		add_range(state.before.items[state.before_at].start, state.before.items[state.before_at].end);
	if (state.whole)
		add_range(state.whole_to, UINT64_MAX);
	block_write();
	struct list old = state.before;
	state.before = state.now;
	state.now = old;
}

static void take(bool whole)
{
	uint64_t start_ns = clock_thread_cpu_ns();
	if (!state.block)
		state.block = raw_reserve(sizeof *state.block);
	if (!state.block)
		return;
	begin(whole);
	if (!maps_visit(MAPS_SELF, visit, NULL) || state.failed) {
		state.want_whole = true; /* what was read is in no list: begin anew */
		return;
	}
	end();
	state.read = true;
	state.want_whole = false;
	state.last_ns = clock_monotonic_ns();
	state.cost_ns = clock_thread_cpu_ns() - start_ns;
}

void mapsnap_take_whole(void)
{
	take(true);
}

/* Reading the list holds the lock that the guest's mmap needs. */
void mapsnap_take(uint64_t interval_ms)
{
	if (!state.read || clock_cost_allows(clock_monotonic_ns(), interval_ms, state.last_ns, state.cost_ns))
		take(state.want_whole || !state.read);
}

void mapsnap_want_whole(void)
{
	state.want_whole = true;
}

bool mapsnap_guest_from(uint64_t address, struct mapsnap_range *range)
{
	size_t low = 0, high = state.before.count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (state.before.items[middle].end > address)
			high = middle;
		else
			low = middle + 1;
	}
	while (low < state.before.count && state.before.items[low].flags & MAPPING_OWN)
		low++;
	if (low == state.before.count)
		return false;
	const struct known *item = &state.before.items[low];
	*range = (struct mapsnap_range){item->start, item->end, item->inode != 0};
	return true;
}
