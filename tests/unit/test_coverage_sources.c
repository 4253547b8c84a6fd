/* Coverage from other sources, with other page sizes, and what it may cost. */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/unit/support_coverage.h"

#define PAGE  SUPPORT_PAGE_BYTES
#define HUGE  SUPPORT_HUGE_BYTES
#define AT(n) SUPPORT_AT(n)
#define SMALL PAGE_PRESENT
#define LARGE (PAGE_PRESENT | PAGE_HUGE)
#define MS    UINT64_C(1000000)
#define ALL   0, UINT64_MAX

/* ---- other sources ------------------------------------------------------------------------------------ */

static void write_sums(struct support_trace *trace)
{
	support_reading(trace, 100 * MS, ALL, support_layout_maps);
	support_settings(trace, 110 * MS, true, "thp.enabled=always\n");
	struct smaps_record records[sizeof support_layout_smaps / sizeof *support_layout_smaps];
	memcpy(records, support_layout_smaps, sizeof records);
	records[0].rss_bytes = 3 * HUGE;
	records[0].anon_huge_bytes = HUGE;
	records[2].rss_bytes = 4 * PAGE;
	records[7].hugetlb_bytes = HUGE;
	records[8].rss_bytes = 100 * PAGE;
	support_smaps(trace, 210 * MS, records);
	support_snapshot(trace, 500 * MS, NULL);
	records[0].anon_huge_bytes = 2 * HUGE;
	support_smaps(trace, 900 * MS, records);
}

Test(coverage, sums_alone_leave_the_cause_unknown)
{
	struct support_coverage world = support_coverage_open("pmd_size_bytes=2097152\n", write_sums);
	size_t count;
	const struct coverage_row *rows = coverage_rows(world.coverage, &count);
	cr_assert_eq(count, 2);
	cr_expect_eq(rows[0].time, SUPPORT_START_TIME + 210 * MS);
	cr_expect_eq(rows[0].sums.resident_bytes, 3 * HUGE + 4 * PAGE);
	cr_expect_eq(rows[0].sums.huge_bytes, HUGE);
	cr_expect_eq(rows[0].sums.eligible_bytes, 8 * HUGE);
	cr_expect_eq(rows[0].sums.hugetlb_bytes, HUGE);
	support_cause_is(&rows[0].sums, CAUSE_UNKNOWN, 2 * HUGE);
	support_cause_is(&rows[0].sums, CAUSE_MADVISE, 4 * PAGE);
	cr_expect_null(coverage_sums_check(&rows[0].sums, false));
	cr_expect_eq(rows[1].sums.huge_bytes, 2 * HUGE);
	cr_expect_null(coverage_places(world.coverage));
	support_coverage_close(&world);
}

static void write_unplaced(struct support_trace *trace)
{
	const struct support_machine folios = {PAGE, HUGE, PAGES_FROM_KPAGEFLAGS, false};
	support_reading(trace, 100 * MS, ALL, support_layout_maps);
	support_settings(trace, 110 * MS, true, "thp.enabled=always\n");
	support_look(trace, &folios, 200 * MS, AT(0), AT(4),
		     (struct page_run[]){{AT(0), AT(3), PAGE_PRESENT | PAGE_FOLIO}, {0}});
	struct smaps_record records[sizeof support_layout_smaps / sizeof *support_layout_smaps];
	memcpy(records, support_layout_smaps, sizeof records);
	records[0].anon_huge_bytes = HUGE;
	support_smaps(trace, 210 * MS, records);
	support_snapshot(trace, 500 * MS, NULL);
}

Test(coverage, huge_pages_without_a_place_are_in_the_sum)
{
	struct support_coverage world = support_coverage_open(NULL, write_unplaced);
	const struct coverage_row *row = support_last_row(&world);
	cr_expect_eq(row->sums.huge_bytes, HUGE);
	cr_expect_eq(row->unplaced.huge_bytes, HUGE);
	cr_expect_eq(row->unplaced.folio_mapped_by_page_bytes, 2 * HUGE);
	support_cause_is(&row->sums, CAUSE_WAITING, 2 * HUGE);
	cr_expect_null(coverage_sums_check(&row->sums, true), "%s", coverage_sums_check(&row->sums, true));
	support_coverage_close(&world);
}

/* Folios that smaps has not spoken about may be huge or not: neither is said. */
static void write_undecided(struct support_trace *trace)
{
	const struct support_machine folios = {PAGE, HUGE, PAGES_FROM_KPAGEFLAGS, false};
	const struct page_run one[] = {{AT(0), AT(1), PAGE_PRESENT | PAGE_FOLIO}, {0}};
	const struct page_run two[] = {{AT(0), AT(2), PAGE_PRESENT | PAGE_FOLIO}, {0}};
	support_reading(trace, 100 * MS, ALL, support_layout_maps);
	support_look(trace, &folios, 200 * MS, AT(0), AT(4), one);
	support_smaps(trace, 210 * MS, support_layout_smaps); /* mapped by pages */
	support_look(trace, &folios, 300 * MS, AT(0), AT(4), one);
	support_snapshot(trace, 310 * MS, NULL);
	support_look(trace, &folios, 400 * MS, AT(0), AT(4), two);
	support_snapshot(trace, 410 * MS, NULL);
	struct smaps_record records[sizeof support_layout_smaps / sizeof *support_layout_smaps];
	memcpy(records, support_layout_smaps, sizeof records);
	records[0].anon_huge_bytes = 2 * HUGE;
	support_smaps(trace, 500 * MS, records);
	support_snapshot(trace, 510 * MS, NULL);
}

Test(coverage, new_folios_wait_for_smaps)
{
	struct support_coverage world = support_coverage_open(NULL, write_undecided);
	size_t count;
	const struct coverage_row *rows = coverage_rows(world.coverage, &count);
	cr_assert_eq(count, 2);
	cr_expect_eq(rows[0].time, SUPPORT_START_TIME + 310 * MS);
	cr_expect_eq(rows[0].sums.resident_bytes, HUGE);
	cr_expect_eq(rows[0].sums.huge_bytes, 0);
	cr_expect_eq(rows[1].sums.huge_bytes, 2 * HUGE);
	support_coverage_close(&world);
}

static void write_nothing(struct support_trace *trace)
{
	support_map_call(trace, 1 * MS, AT(0), 4 * HUGE, 5);
	support_snapshot(trace, 500 * MS, NULL);
}

Test(coverage, a_trace_without_looks_has_no_figures)
{
	struct support_coverage world = support_coverage_open(NULL, write_nothing);
	cr_expect_not(coverage_known(world.coverage));
	cr_expect_null(coverage_places(world.coverage));
	support_coverage_close(&world);
}

/* ---- page sizes --------------------------------------------------------------------------------------- */

#define HUGE_64K (UINT64_C(512) << 20)
#define PAGE_64K UINT64_C(65536)
#define FAR	 UINT64_C(0xffff40000000)

static void write_64k(struct support_trace *trace)
{
	const struct support_machine machine = {PAGE_64K, HUGE_64K, PAGES_FROM_SCAN, false};
	support_settings(trace, 10 * MS, true, "thp.enabled=always\n");
	support_map_call(trace, 20 * MS, FAR - PAGE_64K, HUGE_64K + 3 * PAGE_64K, 5);
	support_look(trace, &machine, 900 * MS, FAR - HUGE_64K, FAR + 2 * HUGE_64K,
		     (struct page_run[]){{FAR - PAGE_64K, FAR, SMALL},
					 {FAR, FAR + HUGE_64K, LARGE},
					 {FAR + HUGE_64K, FAR + HUGE_64K + 2 * PAGE_64K, SMALL},
					 {0}});
	support_snapshot(trace, 1000 * MS, NULL);
}

Test(coverage, a_64k_kernel_has_huge_pages_of_512_mib)
{
	struct support_coverage world = support_coverage_open("pmd_size_bytes=536870912\n", write_64k);
	size_t count;
	const struct coverage_sums *sums = &coverage_rows(world.coverage, &count)->sums;
	cr_assert_geq(count, 1);
	cr_expect_eq(sums->huge_bytes, HUGE_64K);
	cr_expect_eq(sums->eligible_bytes, HUGE_64K);
	support_cause_is(sums, CAUSE_EDGE, 3 * PAGE_64K);
	cr_expect_null(coverage_sums_check(sums, true));
	support_coverage_close(&world);
}

/* ---- time --------------------------------------------------------------------------------------------- */

/* The looks have become rare: what a snapshot between two of them would say is as old as the one before. */
static void write_rare_looks(struct support_trace *trace)
{
	support_map_call(trace, 1 * MS, AT(0), 4 * HUGE, 5);
	support_look(trace, &support_machine, 100 * MS, AT(0), AT(4),
		     (struct page_run[]){{AT(0), AT(1), LARGE}, {0}});
	support_snapshot(trace, 200 * MS, NULL);
	support_map_call(trace, 250 * MS, AT(8), 4 * HUGE, 5);
	support_snapshot(trace, 300 * MS, NULL);
	support_look(trace, &support_machine, 350 * MS, AT(0), AT(4), NULL);
	support_snapshot(trace, 400 * MS, NULL);
}

Test(coverage, a_moment_comes_after_a_look)
{
	struct support_coverage world = support_coverage_open(NULL, write_rare_looks);
	size_t count;
	const struct coverage_row *rows = coverage_rows(world.coverage, &count);
	cr_assert_eq(count, 2);
	cr_expect_float_eq(rows[0].age_s, 0.1, 1e-6);
	cr_expect_float_eq(rows[1].age_s, 0.05, 1e-6);
	support_coverage_close(&world);
}

/* ---- cost --------------------------------------------------------------------------------------------- */

#define RUNS 1000u

/* Every other page of 60 huge ones: more steps than a snapshot has. */
static void write_fragments(struct support_trace *trace)
{
	struct page_run runs[RUNS + 1] = {0};
	support_map_call(trace, 1 * MS, AT(0), 60 * 4 * HUGE, 5);
	for (uint64_t look = 0; look < 60; look++) {
		for (uint64_t i = 0; i < RUNS; i++)
			runs[i] = (struct page_run){AT(4 * look) + 2 * i * PAGE,
						    AT(4 * look) + (2 * i + 1) * PAGE, SMALL};
		support_look(trace, &support_machine, (2 + look) * MS, AT(4 * look), AT(4 * look + 4), runs);
	}
	for (uint64_t i = 1; i <= 12; i++) {
		support_look(trace, &support_machine, i * 500 * MS - MS, AT(0), AT(4), NULL);
		support_snapshot(trace, i * 500 * MS, NULL);
	}
}

Test(coverage, moments_become_rare_where_they_cost_much)
{
	struct support_coverage world = support_coverage_open(NULL, write_fragments);
	size_t count;
	const struct coverage_row *rows = coverage_rows(world.coverage, &count);
	cr_expect_geq(count, 2);
	cr_expect_leq(count, 6, "%zu moments", count);
	cr_expect_eq(rows[count - 1].sums.resident_bytes, 60 * RUNS * PAGE);
	support_coverage_close(&world);
}
