/* Region calls into regions: sequences with known results. What readings add is in test_regions_reading.c. */
#include <criterion/criterion.h>
#include <errno.h>
#include <sys/mman.h>

#include "tests/unit/support_regions.h"

#define MIB	  (UINT64_C(1) << 20)
#define GIB	  (UINT64_C(1) << 30)
#define PAGE	  UINT64_C(4096)
#define SOMEWHERE UINT64_C(0x7f1000000000)
#define NORMAL	  (UINT64_C(4) << 42 | 5 * GIB) /* addresses with google/tcmalloc's tags */
#define SAMPLED	  (UINT64_C(1) << 45 | 7 * GIB)
#define COLD	  (UINT64_C(2) << 42 | 3 * GIB)
#define METADATA  (UINT64_C(3) << 42)

/* ---- TCMalloc ----------------------------------------------------------------------------------------- */

/* Reserves 1 GiB, commits from the end down, releases by the MADV_REMOVE that fails and then MADV_DONTNEED.
 */
Test(regions, tcmalloc_reserves_commits_and_releases)
{
	struct support_regions *world = support_regions_open(NULL);
	support_mmap(world, 10, NORMAL, GIB, PROT_NONE, 0);
	support_owner_is(world, "tcmalloc-normal", GIB, 0, 0);
	support_mprotect(world, 20, NORMAL + GIB - 2 * MIB, 2 * MIB, PROT_READ | PROT_WRITE);
	support_mprotect(world, 30, NORMAL + GIB - 6 * MIB, 4 * MIB, PROT_READ | PROT_WRITE);
	support_owner_is(world, "tcmalloc-normal", GIB - 6 * MIB, 6 * MIB, 0);
	support_madvise(world, 40, NORMAL + GIB - 4 * MIB, 2 * MIB, MADV_REMOVE, -EINVAL);
	support_owner_is(world, "tcmalloc-normal", GIB - 6 * MIB, 6 * MIB, 0);
	support_madvise(world, 41, NORMAL + GIB - 4 * MIB, 2 * MIB, MADV_DONTNEED, 0);
	support_owner_is(world, "tcmalloc-normal", GIB - 6 * MIB, 4 * MIB, 2 * MIB);
	const struct region *released = support_region_at(world, NORMAL + GIB - 3 * MIB);
	cr_assert_eq(released->state, REGION_RELEASED);
	cr_assert_eq(released->start, NORMAL + GIB - 4 * MIB);
	cr_assert_eq(released->end, NORMAL + GIB - 2 * MIB);
	support_peak_is(world, "tcmalloc-normal", REGION_COMMITTED, 6 * MIB);
	support_madvise(world, 50, NORMAL + GIB - 4 * MIB, MIB, 23 /* MADV_POPULATE_WRITE */, 0);
	support_owner_is(world, "tcmalloc-normal", GIB - 6 * MIB, 5 * MIB, MIB);
	support_regions_close(world);
}

/* What is reserved cannot be released: advice over both leaves it as it is. */
Test(regions, advice_over_reserved_memory_releases_nothing_of_it)
{
	struct support_regions *world = support_regions_open(NULL);
	support_mmap(world, 10, NORMAL, GIB, PROT_NONE, 0);
	support_mprotect(world, 20, NORMAL, 2 * MIB, PROT_READ | PROT_WRITE);
	support_madvise(world, 30, NORMAL, 4 * MIB, MADV_DONTNEED, 0);
	support_owner_is(world, "tcmalloc-normal", GIB - 2 * MIB, 0, 2 * MIB);
	support_regions_close(world);
}

Test(regions, tags_tell_the_kinds_of_tcmalloc)
{
	struct support_regions *world = support_regions_open(NULL);
	support_mmap(world, 10, NORMAL, GIB, PROT_NONE, 0);
	support_mmap(world, 11, SAMPLED, GIB, PROT_NONE, 0);
	support_mmap(world, 12, COLD, 2 * GIB, PROT_NONE, 0);
	support_mmap(world, 13, METADATA, GIB, PROT_NONE, 0);
	support_owner_is(world, "tcmalloc-normal", GIB, 0, 0);
	support_owner_is(world, "tcmalloc-sampled", GIB, 0, 0);
	support_owner_is(world, "tcmalloc-cold", 2 * GIB, 0, 0);
	support_owner_is(world, "tcmalloc-metadata", GIB, 0, 0);
	support_regions_close(world);
}

/* A tag alone is not enough: with access, smaller, not aligned, or with the tag of ordinary addresses. */
Test(regions, what_is_no_reservation_is_not_tcmallocs)
{
	struct support_regions *world = support_regions_open(NULL);
	support_mmap(world, 10, COLD, GIB, PROT_READ | PROT_WRITE, 0);
	support_mmap(world, 11, COLD + 4 * GIB, 64 * MIB, PROT_NONE, 0);
	support_mmap(world, 12, COLD + 8 * GIB + PAGE, GIB, PROT_NONE, 0);
	support_mmap(world, 13, SOMEWHERE, GIB, PROT_NONE, 0);
	cr_assert_null(support_owner(world, "tcmalloc-cold"));
	support_owner_is(world, "mmap:(no stack)", 64 * MIB + 2 * GIB, GIB, 0);
	support_regions_close(world);
}

/* ---- the calls ---------------------------------------------------------------------------------------- */

Test(regions, unmapping_a_part_leaves_both_ends)
{
	struct support_regions *world = support_regions_open(NULL);
	support_mmap(world, 10, SOMEWHERE, 10 * PAGE, PROT_READ | PROT_WRITE, 0);
	support_munmap(world, 20, SOMEWHERE + 4 * PAGE, 2 * PAGE);
	cr_assert_eq(support_region_at(world, SOMEWHERE)->end, SOMEWHERE + 4 * PAGE);
	cr_assert_null(support_region_at(world, SOMEWHERE + 5 * PAGE));
	cr_assert_eq(support_region_at(world, SOMEWHERE + 6 * PAGE)->end, SOMEWHERE + 10 * PAGE);
	support_owner_is(world, "mmap:(no stack)", 0, 8 * PAGE, 0);
	support_munmap(world, 30, SOMEWHERE, 10 * PAGE); /* over the hole as well */
	support_owner_is(world, "mmap:(no stack)", 0, 0, 0);
	support_peak_is(world, "mmap:(no stack)", REGION_COMMITTED, 10 * PAGE);
	support_regions_close(world);
}

Test(regions, lengths_are_rounded_up_to_pages)
{
	struct support_regions *world = support_regions_open(NULL);
	support_mmap(world, 10, SOMEWHERE, PAGE + 1, PROT_READ, 0);
	support_owner_is(world, "mmap:(no stack)", 0, 2 * PAGE, 0);
	support_mmap(world, 11, SOMEWHERE + GIB, 1, PROT_READ, MAP_HUGETLB);
	support_owner_is(world, "mmap:(no stack)", 0, 2 * PAGE + 2 * MIB, 0);
	support_munmap(world, 20, SOMEWHERE, 1);
	support_owner_is(world, "mmap:(no stack)", 0, PAGE + 2 * MIB, 0);
	support_regions_close(world);
}

/* MAP_FIXED over a part: that part is new, whatever it was. */
Test(regions, a_fixed_mapping_replaces_what_is_there)
{
	struct support_regions *world = support_regions_open(NULL);
	support_mmap(world, 10, NORMAL, GIB, PROT_NONE, 0);
	support_mprotect(world, 20, NORMAL + GIB - 2 * MIB, 2 * MIB, PROT_READ | PROT_WRITE);
	support_mmap(world, 30, NORMAL + GIB - 3 * MIB, 2 * MIB, PROT_READ, MAP_FIXED);
	support_owner_is(world, "tcmalloc-normal", GIB - 3 * MIB, MIB, 0);
	support_owner_is(world, "mmap:(no stack)", 0, 2 * MIB, 0);
	support_regions_close(world);
}

Test(regions, protection_splits_and_joins_again)
{
	struct support_regions *world = support_regions_open(NULL);
	support_mmap(world, 10, SOMEWHERE, 9 * PAGE, PROT_READ | PROT_WRITE, 0);
	support_mprotect(world, 20, SOMEWHERE + 3 * PAGE, 3 * PAGE, PROT_NONE);
	cr_assert_eq(support_region_count(world), 3);
	support_owner_is(world, "mmap:(no stack)", 3 * PAGE, 6 * PAGE, 0);
	support_mprotect(world, 30, SOMEWHERE + 3 * PAGE, 3 * PAGE, PROT_READ);
	cr_assert_eq(support_region_count(world), 1);
	support_owner_is(world, "mmap:(no stack)", 0, 9 * PAGE, 0);
	support_regions_close(world);
}

Test(regions, failed_calls_change_nothing)
{
	struct support_regions *world = support_regions_open(NULL);
	support_mmap(world, 10, SOMEWHERE, 4 * PAGE, PROT_READ | PROT_WRITE, 0);
	static const uint8_t kinds[] = {EVENT_MMAP,	EVENT_MUNMAP,  EVENT_MREMAP,
					EVENT_MPROTECT, EVENT_MADVISE, EVENT_BRK};
	for (size_t i = 0; i < sizeof kinds; i++)
		support_call(world,
			     &(struct trace_event){.kind = kinds[i],
						   .time = 20 + i,
						   .end_time = 20 + i,
						   .address = SOMEWHERE,
						   .old_address = SOMEWHERE,
						   .size_bytes = 4 * PAGE,
						   .args = {kinds[i] == EVENT_MADVISE ? MADV_DONTNEED : 0},
						   .result = -ENOMEM});
	support_owner_is(world, "mmap:(no stack)", 0, 4 * PAGE, 0);
	support_regions_close(world);
}

/* Numbers of posix_madvise overlap with madvise's, and its DONTNEED does nothing in glibc. */
Test(regions, only_advice_that_releases_releases)
{
	struct support_regions *world = support_regions_open(NULL);
	support_mmap(world, 10, SOMEWHERE, 4 * PAGE, PROT_READ | PROT_WRITE, 0);
	support_madvise(world, 20, SOMEWHERE, 4 * PAGE, ADVICE_POSIX + 4, 0);
	support_madvise(world, 21, SOMEWHERE, 4 * PAGE, MADV_HUGEPAGE, 0);
	support_madvise(world, 22, SOMEWHERE, 4 * PAGE, MADV_WILLNEED, 0);
	support_call(world, &(struct trace_event){.kind = EVENT_MADVISE,
						  .time = 23,
						  .address = SOMEWHERE,
						  .size_bytes = 4 * PAGE,
						  .args = {MADV_DONTNEED, 7 /* another process */}});
	support_owner_is(world, "mmap:(no stack)", 0, 4 * PAGE, 0);
	support_madvise(world, 24, SOMEWHERE, PAGE, MADV_FREE, 0);
	support_madvise(world, 25, SOMEWHERE + PAGE, PAGE, 24 /* MADV_DONTNEED_LOCKED */, 0);
	support_owner_is(world, "mmap:(no stack)", 0, 2 * PAGE, 2 * PAGE);
	support_regions_close(world);
}

/* ---- mremap ------------------------------------------------------------------------------------------- */

/* Owner and states move along; the old range may belong to somebody else before the call returns. */
Test(regions, moving_carries_owner_and_states)
{
	struct support_regions *world = support_regions_open(NULL);
	uint64_t to = SOMEWHERE + GIB;
	support_mmap(world, 10, NORMAL, GIB, PROT_NONE, 0);
	support_mprotect(world, 20, NORMAL + PAGE, PAGE, PROT_READ | PROT_WRITE);
	support_mremap(world, 30, 40, NORMAL, 3 * PAGE, to, 5 * PAGE, MREMAP_MAYMOVE);
	support_mmap(world, 35, NORMAL, PAGE, PROT_READ, 0);
	support_owner_is(world, "mmap:(no stack)", 0, PAGE, 0);
	support_until(world, 50);
	support_owner_is(world, "tcmalloc-normal", GIB - 3 * PAGE + 4 * PAGE, PAGE, 0);
	cr_assert_eq(support_region_at(world, to)->state, REGION_RESERVED);
	cr_assert_eq(support_region_at(world, to + PAGE)->state, REGION_COMMITTED);
	cr_assert_eq(support_region_at(world, to + 2 * PAGE)->end, to + 5 * PAGE);
	support_regions_close(world);
}

/* Somebody unmaps the place, the kernel gives it to the mremap: in the order of the stamps the munmap comes
 * last, and must not take the new mapping away. */
Test(regions, a_place_freed_during_a_move_stays_the_movers)
{
	struct support_regions *world = support_regions_open(NULL);
	uint64_t to = SOMEWHERE + GIB;
	support_mmap(world, 5, to, 4 * PAGE, PROT_READ, 0);
	support_mmap(world, 6, SOMEWHERE, PAGE, PROT_READ, 0);
	support_mremap(world, 10, 20, SOMEWHERE, PAGE, to, 4 * PAGE, MREMAP_MAYMOVE);
	support_munmap(world, 15, to, 4 * PAGE);
	support_until(world, 100);
	cr_assert_not_null(support_region_at(world, to + 3 * PAGE));
	support_owner_is(world, "mmap:(no stack)", 0, 4 * PAGE, 0);
	support_regions_close(world);
}

Test(regions, growing_and_shrinking_in_place)
{
	struct support_regions *world = support_regions_open(NULL);
	support_mmap(world, 10, SOMEWHERE, 4 * PAGE, PROT_READ, 0);
	support_mremap(world, 20, 21, SOMEWHERE, 4 * PAGE, SOMEWHERE, 9 * PAGE, 0);
	support_until(world, 22);
	support_owner_is(world, "mmap:(no stack)", 0, 9 * PAGE, 0);
	support_mremap(world, 30, 31, SOMEWHERE, 9 * PAGE, SOMEWHERE, 2 * PAGE, 0);
	support_until(world, 32);
	support_owner_is(world, "mmap:(no stack)", 0, 2 * PAGE, 0);
	support_regions_close(world);
}

Test(regions, a_move_that_keeps_the_old_range)
{
	struct support_regions *world = support_regions_open(NULL);
	support_mmap(world, 10, SOMEWHERE, 4 * PAGE, PROT_READ, 0);
	support_mremap(world, 20, 21, SOMEWHERE, 4 * PAGE, SOMEWHERE + GIB, 4 * PAGE,
		       MREMAP_MAYMOVE | 4 /* MREMAP_DONTUNMAP */);
	support_until(world, 30);
	support_owner_is(world, "mmap:(no stack)", 0, 8 * PAGE, 0);
	support_regions_close(world);
}

/* ---- the break ---------------------------------------------------------------------------------------- */

Test(regions, the_break_up_and_down)
{
	struct support_regions *world = support_regions_open(NULL);
	uint64_t heap = UINT64_C(0x555500000000);
	support_brk(world, 10, heap + 100, 100);
	support_owner_is(world, "ptmalloc-heap", 0, PAGE, 0);
	support_brk(world, 20, heap + 100 + 10 * PAGE, 10 * (int64_t)PAGE);
	support_owner_is(world, "ptmalloc-heap", 0, 11 * PAGE, 0);
	support_brk(world, 30, heap + 100 + 2 * PAGE, -8 * (int64_t)PAGE);
	support_owner_is(world, "ptmalloc-heap", 0, 3 * PAGE, 0);
	support_brk(world, 40, heap, -(100 + 2 * (int64_t)PAGE));
	support_owner_is(world, "ptmalloc-heap", 0, 0, 0);
	support_peak_is(world, "ptmalloc-heap", REGION_COMMITTED, 11 * PAGE);
	support_regions_close(world);
}

/* ---- owners by stack ---------------------------------------------------------------------------------- */

#define PROGRAM	   UINT64_C(0x400000)
#define WIREDTIGER UINT64_C(0x7f2000000000)
#define GPERFTOOLS UINT64_C(0x7f2010000000)
#define LIBC	   UINT64_C(0x7f2020000000)

static void add_modules(struct support_trace *trace)
{
	support_module(trace, PROGRAM, PROGRAM + MIB, PROGRAM, "/nowhere/guest", NULL, 0);
	support_module(trace, WIREDTIGER, WIREDTIGER + MIB, WIREDTIGER, "/nowhere/libwiredtiger.so.11", NULL,
		       0);
	support_module(trace, GPERFTOOLS, GPERFTOOLS + MIB, GPERFTOOLS, "/nowhere/libtcmalloc.so.4", NULL, 0);
	support_module(trace, LIBC, LIBC + MIB, LIBC, "/nowhere/libc.so.6", NULL, 0);
	support_stack(trace, 1, 1, (uint64_t[]){LIBC + 0x100, WIREDTIGER + 0x200, PROGRAM + 0x300}, 3);
	support_stack(trace, 1, 2, (uint64_t[]){GPERFTOOLS + 0x100, PROGRAM + 0x300}, 2);
	support_stack(trace, 1, 3, (uint64_t[]){LIBC + 0x100, PROGRAM + 0x300}, 2);
}

Test(regions, the_stack_of_a_mapping_names_its_owner)
{
	struct support_regions *world = support_regions_open(add_modules);
	support_mmap_from(world, 10, SOMEWHERE, PAGE, MAP_PRIVATE | MAP_ANONYMOUS, 1);
	support_mmap_from(world, 11, SOMEWHERE + MIB, 2 * PAGE, MAP_PRIVATE | MAP_ANONYMOUS, 2);
	support_mmap_from(world, 12, SOMEWHERE + 2 * MIB, 3 * PAGE, MAP_PRIVATE | MAP_ANONYMOUS, 3);
	support_mmap_from(world, 13, SOMEWHERE + 3 * MIB, 4 * PAGE, MAP_SHARED, 3);
	support_mmap_from(world, 14, SOMEWHERE + 4 * MIB, 5 * PAGE, MAP_SHARED, 1);
	support_mmap_from(world, 15, SOMEWHERE + 5 * MIB, 6 * PAGE, MAP_PRIVATE | MAP_ANONYMOUS, 99);
	support_owner_is(world, "wiredtiger", 0, 6 * PAGE, 0); /* its files, too */
	support_owner_is(world, "gperftools", 0, 2 * PAGE, 0);
	support_owner_is(world, "mmap:guest+0x300", 0, 3 * PAGE, 0);
	support_owner_is(world, "file", 0, 4 * PAGE, 0);
	support_owner_is(world, "mmap:(no stack)", 0, 6 * PAGE, 0); /* the stack is not in the trace */
	support_regions_close(world);
}

Test(regions, the_break_is_gperftools_where_that_moves_it)
{
	struct support_regions *world = support_regions_open(add_modules);
	uint64_t heap = UINT64_C(0x555500000000);
	support_brk(world, 10, heap + PAGE, (int64_t)PAGE);
	support_call(world, &(struct trace_event){.kind = EVENT_BRK,
						  .time = 20,
						  .address = heap + 9 * PAGE,
						  .size_bytes = 8 * PAGE,
						  .stack_id = 2});
	support_owner_is(world, "ptmalloc-heap", 0, PAGE, 0);
	support_owner_is(world, "gperftools", 0, 8 * PAGE, 0);
	support_regions_close(world);
}

/* The pages of a file stay the file's. */
Test(regions, a_file_is_not_released)
{
	struct support_regions *world = support_regions_open(add_modules);
	support_mmap_from(world, 10, SOMEWHERE, 4 * PAGE, MAP_SHARED, 3);
	support_madvise(world, 20, SOMEWHERE, 4 * PAGE, MADV_DONTNEED, 0);
	support_owner_is(world, "file", 0, 4 * PAGE, 0);
	support_regions_close(world);
}

/* ---- what a trace may hold ---------------------------------------------------------------------------- */

Test(regions, memory_follows_live_regions)
{
	struct support_regions *world = support_regions_open(NULL);
	for (uint64_t i = 0; i < 20000; i++) {
		uint64_t place = SOMEWHERE + i % 64 * 2 * PAGE;
		support_mmap(world, 10 + 2 * i, place, PAGE, PROT_READ, 0);
		if (i >= 32)
			support_munmap(world, 11 + 2 * i, SOMEWHERE + (i - 32) % 64 * 2 * PAGE, PAGE);
		cr_assert_leq(support_region_count(world), 33);
	}
	support_regions_close(world);
}

/* A damaged trace holds any number anywhere. */
Test(regions, absurd_ranges_are_survived)
{
	static const uint64_t numbers[] = {0, 1, PAGE, SOMEWHERE, UINT64_MAX / 2, UINT64_MAX - 1, UINT64_MAX};
	enum { NUMBERS = sizeof numbers / sizeof *numbers };
	struct support_regions *world = support_regions_open(NULL);
	for (size_t i = 0; i < NUMBERS * NUMBERS * NUMBERS; i++)
		for (uint8_t kind = EVENT_MMAP; kind <= EVENT_PRCTL; kind++)
			support_call(world,
				     &(struct trace_event){.kind = kind,
							   .time = 10 + i,
							   .end_time = 10 + i + i % 3,
							   .address = numbers[i % NUMBERS],
							   .size_bytes = numbers[i / NUMBERS % NUMBERS],
							   .old_address = numbers[i / NUMBERS / NUMBERS],
							   .args = {i % 5, i % 64 + (i % 7 ? MAP_ANONYMOUS
											   : MAP_HUGETLB)}});
	support_until(world, UINT64_MAX);
	cr_assert_null(regionmap_check(regions_map(world->regions)));
	support_regions_close(world);
}

Test(regions, nothing_known_is_said)
{
	struct support_regions *world = support_regions_open(NULL);
	cr_assert_not(regions_known(world->regions));
	support_mmap(world, 10, SOMEWHERE, PAGE, PROT_READ, 0);
	cr_assert(regions_known(world->regions));
	support_regions_close(world);
}

Test(regions, spans_join_the_states_of_an_owner)
{
	struct support_regions *world = support_regions_open(NULL);
	struct region_span *spans;
	size_t count;
	support_mmap(world, 10, NORMAL, GIB, PROT_NONE, 0);
	support_mprotect(world, 20, NORMAL + MIB, MIB, PROT_READ | PROT_WRITE);
	support_mmap(world, 30, NORMAL + GIB, PAGE, PROT_READ, 0);
	cr_assert(regions_spans(world->regions, &spans, &count));
	cr_assert_eq(count, 2);
	cr_assert_eq(spans[0].start, NORMAL);
	cr_assert_eq(spans[0].end, NORMAL + GIB);
	cr_assert_eq(spans[0].bytes[REGION_RESERVED], GIB - MIB);
	cr_assert_eq(spans[0].bytes[REGION_COMMITTED], MIB);
	cr_assert_eq(spans[1].end, NORMAL + GIB + PAGE);
	free(spans);
	support_regions_close(world);
}
