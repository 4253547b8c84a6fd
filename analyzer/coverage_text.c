#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/command.h"
#include "analyzer/coverage_output.h"
#include "analyzer/format.h"
#include "analyzer/hugeblocks_output.h"

#define ROWS_OVER_TIME 12u
#define FRAMES_SHOWN   6u

/* ---- one moment --------------------------------------------------------------------------------------- */

static void print_bytes_row(FILE *file, uint64_t resident_bytes, uint64_t huge_bytes, uint64_t usable_bytes)
{
	char a[FORMAT_TEXT_BYTES], b[FORMAT_TEXT_BYTES], c[FORMAT_TEXT_BYTES], d[FORMAT_TEXT_BYTES];
	fprintf(file, "%12s %12s %8s %12s", format_bytes(a, (double)resident_bytes),
		format_bytes(b, (double)huge_bytes),
		format_percent(c, (double)huge_bytes, (double)resident_bytes),
		format_bytes(d, (double)usable_bytes));
}

static void print_columns(FILE *file, const char *first, const char *last)
{
	fprintf(file, "    %s%12s %12s %8s %12s  %s\n", first, "resident", "huge", "share", "could be", last);
}

static int by_resident(const void *left, const void *right)
{
	const struct coverage_level *a = left, *b = right;
	if (a->resident_bytes != b->resident_bytes)
		return a->resident_bytes < b->resident_bytes ? 1 : -1;
	return (a->index > b->index) - (a->index < b->index);
}

static bool print_owners(FILE *file, const struct coverage_view *view, const struct coverage_row *row)
{
	size_t count;
	const struct region_owner *owners = regions_owners(view->regions, &count);
	struct coverage_level *levels = malloc((row->owners_count + 1) * sizeof *levels);
	if (!levels)
		return false;
	memcpy(levels, coverage_levels(view->coverage) + row->owners_at, row->owners_count * sizeof *levels);
	qsort(levels, row->owners_count, sizeof *levels, by_resident);
	print_columns(file, "", "owner");
	for (size_t i = 0; i < row->owners_count; i++) {
		fputs("    ", file);
		print_bytes_row(file, levels[i].resident_bytes, levels[i].huge_bytes,
				levels[i].eligible_bytes - levels[i].eligible_reserved_bytes);
		fputs("  ", file);
		print_safe(file, owners[levels[i].index].name);
		fputc('\n', file);
	}
	fputs("    ", file);
	print_bytes_row(file, row->sums.resident_bytes, row->sums.huge_bytes,
			coverage_usable_bytes(&row->sums));
	fputs("  all, without mtrace\n", file);
	free(levels);
	return true;
}

static void print_causes(FILE *file, const struct coverage_sums *sums)
{
	char bytes[FORMAT_TEXT_BYTES];
	bool any = false;
	for (unsigned i = 0; i < CAUSE_COUNT; i++) {
		if (!sums->causes[i])
			continue;
		if (!any)
			fputs("  not on huge pages, and why\n", file);
		any = true;
		fprintf(file, "    %12s  %s (%s)\n", format_bytes(bytes, (double)sums->causes[i]),
			huge_cause_id((enum huge_cause)i), huge_cause_text((enum huge_cause)i));
	}
}

static void print_apart(FILE *file, const char *what, uint64_t bytes)
{
	char text[FORMAT_TEXT_BYTES];
	if (bytes)
		fprintf(file, "    %12s  %s\n", format_bytes(text, (double)bytes), what);
}

static void print_others(FILE *file, const struct coverage_row *row)
{
	const struct coverage_sums *sums = &row->sums;
	if (sums->swapped_bytes || sums->zero_bytes || sums->hugetlb_bytes ||
	    row->unplaced.folio_mapped_by_page_bytes || sums->eligible_reserved_bytes ||
	    sums->eligible_predicted_bytes)
		fputs("  besides\n", file);
	print_apart(file, "swapped out", sums->swapped_bytes);
	print_apart(file, "mapped to the kernel's page of zeros", sums->zero_bytes);
	print_apart(file, "hugetlb pages", sums->hugetlb_bytes);
	print_apart(file, "in huge folios that are mapped page by page",
		    row->unplaced.folio_mapped_by_page_bytes);
	print_apart(file, "eligible, but reserved without access", sums->eligible_reserved_bytes);
	print_apart(file, "of what is eligible: predicted, smaps has not been read since it was mapped",
		    sums->eligible_predicted_bytes);
}

/* Of the oldest look; nothing is resident where there is none. */
static const char *format_age(char out[FORMAT_TEXT_BYTES], const struct coverage_row *row)
{
	return format_seconds(out, isnan(row->age_s) ? 0 : row->age_s);
}

static bool print_moment(FILE *file, const struct coverage_view *view, const struct coverage_row *row,
			 const char *which)
{
	char at[FORMAT_TEXT_BYTES], age[FORMAT_TEXT_BYTES], rss[FORMAT_TEXT_BYTES];
	fprintf(file, "\n%s, at %s (figures up to %s old", which,
		format_seconds(at, trace_seconds(view->trace, row->time)), format_age(age, row));
	if (row->rss_bytes != SNAPSHOT_UNKNOWN)
		fprintf(file, "; RSS then %s, mtrace's included", format_bytes(rss, (double)row->rss_bytes));
	fputs(")\n", file);
	if (!print_owners(file, view, row))
		return false;
	print_causes(file, &row->sums);
	print_others(file, row);
	return true;
}

static bool print_moments(FILE *file, const struct coverage_view *view)
{
	size_t count;
	const struct coverage_row *rows = coverage_rows(view->coverage, &count);
	const struct coverage_row *last = &rows[count - 1], *peak = coverage_peak_row(view->coverage);
	if (peak->sums.resident_bytes > last->sums.resident_bytes + last->sums.resident_bytes / 4 &&
	    !print_moment(file, view, peak, "with most resident memory"))
		return false;
	return print_moment(file, view, last, "at the last moment");
}

/* ---- over time ---------------------------------------------------------------------------------------- */

static void print_over_time(FILE *file, const struct coverage_view *view)
{
	size_t count;
	const struct coverage_row *rows = coverage_rows(view->coverage, &count);
	size_t shown = count < ROWS_OVER_TIME ? count : ROWS_OVER_TIME;
	char age[FORMAT_TEXT_BYTES];
	if (count < 2)
		return;
	fputs("\nover time\n", file);
	print_columns(file, "         t", "age of the figures");
	for (size_t i = 0; i < shown; i++) {
		const struct coverage_row *row = &rows[i * (count - 1) / (shown - 1)];
		fprintf(file, "    %8.3f s", trace_seconds(view->trace, row->time));
		print_bytes_row(file, row->sums.resident_bytes, row->sums.huge_bytes,
				coverage_usable_bytes(&row->sums));
		fprintf(file, "  %s\n", format_age(age, row));
	}
	if (shown < count)
		fprintf(file, "    %zu of %zu moments; --json has all\n", shown, count);
}

/* ---- stacks ------------------------------------------------------------------------------------------- */

static bool print_stack(FILE *file, const struct coverage_view *view, uint32_t stack_id)
{
	struct symbol_stack names;
	bool good = coverage_stack(view, stack_id, &names);
	if (!names.depth)
		fprintf(file, "        (%s)\n",
			stack_id ? "the stack's definition is lost" : "no stack recorded");
	for (size_t i = 0; i < names.depth && i < FRAMES_SHOWN; i++) {
		fputs("        ", file);
		print_frame(file, names.frames[i]);
		fputc('\n', file);
	}
	if (names.depth > FRAMES_SHOWN)
		fprintf(file, "        ... %zu more\n", names.depth - FRAMES_SHOWN);
	symbol_stack_free(&names);
	return good;
}

static int by_peak(const void *left, const void *right)
{
	const struct coverage_part *a = *(const struct coverage_part *const *)left,
				   *b = *(const struct coverage_part *const *)right;
	uint64_t x = a->resident_bytes_peak, y = b->resident_bytes_peak;
	return x != y ? (x < y) - (x > y) : (a > b) - (a < b);
}

static const struct coverage_part **sites_sorted_by_peak(const struct coverage *coverage, size_t *count)
{
	size_t all;
	const struct coverage_part *parts = coverage_sites(coverage, &all);
	const struct coverage_part **sorted = malloc((all + 1) * sizeof *sorted);
	*count = 0;
	for (size_t i = 0; sorted && i < all; i++)
		if (parts[i].resident_bytes_peak && parts[i].stack_id)
			sorted[(*count)++] = &parts[i];
	if (sorted)
		qsort(sorted, *count, sizeof *sorted, by_peak);
	return sorted;
}

static bool print_sites(FILE *file, const struct coverage_view *view, size_t top)
{
	char a[FORMAT_TEXT_BYTES], b[FORMAT_TEXT_BYTES], c[FORMAT_TEXT_BYTES], d[FORMAT_TEXT_BYTES];
	size_t count;
	const struct coverage_part **sites = sites_sorted_by_peak(view->coverage, &count);
	bool good = sites != NULL;
	if (good && count)
		fputs("\nmapping sites\n", file);
	for (size_t i = 0; good && i < count && (!top || i < top); i++) {
		const struct coverage_sums *sums = &sites[i]->sums;
		fprintf(file, "    resident %s, %s of it huge; at most %s and %s huge\n",
			format_bytes(a, (double)sums->resident_bytes),
			format_bytes(b, (double)sums->huge_bytes),
			format_bytes(c, (double)sites[i]->resident_bytes_peak),
			format_bytes(d, (double)sites[i]->huge_bytes_peak));
		good = print_stack(file, view, sites[i]->stack_id);
	}
	free(sites);
	return good;
}

/* ---- breakers and ways -------------------------------------------------------------------------------- */

static void print_breaker(FILE *file, const struct coverage_view *view, const struct breaker *breaker)
{
	char bytes[FORMAT_TEXT_BYTES], lost[FORMAT_TEXT_BYTES], back[FORMAT_TEXT_BYTES],
		seconds[FORMAT_TEXT_BYTES];
	char name[CALL_NAME_BYTES], calls[FORMAT_TEXT_BYTES];
	uint64_t huge_bytes = pages_huge_bytes(view->pages) * breaker->huge_pages_lost;
	fprintf(file, "    %s in %s huge page%s by ", format_bytes(bytes, (double)huge_bytes),
		format_count(lost, breaker->huge_pages_lost), breaker->huge_pages_lost == 1 ? "" : "s");
	if (breaker->kind == EVENT_NONE)
		fputs("no call that was recorded (memory pressure, writing after a fork, calls inside of "
		      "libc)",
		      file);
	else
		fprintf(file, "%s call%s of %s", format_count(calls, breaker->calls),
			breaker->calls == 1 ? "" : "s", coverage_call_name(breaker, name));
	if (breaker->came_back)
		fprintf(file, "; %s came back, after %s (median)\n", format_count(back, breaker->came_back),
			format_seconds(seconds, gsl_rstat_median(breaker->back_s)));
	else
		fputs("; none came back\n", file);
}

static bool print_breakers(FILE *file, const struct coverage_view *view, size_t top)
{
	const struct hugeplaces *places = coverage_places(view->coverage);
	size_t count, all;
	if (!places)
		return true;
	const struct breaker *breakers = hugeplaces_breakers(places, &all);
	size_t *order = coverage_breakers_sorted(places, &count);
	bool good = order != NULL;
	if (good)
		fputs(count ? "\nhuge pages broken\n" : "\nhuge pages broken: none between two looks\n",
		      file);
	for (size_t i = 0; good && i < count && (!top || i < top); i++) {
		const struct breaker *breaker = &breakers[order[i]];
		print_breaker(file, view, breaker);
		good = breaker->kind == EVENT_NONE || print_stack(file, view, breaker->stack_id);
	}
	if (good && top && count > top)
		fprintf(file, "    %zu more: --top N, 0 for all\n", count - top);
	free(order);
	return good;
}

static void print_ways(FILE *file, const struct coverage_view *view)
{
	static const char *const names[PATH_COUNT] = {"at the first look at it: by a fault",
						      "later: by khugepaged", "later: after MADV_COLLAPSE"};
	const struct hugeplaces *places = coverage_places(view->coverage);
	if (!places || pages_source(view->pages) != PAGES_FROM_SCAN)
		return;
	const struct coverage_way *ways = hugeplaces_ways(places);
	fputs("\nonto huge pages for the first time\n", file);
	for (unsigned i = 0; i < PATH_COUNT; i++) {
		char bytes[FORMAT_TEXT_BYTES], seconds[FORMAT_TEXT_BYTES];
		fprintf(file, "    %12s  %s",
			format_bytes(bytes, (double)(ways[i].huge_pages * pages_huge_bytes(view->pages))),
			names[i]);
		if (gsl_rstat_n(ways[i].delay_s) && i != PATH_FAULT)
			fprintf(file, ", after %s (median)",
				format_seconds(seconds, gsl_rstat_median(ways[i].delay_s)));
		fputc('\n', file);
	}
}

/* ---- settings ----------------------------------------------------------------------------------------- */

static void print_setting(FILE *file, const struct thpstate *settings, const char *name)
{
	const struct thp_value *value = thpstate_find(settings, name);
	if (!value || !value->first)
		return;
	fprintf(file, "    %-28s ", name);
	print_safe(file, value->first);
	if (value->now && strcmp(value->now, value->first) != 0) {
		fputs(", at the end ", file);
		print_safe(file, value->now);
	}
	fputc('\n', file);
}

static void print_settings(FILE *file, const struct coverage_view *view)
{
	static const char *const names[] = {"thp.enabled",	   "thp.defrag",
					    "thp.shmem_enabled",   "thp.khugepaged.max_ptes_none",
					    "process.thp_disable", "vm.overcommit_memory"};
	const struct thpstate *settings = coverage_settings(view->coverage);
	size_t count;
	thpstate_values(settings, &count);
	if (count)
		fputs("\nsettings\n", file);
	for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
		print_setting(file, settings, names[i]);
	if (thpstate_changes_count(settings))
		fprintf(file, "    %" PRIu64 " changes in between; --json has them\n",
			thpstate_changes_count(settings));
}

static void print_host(FILE *file, const struct coverage_view *view)
{
	static const char *const names[] = {"thp_fault_alloc",	       "thp_fault_fallback",
					    "thp_collapse_alloc",      "thp_collapse_alloc_failed",
					    "thp_split_page",	       "thp_split_pmd",
					    "thp_deferred_split_page", "compact_stall"};
	const struct thpstate *settings = coverage_settings(view->coverage);
	bool any = false;
	for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
		char name[64], text[FORMAT_TEXT_BYTES];
		uint64_t rise;
		snprintf(name, sizeof name, "vmstat.%s", names[i]);
		if (!thpstate_rise(settings, name, &rise))
			continue;
		if (!any)
			fputs("\ncounted meanwhile on the whole machine, by all processes\n", file);
		any = true;
		fprintf(file, "    %-28s %s\n", names[i], format_count(text, rise));
	}
}

/* ---- all of it ---------------------------------------------------------------------------------------- */

/* What a source that knows less than PAGEMAP_SCAN cannot say. */
static void print_limits(FILE *file, uint32_t source)
{
	if (source == PAGES_FROM_SCAN)
		return;
	fputs(source == PAGES_FROM_KPAGEFLAGS ? "  kpageflags shows huge folios, and only the rarer readings "
						"of smaps which of them are\n"
						"  mapped as huge pages: no ways onto huge pages.\n"
					      : "  sums by mapping alone: no breakers, no ways onto huge "
						"pages, no causes within eligible\n"
						"  mappings.\n",
	      file);
	fputs("  PAGEMAP_SCAN (Linux 6.7, readable /proc/self/pagemap, MTRACE_PAGES=auto) tells all.\n",
	      file);
}

static void print_head(FILE *file, const struct coverage_view *view)
{
	char bytes[FORMAT_TEXT_BYTES];
	size_t count;
	coverage_rows(view->coverage, &count);
	print_safe(file, trace_info(view->trace)->path);
	if (!count) {
		fputs(": no look at pages in this trace (MTRACE_PAGES=off, no /proc, or it ended before the "
		      "first)\n",
		      file);
		return;
	}
	uint64_t huge_bytes = pages_huge_bytes(view->pages);
	fprintf(file, ": huge pages of %s, by %s, %zu moment%s\n",
		huge_bytes ? format_bytes(bytes, (double)huge_bytes) : "unknown size", coverage_source(view),
		count, count == 1 ? "" : "s");
	print_limits(file, pages_source(view->pages));
}

bool coverage_print(FILE *file, const struct coverage_view *view, size_t top)
{
	print_head(file, view);
	if (!coverage_known(view->coverage))
		return true;
	if (!print_moments(file, view))
		return false;
	print_over_time(file, view);
	if (!print_sites(file, view, top) || !print_breakers(file, view, top))
		return false;
	print_ways(file, view);
	if (view->blocks && hugeblocks_known(view->blocks)) {
		fputc('\n', file);
		hugeblocks_print(file, view->trace, view->blocks);
	}
	print_settings(file, view);
	print_host(file, view);
	return true;
}
