/* Coverage of known layouts: every byte in its sum, and with its cause; over time. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/unit/support_coverage.h"

#define PAGE  SUPPORT_PAGE_BYTES
#define HUGE  SUPPORT_HUGE_BYTES
#define AT(n) SUPPORT_AT(n)
#define SMALL PAGE_PRESENT
#define LARGE (PAGE_PRESENT | PAGE_HUGE)
#define MS    UINT64_C(1000000)
#define ALL   0, UINT64_MAX

/* ---- one layout with everything in it ----------------------------------------------------------------- */

static void write_layout(struct support_trace *trace)
{
	support_map_call(trace, 1 * MS, AT(0), 4 * HUGE, 5);
	support_reading(trace, 100 * MS, ALL, support_layout_maps);
	support_settings(trace, 110 * MS, true, "thp.enabled=always\nvmstat.thp_fault_fallback=5\n");
	support_look(trace, &support_machine, 200 * MS, AT(0), AT(64), support_layout_runs);
	support_smaps(trace, 210 * MS, support_layout_smaps);
	support_snapshot(trace, 500 * MS, &(struct snapshot){.rss_bytes = 9 * HUGE});
}

Test(coverage, every_byte_has_its_sum_and_its_cause)
{
	struct support_coverage world = support_coverage_open(NULL, write_layout);
	const struct coverage_row *row = support_last_row(&world);
	const struct coverage_sums *sums = &row->sums;
	cr_expect_eq(sums->huge_bytes, 2 * HUGE);
	cr_expect_eq(sums->resident_bytes, 2 * HUGE + HUGE + (256 + 10 + 4 + 8 + 64 + 7) * PAGE);
	cr_expect_eq(sums->eligible_bytes, (4 + 1 + 2 + 1) * HUGE);
	cr_expect_eq(sums->eligible_reserved_bytes, 2 * HUGE);
	cr_expect_eq(sums->eligible_predicted_bytes, 0);
	cr_expect_eq(sums->eligible_swapped_bytes, 5 * PAGE);
	cr_expect_eq(sums->swapped_bytes, 5 * PAGE);
	cr_expect_eq(sums->zero_bytes, 3 * PAGE);
	cr_expect_eq(sums->hugetlb_bytes, HUGE);
	support_cause_is(sums, CAUSE_WAITING, HUGE + (256 + 7) * PAGE);
	support_cause_is(sums, CAUSE_EDGE, 10 * PAGE);
	support_cause_is(sums, CAUSE_MADVISE, 4 * PAGE);
	support_cause_is(sums, CAUSE_FILE, 8 * PAGE);
	support_cause_is(sums, CAUSE_TOO_SMALL, 64 * PAGE);
	support_cause_is(sums, CAUSE_BROKEN, 0);
	support_cause_is(sums, CAUSE_FALLBACK, 0);
	support_cause_is(sums, CAUSE_UNKNOWN, 0);
	support_cause_is(sums, CAUSE_NOT_FAULTED, HUGE + 256 * PAGE + HUGE - 12 * PAGE);
	cr_expect_null(coverage_sums_check(sums, true), "%s", coverage_sums_check(sums, true));
	cr_expect_float_eq(row->age_s, 0.3, 1e-6);
	cr_expect_eq(row->rss_bytes, 9 * HUGE);
	support_coverage_close(&world);
}

Test(coverage, owners_and_sites_have_their_parts)
{
	struct support_coverage world = support_coverage_open(NULL, write_layout);
	size_t count, owner_count, found = 0;
	const struct coverage_part *owners = coverage_owners(world.coverage, &count);
	const struct region_owner *names = regions_owners(world.regions, &owner_count);
	struct coverage_sums all = {0};
	for (size_t i = 0; i < count; i++) {
		const char *wrong = coverage_sums_check(&owners[i].sums, true);
		cr_expect_null(wrong, "%s: %s", names[i].name, wrong);
		all.resident_bytes += owners[i].sums.resident_bytes;
		if (strcmp(names[i].name, "file") == 0)
			cr_expect_eq(owners[i].sums.resident_bytes, 8 * PAGE);
		if (names[i].kind == OWNER_TRACER)
			cr_expect_eq(owners[i].sums.resident_bytes, 0);
	}
	cr_expect_eq(all.resident_bytes, support_last_row(&world)->sums.resident_bytes);
	const struct coverage_part *sites = coverage_sites(world.coverage, &count);
	for (size_t i = 0; i < count; i++) {
		if (sites[i].stack_id != 5)
			continue;
		found++;
		cr_expect_eq(sites[i].sums.huge_bytes, HUGE);
		cr_expect_eq(sites[i].sums.resident_bytes, 2 * HUGE + 256 * PAGE);
		cr_expect_eq(sites[i].huge_bytes_peak, HUGE);
	}
	cr_expect_eq(found, 1);
	support_coverage_close(&world);
}

Test(coverage, regions_are_the_mappings)
{
	struct support_coverage world = support_coverage_open(NULL, write_layout);
	size_t count;
	const struct coverage_region *regions = coverage_regions(world.coverage, &count);
	cr_assert_eq(count, 8); /* the shim's is not among them */
	for (size_t i = 0; i < count; i++) {
		cr_expect_eq(regions[i].start, support_layout_maps[i].start);
		cr_expect_eq(regions[i].end, support_layout_maps[i].end);
		cr_expect_null(coverage_sums_check(&regions[i].sums, true));
	}
	cr_expect(regions[0].eligible);
	cr_expect_not(regions[2].eligible);
	cr_expect_not(regions[0].predicted);
	support_coverage_close(&world);
}

/* ---- over time ---------------------------------------------------------------------------------------- */

static void advise_part(struct support_trace *trace, uint64_t time, uint64_t start, uint32_t stack_id)
{
	support_event(trace, &(struct trace_event){.kind = EVENT_MADVISE,
						   .time = SUPPORT_START_TIME + time,
						   .end_time = SUPPORT_START_TIME + time,
						   .address = start,
						   .size_bytes = PAGE,
						   .args = {MADV_DONTNEED},
						   .stack_id = stack_id});
}

/* Two huge pages, of which one is broken; later new memory falls back, and the whole goes. */
static void write_story(struct support_trace *trace)
{
	const struct snapshot first = {.minor_faults = 100, .major_faults = 1},
			      second = {.minor_faults = 150, .major_faults = 4};
	support_settings(trace, 10 * MS, true, "thp.enabled=always\nvmstat.thp_fault_fallback=5\n");
	support_map_call(trace, 20 * MS, AT(0), 4 * HUGE, 5);
	support_look(trace, &support_machine, 900 * MS, AT(0), AT(4),
		     (struct page_run[]){{AT(0), AT(2), LARGE}, {0}});
	support_snapshot(trace, 1000 * MS, &first);
	advise_part(trace, 1100 * MS, AT(1) + 8 * PAGE, 6);
	support_look(trace, &support_machine, 1900 * MS, AT(0), AT(4),
		     (struct page_run[]){{AT(0), AT(1), LARGE},
					 {AT(1), AT(1) + 8 * PAGE, SMALL},
					 {AT(1) + 9 * PAGE, AT(2), SMALL},
					 {AT(2), AT(2) + 16 * PAGE, SMALL},
					 {0}});
	support_settings(trace, 1950 * MS, false, "vmstat.thp_fault_fallback=6\n");
	support_snapshot(trace, 2000 * MS, &second);
	support_event(trace, &(struct trace_event){.kind = EVENT_MUNMAP,
						   .time = SUPPORT_START_TIME + 2500 * MS,
						   .end_time = SUPPORT_START_TIME + 2500 * MS,
						   .address = AT(0),
						   .size_bytes = 4 * HUGE,
						   .stack_id = 7});
	support_snapshot(trace, 3000 * MS, &second);
}

Test(coverage, each_snapshot_is_a_moment)
{
	struct support_coverage world = support_coverage_open(NULL, write_story);
	size_t count;
	const struct coverage_row *rows = coverage_rows(world.coverage, &count);
	cr_assert_geq(count, 3);
	cr_expect_eq(rows[0].time, SUPPORT_START_TIME + 1000 * MS);
	cr_expect_eq(rows[0].sums.huge_bytes, 2 * HUGE);
	cr_expect_eq(rows[0].sums.eligible_bytes, 4 * HUGE);
	cr_expect_eq(rows[0].sums.eligible_predicted_bytes, 4 * HUGE); /* smaps was never read */
	cr_expect_float_eq(rows[0].age_s, 0.1, 1e-6);
	cr_expect_eq(rows[1].sums.huge_bytes, HUGE);
	support_cause_is(&rows[1].sums, CAUSE_BROKEN, HUGE - PAGE);
	support_cause_is(&rows[1].sums, CAUSE_FALLBACK, 16 * PAGE);
	support_cause_is(&rows[1].sums, CAUSE_NOT_FAULTED, PAGE + HUGE - 16 * PAGE + HUGE);
	cr_expect_eq(rows[2].sums.resident_bytes, 0); /* unmapped since the look */
	cr_expect(isnan(rows[2].age_s));
	for (size_t i = 0; i < count; i++)
		cr_expect_null(coverage_sums_check(&rows[i].sums, true));
	const struct coverage_level *levels = coverage_levels(world.coverage);
	cr_assert_eq(rows[1].owners_count, 1);
	cr_expect_eq(levels[rows[1].owners_at].huge_bytes, HUGE);
	cr_assert_eq(rows[1].sites_count, 1);
	cr_expect_eq(levels[rows[1].sites_at].resident_bytes, 2 * HUGE + 15 * PAGE);
	support_coverage_close(&world);
}

Test(coverage, breakers_and_faults_are_counted)
{
	struct support_coverage world = support_coverage_open(NULL, write_story);
	size_t count;
	const struct breaker *breakers = hugeplaces_breakers(coverage_places(world.coverage), &count);
	cr_assert_eq(count, 2);
	cr_expect_eq(breakers[0].huge_pages_lost, 0);
	cr_expect_eq(breakers[1].stack_id, 6);
	cr_expect_eq(breakers[1].huge_pages_lost, 1);
	const struct coverage_faults faults = coverage_faults(world.coverage);
	cr_expect_eq(faults.minor, SNAPSHOT_UNKNOWN); /* the last snapshot has gone back to 0 */
	support_coverage_close(&world);
}
