/* What the forms of output have in common. */
#include "analyzer/coverage_output.h"

#include <inttypes.h>
#include <stdlib.h>

#include "analyzer/eventname.h"

const char *coverage_source(const struct coverage_view *view)
{
	if (!coverage_known(view->coverage))
		return NULL;
	switch (pages_source(view->pages)) {
	case PAGES_FROM_SCAN:
		return "scan";
	case PAGES_FROM_KPAGEFLAGS:
		return "kpageflags";
	default:
		return "smaps";
	}
}

const struct coverage_row *coverage_peak_row(const struct coverage *coverage)
{
	size_t count;
	const struct coverage_row *rows = coverage_rows(coverage, &count), *peak = rows;
	for (size_t i = 1; i < count; i++)
		if (rows[i].sums.resident_bytes > peak->sums.resident_bytes)
			peak = &rows[i];
	return count ? peak : NULL;
}

/* asm-generic/mman-common.h, and 24 and 25 as in Linux 5.18 and 6.1. */
static const char *advice_name(uint32_t advice)
{
	static const char *const names[] = {
		[0] = "MADV_NORMAL",	      [1] = "MADV_RANDOM",    [2] = "MADV_SEQUENTIAL",
		[4] = "MADV_DONTNEED",	      [8] = "MADV_FREE",      [9] = "MADV_REMOVE",
		[10] = "MADV_DONTFORK",	      [11] = "MADV_DOFORK",   [12] = "MADV_MERGEABLE",
		[13] = "MADV_UNMERGEABLE",    [14] = "MADV_HUGEPAGE", [15] = "MADV_NOHUGEPAGE",
		[16] = "MADV_DONTDUMP",	      [17] = "MADV_DODUMP",   [18] = "MADV_WIPEONFORK",
		[19] = "MADV_KEEPONFORK",     [20] = "MADV_COLD",     [21] = "MADV_PAGEOUT",
		[24] = "MADV_DONTNEED_LOCKED"};
	return advice < sizeof names / sizeof *names ? names[advice] : NULL;
}

const char *coverage_call_name(const struct breaker *breaker, char out[CALL_NAME_BYTES])
{
	const char *call = event_name(breaker->kind);
	const char *advice = breaker->kind == EVENT_MADVISE ? advice_name(breaker->advice) : NULL;
	if (advice)
		snprintf(out, CALL_NAME_BYTES, "%s(%s)", call, advice);
	else if (breaker->kind == EVENT_MADVISE)
		snprintf(out, CALL_NAME_BYTES, "%s(%" PRIu32 ")", call, breaker->advice);
	else
		snprintf(out, CALL_NAME_BYTES, "%s", call ? call : "unknown");
	return out;
}

bool coverage_stack(const struct coverage_view *view, uint32_t stack_id, struct symbol_stack *names)
{
	struct trace_stack stack;
	*names = (struct symbol_stack){0};
	return !trace_stack(view->trace, stack_id, &stack) || symbols_stack(view->symbols, &stack, names);
}

static int by_loss(const void *left, const void *right, void *context)
{
	const struct breaker *breakers = context;
	const struct breaker *a = &breakers[*(const size_t *)left], *b = &breakers[*(const size_t *)right];
	if (a->huge_pages_lost != b->huge_pages_lost)
		return a->huge_pages_lost < b->huge_pages_lost ? 1 : -1;
	return (a > b) - (a < b);
}

size_t *coverage_breakers_sorted(const struct hugeplaces *places, size_t *count)
{
	size_t all;
	const struct breaker *breakers = hugeplaces_breakers(places, &all);
	size_t *order = malloc((all + 1) * sizeof *order);
	*count = 0;
	for (size_t i = 0; order && i < all; i++)
		if (breakers[i].huge_pages_lost)
			order[(*count)++] = i;
	if (order)
		qsort_r(order, *count, sizeof *order, by_loss, (void *)(uintptr_t)breakers);
	return order;
}
