#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "analyzer/hugeblocks_output.h"
#include "analyzer/hugeblocks_pass.h"
#include "analyzer/sites.h"
#include "tests/unit/support_pages.h"
#include "tests/unit/support_regions.h"

#define KIB	     UINT64_C(1024)
#define MIB	     (KIB * KIB)
#define HEAP	     UINT64_C(0x555555600000)
#define OTHER	     UINT64_C(0x7f0000000000)
#define SPACE_END    (UINT64_C(1) << 47)
#define MS	     UINT64_C(1000000)
#define PRESENT_HUGE (PAGE_PRESENT | PAGE_HUGE)

struct world {
	struct replay replay;
	struct hugeblocks_pass pass;
};

/* Writes a trace, and replays it. */
static struct world world_of(const struct support_options *options,
			     void (*write)(struct support_trace *trace), uint64_t end_time)
{
	struct error error = {0};
	struct world world = {0};
	const char *path = support_path("blocks.mtr");
	struct support_trace *made = support_open(path, options);
	write(made);
	support_end(made, end_time);
	world.replay.trace = trace_open(path, &error);
	cr_assert(world.replay.trace, "%s", error.text);
	return world;
}

static void replay(struct world *world)
{
	struct error error = {0};
	world->pass.replay = &world->replay;
	cr_assert(hugeblocks_pass_open(&world->pass, NULL, &error));
	cr_assert(replay_run(&world->replay, hugeblocks_pass_visit, &world->pass, &error), "%s", error.text);
	cr_assert(hugeblocks_pass_finish(&world->pass, &error));
}

static void world_close(struct world *world)
{
	hugeblocks_pass_close(&world->pass);
	replay_free(&world->replay);
	trace_close(world->replay.trace);
}

/* ---- a known layout ------------------------------------------------------------------------------------ */

/*
 * The heap, 8 MiB: 4 MiB on huge pages, 2 MiB on small ones, 2 MiB not resident. Another mapping of 2 MiB,
 * huge.
 */
static void write_space(struct support_trace *trace)
{
	const struct support_mapping mappings[] = {
		{HEAP, HEAP + 8 * MIB, MAPPING_READ | MAPPING_WRITE, 0, "[heap]"},
		{OTHER, OTHER + 2 * MIB, MAPPING_READ | MAPPING_WRITE, 0, ""},
		{0},
	};
	support_reading(trace, 1, 0, SPACE_END, mappings);
}

static void write_pages(struct support_trace *trace, uint64_t time)
{
	const struct page_run heap[] = {
		{HEAP, HEAP + 4 * MIB, PRESENT_HUGE}, {HEAP + 4 * MIB, HEAP + 6 * MIB, PAGE_PRESENT}, {0}};
	const struct page_run other[] = {{OTHER, OTHER + 2 * MIB, PRESENT_HUGE}, {0}};
	support_look(trace, &support_machine, time, HEAP, HEAP + 8 * MIB, heap);
	support_look(trace, &support_machine, time + 1, OTHER, OTHER + 2 * MIB, other);
}

static void write_blocks(struct support_trace *trace)
{
	const uint64_t frames[] = {0x401000, 0x402000};
	support_stack(trace, 1, 1, frames, 2);
	support_stack(trace, 1, 2, frames + 1, 1);
	support_malloc(trace, 1, 10, HEAP + 16, 1000, 1);
	support_malloc(trace, 1, 20, HEAP + MIB, 512 * KIB, 1);
	support_malloc(trace, 1, 30, HEAP + 3 * MIB, 2 * MIB, 2);    /* half on huge pages */
	support_malloc(trace, 1, 40, HEAP + 5 * MIB, 2 * MIB, 2);    /* half of it resident */
	support_malloc(trace, 1, 50, OTHER + 64 * KIB, 64 * KIB, 1); /* in no region of an allocator */
}

static void write_layout(struct support_trace *trace)
{
	write_space(trace);
	write_blocks(trace);
	support_snapshot(trace, 1 * MS, NULL);
	write_pages(trace, 2 * MS);
	support_snapshot(trace, 3 * MS, NULL);
}

static const struct hugeblocks_site *site_of(const struct world *world, uint32_t stack_id)
{
	size_t count, huge_count;
	const struct live_site *sites = livemap_sites(world->replay.live, &count);
	const struct hugeblocks_site *huge = hugeblocks_sites(world->pass.blocks, &huge_count);
	for (size_t i = 0; i < count && i < huge_count; i++)
		if (sites[i].stack_id == stack_id)
			return &huge[i];
	cr_assert_fail("no site of stack %u", stack_id);
	return NULL;
}

Test(hugeblocks, full_mode_is_exact)
{
	struct world world = world_of(&(struct support_options){.full = true}, write_layout, 4 * MS);
	replay(&world);
	cr_assert(hugeblocks_known(world.pass.blocks) && hugeblocks_exact(world.pass.blocks));
	const struct hugeblocks_look *look = hugeblocks_last(world.pass.blocks);
	const struct hugeblocks_sums sums = hugeblocks_sums(look);
	const double live_huge = 1000 + 512 * KIB + MIB, live_small = 2 * MIB;
	cr_expect_eq(sums.resident_bytes, 6 * MIB);
	cr_expect_eq(sums.huge_bytes, 4 * MIB);
	cr_expect_eq(sums.live_huge_bytes.value, live_huge);
	cr_expect_eq(sums.live_bytes.value, live_huge + live_small);
	cr_expect_eq(sums.bloat_bytes.value, 4 * MIB - live_huge);
	cr_expect_eq(sums.bloat_bytes.low, sums.bloat_bytes.value);
	cr_expect_eq(sums.bloat_bytes.high, sums.bloat_bytes.value);
	cr_expect_eq(sums.unused_bytes.value, 6 * MIB - live_huge - live_small);
	cr_expect_eq(look->live_elsewhere_bytes.value, 64 * KIB);
	cr_expect_eq(site_of(&world, 1)->huge_bytes.value, 1000 + 512 * KIB + 64 * KIB);
	cr_expect_eq(site_of(&world, 2)->huge_bytes.value, MIB);
	const uint64_t(*holes)[BACKINGS] = look->sweep.hole_bytes;
	cr_expect_eq(holes[size_class_of(1000)][BACKING_HUGE], 4096 - 1000);
	cr_expect_eq(holes[HOLE_FREE_PAGE][BACKING_HUGE], 4 * MIB - MIB - 512 * KIB - 4096);
	world_close(&world);
}

Test(hugeblocks, sample_mode_estimates)
{
	struct world world =
		world_of(&(struct support_options){.sample_bytes = 64 * KIB}, write_layout, 4 * MS);
	replay(&world);
	cr_assert_not(hugeblocks_exact(world.pass.blocks));
	const struct hugeblocks_sums sums = hugeblocks_sums(hugeblocks_last(world.pass.blocks));
	cr_expect_eq(sums.resident_bytes, 6 * MIB);
	/* The block of 1000 bytes stands for about 65 of its kind; the others are seen for sure. */
	double small = 1000 / sample_probability(1000, 64 * KIB);
	cr_expect_float_eq(sums.live_huge_bytes.value, small + 512 * KIB + MIB, 512);
	cr_expect_float_eq(sums.bloat_bytes.value, 4 * MIB - sums.live_huge_bytes.value, 1);
	cr_expect_lt(sums.bloat_bytes.low, sums.bloat_bytes.value);
	cr_expect_gt(sums.bloat_bytes.high, sums.bloat_bytes.value);
	cr_expect_leq(sums.bloat_bytes.high, 4 * MIB - 1000 - 512 * KIB - MIB);
	cr_expect_gt(estimate_high(&site_of(&world, 1)->huge_bytes), site_of(&world, 1)->huge_bytes.value);
	world_close(&world);
}

static void write_small(struct support_trace *trace)
{
	const struct page_run heap[] = {{HEAP, HEAP + 6 * MIB, PAGE_PRESENT}, {0}};
	write_space(trace);
	write_blocks(trace);
	support_look(trace, &support_machine, 2 * MS, HEAP, HEAP + 8 * MIB, heap);
	support_snapshot(trace, 3 * MS, NULL);
}

/* The estimate alone would not rule out what was not sampled; that there is no huge page does. */
Test(hugeblocks, without_huge_pages_no_site_is_on_any)
{
	struct world world =
		world_of(&(struct support_options){.sample_bytes = 64 * KIB}, write_small, 4 * MS);
	replay(&world);
	const struct hugeblocks_site *site = site_of(&world, 1);
	cr_expect_gt(estimate_high(&site->huge_bytes), 0);
	cr_expect_eq(hugeblocks_site_bytes(site).high, 0);
	cr_expect_eq(hugeblocks_site_bytes_peak(site).high, 0);
	world_close(&world);
}

/* ---- over time ----------------------------------------------------------------------------------------- */

static void write_lives(struct support_trace *trace)
{
	write_layout(trace);
	support_free_block(trace, 1, 4 * MS, HEAP + MIB);
	support_free_block(trace, 1, 4 * MS + 10, HEAP + 3 * MIB);
	support_snapshot(trace, 5 * MS, NULL);
	const struct page_run heap[] = {{HEAP, HEAP + 2 * MIB, PAGE_PRESENT}, {0}};
	support_look(trace, &support_machine, 6 * MS, HEAP, HEAP + 8 * MIB, heap);
	support_snapshot(trace, 7 * MS, NULL);
}

Test(hugeblocks, looks_follow_blocks_and_pages)
{
	struct world world = world_of(&(struct support_options){.full = true}, write_lives, 8 * MS);
	size_t count;
	replay(&world);
	/* Snapshots at 3, 5, 7 and 8 ms, and the end; at 1 ms no page had been looked at. */
	const struct hugeblocks_moment *moments = hugeblocks_moments(world.pass.blocks, &count);
	cr_assert_eq(count, 5);
	cr_expect_eq(moments[0].sums.bloat_bytes.value, 4 * MIB - 1000 - 512 * KIB - MIB);
	cr_expect_eq(moments[1].sums.bloat_bytes.value, 4 * MIB - 1000);
	cr_expect_eq(moments[2].sums.bloat_bytes.value, 0);
	cr_expect_eq(moments[2].sums.unused_bytes.value, 2 * MIB - 1000);
	cr_expect_eq(hugeblocks_sums(hugeblocks_peak(world.pass.blocks)).resident_bytes, 6 * MIB);
	cr_expect_eq(hugeblocks_usual(world.pass.blocks), hugeblocks_peak(world.pass.blocks));
	cr_expect_eq(site_of(&world, 2)->huge_bytes.value, 0);
	cr_expect_eq(site_of(&world, 2)->huge_bytes_peak.value, MIB);
	world_close(&world);
}

/* Mappings that are gone hold nothing, however old the picture of their pages is. */
static void write_unmapped(struct support_trace *trace)
{
	write_layout(trace);
	support_event(trace, &(struct trace_event){.kind = EVENT_MUNMAP,
						   .thread = 1,
						   .time = SUPPORT_START_TIME + 4 * MS,
						   .end_time = SUPPORT_START_TIME + 4 * MS,
						   .address = OTHER,
						   .size_bytes = 2 * MIB});
	support_snapshot(trace, 5 * MS, NULL);
}

Test(hugeblocks, what_was_unmapped_is_not_counted)
{
	struct world world = world_of(&(struct support_options){.full = true}, write_unmapped, 6 * MS);
	replay(&world);
	cr_expect_eq(site_of(&world, 1)->huge_bytes.value, 1000 + 512 * KIB);
	world_close(&world);
}

/* More blocks than events since the last look, and little time: it waits. */
static void write_many(struct support_trace *trace)
{
	write_space(trace);
	write_pages(trace, 2);
	for (uint64_t i = 0; i < 40000; i++)
		support_malloc(trace, 1, 10 + i, HEAP + 64 * i, 48, 1);
	support_snapshot(trace, 1 * MS, NULL);
	for (uint64_t round = 2; round < 12; round++) {
		for (uint64_t i = 0; i < 10000; i++)
			support_free_block(trace, 1, round * MS - 50000 + i, HEAP + 2 * MIB + 64 * KIB * 100);
		support_snapshot(trace, round * MS, NULL);
	}
	for (uint64_t ms = 100; ms < 3200; ms += 10)
		support_snapshot(trace, ms * MS, NULL);
}

Test(hugeblocks, looks_stay_linear_in_the_events)
{
	struct world world = world_of(&(struct support_options){.full = true}, write_many, 3200 * MS);
	size_t count, kept_count;
	replay(&world);
	const struct hugeblocks_moment *moments = hugeblocks_moments(world.pass.blocks, &count);
	/* 40000 blocks, some runs and regions: after every 50000 events, at 2 and at 7 ms; then every 100
	 * or 110 ms, and at the end. */
	cr_assert_geq(count, 2 + 29, "%zu", count);
	cr_assert_leq(count, 2 + 33, "%zu", count);
	cr_expect_eq(moments[1].time - moments[0].time, 5 * MS);
	cr_expect_geq(moments[20].time - moments[19].time, 100 * MS);
	cr_expect_leq(moments[20].time - moments[19].time, 110 * MS);
	hugeblocks_kept(world.pass.blocks, &kept_count);
	cr_expect_eq(kept_count, count);
	world_close(&world);
}

static void write_long(struct support_trace *trace)
{
	write_layout(trace);
	for (uint64_t ms = 4; ms < 3000; ms++)
		support_snapshot(trace, ms * MS, NULL);
}

Test(hugeblocks, whole_looks_are_bounded_and_evenly_spread)
{
	struct world world = world_of(&(struct support_options){.full = true}, write_long, 3000 * MS);
	size_t count, kept_count;
	replay(&world);
	hugeblocks_moments(world.pass.blocks, &count);
	const struct hugeblocks_look *kept = hugeblocks_kept(world.pass.blocks, &kept_count);
	cr_assert_eq(count, 2999); /* at 3 to 3000 ms, and the end */
	cr_expect_leq(kept_count, HUGEBLOCKS_KEPT_MAX);
	cr_expect_gt(kept_count, HUGEBLOCKS_KEPT_MAX / 2);
	for (size_t i = 2; i < kept_count; i++)
		cr_assert_eq(kept[i].time - kept[i - 1].time, kept[1].time - kept[0].time);
	world_close(&world);
}

/* ---- what is printed ----------------------------------------------------------------------------------- */

static double number(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);
	cr_assert(json_is_number(value), "%s", key);
	return json_number_value(value);
}

Test(hugeblocks, json_of_sites_and_allocator)
{
	struct world world = world_of(&(struct support_options){.full = true}, write_layout, 4 * MS);
	replay(&world);
	json_t *object = json_object();
	hugeblocks_put_json(object, world.replay.trace, world.pass.blocks);
	cr_expect_eq(number(object, "bloat_bytes"), 4 * MIB - 1000 - 512 * KIB - MIB);
	const json_t *owner =
		json_array_get(json_object_get(json_object_get(object, "allocator"), "owners"), 0);
	cr_expect_str_eq(json_string_value(json_object_get(owner, "owner")), "ptmalloc-heap");
	/* 1000 + 8; 512 KiB + 8 up to 16 and 2 MiB + 8 up to 16, whose last bytes are resident */
	cr_expect_eq(number(owner, "rounding_bytes"), 8 + 16 + 16);
	json_decref(object);
	struct symbols *symbols = symbols_create(world.replay.trace, NULL);
	struct sites_view view = {&world.replay, world.pass.blocks, symbols, SITE_ORDER_HUGE, 1};
	object = sites_json(&view);
	const json_t *site = json_array_get(json_object_get(object, "sites"), 0);
	cr_expect_eq(number(site, "stack_id"), 2);
	cr_expect_eq(number(site, "huge_bytes"), MIB);
	json_decref(object);
	view.huge = NULL;
	object = sites_json(&view);
	site = json_array_get(json_object_get(object, "sites"), 0);
	cr_expect(json_is_null(json_object_get(site, "huge_bytes")));
	json_decref(object);
	symbols_free(symbols);
	world_close(&world);
}

static void write_no_pages(struct support_trace *trace)
{
	write_space(trace);
	write_blocks(trace);
}

Test(hugeblocks, without_a_look_at_pages_nothing_is_known)
{
	struct world world = world_of(&(struct support_options){.full = true}, write_no_pages, 4 * MS);
	replay(&world);
	json_t *object = json_object();
	cr_expect_not(hugeblocks_known(world.pass.blocks));
	hugeblocks_put_json(object, world.replay.trace, world.pass.blocks);
	cr_expect(json_is_null(json_object_get(object, "bloat_bytes")));
	cr_expect(json_is_null(json_object_get(object, "allocator")));
	json_decref(object);
	world_close(&world);
}
