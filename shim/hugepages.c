#include "shim/hugepages.h"

#include <string.h>

#include "shim/clock.h"
#include "shim/mapsnap.h"
#include "shim/pageblock.h"
#include "shim/pagescan.h"
#include "shim/raw.h"
#include "shim/text.h"

#define NS_PER_US      UINT64_C(1000)
#define NS_PER_MS      UINT64_C(1000000)
#define REST_NS	       NS_PER_MS	    /* between two steps */
#define FINISH_MOST_MS 200		    /* of CPU time */
#define FINISH_WAIT_MS 2000		    /* of any time: others have the CPU, too */
#define CELL_BYTES     (UINT64_C(16) << 20) /* or one huge page, where that is larger */
#define AHEAD	       64u		    /* cells of one look */
#define ALL	       UINT32_MAX
#define NONE	       UINT64_MAX

/* A piece of the address space that holds something. */
struct cell {
	uint64_t number; /* address / cell_bytes */
	uint64_t hash;	 /* of its state as it was last told */
	uint64_t look_ns;
	uint32_t anon_huge_pages; /* in small pages */
	bool quiet;		  /* unchanged at the last look, and costly: not all huge */
	bool due;
};

struct cells {
	struct cell *items;
	size_t count, capacity;
};

static struct {
	struct cells before, now; /* of the last round, and of the one under way */
	size_t before_at;	  /* next one of `before` that the round has not come to */
	uint64_t cell_bytes;
	uint32_t source; /* of what was told so far */
	bool running, want_whole, whole;
	uint64_t cursor;	    /* the round has looked at what lies below */
	uint64_t due_ns;	    /* of the next step */
	uint64_t interval_ns;	    /* 0: every cell is due */
	uint64_t begun_ns, cost_ns; /* of the round under way, or the last one */
	bool is_done;		    /* there was a round */

	struct cell open; /* the cell that is looked at; its number is NONE where there is none */
	bool open_small;  /* holds pages that are not huge */
	bool file;	  /* what is looked at has a file behind it */

	uint64_t turn;	/* number of the next quiet cell whose turn it is */
	uint32_t quota; /* of quiet cells in a round */
	uint32_t quiet_seen, quiet_looked;
	uint64_t anon_huge_pages, oldest_ns; /* of the last round */
} state = {.quota = ALL};

/* ---- cells -------------------------------------------------------------------------------------------- */

/* A cell without room in the list is told again as if it were new. */
static void keep(const struct cell *cell)
{
	struct cells *now = &state.now;
	if (list_reserve(&now->items, &now->capacity, now->count, sizeof *now->items))
		now->items[now->count++] = *cell;
}

static struct cell *next_before(void)
{
	return state.before_at < state.before.count ? &state.before.items[state.before_at] : NULL;
}

/* ---- one cell after the other -------------------------------------------------------------------------- */

static void open_cell(uint64_t number)
{
	state.open = (struct cell){.number = number, .look_ns = clock_monotonic_ns()};
	state.open_small = false;
	pageblock_open(number * state.cell_bytes);
}

/* The open one has been looked at; nothing lies in it where no run was seen. */
static void finish_open(void)
{
	struct cell *old = next_before();
	bool was_told = old && old->number == state.open.number;
	uint64_t hash = pageblock_hash();
	bool changed = state.whole || hash != (was_told ? old->hash : 0);
	if (was_told)
		state.before_at++;
	state.open.hash = hash;
	state.open.quiet = !changed && state.open_small;
	if (hash)
		keep(&state.open);
	pageblock_close(changed && (hash || was_told) ? PAGEBLOCK_CHANGED
			: hash			      ? PAGEBLOCK_UNCHANGED
						      : PAGEBLOCK_SILENT);
	state.open.number = NONE;
}

/* The round leaves behind all cells below this one. What was told of them holds nothing now: the look has
 * gone over them, or nothing is mapped there any more. */
static void finish_below(uint64_t number)
{
	struct cell *old;
	if (state.open.number < number)
		finish_open();
	while ((old = next_before()) && old->number < number) {
		open_cell(old->number);
		finish_open();
	}
}

static void see_piece(struct pages_run run)
{
	run.flags |= state.file ? PAGE_FILE : 0;
	pageblock_run(&run);
	state.open_small |= !(run.flags & PAGE_HUGE);
	if ((run.flags & (PAGE_HUGE | PAGE_FILE | PAGE_ZERO)) == PAGE_HUGE)
		state.open.anon_huge_pages += run.pages;
}

static void see_run(const struct pages_run *run)
{
	uint64_t page_bytes = pagescan_page_bytes();
	struct pages_run rest = *run;
	while (rest.pages) {
		uint64_t number = rest.start / state.cell_bytes;
		uint64_t room = ((number + 1) * state.cell_bytes - rest.start) / page_bytes;
		struct pages_run piece = rest;
		if (piece.pages > room)
			piece.pages = (uint32_t)room;
		finish_below(number);
		if (state.open.number == NONE)
			open_cell(number);
		see_piece(piece);
		rest.start += piece.pages * page_bytes;
		rest.pages -= piece.pages;
	}
}

/* ---- a round ------------------------------------------------------------------------------------------- */

/* Whose turn it is: after the last one of the round before, as many as may be. */
static void choose(void)
{
	uint32_t left = state.quota;
	state.quiet_seen = state.quiet_looked = 0;
	for (size_t i = 0; i < state.before.count; i++) {
		struct cell *cell = &state.before.items[i];
		bool turn = cell->number >= state.turn && left > 0;
		state.quiet_seen += cell->quiet;
		cell->due = !cell->quiet || turn || state.whole;
		if (!cell->quiet || !turn)
			continue;
		left -= left != ALL;
		state.quiet_looked++;
		state.turn = cell->number + 1;
	}
	if (left > 0)
		state.turn = 0;
}

/* What was told is about other cells, or other flags: it does not hold any more. */
static bool start_anew(void)
{
	uint64_t huge_bytes = pagescan_huge_bytes();
	state.cell_bytes = huge_bytes > CELL_BYTES ? huge_bytes : CELL_BYTES;
	state.source = pagescan_source();
	state.open.number = NONE;
	return pageblock_start(pagescan_page_bytes(), huge_bytes, state.cell_bytes, state.source);
}

static bool begin(uint64_t now_ns)
{
	if (!pagescan_source() || (state.source != pagescan_source() && !start_anew()))
		return false;
	state.whole = state.want_whole;
	state.want_whole = false;
	state.running = true;
	state.now.count = state.before_at = 0;
	state.cursor = 0;
	state.cost_ns = 0;
	state.begun_ns = state.due_ns = now_ns;
	choose();
	return true;
}

static void sum_up(void)
{
	struct cells old = state.before;
	state.before = state.now;
	state.now = old;
	state.running = false;
	state.is_done = true;
	state.anon_huge_pages = 0;
	state.oldest_ns = state.begun_ns;
	for (size_t i = 0; i < state.before.count; i++) {
		const struct cell *cell = &state.before.items[i];
		state.anon_huge_pages += cell->anon_huge_pages;
		if (cell->look_ns < state.oldest_ns)
			state.oldest_ns = cell->look_ns;
	}
}

/* Quiet cells make up for what the others left of the budget. */
static void set_quota(void)
{
	uint64_t budget_ns = state.interval_ns / CLOCK_COST_SHARE;
	if (state.cost_ns > budget_ns) {
		uint64_t quota = state.quiet_looked * budget_ns / state.cost_ns;
		state.quota = quota > 1 ? (uint32_t)quota : 1;
	} else if (state.quiet_looked == state.quiet_seen) {
		state.quota = ALL;
	} else if (state.cost_ns < budget_ns / 2) {
		state.quota = 2 * state.quiet_looked + 1;
	}
}

static void end(void)
{
	finish_below(NONE);
	pageblock_write(state.whole ? PAGES_WHOLE : 0);
	set_quota();
	sum_up();
}

/* Breaks a round off: what it has not come to stays as it was. */
static void cut(void)
{
	struct cell *old;
	if (state.open.number != NONE)
		pageblock_close(PAGEBLOCK_SILENT);
	state.open.number = NONE;
	for (; (old = next_before()); state.before_at++)
		keep(old);
	pageblock_write(0);
	sum_up();
}

/* A look ends at the next cell that is not due, or some cells on. */
static uint64_t look_end(uint64_t end)
{
	uint64_t last = state.open.number + AHEAD;
	for (size_t i = state.before_at; i < state.before.count && i - state.before_at < AHEAD; i++)
		if (!state.before.items[i].due && state.before.items[i].number < last)
			last = state.before.items[i].number;
	return last < end / state.cell_bytes ? last * state.cell_bytes : end;
}

static bool leave_out(uint64_t number)
{
	struct cell *old = next_before();
	if (!old || old->number != number || old->due)
		return false;
	keep(old);
	state.before_at++;
	state.cursor = (number + 1) * state.cell_bytes;
	return true;
}

/* One look, or one cell left out. False: there is nothing more to look at. */
static bool advance(void)
{
	struct mapsnap_range mapping;
	if (!mapsnap_guest_from(state.cursor, &mapping))
		return false;
	uint64_t place = mapping.start > state.cursor ? mapping.start : state.cursor;
	uint64_t number = place / state.cell_bytes;
	finish_below(number);
	if (state.open.number == NONE) {
		if (leave_out(number))
			return true;
		open_cell(number);
	}
	state.file = mapping.file;
	uint64_t limit = look_end(mapping.end);
	uint64_t seen_to = pagescan_look(place, limit, see_run);
	/* What cannot be looked at (the kernel's own pages) holds nothing. */
	state.cursor = seen_to > place ? seen_to : limit;
	finish_below(state.cursor / state.cell_bytes);
	return true;
}

/* Reading the clock takes as long as a small look: some of them together. */
static bool advance_some(void)
{
	uint64_t start = state.cursor;
	for (unsigned i = 0; i < 8 && state.cursor - start < state.cell_bytes; i++)
		if (!advance())
			return false;
	return true;
}

/* False: the round has ended. */
static bool step(void)
{
	uint64_t start_ns = clock_thread_cpu_ns(), spent_ns = 0;
	bool more = true;
	while (more && spent_ns < PAGESCAN_HOLD_US * NS_PER_US) {
		more = advance_some();
		spent_ns = clock_thread_cpu_ns() - start_ns;
	}
	state.cost_ns += spent_ns;
	if (!more)
		end();
	return more;
}

/* ---- from outside -------------------------------------------------------------------------------------- */

void hugepages_take(uint64_t interval_ms)
{
	uint64_t now_ns = clock_monotonic_ns();
	state.interval_ns = interval_ms * NS_PER_MS;
	if (!state.running &&
	    (!state.is_done || clock_cost_allows(now_ns, interval_ms, state.begun_ns, state.cost_ns)))
		begin(now_ns);
}

uint64_t hugepages_due_ns(void)
{
	return state.running ? state.due_ns : NONE;
}

void hugepages_step(void)
{
	if (step())
		state.due_ns = clock_monotonic_ns() + REST_NS;
}

void hugepages_finish(void)
{
	uint64_t most_ns = clock_monotonic_ns() + FINISH_WAIT_MS * NS_PER_MS;
	if (state.running)
		cut();
	state.quota = ALL;
	state.turn = 0;
	if (!begin(clock_monotonic_ns()))
		return;
	while (step())
		if (state.cost_ns > FINISH_MOST_MS * NS_PER_MS || clock_monotonic_ns() > most_ns) {
			cut();
			return;
		}
}

void hugepages_want_whole(void)
{
	state.want_whole = true;
}

void hugepages_forget(void)
{
	struct cells before = state.before, now = state.now;
	memset(&state, 0, sizeof state);
	state.before = before;
	state.now = now;
	state.before.count = state.now.count = 0;
	state.quota = ALL;
}

bool hugepages_anon(uint64_t now_ns, uint64_t *bytes, uint64_t *age_ns)
{
	*bytes = state.anon_huge_pages * pagescan_page_bytes();
	*age_ns = now_ns > state.oldest_ns ? now_ns - state.oldest_ns : 0;
	return state.is_done && state.source == PAGES_FROM_SCAN;
}
