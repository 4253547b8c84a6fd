/*
 * Random stories against a model that keeps every page by itself: mappings come and go, looks see them in any
 * state, whole or in part, with and without smaps and settings.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/unit/support_coverage.h"

#define PAGE	      SUPPORT_PAGE_BYTES
#define PER_HUGE      512u
#define PLACES	      12u
#define PAGES	      (PLACES * PER_HUGE)
#define STEPS	      60u
#define STORIES	      40u
#define STEP_NS	      UINT64_C(100000000)
#define ADDRESS(page) (SUPPORT_BASE + (uint64_t)(page)*PAGE)

static struct {
	uint64_t seed;
	uint32_t flags[PAGES]; /* as of the last look */
	bool mapped[PAGES];    /* now */
	enum pages_source source;
} model;

static uint32_t random_below(uint32_t bound)
{
	model.seed ^= model.seed << 13;
	model.seed ^= model.seed >> 7;
	model.seed ^= model.seed << 17;
	return (uint32_t)(model.seed >> 32) % bound;
}

/* ---- the story ---------------------------------------------------------------------------------------- */

/* A place is huge, small in part, or empty; what is not mapped holds nothing. */
static void change_place(unsigned place)
{
	uint32_t *flags = &model.flags[place * PER_HUGE];
	const bool *mapped = &model.mapped[place * PER_HUGE];
	uint32_t whole = model.source == PAGES_FROM_SCAN ? PAGE_HUGE : PAGE_FOLIO;
	bool all = true;
	for (unsigned i = 0; i < PER_HUGE; i++)
		all &= mapped[i];
	uint32_t kind = random_below(4), cut = random_below(PER_HUGE);
	static const uint32_t states[] = {PAGE_PRESENT, PAGE_SWAPPED, PAGE_PRESENT | PAGE_ZERO, 0};
	for (unsigned i = 0; i < PER_HUGE; i++) {
		uint32_t state = kind == 0 && all ? PAGE_PRESENT | whole : i < cut ? states[kind] : 0;
		flags[i] = mapped[i] ? state : 0;
	}
}

static void write_look(struct support_trace *trace, uint64_t time)
{
	const struct support_machine machine = {PAGE, SUPPORT_HUGE_BYTES, model.source, false};
	struct page_run runs[PAGES + 1];
	unsigned first = random_below(PLACES), last = first + 1 + random_below(PLACES - first), count = 0;
	bool unchanged = random_below(4) == 0;
	for (unsigned place = first; !unchanged && place < last; place++)
		change_place(place);
	if (unchanged) {
		support_look(trace, &machine, time, ADDRESS(first * PER_HUGE), ADDRESS(last * PER_HUGE),
			     NULL);
		return;
	}
	for (unsigned page = first * PER_HUGE; page < last * PER_HUGE; page++) {
		struct page_run *before = count ? &runs[count - 1] : NULL;
		if (!model.flags[page])
			continue;
		if (before && before->end == ADDRESS(page) && before->flags == model.flags[page])
			before->end += PAGE;
		else
			runs[count++] =
				(struct page_run){ADDRESS(page), ADDRESS(page + 1), model.flags[page]};
	}
	runs[count] = (struct page_run){0};
	support_look(trace, &machine, time, ADDRESS(first * PER_HUGE), ADDRESS(last * PER_HUGE), runs);
}

static void write_call(struct support_trace *trace, uint64_t time)
{
	static const uint64_t advice[] = {MADV_DONTNEED, MADV_HUGEPAGE, MADV_NOHUGEPAGE, MADV_FREE, 25};
	unsigned first = random_below(PAGES), count = 1 + random_below(3 * PER_HUGE);
	static const uint8_t kinds[] = {EVENT_MMAP, EVENT_MMAP, EVENT_MUNMAP, EVENT_MADVISE, EVENT_MPROTECT};
	struct trace_event event = {.kind = kinds[random_below(5)],
				    .time = SUPPORT_START_TIME + time,
				    .end_time = SUPPORT_START_TIME + time,
				    .address = ADDRESS(first),
				    .stack_id = 1 + random_below(3)};
	count = first + count > PAGES ? PAGES - first : count;
	event.size_bytes = count * PAGE;
	event.args[0] = event.kind == EVENT_MADVISE    ? advice[random_below(5)]
			: event.kind == EVENT_MPROTECT ? (uint64_t)(random_below(2) ? PROT_READ : PROT_NONE)
						       : PROT_READ | PROT_WRITE;
	event.args[1] = event.kind == EVENT_MMAP ? MAP_PRIVATE | MAP_ANONYMOUS : 0;
	bool maps = event.kind == EVENT_MMAP || event.kind == EVENT_MUNMAP;
	for (unsigned page = first; page < first + count; page++) {
		if (!maps && !model.mapped[page])
			return; /* the call would fail */
		model.mapped[page] = event.kind != EVENT_MUNMAP;
	}
	support_event(trace, &event);
}

/* To a place of the same distance from a huge page, or any. */
static void write_move(struct support_trace *trace, uint64_t time)
{
	unsigned count = 1 + random_below(3 * PER_HUGE), unit = random_below(2) ? PER_HUGE : 1;
	unsigned first = random_below(PAGES - count), to = random_below(PAGES - count);
	to -= unit > 1 ? to % PER_HUGE : 0;
	first -= unit > 1 ? first % PER_HUGE : 0;
	for (unsigned i = 0; i < count; i++)
		if (!model.mapped[first + i])
			return;
	if (to < first + count && first < to + count)
		return;
	memset(&model.mapped[first], false, count * sizeof *model.mapped);
	memset(&model.mapped[to], true, count * sizeof *model.mapped);
	struct trace_event event = {.kind = EVENT_MREMAP,
				    .time = SUPPORT_START_TIME + time,
				    .end_time = SUPPORT_START_TIME + time,
				    .old_address = ADDRESS(first),
				    .address = ADDRESS(to),
				    .size_bytes = count * PAGE,
				    .args = {count * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED},
				    .stack_id = 4};
	support_event(trace, &event);
}

/* What the kernel would say: mappings as they are, with the huge bytes of the last look, or with a bit less.
 */
static void write_smaps(struct support_trace *trace, uint64_t time)
{
	struct smaps_record records[PAGES / 2 + 2] = {0};
	unsigned count = 0;
	for (unsigned page = 0; page < PAGES; page++) {
		if (!model.mapped[page])
			continue;
		if (!count || records[count - 1].end != ADDRESS(page))
			records[count++] =
				(struct smaps_record){.start = ADDRESS(page), .flags = SMAPS_ELIGIBLE};
		records[count - 1].end = ADDRESS(page + 1);
		records[count - 1].anon_huge_bytes += model.flags[page] & (PAGE_HUGE | PAGE_FOLIO) ? PAGE : 0;
	}
	if (count && random_below(3) == 0)
		records[random_below(count)].anon_huge_bytes /= 2;
	support_smaps(trace, time, records);
}

static void write_step(struct support_trace *trace, uint64_t time)
{
	static const char *const lines[] = {"thp.enabled=always\n", "thp.enabled=madvise\n",
					    "vmstat.thp_fault_fallback=1\n", "vmstat.thp_fault_fallback=2\n"};
	switch (random_below(8)) {
	case 0:
		write_smaps(trace, time);
		break;
	case 1:
		support_settings(trace, time, false, lines[random_below(4)]);
		break;
	case 2:
		write_move(trace, time);
		break;
	case 3:
	case 4:
		write_call(trace, time);
		break;
	default:
		write_look(trace, time);
	}
}

static void write_story(struct support_trace *trace)
{
	support_settings(trace, 1, true, "thp.enabled=always\nvmstat.thp_fault_fallback=0\n");
	for (unsigned step = 0; step < STEPS; step++) {
		write_step(trace, (step + 1) * STEP_NS);
		if (random_below(3) == 0)
			support_snapshot(trace, (step + 1) * STEP_NS + STEP_NS / 2, NULL);
	}
}

/* ---- what must hold ----------------------------------------------------------------------------------- */

static void check_pages(const struct support_coverage *world, uint64_t story)
{
	for (unsigned page = 0; page < PAGES; page++) {
		uint32_t flags = pages_at(world->pages, ADDRESS(page));
		if (model.source == PAGES_FROM_KPAGEFLAGS)
			flags &= ~PAGE_HUGE; /* smaps gave it */
		cr_assert_eq(flags, model.flags[page], "story %llu, page %u: %x, not %x",
			     (unsigned long long)story, page, flags, model.flags[page]);
	}
	cr_assert_null(pages_check(world->pages));
}

static void check_rows(const struct support_coverage *world, uint64_t story)
{
	size_t count;
	const struct coverage_row *rows = coverage_rows(world->coverage, &count);
	uint64_t resident_bytes = 0, huge_bytes = 0;
	for (size_t i = 0; i < count; i++) {
		const char *wrong = coverage_sums_check(&rows[i].sums, rows[i].looked);
		cr_assert_null(wrong, "story %llu, row %zu: %s", (unsigned long long)story, i, wrong);
	}
	for (unsigned page = 0; page < PAGES; page++) {
		bool there = model.mapped[page] && model.flags[page] & PAGE_PRESENT &&
			     !(model.flags[page] & PAGE_ZERO);
		resident_bytes += there ? PAGE : 0;
		huge_bytes += there && model.flags[page] & PAGE_HUGE ? PAGE : 0;
	}
	if (!count || !pages_decided(world->pages)) /* then the last row is from before */
		return;
	cr_assert_eq(rows[count - 1].sums.resident_bytes, resident_bytes, "story %llu",
		     (unsigned long long)story);
	if (model.source == PAGES_FROM_SCAN)
		cr_assert_eq(rows[count - 1].sums.huge_bytes, huge_bytes, "story %llu",
			     (unsigned long long)story);
}

static void check_places(const struct support_coverage *world)
{
	size_t count;
	const struct hugeplaces *places = coverage_places(world->coverage);
	const struct breaker *breakers = places ? hugeplaces_breakers(places, &count) : NULL;
	for (size_t i = 0; breakers && i < count; i++) {
		cr_expect_leq(breakers[i].came_back, breakers[i].huge_pages_lost);
		cr_expect_leq(breakers[i].calls, breakers[i].huge_pages_lost);
	}
}

static void tell(enum pages_source source)
{
	for (uint64_t story = 1; story <= STORIES; story++) {
		memset(&model, 0, sizeof model);
		model.seed = story * UINT64_C(0x9e3779b97f4a7c15);
		model.source = source;
		struct support_coverage world = support_coverage_open(NULL, write_story);
		check_pages(&world, story);
		check_rows(&world, story);
		check_places(&world);
		support_coverage_close(&world);
	}
}

Test(coverage_random, scans_agree_with_a_model_page_by_page)
{
	tell(PAGES_FROM_SCAN);
}

Test(coverage_random, folios_agree_with_a_model_page_by_page)
{
	tell(PAGES_FROM_KPAGEFLAGS);
}
