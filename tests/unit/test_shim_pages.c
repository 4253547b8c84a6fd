/* What the shim tells of the pages, block by block, gives the pages as they were, at the cost that was
 * promised. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "shim/clock.h"
#include "shim/hugepages.h"
#include "shim/mapsnap.h"
#include "shim/pageblock.h"
#include "shim/pagescan.h"
#include "shim/tracefile.h"
#include "tests/unit/support_shim.h"

#define PAGE	   UINT64_C(4096)
#define HUGE_BYTES (UINT64_C(2) << 20)
#define CELL	   (UINT64_C(16) << 20)
#define CELLS	   48u
#define BASE	   (UINT64_C(0x7f0000) << 24)
#define PAGES	   (CELLS * CELL / PAGE)
#define KERNEL_END UINT64_C(0xffffffffff601000)
#define INTERVAL   1000u /* ms */

struct shim_clock shim_clock = {.monotonic = true};

static uint64_t now_ns = 1, cpu_ns;
static uint64_t page_cost_ns, look_cost_ns; /* of a small page, of a look */

static struct mapsnap_range mappings[64];
static unsigned mapping_count;
static uint8_t truth[PAGES], told[PAGES]; /* PAGE_* */
static uint64_t told_time[CELLS];
static size_t told_runs;

/* ---- what hugepages.c and pageblock.c call ------------------------------------------------------------ */

uint64_t clock_monotonic_ns(void)
{
	return now_ns++;
}

uint64_t clock_thread_cpu_ns(void)
{
	return cpu_ns;
}

struct clock_mark clock_mark(void)
{
	return (struct clock_mark){0};
}

bool mapsnap_guest_from(uint64_t address, struct mapsnap_range *range)
{
	for (unsigned i = 0; i < mapping_count; i++)
		if (mappings[i].end > address) {
			*range = mappings[i];
			return true;
		}
	return false;
}

uint32_t pagescan_source(void)
{
	return PAGES_FROM_SCAN;
}

uint64_t pagescan_page_bytes(void)
{
	return PAGE;
}

uint64_t pagescan_huge_bytes(void)
{
	return HUGE_BYTES;
}

static size_t index_of(uint64_t address)
{
	return (size_t)((address - BASE) / PAGE);
}

static void spend(uint64_t ns)
{
	cpu_ns += ns;
	now_ns += ns;
}

/* Stops early now and then, as the kernel does. */
uint64_t pagescan_look(uint64_t start, uint64_t end, void (*visit)(const struct pages_run *run))
{
	cr_assert_lt(start, end);
	spend(look_cost_ns);
	if (start >= BASE + CELLS * CELL)
		return start; /* the kernel's */
	if (end - start > 5000 * PAGE)
		end = start + 5000 * PAGE;
	struct pages_run run = {0};
	for (uint64_t at = start; at < end; at += PAGE) {
		uint8_t flags = truth[index_of(at)];
		spend(flags && !(flags & PAGE_HUGE) ? page_cost_ns : 0);
		if (run.pages && run.flags == flags) {
			run.pages++;
			continue;
		}
		if (run.flags)
			visit(&run);
		run = (struct pages_run){at, 1, flags};
	}
	if (run.flags)
		visit(&run);
	return end;
}

static void apply_run(const struct pages_run *run, const struct pages_range *range)
{
	cr_assert_geq(run->start, range->start);
	cr_assert_leq(run->start + run->pages * PAGE, range->end);
	for (uint32_t i = 0; i < run->pages; i++)
		told[index_of(run->start) + i] = (uint8_t)run->flags;
}

static void apply_runs(const struct pages_range *range, const struct pages_run *run)
{
	uint64_t end = range->start;
	memset(told + index_of(range->start), 0, (range->end - range->start) / PAGE);
	for (uint32_t i = 0; i < range->runs; i++, run++) {
		cr_assert(run->start >= end && run->pages > 0 && run->flags);
		end = run->start + run->pages * PAGE;
		apply_run(run, range);
	}
	told_runs += range->runs;
}

static void apply_range(const struct pages_range *range, const struct pages_run *runs)
{
	cr_assert(range->start % CELL == 0 && range->end % CELL == 0 && range->start < range->end);
	for (uint64_t at = range->start; at < range->end; at += CELL)
		told_time[(at - BASE) / CELL] = range->time;
	if (!(range->flags & PAGES_UNCHANGED))
		apply_runs(range, runs);
	else
		cr_assert_eq(range->runs, 0);
}

static void apply_ranges(const struct pages_header *header)
{
	const struct pages_range *range = (const void *)(header + 1);
	const struct pages_run *run = (const void *)(range + header->ranges);
	const struct pages_run *runs_end = run + header->runs;
	uint64_t end = 0;
	for (uint32_t i = 0; i < header->ranges; run += range->runs, i++, range++) {
		cr_assert_geq(range->start, end);
		end = range->end;
		apply_range(range, run);
	}
	cr_assert_eq(run, runs_end);
}

bool tracefile_append(enum block_type type, const void *payload, size_t bytes, struct block_times times,
		      int level)
{
	(void)level;
	const struct pages_header *header = payload;
	cr_assert(type == BLOCK_PAGES && header->ranges > 0);
	cr_assert_eq(bytes, sizeof *header + header->ranges * sizeof(struct pages_range) +
				    header->runs * sizeof(struct pages_run));
	cr_assert(times.first == header->time && times.last == header->end_time);
	cr_assert(header->page_bytes == PAGE && header->huge_bytes == HUGE_BYTES);
	apply_ranges(header);
	return true;
}

/* ---- a process ---------------------------------------------------------------------------------------- */

static uint64_t random_state = 88172645463325252u;

static unsigned below(unsigned bound)
{
	return (unsigned)(support_random(&random_state) % bound);
}

static void map(uint64_t first_page, uint64_t pages)
{
	mappings[mapping_count++] =
		(struct mapsnap_range){BASE + first_page * PAGE, BASE + (first_page + pages) * PAGE, false};
}

/* Mappings that begin and end anywhere, also several in one cell, and the kernel's page at the very top. */
static void map_some(void)
{
	uint64_t page = below(300);
	mapping_count = 0;
	while (mapping_count < 60 && page < PAGES - 1) {
		uint64_t pages = 1 + below(below(2) ? 200 : 30000);
		if (page + pages > PAGES)
			pages = PAGES - page;
		map(page, pages);
		page += pages + below(3) * below(9000);
	}
	mappings[mapping_count++] = (struct mapsnap_range){KERNEL_END - PAGE, KERNEL_END, false};
}

static bool is_mapped(uint64_t page)
{
	struct mapsnap_range range;
	return mapsnap_guest_from(BASE + page * PAGE, &range) && range.start <= BASE + page * PAGE;
}

static void unmap_rest(void)
{
	for (uint64_t page = 0; page < PAGES; page++)
		if (truth[page] && !is_mapped(page))
			truth[page] = 0;
}

static void fill(uint64_t first, uint64_t pages, uint8_t flags)
{
	for (uint64_t page = first; page < first + pages && page < PAGES; page++)
		if (is_mapped(page))
			truth[page] = flags;
}

static void change_some(void)
{
	static const uint8_t states[] = {0,
					 PAGE_PRESENT,
					 PAGE_PRESENT | PAGE_HUGE,
					 PAGE_SWAPPED,
					 PAGE_PRESENT | PAGE_ZERO,
					 PAGE_PRESENT | PAGE_FILE};
	for (unsigned i = 0; i < 12; i++)
		fill(below(PAGES), 1 + below(below(2) ? 20 : 9000), states[below(sizeof states)]);
}

static void take_step(void)
{
	uint64_t before_ns = cpu_ns;
	if (hugepages_due_ns() > now_ns)
		now_ns = hugepages_due_ns();
	hugepages_step();
	uint64_t most_ns =
		PAGESCAN_HOLD_US * UINT64_C(1000) + 8 * look_cost_ns + (CELL / PAGE + 5000) * page_cost_ns;
	cr_assert_leq(cpu_ns - before_ns, most_ns);
}

/* One interval: a round where one is due, its steps, and the time up to the next one. */
static void live_one_interval(void)
{
	uint64_t end_ns = now_ns + INTERVAL * UINT64_C(1000000);
	unsigned steps = 0;
	hugepages_take(INTERVAL);
	while (hugepages_due_ns() < end_ns && steps++ < 100000)
		take_step();
	cr_assert_lt(steps, 100000, "a round has no end");
	if (now_ns < end_ns)
		now_ns = end_ns;
}

static void expect_told_is_truth(void)
{
	for (uint64_t page = 0; page < PAGES; page++)
		cr_assert_eq(told[page], truth[page], "page %lu: told %u, is %u", (unsigned long)page,
			     told[page], truth[page]);
}

static void start(uint64_t a_look_ns, uint64_t a_page_ns)
{
	look_cost_ns = a_look_ns;
	page_cost_ns = a_page_ns;
	hugepages_want_whole();
}

/* ---- tests -------------------------------------------------------------------------------------------- */

Test(shim_pages, rounds_tell_what_is_there)
{
	start(1000, 0);
	for (unsigned i = 0; i < 60; i++) {
		if (i % 7 == 0)
			map_some();
		unmap_rest();
		change_some();
		live_one_interval();
		expect_told_is_truth();
	}
}

Test(shim_pages, what_has_not_changed_is_not_told_again)
{
	start(1000, 0);
	map_some();
	change_some();
	live_one_interval();
	told_runs = 0;
	live_one_interval();
	cr_assert_eq(told_runs, 0);
	hugepages_want_whole();
	live_one_interval();
	cr_assert_gt(told_runs, 0);
	expect_told_is_truth();
}

Test(shim_pages, a_round_that_is_broken_off_leaves_no_lies)
{
	start(1000, 3);
	map_some();
	fill(0, PAGES, PAGE_PRESENT);
	live_one_interval();
	for (unsigned i = 0; i < 20; i++) {
		change_some();
		hugepages_take(INTERVAL);
		for (unsigned steps = below(6); steps > 0 && hugepages_due_ns() != UINT64_MAX; steps--)
			hugepages_step();
		hugepages_finish();
		expect_told_is_truth();
		now_ns += UINT64_C(60000000000);
	}
}

/* 48 cells of small pages cost 48 * 4096 * 200 ns = 39 ms a round: 8 times what an interval allows. */
Test(shim_pages, looks_cost_half_a_percent)
{
	enum { INTERVALS = 2000, WARM = 200 };
	static uint64_t last[CELLS];
	start(1000, 200);
	mapping_count = 0;
	map(0, PAGES);
	fill(0, PAGES, PAGE_PRESENT);
	fill(0, 4 * CELL / PAGE, PAGE_PRESENT | PAGE_HUGE);
	for (unsigned i = 0; i < WARM; i++)
		live_one_interval();
	uint64_t start_ns = now_ns, start_cpu_ns = cpu_ns;
	for (unsigned i = 0; i < INTERVALS; i++)
		live_one_interval();
	double share = (double)(cpu_ns - start_cpu_ns) / (double)(now_ns - start_ns);
	cr_assert_lt(share, 0.0055, "%.4f", share);
	cr_assert_gt(share, 0.002, "the budget is not used: %.4f", share);
	/* Every cell has had its turn lately; what costs nothing, in the last interval. */
	for (unsigned i = 0; i < CELLS; i++) {
		double age_s = (double)(now_ns - told_time[i]) / 1e9;
		cr_assert_lt(age_s, i < 4 ? 2.5 : 60, "cell %u: %.1f s", i, age_s);
		last[i] = told_time[i];
	}
	/* A change in a quiet cell is seen at its turn. */
	fill(30 * CELL / PAGE, 10, 0);
	for (unsigned i = 0; i < 60; i++)
		live_one_interval();
	cr_assert_gt(told_time[30], last[30]);
	expect_told_is_truth();
}

Test(shim_pages, anonymous_huge_pages_are_summed)
{
	uint64_t bytes, age_ns;
	start(1000, 0);
	mapping_count = 0;
	map(0, 4096);
	map(4096, 1024);
	mappings[1].file = true;
	map(5120, 3 * 4096);
	fill(0, 1024, PAGE_PRESENT | PAGE_HUGE);
	fill(4096, 512, PAGE_PRESENT | PAGE_HUGE);
	fill(5120, 512, PAGE_PRESENT | PAGE_HUGE);
	live_one_interval();
	cr_assert(hugepages_anon(now_ns, &bytes, &age_ns));
	cr_assert_eq(bytes, 3 * HUGE_BYTES);
	cr_assert_lt(age_ns, UINT64_C(1100000000));
}
