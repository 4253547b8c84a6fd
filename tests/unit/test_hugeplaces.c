/* Which call broke a huge page, what came back, and how memory got onto huge pages. */
#include <criterion/criterion.h>

#include "analyzer/hugeplaces.h"
#include "analyzer/memcalls.h"
#include "tests/unit/support_pages.h"

#define PAGE  SUPPORT_PAGE_BYTES
#define HUGE  SUPPORT_HUGE_BYTES
#define BASE  UINT64_C(0x7f0000000000)
#define START SUPPORT_START_TIME
#define SMALL PAGE_PRESENT
#define LARGE (PAGE_PRESENT | PAGE_HUGE)
#define MS    UINT64_C(1000000)

static struct support_picture picture;
static struct hugeplaces *places;

static void open_world(void (*write)(struct support_trace *trace))
{
	picture = support_picture_open(write);
	places = hugeplaces_open(picture.trace, picture.pages);
	cr_assert(places);
}

static void close_world(void)
{
	hugeplaces_close(places);
	support_picture_close(&picture);
}

static void feed(const struct trace_event *event)
{
	struct trace_event shifted = *event;
	support_picture_until(&picture, event->time);
	shifted.time += START;
	cr_assert(hugeplaces_event(places, &shifted));
}

static void call(uint64_t time, uint8_t kind, uint64_t address, uint64_t bytes, uint64_t argument,
		 uint32_t stack_id)
{
	feed(&(struct trace_event){.kind = kind,
				   .time = time,
				   .address = address,
				   .size_bytes = bytes,
				   .args = {argument},
				   .stack_id = stack_id});
}

/* NULL where nothing was put down to it. */
static const struct breaker *breaker(uint32_t stack_id, uint8_t kind)
{
	size_t count;
	const struct breaker *all = hugeplaces_breakers(places, &count);
	for (size_t i = 0; i < count; i++)
		if (all[i].stack_id == stack_id && all[i].kind == kind && all[i].huge_pages_lost)
			return &all[i];
	return NULL;
}

static void lost_is(uint32_t stack_id, uint8_t kind, uint64_t calls, uint64_t huge_pages)
{
	const struct breaker *found = breaker(stack_id, kind);
	cr_assert(found, "nothing was lost to stack %u", stack_id);
	cr_expect_eq(found->calls, calls);
	cr_expect_eq(found->huge_pages_lost, huge_pages);
}

static void state_is(uint64_t address, enum place_state expected)
{
	enum place_state state;
	uint64_t end;
	cr_assert(hugeplaces_state(places, address, &state, &end));
	cr_expect_eq(state, expected);
}

static void nothing_kept(uint64_t address)
{
	enum place_state state;
	uint64_t end;
	cr_expect_not(hugeplaces_state(places, address, &state, &end));
}

/* ---- breaking ----------------------------------------------------------------------------------------- */

/* Six huge pages; at 1 s the first three are small ones, at 2 s the first is huge again. */
static void write_broken(struct support_trace *trace)
{
	support_look(trace, &support_machine, 100 * MS, BASE, BASE + 8 * HUGE,
		     (struct page_run[]){{BASE, BASE + 6 * HUGE, LARGE}, {0}});
	support_look(trace, &support_machine, 1000 * MS, BASE, BASE + 8 * HUGE,
		     (struct page_run[]){{BASE, BASE + HUGE - PAGE, SMALL},
					 {BASE + HUGE + PAGE, BASE + 3 * HUGE, SMALL},
					 {BASE + 3 * HUGE, BASE + 5 * HUGE, LARGE},
					 {0}});
	support_look(trace, &support_machine, 2000 * MS, BASE, BASE + 8 * HUGE,
		     (struct page_run[]){{BASE, BASE + HUGE, LARGE},
					 {BASE + HUGE + PAGE, BASE + 3 * HUGE, SMALL},
					 {BASE + 3 * HUGE, BASE + 5 * HUGE, LARGE},
					 {0}});
}

Test(hugeplaces, the_first_call_on_a_part_breaks_it)
{
	open_world(write_broken);
	/* One call over the border of the first two, a second one on the second, and one that broke nothing.
	 */
	call(200 * MS, EVENT_MADVISE, BASE + HUGE - PAGE, 2 * PAGE, MADV_DONTNEED, 5);
	call(300 * MS, EVENT_MUNMAP, BASE + HUGE + PAGE, PAGE, 0, 6);
	call(400 * MS, EVENT_MPROTECT, BASE + 2 * HUGE, PAGE, PROT_READ, 7);
	call(500 * MS, EVENT_MADVISE, BASE + 3 * HUGE, PAGE, MADV_COLD, 8);
	state_is(BASE, PLACE_TOUCHED);
	support_picture_until(&picture, 1500 * MS);
	lost_is(5, EVENT_MADVISE, 1, 2);
	lost_is(7, EVENT_MPROTECT, 1, 1);
	cr_expect_null(breaker(6, EVENT_MUNMAP));
	cr_expect_null(breaker(8, EVENT_MADVISE));
	cr_expect_eq(breaker(5, EVENT_MADVISE)->advice, MADV_DONTNEED);
	state_is(BASE, PLACE_BROKEN);
	state_is(BASE + 2 * HUGE, PLACE_BROKEN);
	nothing_kept(BASE + 3 * HUGE);
	nothing_kept(BASE + 5 * HUGE); /* went at once, without a call that was seen: nobody broke it */
	close_world();
}

Test(hugeplaces, what_comes_back_is_timed)
{
	open_world(write_broken);
	call(200 * MS, EVENT_MADVISE, BASE + HUGE - PAGE, 2 * PAGE, MADV_DONTNEED, 5);
	support_picture_until(&picture, UINT64_MAX);
	const struct breaker *found = breaker(5, EVENT_MADVISE);
	cr_assert(found);
	cr_expect_eq(found->came_back, 1);
	cr_expect_eq(found->huge_pages_lost, 2);
	cr_expect_float_eq(gsl_rstat_median(found->back_s), 1.0, 1e-6);
	nothing_kept(BASE);
	state_is(BASE + HUGE, PLACE_BROKEN);
	close_world();
}

Test(hugeplaces, a_loss_without_a_call_has_no_breaker)
{
	open_world(write_broken);
	support_picture_until(&picture, UINT64_MAX);
	lost_is(0, EVENT_NONE, 0, 3);
	close_world();
}

/* A call is stamped before it happens, a look likewise: the look at 1 s has seen this one. */
Test(hugeplaces, a_call_just_behind_the_look_claims_what_it_did)
{
	open_world(write_broken);
	call(1003 * MS, EVENT_MADVISE, BASE + PAGE, PAGE, MADV_DONTNEED, 5);
	call(1004 * MS, EVENT_MADVISE, BASE + 2 * PAGE, PAGE, MADV_DONTNEED, 6); /* too late: it is 5's */
	call(1500 * MS, EVENT_MADVISE, BASE + HUGE + PAGE, PAGE, MADV_DONTNEED, 7);
	lost_is(5, EVENT_MADVISE, 1, 1);
	lost_is(0, EVENT_NONE, 0, 2);
	cr_expect_null(breaker(6, EVENT_MADVISE));
	cr_expect_null(breaker(7, EVENT_MADVISE));
	close_world();
}

/* ... and one just before a look may happen behind it: the look at 1 s shows the page whole, the next not. */
static void write_late(struct support_trace *trace)
{
	support_look(trace, &support_machine, 100 * MS, BASE, BASE + HUGE,
		     (struct page_run[]){{BASE, BASE + HUGE, LARGE}, {0}});
	support_look(trace, &support_machine, 1000 * MS, BASE, BASE + HUGE, NULL);
	support_look(trace, &support_machine, 2000 * MS, BASE, BASE + HUGE,
		     (struct page_run[]){{BASE, BASE + HUGE, SMALL}, {0}});
}

Test(hugeplaces, a_call_just_before_the_look_is_not_forgotten)
{
	open_world(write_late);
	call(999 * MS, EVENT_MADVISE, BASE + PAGE, PAGE, MADV_DONTNEED, 5);
	support_picture_until(&picture, UINT64_MAX);
	lost_is(5, EVENT_MADVISE, 1, 1);
	close_world();
	open_world(write_late); /* long before: it broke nothing */
	call(500 * MS, EVENT_MADVISE, BASE + PAGE, PAGE, MADV_DONTNEED, 5);
	support_picture_until(&picture, UINT64_MAX);
	cr_expect_null(breaker(5, EVENT_MADVISE));
	lost_is(0, EVENT_NONE, 0, 1);
	close_world();
}

Test(hugeplaces, what_a_call_takes_whole_is_not_broken)
{
	open_world(write_broken);
	call(200 * MS, EVENT_MUNMAP, BASE, 3 * HUGE, 0, 5);
	call(300 * MS, EVENT_MMAP, BASE, 3 * HUGE, PROT_READ, 6);
	support_picture_until(&picture, 1500 * MS);
	cr_expect_null(breaker(5, EVENT_MUNMAP));
	cr_expect_null(breaker(0, EVENT_NONE));
	state_is(BASE, PLACE_PLAIN); /* new memory, touched since */
	close_world();
}

Test(hugeplaces, calls_that_take_nothing_break_nothing)
{
	open_world(write_broken);
	feed(&(struct trace_event){.kind = EVENT_MADVISE,
				   .time = 200 * MS,
				   .address = BASE,
				   .size_bytes = PAGE,
				   .args = {MADV_DONTNEED, 4711},
				   .stack_id = 5});
	feed(&(struct trace_event){.kind = EVENT_MUNMAP,
				   .time = 210 * MS,
				   .address = BASE,
				   .size_bytes = PAGE,
				   .result = -12,
				   .stack_id = 6});
	call(220 * MS, EVENT_MADVISE, BASE, PAGE, MADV_DONTNEED + ADVICE_POSIX, 7);
	call(230 * MS, EVENT_MADVISE, BASE, PAGE, MADV_WILLNEED, 8);
	support_picture_until(&picture, UINT64_MAX);
	lost_is(0, EVENT_NONE, 0, 3);
	close_world();
}

static void move(uint64_t time, uint64_t from, uint64_t from_bytes, uint64_t to, uint64_t to_bytes,
		 uint32_t stack_id)
{
	feed(&(struct trace_event){.kind = EVENT_MREMAP,
				   .time = time,
				   .old_address = from,
				   .address = to,
				   .size_bytes = to_bytes,
				   .args = {from_bytes, MREMAP_MAYMOVE},
				   .stack_id = stack_id});
}

Test(hugeplaces, moving_and_shrinking_break_too)
{
	open_world(write_broken);
	move(200 * MS, BASE, HUGE, BASE, HUGE - PAGE, 5);
	move(210 * MS, BASE + HUGE, PAGE, BASE + 64 * HUGE, PAGE, 6);
	call(220 * MS, EVENT_BRK, BASE + 3 * HUGE - PAGE, (uint64_t)-PAGE, 0, 7);
	support_picture_until(&picture, UINT64_MAX);
	lost_is(5, EVENT_MREMAP, 1, 1);
	lost_is(6, EVENT_MREMAP, 1, 1);
	lost_is(7, EVENT_BRK, 1, 1);
	close_world();
}

/* Four huge pages, which are at TARGET later, the first of them in small pages. */
#define TARGET (BASE + 64 * HUGE)

static void write_moved(struct support_trace *trace)
{
	support_look(trace, &support_machine, 100 * MS, BASE, BASE + 4 * HUGE,
		     (struct page_run[]){{BASE, BASE + 4 * HUGE, LARGE}, {0}});
	support_look(trace, &support_machine, 1000 * MS, BASE, BASE + 4 * HUGE, (struct page_run[]){{0}});
	support_look(trace, &support_machine, 1001 * MS, TARGET, TARGET + 4 * HUGE,
		     (struct page_run[]){
			     {TARGET, TARGET + HUGE, SMALL}, {TARGET + HUGE, TARGET + 4 * HUGE, LARGE}, {0}});
}

/* ... by which way they came is known already, also after two moves; a part of one was taken where it is now.
 */
Test(hugeplaces, moved_huge_pages_come_by_no_way)
{
	open_world(write_moved);
	support_picture_until(&picture, 150 * MS);
	cr_expect_eq(hugeplaces_ways(places)[PATH_FAULT].huge_pages, 4);
	move(200 * MS, BASE, 4 * HUGE, BASE + 32 * HUGE, 4 * HUGE, 5);
	move(300 * MS, BASE + 32 * HUGE, 4 * HUGE, TARGET, 4 * HUGE, 6);
	state_is(TARGET, PLACE_MOVED);
	call(400 * MS, EVENT_MADVISE, TARGET + PAGE, PAGE, MADV_DONTNEED, 7);
	support_picture_until(&picture, UINT64_MAX);
	cr_expect_eq(hugeplaces_ways(places)[PATH_FAULT].huge_pages, 4);
	lost_is(7, EVENT_MADVISE, 1, 1);
	cr_expect_null(breaker(5, EVENT_MREMAP));
	cr_expect_null(breaker(6, EVENT_MREMAP));
	nothing_kept(TARGET + HUGE);
	close_world();
}

Test(hugeplaces, a_move_off_their_places_breaks_all)
{
	open_world(write_moved);
	move(200 * MS, BASE, 4 * HUGE, TARGET + PAGE, 4 * HUGE, 5);
	support_picture_until(&picture, 500 * MS);
	lost_is(5, EVENT_MREMAP, 1, 4);
	close_world();
}

/* A look that began before the call did not see it yet. */
static void write_moved_late(struct support_trace *trace)
{
	support_look(trace, &support_machine, 100 * MS, BASE, BASE + HUGE,
		     (struct page_run[]){{BASE, BASE + HUGE, LARGE}, {0}});
	support_look(trace, &support_machine, 110 * MS, TARGET, TARGET + HUGE,
		     (struct page_run[]){{TARGET, TARGET + HUGE, SMALL}, {0}});
	support_look(trace, &support_machine, 1001 * MS, TARGET, TARGET + HUGE,
		     (struct page_run[]){{TARGET, TARGET + PAGE, SMALL}, {0}});
	support_look(trace, &support_machine, 2000 * MS, TARGET, TARGET + HUGE,
		     (struct page_run[]){{TARGET, TARGET + HUGE, LARGE}, {0}});
}

Test(hugeplaces, a_move_just_before_the_look_is_not_forgotten)
{
	open_world(write_moved_late);
	move(1000 * MS, BASE, HUGE, TARGET, HUGE, 5);
	support_picture_until(&picture, 1500 * MS);
	state_is(TARGET, PLACE_MOVED);
	support_picture_until(&picture, UINT64_MAX);
	nothing_kept(TARGET);
	cr_expect_eq(hugeplaces_ways(places)[PATH_FAULT].huge_pages, 1);
	cr_expect_eq(hugeplaces_ways(places)[PATH_KHUGEPAGED].huge_pages, 0);
	close_world();
}

/* ---- onto huge pages ---------------------------------------------------------------------------------- */

static void write_ways(struct support_trace *trace)
{
	support_look(trace, &support_machine, 1000 * MS, BASE, BASE + 4 * HUGE,
		     (struct page_run[]){{BASE, BASE + HUGE, LARGE},
					 {BASE + HUGE, BASE + 2 * HUGE, SMALL},
					 {BASE + 2 * HUGE, BASE + 2 * HUGE + PAGE, SMALL},
					 {BASE + 3 * HUGE, BASE + 4 * HUGE, SMALL | PAGE_ZERO},
					 {0}});
	support_look(trace, &support_machine, 4000 * MS, BASE, BASE + 4 * HUGE,
		     (struct page_run[]){{BASE, BASE + 4 * HUGE, LARGE}, {0}});
}

Test(hugeplaces, ways_onto_huge_pages_are_told_apart)
{
	open_world(write_ways);
	call(2000 * MS, EVENT_MADVISE, BASE + 2 * HUGE, HUGE, MADV_COLLAPSE, 5);
	support_picture_until(&picture, UINT64_MAX);
	const struct coverage_way *ways = hugeplaces_ways(places);
	cr_expect_eq(ways[PATH_FAULT].huge_pages, 2); /* one stood on the page of zeros before */
	cr_expect_eq(ways[PATH_KHUGEPAGED].huge_pages, 1);
	cr_expect_float_eq(gsl_rstat_median(ways[PATH_KHUGEPAGED].delay_s), 3.0, 1e-6);
	cr_expect_eq(ways[PATH_COLLAPSE].huge_pages, 1);
	cr_expect_eq(hugeplaces_entries(places), 0);
	close_world();
}

/* ---- fallback ----------------------------------------------------------------------------------------- */

static void write_small(struct support_trace *trace)
{
	support_look(trace, &support_machine, 100 * MS, BASE, BASE + 4 * HUGE, (struct page_run[]){{0}});
	support_look(trace, &support_machine, 1000 * MS, BASE, BASE + 4 * HUGE,
		     (struct page_run[]){{BASE, BASE + PAGE, SMALL}, {0}});
	support_look(trace, &support_machine, 2000 * MS, BASE, BASE + 4 * HUGE,
		     (struct page_run[]){
			     {BASE, BASE + PAGE, SMALL}, {BASE + HUGE, BASE + HUGE + PAGE, SMALL}, {0}});
}

static void settings_at(uint64_t before, uint64_t time, bool fell_back)
{
	support_picture_until(&picture, time);
	cr_assert(hugeplaces_settings(places, before ? START + before : 0, START + time, fell_back));
}

Test(hugeplaces, fallback_counts_for_what_was_touched_meanwhile)
{
	open_world(write_small);
	settings_at(0, 50 * MS, false);
	settings_at(50 * MS, 1001 * MS, true); /* read behind the look at 1 s, and about the time before it */
	settings_at(1001 * MS, 2001 * MS, false);
	state_is(BASE, PLACE_FALLBACK);
	state_is(BASE + HUGE, PLACE_PLAIN);
	close_world();
	open_world(write_small);
	settings_at(0, 50 * MS, false);
	settings_at(50 * MS, 999 * MS, false);
	settings_at(999 * MS, 1500 * MS,
		    true); /* read before the look at 2 s, and about the time before it */
	support_picture_until(&picture, UINT64_MAX);
	state_is(BASE, PLACE_PLAIN); /* touched before 1 s, most likely */
	state_is(BASE + HUGE, PLACE_FALLBACK);
	close_world();
	open_world(write_small);
	settings_at(0, 1200 * MS, false);
	settings_at(1200 * MS, 1500 * MS, true);
	support_picture_until(&picture, UINT64_MAX);
	state_is(BASE, PLACE_PLAIN);
	state_is(BASE + HUGE, PLACE_FALLBACK);
	close_world();
}

Test(hugeplaces, unmapped_places_are_forgotten_whole)
{
	open_world(write_small);
	support_picture_until(&picture, UINT64_MAX);
	cr_assert(hugeplaces_forget(places, BASE + PAGE, BASE + 2 * HUGE));
	state_is(BASE, PLACE_PLAIN); /* the rest of its place is mapped */
	nothing_kept(BASE + HUGE);
	close_world();
}
