#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/plot_map.h"
#include "tests/unit/support_trace.h"

#define MIB	   (UINT64_C(1) << 20)
#define HEAP	   UINT64_C(0x555500000000)
#define ARENA	   UINT64_C(0x7f0000000000)
#define END_TIME   UINT64_C(1000)
#define PAGE_BYTES UINT64_C(4096)

static struct plot_map *map_of(uint64_t shortest)
{
	struct plot_map *map = plot_map_create(0, END_TIME, shortest);
	cr_assert_not_null(map);
	return map;
}

static void add(struct plot_map *map, uint64_t start, uint64_t bytes, enum map_state state, const char *owner)
{
	cr_assert(plot_map_add(map, start, start + bytes, state, owner));
}

static uint64_t sum_at(const struct plot_map *map, uint64_t start, uint64_t bytes, uint64_t time,
		       enum map_state state)
{
	uint64_t sum = 0, row_bytes = plot_map_row_bytes(map);
	for (uint64_t at = start / row_bytes * row_bytes; at < start + bytes; at += row_bytes)
		sum += plot_map_bytes(map, at, time, state);
	return sum;
}

Test(plot_map, keeps_what_it_was_told_and_leaves_gaps_out)
{
	struct plot_map *map = map_of(100);
	cr_expect_not(plot_map_useful(map));
	plot_map_begin(map, 50);
	add(map, HEAP, 8 * PAGE_BYTES, MAP_SMALL, "ptmalloc-heap");
	add(map, ARENA, 100 * PAGE_BYTES, MAP_HUGE, "ptmalloc-arena");
	cr_expect(plot_map_useful(map));
	cr_expect_eq(plot_map_rows(map), 108);
	cr_expect_eq(sum_at(map, HEAP, 8 * PAGE_BYTES, 50, MAP_SMALL), 8 * PAGE_BYTES);
	cr_expect_eq(sum_at(map, ARENA, 100 * PAGE_BYTES, 50, MAP_HUGE), 100 * PAGE_BYTES);
	cr_expect_eq(sum_at(map, ARENA, 100 * PAGE_BYTES, 50, MAP_SMALL), 0);
	plot_map_free(map);
}

/* Growing from one page to terabytes, it never holds more than PLOT_MAP_ROWS rows, and loses no byte. */
Test(plot_map, rows_double_and_stay_bounded)
{
	struct plot_map *map = map_of(0);
	uint64_t total = 0;
	plot_map_begin(map, 0);
	for (uint64_t bytes = PAGE_BYTES, at = ARENA; bytes <= MIB << 16; bytes *= 4, at += bytes * 4) {
		add(map, at, bytes, MAP_SMALL, "mmap");
		total += bytes;
		cr_assert_leq(plot_map_rows(map), PLOT_MAP_ROWS);
	}
	cr_expect_gt(plot_map_rows(map), PLOT_MAP_ROWS / 4);
	uint64_t row_bytes = plot_map_row_bytes(map), sum = 0;
	cr_expect_eq(row_bytes & (row_bytes - 1), 0);
	for (uint64_t at = ARENA / row_bytes * row_bytes; at < ARENA + (MIB << 20); at += row_bytes)
		sum += plot_map_bytes(map, at, 0, MAP_SMALL);
	cr_expect_eq(sum, total);
	plot_map_free(map);
}

Test(plot_map, rows_below_earlier_ones_come_in_order)
{
	struct plot_map *map = map_of(100);
	plot_map_begin(map, 0);
	add(map, ARENA, PAGE_BYTES, MAP_SMALL, "a");
	plot_map_begin(map, 100);
	add(map, HEAP, PAGE_BYTES, MAP_HUGE, "b");
	add(map, ARENA, PAGE_BYTES, MAP_HUGE, "a");
	cr_expect_eq(plot_map_bytes(map, HEAP, 0, MAP_HUGE), 0);
	cr_expect_eq(plot_map_bytes(map, ARENA, 0, MAP_SMALL), PAGE_BYTES);
	cr_expect_eq(plot_map_bytes(map, HEAP, 100, MAP_HUGE), PAGE_BYTES);
	cr_expect_eq(plot_map_bytes(map, ARENA, 100, MAP_SMALL), 0);
	plot_map_free(map);
}

Test(plot_map, a_column_without_a_moment_shows_the_one_before)
{
	struct plot_map *map = map_of(100);
	plot_map_begin(map, 150);
	add(map, HEAP, PAGE_BYTES, MAP_RELEASED, "b");
	cr_expect_not(plot_map_due(map, 199));
	cr_expect(plot_map_due(map, 200));
	cr_expect_eq(plot_map_bytes(map, HEAP, 99, MAP_RELEASED), 0);
	cr_expect_eq(plot_map_bytes(map, HEAP, 950, MAP_RELEASED), PAGE_BYTES);
	cr_expect(plot_map_due(map, 2 * END_TIME)); /* beyond the end: the last column */
	plot_map_begin(map, 2 * END_TIME);
	cr_expect_eq(plot_map_bytes(map, HEAP, 950, MAP_RELEASED), 0);
	plot_map_free(map);
}

/* ---- the script ---------------------------------------------------------------------------------------- */

static char *script_of(const struct plot_map *map)
{
	char *text = NULL;
	size_t bytes;
	FILE *script = open_memstream(&text, &bytes);
	cr_assert_not_null(script);
	plot_map_write(script, "map", "a title's end", map, 0, 10);
	fclose(script);
	return text;
}

Test(plot_map, script_holds_one_number_a_pixel)
{
	struct plot_map *map = plot_map_create(0, 400, 100);
	plot_map_begin(map, 0);
	add(map, HEAP, PAGE_BYTES, MAP_SMALL, "ptmalloc-heap");
	plot_map_begin(map, 200);
	add(map, HEAP, PAGE_BYTES, MAP_HUGE, "ptmalloc-heap");
	add(map, HEAP + PAGE_BYTES, PAGE_BYTES / 4, MAP_SMALL, "ptmalloc-heap");
	char *text = script_of(map);
	cr_expect_not_null(strstr(text, "$map << EOD\n8 8 4 4\n0 0 5 5\nEOD\n"), "%s", text);
	cr_expect_not_null(strstr(text, "ptmalloc-heap  0x555500000000"));
	free(text);
	plot_map_free(map);
}

Test(plot_map, draws_what_the_name_says)
{
	struct error error = {0};
	struct plot_map *map = map_of(10);
	size_t bytes;
	plot_map_begin(map, 0);
	add(map, HEAP, MIB, MAP_HUGE, "it's `an` @owner");
	cr_expect_not(plot_map_draw("map.jpg", "title", map, 0, 10, &error));
	cr_expect_eq(error.code, ERROR_USAGE);
	struct plot_map *empty = map_of(10);
	error = (struct error){0};
	cr_expect_not(plot_map_draw("map.png", "title", empty, 0, 10, &error));
	cr_expect_eq(error.code, ERROR_USAGE);
	plot_map_free(empty);
	if (access("/usr/bin/gnuplot", X_OK))
		cr_skip_test("gnuplot is not installed");
	error = (struct error){0};
	const char *path = support_path("map.png");
	cr_assert(plot_map_draw(path, "title", map, 0, 10, &error), "%s", error.text);
	uint8_t *png = support_read_file(path, &bytes);
	cr_assert_gt(bytes, 1000);
	cr_expect_eq(memcmp(png, "\x89PNG", 4), 0);
	free(png);
	cr_expect_not(plot_map_draw("/nowhere/map.svg", "title", map, 0, 10, &error));
	cr_expect_eq(error.code, ERROR_INTERNAL);
	plot_map_free(map);
}
