#include "tests/unit/support_coverage.h"

#include <sys/mman.h>

#include <criterion/criterion.h>

#include "analyzer/merge.h"
#include "tests/unit/support_trace_internal.h"

#define PAGE   SUPPORT_PAGE_BYTES
#define AT(n)  SUPPORT_AT(n)
#define SMALL  PAGE_PRESENT
#define LARGE  (PAGE_PRESENT | PAGE_HUGE)
#define RW     (MAPPING_READ | MAPPING_WRITE)
#define END_NS UINT64_C(10000000000)

const struct support_mapping support_layout_maps[] = {{AT(0), AT(4), RW, 0, ""},
						      {AT(8) + PAGE, AT(10), RW, 0, ""},
						      {AT(16), AT(17), RW, 0, ""},
						      {AT(20), AT(21), RW, 7, "/a/file"},
						      {AT(24), AT(24) + 64 * PAGE, RW, 0, ""},
						      {AT(28), AT(30), 0, 0, ""},
						      {AT(32), AT(33), RW, 0, ""},
						      {AT(36), AT(37), RW, 9, "/anon_hugepage (deleted)"},
						      {AT(40), AT(41), RW | MAPPING_OWN, 0, ""},
						      {0}};

const struct smaps_record support_layout_smaps[] = {
	{.start = AT(0), .end = AT(4), .flags = SMAPS_ELIGIBLE},
	{.start = AT(8) + PAGE, .end = AT(10), .flags = SMAPS_ELIGIBLE},
	{.start = AT(16), .end = AT(17), .flags = SMAPS_NO_HUGEPAGE},
	{.start = AT(20), .end = AT(21), .flags = SMAPS_FILE},
	{.start = AT(24), .end = AT(24) + 64 * PAGE},
	{.start = AT(28), .end = AT(30), .flags = SMAPS_ELIGIBLE},
	{.start = AT(32), .end = AT(33), .flags = SMAPS_ELIGIBLE},
	{.start = AT(36), .end = AT(37), .flags = SMAPS_FILE | SMAPS_HUGETLB},
	{.start = AT(40), .end = AT(41), .flags = SMAPS_ELIGIBLE | SMAPS_OWN},
	{0}};

const struct page_run support_layout_runs[] = {{AT(0), AT(1), LARGE},
					       {AT(1), AT(2) + 256 * PAGE, SMALL},
					       {AT(8) + PAGE, AT(8) + 11 * PAGE, SMALL},
					       {AT(9), AT(10), LARGE},
					       {AT(16), AT(16) + 4 * PAGE, SMALL},
					       {AT(20), AT(20) + 8 * PAGE, SMALL | PAGE_FILE},
					       {AT(24), AT(24) + 64 * PAGE, SMALL},
					       {AT(32), AT(32) + 3 * PAGE, SMALL | PAGE_ZERO},
					       {AT(32) + 3 * PAGE, AT(32) + 8 * PAGE, PAGE_SWAPPED},
					       {AT(32) + 8 * PAGE, AT(32) + 15 * PAGE, SMALL},
					       {AT(36), AT(37), LARGE | PAGE_FILE},
					       {AT(40), AT(40) + 100 * PAGE, SMALL},
					       {0}};

/* ---- traces ------------------------------------------------------------------------------------------- */

void support_map_call(struct support_trace *trace, uint64_t time, uint64_t start, uint64_t bytes,
		      uint32_t stack_id)
{
	support_event(trace,
		      &(struct trace_event){.kind = EVENT_MMAP,
					    .time = SUPPORT_START_TIME + time,
					    .end_time = SUPPORT_START_TIME + time,
					    .address = start,
					    .size_bytes = bytes,
					    .args = {PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS},
					    .stack_id = stack_id});
}

const char *support_coverage_trace(const char *keys, void (*write)(struct support_trace *trace))
{
	const char *path = support_path("coverage.mtr");
	struct support_trace *made =
		support_open(path, &(struct support_options){.full = true, .extra_keys = keys});
	write(made);
	support_end(made, END_NS);
	return path;
}

static bool take(struct support_coverage *world, const struct merge_item *item, struct error *error)
{
	if (item->event)
		return regions_event(world->regions, item->event, error) &&
		       pages_until(world->pages, item->event->time, error) &&
		       coverage_event(world->coverage, item->event, error);
	uint64_t time = item->snapshot->mark.time;
	return regions_until(world->regions, time, error) && pages_until(world->pages, time, error) &&
	       coverage_snapshot(world->coverage, item->snapshot, error);
}

struct support_coverage support_coverage_open(const char *keys, void (*write)(struct support_trace *trace))
{
	struct error error = {0};
	struct support_coverage world = {.path = support_coverage_trace(keys, write)};
	world.trace = trace_open(world.path, &error);
	SUPPORT_CHECK(world.trace);
	world.regions = regions_open(world.trace, NULL);
	world.pages = pages_open(world.trace);
	world.coverage = coverage_open(world.trace, world.regions, world.pages);
	struct merge *merge = merge_open(world.trace, &error);
	struct merge_item item;
	while (merge_next(merge, &item, &error))
		SUPPORT_CHECK(take(&world, &item, &error));
	merge_close(merge);
	SUPPORT_CHECK(regions_until(world.regions, UINT64_MAX, &error));
	SUPPORT_CHECK(pages_until(world.pages, UINT64_MAX, &error));
	SUPPORT_CHECK(coverage_finish(world.coverage, &error));
	return world;
}

void support_coverage_close(struct support_coverage *world)
{
	coverage_close(world->coverage);
	pages_close(world->pages);
	regions_close(world->regions);
	trace_close(world->trace);
}

void support_cause_is(const struct coverage_sums *sums, enum huge_cause cause, uint64_t bytes)
{
	cr_expect_eq(sums->causes[cause], bytes, "%s: %llu, not %llu", huge_cause_id(cause),
		     (unsigned long long)sums->causes[cause], (unsigned long long)bytes);
}

const struct coverage_row *support_last_row(const struct support_coverage *world)
{
	size_t count;
	const struct coverage_row *rows = coverage_rows(world->coverage, &count);
	cr_assert_gt(count, 0);
	return &rows[count - 1];
}
