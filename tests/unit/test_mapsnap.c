/* What the shim writes of the mappings, block by block, gives the list that it read. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "shim/maps.h"
#include "shim/mapsnap.h"
#include "shim/own.h"
#include "shim/tracefile.h"
#include "shim/writer.h"
#include "tests/unit/support_shim.h"

#define ITEMS_MAX	12000u
#define NAME_BYTES	48u
#define ALWAYS_DUE_MS	1000000u
#define BLOCK_BYTES_MAX (512u << 10) /* the trace file takes no larger ones */

struct item {
	uint64_t start, end, offset, inode;
	uint32_t flags;
	char name[NAME_BYTES];
};

struct items {
	struct item items[ITEMS_MAX];
	size_t count;
};

static struct items kernel; /* what /proc/self/maps would list */
static struct items told;   /* what a reader of the blocks knows */
static size_t blocks, block_mappings;
static bool
	all_plain; /* the kernel's mappings are told as they are: a block lists all that lie in its ranges */

/* ---- what mapsnap.c calls ----------------------------------------------------------------------------- */

bool maps_visit(const char *path, bool (*visit)(const struct mapping *mapping, void *argument),
		void *argument)
{
	cr_assert_str_eq(path, MAPS_SELF);
	for (size_t i = 0; i < kernel.count; i++) {
		const struct item *item = &kernel.items[i];
		struct mapping mapping = {.start = item->start,
					  .end = item->end,
					  .offset = item->offset,
					  .inode = item->inode,
					  .prot = (int)item->flags & 7,
					  .name = item->name};
		cr_assert(visit(&mapping, argument));
	}
	return true;
}

bool writer_is_self(void)
{
	return false;
}

/* Takes out what lies in the range; what sticks out stays. */
static void forget(uint64_t start, uint64_t end)
{
	static struct items kept;
	kept.count = 0;
	for (size_t i = 0; i < told.count; i++) {
		struct item item = told.items[i];
		if (item.end <= start || item.start >= end) {
			kept.items[kept.count++] = item;
			continue;
		}
		if (item.start < start) {
			kept.items[kept.count] = item;
			kept.items[kept.count++].end = start;
		}
		if (item.end > end) {
			kept.items[kept.count] = item;
			kept.items[kept.count++].start = end;
		}
	}
	told = kept;
}

/* What a block lists of the kernel's mappings; `at` moves on with the ranges. */
static size_t listed_in(const struct maps_range *range, size_t *at)
{
	size_t count = 0;
	while (*at < kernel.count && kernel.items[*at].end <= range->start)
		(*at)++;
	for (size_t i = *at; i < kernel.count && kernel.items[i].start < range->end; i++)
		count++;
	return count;
}

bool tracefile_append(enum block_type type, const void *payload, size_t bytes, struct block_times times,
		      int level)
{
	struct maps_header header;
	const uint8_t *at = payload;
	(void)level;
	cr_assert_eq(type, BLOCK_MAPS);
	cr_assert_leq(bytes, BLOCK_BYTES_MAX);
	memcpy(&header, at, sizeof header);
	at += sizeof header;
	cr_assert_eq(bytes, sizeof header + header.ranges * sizeof(struct maps_range) +
				    header.mappings * sizeof(struct mapping_record) + header.names_bytes);
	cr_assert(times.first == header.time && times.last == header.end_time);
	uint64_t end = 0;
	size_t kernel_at = 0, wanted = 0;
	for (uint32_t i = 0; i < header.ranges; i++, at += sizeof(struct maps_range)) {
		struct maps_range range;
		memcpy(&range, at, sizeof range);
		cr_assert(range.start >= end && range.end > range.start);
		forget(range.start, range.end);
		wanted += listed_in(&range, &kernel_at);
		end = range.end;
	}
	cr_assert(!all_plain || wanted == header.mappings, "%zu lie in the ranges, %u are listed", wanted,
		  header.mappings);
	const char *names = (const char *)at + header.mappings * sizeof(struct mapping_record);
	cr_assert_eq(names[0], '\0');
	for (uint32_t i = 0; i < header.mappings; i++, at += sizeof(struct mapping_record)) {
		struct mapping_record record;
		memcpy(&record, at, sizeof record);
		cr_assert_lt(record.name, header.names_bytes);
		struct item item = {record.start, record.end, record.offset, record.inode, record.flags, ""};
		snprintf(item.name, sizeof item.name, "%s", names + record.name);
		cr_assert_lt(told.count, ITEMS_MAX);
		told.items[told.count++] = item;
	}
	blocks++;
	block_mappings += header.mappings;
	return true;
}

/* ---- comparing ---------------------------------------------------------------------------------------- */

static int by_start(const void *left, const void *right)
{
	uint64_t a = ((const struct item *)left)->start, b = ((const struct item *)right)->start;
	return (a > b) - (a < b);
}

static void expect_told_all(void)
{
	qsort(told.items, told.count, sizeof *told.items, by_start);
	cr_assert_eq(told.count, kernel.count, "%zu mappings, told %zu", kernel.count, told.count);
	for (size_t i = 0; i < told.count; i++) {
		const struct item *a = &told.items[i], *b = &kernel.items[i];
		cr_assert(a->start == b->start && a->end == b->end && a->offset == b->offset &&
				  a->inode == b->inode && a->flags == b->flags &&
				  strcmp(a->name, b->name) == 0,
			  "mapping %zu", i);
	}
}

static void take(bool whole)
{
	blocks = block_mappings = 0;
	if (whole)
		mapsnap_take_whole();
	else
		mapsnap_take(ALWAYS_DUE_MS);
	expect_told_all();
}

/* ---- lists -------------------------------------------------------------------------------------------- */

static void add(uint64_t start, uint64_t end, uint32_t flags, uint64_t inode, const char *name)
{
	struct item *item = &kernel.items[kernel.count++];
	*item = (struct item){start, end, inode ? 0x1000 : 0, inode, flags, ""};
	snprintf(item->name, sizeof item->name, "%s", name);
}

/* Without a gap, with gaps, with and without names, from a random state. */
static void fill(size_t count, uint64_t *random, uint64_t change)
{
	uint64_t at = 0x10000;
	kernel.count = 0;
	for (size_t i = 0; i < count; i++) {
		uint64_t fixed = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
		uint64_t draw = change && support_random(random) % change == 0 ? *random : fixed;
		char name[NAME_BYTES] = "";
		if (draw % 3 == 0)
			snprintf(name, sizeof name, "/lib/number/%u.so", (unsigned)(draw >> 40));
		at += draw >> 8 & 3 ? 0 : 0x4000;
		uint64_t end = at + 0x1000 * (1 + (draw >> 12 & 7));
		add(at, end, draw >> 16 & 7, draw % 3 == 0 ? draw >> 40 : 0, name);
		at = (draw >> 20 & 1) ? end : end + 0x2000;
	}
}

Test(mapsnap, the_first_reading_tells_all)
{
	uint64_t random = 1;
	fill(100, &random, 0);
	mapsnap_take(ALWAYS_DUE_MS);
	expect_told_all();
	cr_expect_eq(blocks, 1);
}

Test(mapsnap, nothing_changed_is_no_block)
{
	uint64_t random = 1;
	fill(100, &random, 0);
	take(true);
	take(false);
	cr_expect_eq(blocks, 0);
}

Test(mapsnap, only_changes_are_told)
{
	add(0x1000, 0x5000, MAPPING_READ, 0, "");
	add(0x5000, 0x9000, MAPPING_READ, 7, "/lib/a");
	add(0xa000, 0xb000, MAPPING_READ, 0, "[heap]");
	take(true);
	kernel.items[2].end = 0xc000; /* grows */
	take(false);
	cr_expect_eq(block_mappings, 1);
	snprintf(kernel.items[2].name, NAME_BYTES, "[anon:x]"); /* gets a name */
	take(false);
	cr_expect_eq(block_mappings, 1);
	kernel.items[0].end = 0x3000; /* loses its end */
	take(false);
	cr_expect_eq(block_mappings, 1);
	kernel.items[1] = kernel.items[2]; /* one goes */
	kernel.count = 2;
	take(false);
	cr_expect_eq(block_mappings, 0);
	cr_expect_eq(blocks, 1);
	kernel.count = 0; /* all go */
	take(false);
	cr_expect_eq(told.count, 0);
}

/* Far more than one block holds, changed in a few places and in many. */
Test(mapsnap, many_mappings_take_several_blocks)
{
	uint64_t random = 4711;
	all_plain = true;
	fill(10000, &random, 0);
	take(true);
	cr_expect_gt(blocks, 4);
	static const uint64_t changes[] = {2000, 300, 20, 3, 2, 1, 5};
	for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
		fill(9000 + 100 * i, &random, changes[i]);
		take(false);
	}
	fill(10, &random, 0);
	take(false);
	fill(10000, &random, 7);
	take(true);
	fill(10, &random, 0);
	take(true);
}

/* What the first block says of the mapping that was there reaches over what only later ones list. */
Test(mapsnap, a_mapping_that_falls_into_many_is_not_gone_meanwhile)
{
	all_plain = true;
	add(0x10000, 0x10000 + 9000 * 0x1000, MAPPING_READ | MAPPING_WRITE, 0, "");
	take(true);
	kernel.count = 0;
	for (uint64_t i = 0; i < 9000; i++)
		add(0x10000 + i * 0x1000, 0x11000 + i * 0x1000, i & 1 ? MAPPING_READ : MAPPING_WRITE, 0, "");
	take(false);
	cr_expect_gt(blocks, 4);
}

Test(mapsnap, wanting_all_is_heard_once)
{
	uint64_t random = 1;
	fill(50, &random, 0);
	take(true);
	mapsnap_want_whole();
	take(false);
	cr_expect_eq(block_mappings, 50);
	take(false);
	cr_expect_eq(block_mappings, 0);
}

/* The kernel may show the shim's memory and the guest's as one. */
Test(mapsnap, the_shims_memory_stands_for_itself)
{
	own_note((void *)0x4000, 0x2000);
	add(0x1000, 0x9000, MAPPING_READ, 0, "");
	mapsnap_take_whole();
	kernel.count = 0;
	add(0x1000, 0x4000, MAPPING_READ, 0, "");
	add(0x4000, 0x6000, MAPPING_READ | MAPPING_OWN, 0, "");
	add(0x6000, 0x9000, MAPPING_READ, 0, "");
	expect_told_all();
	own_forget((void *)0x4000);
	uint64_t until;
	cr_expect_not(own_at(0x4000, 0x9000, &until));
	cr_expect_eq(until, 0x9000);
}

/* A mapping that grew while the list was read comes again, larger: only what is new counts. */
Test(mapsnap, a_list_that_overlaps_is_cut)
{
	add(0x1000, 0x3000, MAPPING_READ, 0, "");
	add(0x1000, 0x5000, MAPPING_READ, 0, "");
	add(0x2000, 0x4000, MAPPING_READ, 0, "");
	mapsnap_take_whole();
	kernel.count = 0;
	add(0x1000, 0x3000, MAPPING_READ, 0, "");
	add(0x3000, 0x5000, MAPPING_READ, 0, "");
	expect_told_all();
}
