/* The picture of the pages: looks that follow each other, huge folios with smaps beside them, page sizes. */
#include <criterion/criterion.h>

#include "tests/unit/support_pages.h"

#define PAGE  SUPPORT_PAGE_BYTES
#define HUGE  SUPPORT_HUGE_BYTES
#define BASE  UINT64_C(0x7f0000000000)
#define SMALL PAGE_PRESENT
#define LARGE (PAGE_PRESENT | PAGE_HUGE)
#define FOLIO (PAGE_PRESENT | PAGE_FOLIO)
#define START SUPPORT_START_TIME

#define cr_sums(sums, resident, huge, zero, swapped)                                                         \
	do {                                                                                                 \
		cr_expect_eq((sums).resident_bytes, (resident));                                             \
		cr_expect_eq((sums).huge_bytes, (huge));                                                     \
		cr_expect_eq((sums).zero_bytes, (zero));                                                     \
		cr_expect_eq((sums).swapped_bytes, (swapped));                                               \
	} while (0)

static void run_is(const struct pages *pages, uint64_t from, uint64_t start, uint64_t end, uint32_t flags)
{
	struct page_run run = {0};
	cr_expect(pages_from(pages, from, &run));
	cr_expect_eq(run.start, start);
	cr_expect_eq(run.end, end);
	cr_expect_eq(run.flags, flags);
}

/* ---- looks -------------------------------------------------------------------------------------------- */

static void write_looks(struct support_trace *trace)
{
	support_look(trace, &support_machine, 100, BASE, BASE + 4 * HUGE,
		     (struct page_run[]){{BASE, BASE + HUGE, LARGE},
					 {BASE + HUGE, BASE + HUGE + 3 * PAGE, SMALL},
					 {BASE + HUGE + 3 * PAGE, BASE + HUGE + 5 * PAGE, PAGE_SWAPPED},
					 {BASE + 2 * HUGE, BASE + 2 * HUGE + 7 * PAGE, SMALL | PAGE_ZERO},
					 {0}});
	support_look(trace, &support_machine, 200, BASE + 4 * HUGE, BASE + 6 * HUGE,
		     (struct page_run[]){{BASE + 5 * HUGE, BASE + 6 * HUGE, LARGE}, {0}});
	support_look(trace, &support_machine, 300, BASE, BASE + 2 * HUGE, NULL);
	support_look(trace, &support_machine, 400, BASE + HUGE, BASE + 3 * HUGE,
		     (struct page_run[]){{BASE + HUGE, BASE + 2 * HUGE, LARGE}, {0}});
}

Test(pages, nothing_is_known_before_the_first_look)
{
	struct support_picture picture = support_picture_keys("pmd_size_bytes=33554432\n", write_looks);
	support_picture_until(&picture, 99);
	cr_expect(!pages_known(picture.pages));
	cr_expect_eq(pages_source(picture.pages), 0);
	cr_expect_eq(pages_huge_bytes(picture.pages), UINT64_C(32) << 20); /* the process block's */
	cr_expect_eq(pages_due(picture.pages), START + 100);
	cr_expect_eq(pages_smaps(picture.pages)->count, 0);
	support_picture_close(&picture);
}

Test(pages, each_look_replaces_its_range_and_no_more)
{
	struct support_picture picture = support_picture_open(write_looks);
	support_picture_until(&picture, 150);
	cr_expect(pages_known(picture.pages));
	cr_expect_eq(pages_source(picture.pages), PAGES_FROM_SCAN);
	cr_expect_eq(pages_huge_bytes(picture.pages), HUGE);
	cr_expect_eq(pages_run_count(picture.pages), 4);
	cr_sums(pages_sums(picture.pages, 0, UINT64_MAX), HUGE + 3 * PAGE, HUGE, 7 * PAGE, 2 * PAGE);
	support_picture_until(&picture, 250);
	cr_sums(pages_sums(picture.pages, 0, UINT64_MAX), 2 * HUGE + 3 * PAGE, 2 * HUGE, 7 * PAGE, 2 * PAGE);
	support_picture_until(&picture, UINT64_MAX);
	run_is(picture.pages, 0, BASE, BASE + 2 * HUGE, LARGE); /* joined across looks */
	run_is(picture.pages, BASE + 2 * HUGE, BASE + 5 * HUGE, BASE + 6 * HUGE, LARGE);
	cr_expect_eq(pages_at(picture.pages, BASE + 2 * HUGE), 0);
	cr_expect_eq(pages_due(picture.pages), UINT64_MAX);
	support_picture_close(&picture);
}

Test(pages, sums_are_cut_off_at_both_ends)
{
	struct support_picture picture = support_picture_open(write_looks);
	support_picture_until(&picture, 150);
	cr_sums(pages_sums(picture.pages, BASE + HUGE - 2 * PAGE, BASE + HUGE + PAGE), 3 * PAGE, 2 * PAGE, 0,
		0);
	cr_sums(pages_sums(picture.pages, BASE + HUGE + 4 * PAGE, BASE + 2 * HUGE + PAGE), 0, 0, PAGE, PAGE);
	cr_sums(pages_sums(picture.pages, BASE + 3 * HUGE, BASE + 4 * HUGE), 0, 0, 0, 0);
	support_picture_close(&picture);
}

Test(pages, an_unchanged_range_is_as_new_as_its_last_look)
{
	struct support_picture picture = support_picture_open(write_looks);
	struct page_look_age look;
	support_picture_until(&picture, 350);
	cr_assert(pages_looked_from(picture.pages, BASE, &look));
	cr_expect_eq(look.end, BASE + 2 * HUGE);
	cr_expect_eq(look.time, START + 300);
	cr_assert(pages_looked_from(picture.pages, look.end, &look));
	cr_expect_eq(look.end, BASE + 4 * HUGE);
	cr_expect_eq(look.time, START + 100);
	run_is(picture.pages, BASE, BASE, BASE + HUGE, LARGE);
	cr_expect(!pages_looked_from(picture.pages, BASE + 6 * HUGE, &look));
	support_picture_close(&picture);
}

static void write_late(struct support_trace *trace)
{
	support_look(trace, &support_machine, 100, BASE, BASE + 2 * HUGE, NULL);
	support_look(trace, &support_machine, 200, BASE + HUGE, BASE + 2 * HUGE,
		     (struct page_run[]){{BASE + HUGE, BASE + 2 * HUGE, LARGE}, {0}});
	support_look(trace, &support_machine, 300, BASE, BASE + 4 * HUGE, NULL);
}

/* What is left of a flight recorder may begin so. */
Test(pages, unchanged_says_nothing_where_nothing_was_known)
{
	struct support_picture picture = support_picture_open(write_late);
	struct page_look_age look;
	support_picture_until(&picture, 150);
	cr_expect_not(pages_known(picture.pages));
	support_picture_until(&picture, UINT64_MAX);
	cr_assert(pages_looked_from(picture.pages, 0, &look));
	cr_expect_eq(look.start, BASE + HUGE);
	cr_expect_eq(look.end, BASE + 2 * HUGE);
	cr_expect_eq(look.time, START + 300);
	cr_expect_not(pages_looked_from(picture.pages, look.end, &look));
	support_picture_close(&picture);
}

/* ... and knows the pages once a look has told everything anew. */
static void write_keyframe(struct support_trace *trace)
{
	const struct support_machine whole = {PAGE, HUGE, PAGES_FROM_SCAN, true};
	write_late(trace);
	support_look(trace, &whole, 400, BASE, BASE + 2 * HUGE,
		     (struct page_run[]){{BASE, BASE + 2 * HUGE, LARGE}, {0}});
	support_looks(trace,
		      &(struct pages_header){.time = START + 500,
					     .end_time = START + 500,
					     .page_bytes = PAGE,
					     .huge_bytes = HUGE,
					     .source = PAGES_FROM_SCAN,
					     .flags = PAGES_WHOLE},
		      NULL, 0, NULL, 0);
}

Test(pages, a_flight_recorder_is_known_once_all_was_told)
{
	struct support_picture picture = support_picture_wrapped(write_keyframe);
	support_picture_until(&picture, 350);
	cr_expect_eq(pages_at(picture.pages, BASE + HUGE), LARGE);
	cr_expect_not(pages_known(picture.pages));
	support_picture_until(&picture, 400);
	cr_expect(pages_known(picture.pages));
	support_picture_until(&picture, UINT64_MAX);
	cr_expect_eq(pages_sums(picture.pages, 0, UINT64_MAX).huge_bytes, 2 * HUGE);
	support_picture_close(&picture);
}

/* Looks of one block are applied when they were made, in whatever order their addresses are. */
static void write_one_block(struct support_trace *trace)
{
	struct pages_header header = {.time = START + 10,
				      .end_time = START + 90,
				      .page_bytes = PAGE,
				      .huge_bytes = HUGE,
				      .source = PAGES_FROM_SCAN,
				      .ranges = 2,
				      .runs = 2};
	struct pages_range ranges[] = {{BASE, BASE + HUGE, START + 80, 1, 0},
				       {BASE + HUGE, BASE + 2 * HUGE, START + 20, 1, 0}};
	struct pages_run runs[] = {{BASE, 1, SMALL}, {BASE + HUGE, 2, SMALL}};
	support_looks(trace, &header, ranges, 2, runs, 2);
}

Test(pages, looks_of_a_block_are_applied_at_their_own_times)
{
	struct support_picture picture = support_picture_open(write_one_block);
	support_picture_until(&picture, 50);
	cr_expect_eq(pages_at(picture.pages, BASE), 0);
	cr_expect_eq(pages_at(picture.pages, BASE + HUGE), SMALL);
	cr_expect_eq(pages_due(picture.pages), START + 80);
	support_picture_until(&picture, 80);
	cr_expect_eq(pages_at(picture.pages, BASE), SMALL);
	support_picture_close(&picture);
}

/* ---- changes ------------------------------------------------------------------------------------------ */

struct seen {
	size_t count;
	struct pages_change last;
	struct page_run before[4], after[4];
};

static bool see(void *context, const struct pages_change *change)
{
	struct seen *seen = context;
	seen->count++;
	seen->last = *change;
	for (size_t i = 0; i < change->before_count && i < 4; i++)
		seen->before[i] = change->before[i];
	for (size_t i = 0; i < change->after_count && i < 4; i++)
		seen->after[i] = change->after[i];
	return true;
}

Test(pages, a_change_has_the_runs_before_and_after)
{
	struct support_picture picture = support_picture_open(write_looks);
	struct seen seen = {0};
	cr_assert(pages_watch(picture.pages, see, &seen));
	support_picture_until(&picture, 100);
	cr_expect_eq(seen.count, 1);
	cr_expect_eq(seen.last.since, 0);
	cr_expect_eq(seen.last.before_count, 0);
	cr_expect_eq(seen.last.after_count, 4);
	support_picture_until(&picture, 300);
	cr_expect_eq(seen.count, 3);
	cr_expect(seen.last.unchanged);
	cr_expect_eq(seen.last.since, START + 100);
	support_picture_until(&picture, 400);
	cr_expect(!seen.last.unchanged);
	cr_expect_eq(seen.last.start, BASE + HUGE);
	cr_expect_eq(seen.last.since, START + 100); /* its older half */
	cr_expect_eq(seen.last.before_count, 3);
	cr_expect_eq(seen.before[0].start, BASE + HUGE);
	cr_expect_eq(seen.before[2].flags, SMALL | PAGE_ZERO);
	cr_expect_eq(seen.last.after_count, 1);
	cr_expect_eq(seen.after[0].end, BASE + 2 * HUGE);
	support_picture_close(&picture);
}

static bool refuse(void *context, const struct pages_change *change)
{
	(void)context;
	return change->time < START + 200;
}

Test(pages, a_watcher_without_memory_ends_it)
{
	struct support_picture picture = support_picture_open(write_looks);
	struct error error = {0};
	cr_assert(pages_watch(picture.pages, refuse, NULL));
	cr_expect(!pages_until(picture.pages, UINT64_MAX, &error));
	cr_expect_eq(error.code, ERROR_INTERNAL);
	support_picture_close(&picture);
}

/* ---- huge folios -------------------------------------------------------------------------------------- */

static const struct support_machine by_folios = {PAGE, HUGE, PAGES_FROM_KPAGEFLAGS, false};

/* Two mappings: in the first both folios are mapped whole, the second has one whole, and one of which a page
 * is gone. Before and behind the second lie a folio's parts that no PMD can map. */
#define SECOND (BASE + 16 * HUGE)
static void write_folios(struct support_trace *trace)
{
	support_look(trace, &by_folios, 100, BASE, BASE + 4 * HUGE,
		     (struct page_run[]){{BASE + HUGE, BASE + 3 * HUGE, FOLIO},
					 {BASE + 3 * HUGE, BASE + 3 * HUGE + PAGE, SMALL},
					 {0}});
	support_look(trace, &by_folios, 110, SECOND, SECOND + 4 * HUGE,
		     (struct page_run[]){{SECOND + HUGE - PAGE, SECOND + 2 * HUGE, FOLIO},
					 {SECOND + 2 * HUGE, SECOND + 3 * HUGE - PAGE, FOLIO},
					 {0}});
	support_smaps(trace, 120,
		      (struct smaps_record[]){
			      {.start = BASE + PAGE, .end = BASE + 4 * HUGE, .anon_huge_bytes = 2 * HUGE},
			      {.start = SECOND, .end = SECOND + 4 * HUGE, .anon_huge_bytes = HUGE},
			      {0}});
	support_look(trace, &by_folios, 200, BASE, BASE + 4 * HUGE,
		     (struct page_run[]){{BASE + HUGE, BASE + 2 * HUGE, FOLIO},
					 {BASE + 2 * HUGE, BASE + 3 * HUGE - PAGE, FOLIO},
					 {0}});
	support_smaps(
		trace, 300,
		(struct smaps_record[]){{.start = BASE + PAGE, .end = BASE + 4 * HUGE, .anon_huge_bytes = 0},
					{.start = SECOND, .end = SECOND + 4 * HUGE, .anon_huge_bytes = HUGE},
					{0}});
}

Test(pages, folios_are_huge_where_smaps_has_as_much)
{
	struct support_picture picture = support_picture_open(write_folios);
	support_picture_until(&picture, 110);
	struct page_sums sums = pages_sums(picture.pages, 0, UINT64_MAX);
	cr_sums(sums, 4 * HUGE + PAGE, 0, 0, 0);
	cr_expect_eq(sums.folio_bytes, 4 * HUGE);
	support_picture_until(&picture, 120);
	cr_sums(pages_sums(picture.pages, 0, UINT64_MAX), 4 * HUGE + PAGE, 3 * HUGE, 0, 0);
	run_is(picture.pages, BASE, BASE + HUGE, BASE + 3 * HUGE, FOLIO | PAGE_HUGE);
	run_is(picture.pages, SECOND, SECOND + HUGE - PAGE, SECOND + HUGE, FOLIO);
	run_is(picture.pages, SECOND + HUGE, SECOND + HUGE, SECOND + 2 * HUGE, FOLIO | PAGE_HUGE);
	cr_expect_eq(pages_unplaced(picture.pages).huge_bytes, 0);
	cr_expect_eq(pages_unplaced(picture.pages).folio_mapped_by_page_bytes, HUGE);
	cr_expect_eq(pages_smaps_at(picture.pages, BASE + PAGE)->anon_huge_bytes, 2 * HUGE);
	cr_expect_null(pages_smaps_at(picture.pages, BASE));
	cr_expect_null(pages_smaps_at(picture.pages, SECOND + 4 * HUGE));
	support_picture_close(&picture);
}

Test(pages, a_whole_folio_stays_huge_until_smaps_says_otherwise)
{
	struct support_picture picture = support_picture_open(write_folios);
	support_picture_until(&picture, 250);
	run_is(picture.pages, BASE, BASE + HUGE, BASE + 2 * HUGE, FOLIO | PAGE_HUGE);
	run_is(picture.pages, BASE + 2 * HUGE, BASE + 2 * HUGE, BASE + 3 * HUGE - PAGE, FOLIO);
	struct seen seen = {0};
	cr_assert(pages_watch(picture.pages, see, &seen));
	support_picture_until(&picture, 300);
	run_is(picture.pages, BASE, BASE + HUGE, BASE + 3 * HUGE - PAGE, FOLIO);
	cr_expect_eq(pages_unplaced(picture.pages).folio_mapped_by_page_bytes, 3 * HUGE - PAGE);
	cr_expect_eq(seen.count, 1); /* the second mapping is as it was */
	cr_expect_eq(seen.last.start, BASE + HUGE);
	cr_expect_eq(seen.before[0].flags, FOLIO | PAGE_HUGE);
	support_picture_close(&picture);
}

/* A PMD of two folios is gone, but which one? */
static void write_unplaced(struct support_trace *trace)
{
	support_look(trace, &by_folios, 100, BASE, BASE + 4 * HUGE,
		     (struct page_run[]){{BASE, BASE + 2 * HUGE, FOLIO}, {0}});
	support_smaps(trace, 120,
		      (struct smaps_record[]){
			      {.start = BASE, .end = BASE + 4 * HUGE, .shmem_huge_bytes = HUGE}, {0}});
}

Test(pages, huge_pages_without_a_place_are_told_apart)
{
	struct support_picture picture = support_picture_open(write_unplaced);
	support_picture_until(&picture, UINT64_MAX);
	cr_sums(pages_sums(picture.pages, 0, UINT64_MAX), 2 * HUGE, 0, 0, 0);
	cr_expect_eq(pages_unplaced(picture.pages).huge_bytes, HUGE);
	cr_expect_eq(pages_unplaced(picture.pages).folio_mapped_by_page_bytes, HUGE);
	support_picture_close(&picture);
}

/* ---- page sizes --------------------------------------------------------------------------------------- */

#define PAGE_16K   UINT64_C(16384)
#define HUGE_16K   (UINT64_C(32) << 20)
#define PAGE_64K   UINT64_C(65536)
#define HUGE_64K   (UINT64_C(512) << 20)
#define BASE_LARGE UINT64_C(0xffff80000000)

static void write_16k(struct support_trace *trace)
{
	const struct support_machine machine = {PAGE_16K, HUGE_16K, PAGES_FROM_SCAN, false};
	support_look(trace, &machine, 100, BASE_LARGE, BASE_LARGE + 2 * HUGE_16K,
		     (struct page_run[]){{BASE_LARGE, BASE_LARGE + HUGE_16K, LARGE},
					 {BASE_LARGE + HUGE_16K, BASE_LARGE + HUGE_16K + 3 * PAGE_16K, SMALL},
					 {0}});
}

static void write_64k(struct support_trace *trace)
{
	const struct support_machine machine = {PAGE_64K, HUGE_64K, PAGES_FROM_KPAGEFLAGS, false};
	support_look(trace, &machine, 100, BASE_LARGE, BASE_LARGE + HUGE_64K,
		     (struct page_run[]){{BASE_LARGE, BASE_LARGE + HUGE_64K, FOLIO}, {0}});
	support_smaps(
		trace, 110,
		(struct smaps_record[]){
			{.start = BASE_LARGE, .end = BASE_LARGE + HUGE_64K, .anon_huge_bytes = HUGE_64K},
			{0}});
}

Test(pages, sizes_are_the_machines)
{
	struct support_picture picture = support_picture_open(write_16k);
	support_picture_until(&picture, UINT64_MAX);
	cr_expect_eq(pages_page_bytes(picture.pages), PAGE_16K);
	cr_expect_eq(pages_huge_bytes(picture.pages), HUGE_16K);
	cr_sums(pages_sums(picture.pages, 0, UINT64_MAX), HUGE_16K + 3 * PAGE_16K, HUGE_16K, 0, 0);
	support_picture_close(&picture);
	picture = support_picture_open(write_64k);
	support_picture_until(&picture, UINT64_MAX);
	cr_expect_eq(pages_huge_bytes(picture.pages), HUGE_64K);
	cr_sums(pages_sums(picture.pages, 0, UINT64_MAX), HUGE_64K, HUGE_64K, 0, 0);
	support_picture_close(&picture);
}
