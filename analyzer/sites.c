#include "analyzer/sites.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/command.h"
#include "analyzer/format.h"
#include "analyzer/hugeblocks_output.h"

/* ---- order --------------------------------------------------------------------------------------------- */

static double requested(const struct live_site *site)
{
	return site->alloc_bytes.value + site->realloc_bytes.value;
}

/* Index of a site among all of them: that of hugeblocks_sites(), too. */
static const struct hugeblocks_site *huge_of(const struct sites_view *view, const struct live_site *site)
{
	size_t count, huge_count;
	if (!view->huge || !hugeblocks_known(view->huge))
		return NULL;
	size_t index = (size_t)(site - livemap_sites(view->replay->live, &count));
	const struct hugeblocks_site *sites = hugeblocks_sites(view->huge, &huge_count);
	return index < huge_count ? &sites[index] : NULL;
}

static double sort_key(const struct sites_view *view, const struct live_site *site, enum site_order order)
{
	const struct hugeblocks_site *huge;
	switch (order) {
	case SITE_ORDER_PEAK:
		return site->live_bytes_peak.value;
	case SITE_ORDER_ALLOC:
		return requested(site);
	case SITE_ORDER_REMOTE:
		return site->remote_frees.value;
	case SITE_ORDER_HUGE:
		huge = huge_of(view, site);
		return huge ? huge->huge_bytes_peak.value : 0;
	default:
		return site->live_bytes.value;
	}
}

static int by_key(const void *a, const void *b, void *context)
{
	const struct sites_view *view = context;
	const struct live_site *left = *(const struct live_site *const *)a,
			       *right = *(const struct live_site *const *)b;
	const enum site_order keys[] = {view->order, SITE_ORDER_PEAK, SITE_ORDER_ALLOC};
	for (unsigned i = 0; i < sizeof keys / sizeof *keys; i++) {
		double difference = sort_key(view, right, keys[i]) - sort_key(view, left, keys[i]);
		if (difference != 0)
			return difference > 0 ? 1 : -1;
	}
	return (left->stack_id > right->stack_id) - (left->stack_id < right->stack_id);
}

/* All sites, in order; the caller frees the array. NULL when out of memory. */
static const struct live_site **sites_sorted(const struct sites_view *view, size_t *count)
{
	struct sites_view copy = *view;
	const struct live_site *sites = livemap_sites(view->replay->live, count);
	const struct live_site **sorted = malloc((*count + 1) * sizeof *sorted);
	if (!sorted)
		return NULL;
	for (size_t i = 0; i < *count; i++)
		sorted[i] = &sites[i];
	qsort_r(sorted, *count, sizeof *sorted, by_key, &copy);
	return sorted;
}

/* ---- names --------------------------------------------------------------------------------------------- */

/* The site's stack; empty where none was recorded or its definition is lost. False when out of memory. */
static bool site_names(const struct sites_view *view, const struct live_site *site,
		       struct symbol_stack *names)
{
	struct trace_stack stack;
	*names = (struct symbol_stack){0};
	return !trace_stack(view->replay->trace, site->stack_id, &stack) ||
	       symbols_stack(view->symbols, &stack, names);
}

/* ---- JSON ---------------------------------------------------------------------------------------------- */

static void put_interval(json_t *object, const char *name, double low, double high)
{
	char bound[64];
	snprintf(bound, sizeof bound, "%s_low", name);
	json_put_count(object, bound, (uint64_t)llround(fmax(low, 0)));
	snprintf(bound, sizeof bound, "%s_high", name);
	json_put_count(object, bound, (uint64_t)llround(fmax(high, 0)));
}

void json_put_estimate(json_t *object, const char *name, const struct estimate *estimate, bool exact)
{
	json_put_count(object, name, (uint64_t)llround(fmax(estimate->value, 0)));
	if (!exact)
		put_interval(object, name, estimate_low(estimate), estimate_high(estimate));
}

void json_put_peak(json_t *object, const char *name, const struct peak *peak, bool exact)
{
	json_put_count(object, name, (uint64_t)llround(fmax(peak->value, 0)));
	if (!exact)
		put_interval(object, name, peak_low(peak), peak_high(peak));
}

static void put_huge(json_t *object, const struct sites_view *view, const struct live_site *site, bool exact)
{
	const struct hugeblocks_site *huge = huge_of(view, site);
	if (huge) {
		const struct interval now = hugeblocks_site_bytes(huge),
				      peak = hugeblocks_site_bytes_peak(huge);
		json_put_interval(object, "huge_bytes", &now, exact);
		json_put_interval(object, "huge_bytes_peak", &peak, exact);
	} else {
		json_put_null(object, "huge_bytes");
		json_put_null(object, "huge_bytes_peak");
	}
}

static json_t *site_json(const struct sites_view *view, const struct live_site *site, bool exact)
{
	json_t *object = json_object(), *stack = json_array();
	struct symbol_stack names;
	site_names(view, site, &names);
	for (size_t i = 0; i < names.depth; i++)
		json_array_append_new(stack, json_safe_string(names.frames[i]->name));
	symbol_stack_free(&names);
	json_put(object, "stack", stack);
	json_put_count(object, "stack_id", site->stack_id);
	json_put_bool(object, "estimated", !exact);
	json_put_estimate(object, "allocs", &site->allocs, exact);
	json_put_estimate(object, "alloc_bytes", &site->alloc_bytes, exact);
	json_put_estimate(object, "reallocs", &site->reallocs, exact);
	json_put_estimate(object, "realloc_bytes", &site->realloc_bytes, exact);
	json_put_estimate(object, "frees", &site->frees, exact);
	json_put_estimate(object, "remote_frees", &site->remote_frees, exact);
	json_put_estimate(object, "live_blocks", &site->live_blocks, exact);
	json_put_estimate(object, "live_bytes", &site->live_bytes, exact);
	json_put_peak(object, "live_bytes_peak", &site->live_bytes_peak, exact);
	put_huge(object, view, site, exact);
	return object;
}

json_t *sites_json(const struct sites_view *view)
{
	const struct trace_info *info = trace_info(view->replay->trace);
	bool exact = info->mode != TRACE_MODE_SAMPLE;
	size_t count, unmatched_count;
	const struct live_site **sorted = sites_sorted(view, &count);
	json_t *object = json_object(), *sites = json_array(), *unmatched = json_array();
	json_put_string(object, "trace", info->path);
	json_put_bool(object, "estimated", !exact);
	json_put_count(object, "sites_total", count);
	for (size_t i = 0; sorted && i < count && (!view->top || i < view->top); i++)
		json_array_append_new(sites, site_json(view, sorted[i], exact));
	const char *const *names = symbols_unmatched(view->symbols, &unmatched_count);
	for (size_t i = 0; i < unmatched_count; i++)
		json_array_append_new(unmatched, json_safe_string(names[i]));
	json_put(object, "sites", sites);
	json_put(object, "unmatched_modules", unmatched);
	free(sorted);
	return object;
}

/* ---- text ---------------------------------------------------------------------------------------------- */

static void print_figure(FILE *file, const char *name, double value, double low, double high, bool exact)
{
	char text[FORMAT_TEXT_BYTES], from[FORMAT_TEXT_BYTES], to[FORMAT_TEXT_BYTES];
	fprintf(file, "  %s %s", name, format_bytes(text, fmax(value, 0)));
	if (!exact)
		fprintf(file, " (%s to %s)", format_bytes(from, low), format_bytes(to, high));
}

static void print_estimate(FILE *file, const char *name, const struct estimate *estimate, bool exact)
{
	print_figure(file, name, estimate->value, estimate_low(estimate), estimate_high(estimate), exact);
}

/* At the end while it runs, and the most of all looks once it has exited: as for the order. */
static void print_huge(FILE *file, const struct sites_view *view, const struct live_site *site, bool exact)
{
	const struct hugeblocks_site *huge = huge_of(view, site);
	bool ended = trace_info(view->replay->trace)->complete;
	if (!huge)
		return;
	const struct interval bytes = ended ? hugeblocks_site_bytes_peak(huge) : hugeblocks_site_bytes(huge);
	print_figure(file, ended ? "most on huge pages" : "on huge pages", bytes.value, bytes.low, bytes.high,
		     exact);
}

static void print_site(FILE *file, const struct sites_view *view, size_t rank, const struct live_site *site,
		       bool exact)
{
	char calls[FORMAT_TEXT_BYTES], frees[FORMAT_TEXT_BYTES], remote[FORMAT_TEXT_BYTES];
	const struct peak *peak = &site->live_bytes_peak;
	struct estimate bytes = site->alloc_bytes;
	bytes.value += site->realloc_bytes.value;
	bytes.variance += site->realloc_bytes.variance;
	bytes.floor += site->realloc_bytes.floor;
	fprintf(file, "#%zu", rank);
	print_estimate(file, "live", &site->live_bytes, exact);
	print_figure(file, "peak", peak->value, peak_low(peak), peak_high(peak), exact);
	print_huge(file, view, site, exact);
	print_estimate(file, "allocated", &bytes, exact);
	fprintf(file, " in %s calls; %s frees, %s of them remote\n",
		format_count(calls, (uint64_t)llround(site->allocs.value + site->reallocs.value)),
		format_count(frees, (uint64_t)llround(site->frees.value)),
		format_count(remote, (uint64_t)llround(site->remote_frees.value)));
}

static void print_unmatched(FILE *file, const struct symbols *symbols)
{
	size_t count;
	const char *const *names = symbols_unmatched(symbols, &count);
	if (count)
		fputs("\nmodules without symbols (--sysroot and --debug-dir say where to look):\n", file);
	for (size_t i = 0; i < count; i++) {
		fputs("  ", file);
		print_safe(file, names[i]);
		fputc('\n', file);
	}
}

static void print_head(FILE *file, const struct replay *replay, size_t count, bool exact)
{
	char sites[FORMAT_TEXT_BYTES], peak[FORMAT_TEXT_BYTES], end[FORMAT_TEXT_BYTES];
	const struct livemap_totals *totals = livemap_totals(replay->live);
	print_safe(file, trace_info(replay->trace)->path);
	fprintf(file, ": %s sites; live bytes %s at the peak, %s at the end%s\n", format_count(sites, count),
		format_bytes(peak, totals->live_bytes_peak.value),
		format_bytes(end, totals->live_bytes.value),
		exact ? "" : " (estimated from samples; in brackets 95% intervals)");
}

static bool print_stack(FILE *file, const struct sites_view *view, const struct live_site *site)
{
	struct symbol_stack names;
	bool good = site_names(view, site, &names);
	if (!names.depth)
		fputs(site->stack_id ? "      (the stack's definition is lost)\n"
				     : "      (no stack recorded)\n",
		      file);
	for (size_t i = 0; i < names.depth; i++) {
		fputs("      ", file);
		print_frame(file, names.frames[i]);
		fputc('\n', file);
	}
	symbol_stack_free(&names);
	return good;
}

bool sites_print(FILE *file, const struct sites_view *view)
{
	bool exact = trace_info(view->replay->trace)->mode != TRACE_MODE_SAMPLE;
	size_t count;
	const struct live_site **sorted = sites_sorted(view, &count);
	bool good = sorted != NULL;
	print_head(file, view->replay, count, exact);
	for (size_t i = 0; good && i < count && (!view->top || i < view->top); i++) {
		fputc('\n', file);
		print_site(file, view, i + 1, sorted[i], exact);
		good = print_stack(file, view, sorted[i]);
	}
	if (view->top && count > view->top)
		fprintf(file, "\n%s more sites: --top N, 0 for all\n",
			format_count((char[FORMAT_TEXT_BYTES]){0}, count - view->top));
	print_unmatched(file, view->symbols);
	free(sorted);
	return good;
}
