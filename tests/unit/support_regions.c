#include "tests/unit/support_regions.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include <criterion/criterion.h>

#include "analyzer/merge.h"
#include "tests/unit/support_trace_internal.h"

#define MAPPINGS_MAX 64u
#define NAMES_BYTES  4096u

struct support_regions *support_regions_open(void (*write)(struct support_trace *trace))
{
	return support_regions_open_keys(NULL, write);
}

struct support_regions *support_regions_open_keys(const char *keys,
						  void (*write)(struct support_trace *trace))
{
	struct error error = {0};
	const char *path = support_path("regions.mtr");
	struct support_trace *made =
		support_open(path, &(struct support_options){.full = true, .extra_keys = keys});
	if (write)
		write(made);
	support_end(made, 1000);
	struct support_regions *world = calloc(1, sizeof *world);
	SUPPORT_CHECK(world);
	world->trace = trace_open(path, &error);
	SUPPORT_CHECK(world->trace);
	/* Stacks are defined among the events: read them all once. */
	struct merge *merge = merge_open(world->trace, &error);
	struct merge_item item;
	while (merge_next(merge, &item, &error))
		;
	merge_close(merge);
	world->regions = regions_open(world->trace, NULL);
	SUPPORT_CHECK(world->regions);
	return world;
}

void support_regions_close(struct support_regions *world)
{
	regions_close(world->regions);
	trace_close(world->trace);
	free(world);
}

/* ---- a reading ---------------------------------------------------------------------------------------- */

struct reading {
	struct maps_header header;
	struct maps_range range;
	struct mapping_record mappings[MAPPINGS_MAX];
};

void support_reading(struct support_trace *trace, uint64_t time, uint64_t start, uint64_t end,
		     const struct support_mapping *mappings)
{
	static uint8_t payload[sizeof(struct reading) + NAMES_BYTES];
	struct reading reading = {.range = {start, end}};
	char names[NAMES_BYTES] = "";
	uint32_t count = 0, names_bytes = 1;
	for (; mappings[count].end; count++) {
		const struct support_mapping *from = &mappings[count];
		struct mapping_record *to = &reading.mappings[count];
		const char *name = from->name ? from->name : "";
		*to = (struct mapping_record){.start = from->start,
					      .end = from->end,
					      .inode = from->inode,
					      .flags = from->flags,
					      .name = names_bytes};
		SUPPORT_CHECK(count + 1 < MAPPINGS_MAX && names_bytes + strlen(name) + 1 < NAMES_BYTES);
		strcpy(names + names_bytes, name);
		names_bytes += (uint32_t)strlen(name) + 1;
	}
	reading.header = (struct maps_header){.time = SUPPORT_START_TIME + time,
					      .end_time = SUPPORT_START_TIME + time + 1,
					      .ranges = 1,
					      .mappings = count,
					      .names_bytes = names_bytes};
	size_t fixed = offsetof(struct reading, mappings) + count * sizeof *reading.mappings;
	memcpy(payload, &reading, fixed);
	memcpy(payload + fixed, names, names_bytes);
	support_block_from(trace, time, BLOCK_MAPS, payload, (uint32_t)(fixed + names_bytes));
}

/* ---- events ------------------------------------------------------------------------------------------- */

void support_call(struct support_regions *world, const struct trace_event *event)
{
	struct error error = {0};
	struct trace_event shifted = *event;
	shifted.time += SUPPORT_START_TIME;
	shifted.end_time = SUPPORT_START_TIME + (event->end_time ? event->end_time : event->time);
	SUPPORT_CHECK(regions_event(world->regions, &shifted, &error));
}

void support_mmap_from(struct support_regions *world, uint64_t time, uint64_t address, uint64_t bytes,
		       int flags, uint32_t stack_id)
{
	support_call(world, &(struct trace_event){.kind = EVENT_MMAP,
						  .time = time,
						  .address = address,
						  .size_bytes = bytes,
						  .args = {PROT_READ | PROT_WRITE, (uint64_t)flags},
						  .stack_id = stack_id});
}

void support_mmap(struct support_regions *world, uint64_t time, uint64_t address, uint64_t bytes, int prot,
		  int flags)
{
	support_call(world, &(struct trace_event){.kind = EVENT_MMAP,
						  .time = time,
						  .address = address,
						  .size_bytes = bytes,
						  .args = {(uint64_t)prot,
							   (uint64_t)(flags | MAP_PRIVATE | MAP_ANONYMOUS)}});
}

void support_munmap(struct support_regions *world, uint64_t time, uint64_t address, uint64_t bytes)
{
	support_call(world,
		     &(struct trace_event){
			     .kind = EVENT_MUNMAP, .time = time, .address = address, .size_bytes = bytes});
}

void support_mprotect(struct support_regions *world, uint64_t time, uint64_t address, uint64_t bytes,
		      int prot)
{
	support_call(world, &(struct trace_event){.kind = EVENT_MPROTECT,
						  .time = time,
						  .address = address,
						  .size_bytes = bytes,
						  .args = {(uint64_t)prot}});
}

void support_madvise(struct support_regions *world, uint64_t time, uint64_t address, uint64_t bytes,
		     int advice, int64_t result)
{
	support_call(world, &(struct trace_event){.kind = EVENT_MADVISE,
						  .time = time,
						  .address = address,
						  .size_bytes = bytes,
						  .args = {(uint64_t)advice},
						  .result = result});
}

void support_mremap(struct support_regions *world, uint64_t time, uint64_t end_time, uint64_t old_address,
		    uint64_t old_bytes, uint64_t address, uint64_t bytes, int flags)
{
	support_call(world, &(struct trace_event){.kind = EVENT_MREMAP,
						  .time = time,
						  .end_time = end_time,
						  .old_address = old_address,
						  .address = address,
						  .size_bytes = bytes,
						  .args = {old_bytes, (uint64_t)flags}});
}

void support_brk(struct support_regions *world, uint64_t time, uint64_t after, int64_t added_bytes)
{
	support_call(world, &(struct trace_event){.kind = EVENT_BRK,
						  .time = time,
						  .address = after,
						  .size_bytes = (uint64_t)added_bytes});
}

void support_until(struct support_regions *world, uint64_t time)
{
	struct error error = {0};
	SUPPORT_CHECK(
		regions_until(world->regions, time == UINT64_MAX ? time : SUPPORT_START_TIME + time, &error));
}

/* ---- answers ------------------------------------------------------------------------------------------ */

const struct region_owner *support_owner(const struct support_regions *world, const char *name)
{
	size_t count;
	const struct region_owner *owners = regions_owners(world->regions, &count);
	for (size_t i = 0; i < count; i++)
		if (strcmp(owners[i].name, name) == 0)
			return &owners[i];
	return NULL;
}

static const struct region_owner *owner_wanted(const struct support_regions *world, const char *name)
{
	const struct region_owner *owner = support_owner(world, name);
	if (!owner) {
		size_t count;
		const struct region_owner *owners = regions_owners(world->regions, &count);
		fprintf(stderr, "no owner %s; there are:", name);
		for (size_t i = 0; i < count; i++)
			fprintf(stderr, " %s", owners[i].name);
		fputc('\n', stderr);
	}
	cr_assert_not_null(owner, "no owner %s", name);
	return owner;
}

void support_owner_is(const struct support_regions *world, const char *name, uint64_t reserved_bytes,
		      uint64_t committed_bytes, uint64_t released_bytes)
{
	const struct region_owner *owner = owner_wanted(world, name);
	cr_expect_eq(owner->bytes[REGION_RESERVED], reserved_bytes, "%s: reserved %#llx", name,
		     (unsigned long long)owner->bytes[REGION_RESERVED]);
	cr_expect_eq(owner->bytes[REGION_COMMITTED], committed_bytes, "%s: committed %#llx", name,
		     (unsigned long long)owner->bytes[REGION_COMMITTED]);
	cr_expect_eq(owner->bytes[REGION_RELEASED], released_bytes, "%s: released %#llx", name,
		     (unsigned long long)owner->bytes[REGION_RELEASED]);
	cr_expect_null(regionmap_check(regions_map(world->regions)));
}

void support_peak_is(const struct support_regions *world, const char *name, enum region_state state,
		     uint64_t bytes)
{
	cr_expect_eq(owner_wanted(world, name)->peak_bytes[state], bytes);
}

const struct region *support_region_at(const struct support_regions *world, uint64_t address)
{
	return regionmap_at(regions_map(world->regions), address);
}

const char *support_owner_at(const struct support_regions *world, uint64_t address)
{
	size_t count;
	const struct region *region = support_region_at(world, address);
	return region ? regions_owners(world->regions, &count)[region->owner].name : "nothing";
}

size_t support_region_count(const struct support_regions *world)
{
	return regions_map(world->regions)->count;
}
