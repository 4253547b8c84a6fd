#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/regionmap.h"

#define PAGES 512u

/* The same address space the simple way: what each page is, 0 for nothing. */
struct plain {
	uint8_t page[PAGES];
};

static struct region region_of(uint64_t start, uint64_t end, uint8_t kind)
{
	return (struct region){.start = start,
			       .end = end,
			       .owner = kind,
			       .state = kind % REGION_STATES,
			       .settled = kind & 1};
}

static void put_over(struct regionmap *map, struct plain *plain, uint64_t start, uint64_t end, uint8_t kind)
{
	struct region_list out = {0};
	struct region region = region_of(start, end, kind);
	cr_assert(regionmap_cut(map, start, end, &out));
	cr_assert(regionmap_put(map, &region));
	memset(plain->page + start, kind, end - start);
	free(out.items);
}

static void cut(struct regionmap *map, struct plain *plain, uint64_t start, uint64_t end)
{
	struct region_list out = {0};
	uint64_t at = start;
	cr_assert(regionmap_cut(map, start, end, &out));
	for (size_t i = 0; i < out.count; i++) {
		const struct region *region = &out.items[i];
		cr_assert(region->start >= at && region->end <= end);
		for (; at < region->start; at++)
			cr_assert_eq(plain->page[at], 0);
		for (; at < region->end; at++)
			cr_assert_eq(plain->page[at], region->owner);
	}
	for (; at < end; at++)
		cr_assert_eq(plain->page[at], 0);
	memset(plain->page + start, 0, end - start);
	free(out.items);
}

static void compare(const struct regionmap *map, const struct plain *plain)
{
	const char *wrong = regionmap_check(map);
	cr_assert_null(wrong, "%s", wrong);
	for (uint64_t page = 0; page < PAGES; page++) {
		const struct region *region = regionmap_at(map, page);
		cr_assert_eq(region ? region->owner : 0, plain->page[page], "page %d", (int)page);
		const struct region *next = regionmap_from(map, page);
		uint64_t first = page;
		while (first < PAGES && !plain->page[first])
			first++;
		cr_assert_eq(next != NULL, first < PAGES);
		cr_assert(!next || (next->start <= first && next->end > first));
	}
}

Test(regionmap, random_operations_agree_with_the_simple_way)
{
	struct regionmap map = {0};
	struct plain plain = {{0}};
	uint32_t random = 4711;
	for (int i = 0; i < 4000; i++) {
		random = random * 1664525u + 1013904223u;
		uint64_t start = (random >> 8) % PAGES;
		random = random * 1664525u + 1013904223u;
		uint64_t end = start + 1 + (random >> 8) % 40;
		end = end < PAGES ? end : PAGES;
		if (random >> 30)
			put_over(&map, &plain, start, end, (uint8_t)(1 + (random >> 4) % 3));
		else
			cut(&map, &plain, start, end);
		if (i % 16 == 0)
			compare(&map, &plain);
	}
	compare(&map, &plain);
	regionmap_clear(&map);
}

Test(regionmap, neighbours_of_which_the_same_is_known_are_one)
{
	struct regionmap map = {0};
	struct region low = region_of(0, 10, 1), high = region_of(20, 30, 1), middle = region_of(10, 20, 1);
	cr_assert(regionmap_put(&map, &low));
	cr_assert(regionmap_put(&map, &high));
	cr_assert_eq(map.count, 2);
	cr_assert(regionmap_put(&map, &middle));
	cr_assert_eq(map.count, 1);
	const struct region *all = regionmap_at(&map, 15);
	cr_assert(all && all->start == 0 && all->end == 30);
	regionmap_clear(&map);
}

Test(regionmap, memory_follows_what_is_mapped_not_what_was)
{
	struct regionmap map = {0};
	struct region_list out = {0};
	for (uint64_t i = 0; i < 20000; i++) {
		struct region region = region_of(2 * i, 2 * i + 1, 1);
		cr_assert(regionmap_put(&map, &region));
		if (i >= 100)
			cr_assert(regionmap_cut(&map, 2 * (i - 100), 2 * (i - 100) + 2, &out));
		out.count = 0;
		cr_assert_leq(map.count, 101);
	}
	free(out.items);
	regionmap_clear(&map);
}

/* Addresses that rise would make a list of an unbalanced tree: this many then overflow the stack. */
Test(regionmap, rising_addresses_keep_it_balanced)
{
	struct regionmap map = {0};
	for (uint64_t i = 0; i < 300000; i++) {
		struct region region = region_of(2 * i, 2 * i + 1, 1);
		cr_assert(regionmap_put(&map, &region));
	}
	cr_assert_null(regionmap_check(&map));
	regionmap_clear(&map);
	cr_assert_null(regionmap_from(&map, 0));
}
