#include "analyzer/hugeblocks_output.h"

#include <math.h>
#include <string.h>

#include "analyzer/allocstats.h"
#include "analyzer/format.h"
#include "analyzer/reader.h"
#include "analyzer/sites.h"

#define CLASSES_TEXT 12u /* rows of the table: the classes with most unused bytes */

static uint64_t whole(double bytes)
{
	return (uint64_t)llround(fmax(bytes, 0));
}

const char *hole_class_name(unsigned hole_class, char out[HOLE_NAME_BYTES])
{
	char bytes[FORMAT_TEXT_BYTES];
	if (hole_class == HOLE_FREE_PAGE)
		snprintf(out, HOLE_NAME_BYTES, "pages without a block");
	else if (hole_class == SIZE_CLASSES - 1)
		snprintf(out, HOLE_NAME_BYTES, "more");
	else
		snprintf(out, HOLE_NAME_BYTES, "up to %.30s",
			 format_bytes(bytes, (double)size_class_upper_bytes(hole_class)));
	return out;
}

/* The allocator's own figures of what is free in it, where it has them. */
static const struct {
	const char *key;
	const char *title;
	const char *names[3];
} free_lists[] = {
	{"cpu_free_bytes", "per-CPU caches", {"tcmalloc.cpu_free"}},
	{"thread_free_bytes",
	 "thread caches",
	 {"tcmalloc.thread_cache_free", "tcmalloc.thread_cache_free_bytes"}},
	{"transfer_free_bytes",
	 "transfer caches",
	 {"tcmalloc.transfer_cache_free", "tcmalloc.transfer_cache_free_bytes"}},
	{"central_free_bytes",
	 "central cache",
	 {"tcmalloc.central_cache_free", "tcmalloc.central_cache_free_bytes"}},
	{"pageheap_free_bytes", "page heap", {"tcmalloc.pageheap_free_bytes"}},
};
#define FREE_LISTS (sizeof free_lists / sizeof *free_lists)

/* ---- JSON ---------------------------------------------------------------------------------------------- */

void json_put_remainder(json_t *object, const char *name, const struct remainder *remainder, bool exact)
{
	char bound[64];
	json_put_count(object, name, whole(remainder->value));
	if (exact)
		return;
	snprintf(bound, sizeof bound, "%s_low", name);
	json_put_count(object, bound, whole(remainder->low));
	snprintf(bound, sizeof bound, "%s_high", name);
	json_put_count(object, bound, whole(remainder->high));
}

static json_t *owner_json(const struct hugeblocks_look *look, enum owner_kind kind, bool exact)
{
	const struct hugeblocks_owner sums = hugeblocks_owner(look, kind);
	json_t *object = json_object();
	json_put_string(object, "owner", owner_kind_name(kind));
	json_put_count(object, "resident_bytes", sums.resident_bytes);
	json_put_count(object, "huge_bytes", sums.huge_bytes);
	json_put_estimate(object, "live_bytes", &sums.live_bytes, exact);
	json_put_estimate(object, "live_huge_bytes", &sums.live_huge_bytes, exact);
	json_put_remainder(object, "unused_bytes", &sums.unused_bytes, exact);
	json_put_remainder(object, "bloat_bytes", &sums.bloat_bytes, exact);
	if (sums.rounding_known)
		json_put_estimate(object, "rounding_bytes", &sums.rounding_bytes, exact);
	else
		json_put_null(object, "rounding_bytes");
	return object;
}

static json_t *owners_json(const struct hugeblocks_look *look, bool exact)
{
	json_t *array = json_array();
	for (unsigned kind = 0; kind < OWNER_KINDS; kind++)
		if (hugeblocks_owner(look, (enum owner_kind)kind).resident_bytes)
			json_array_append_new(array, owner_json(look, (enum owner_kind)kind, exact));
	return array;
}

static json_t *class_json(const struct hugeblocks_look *look, unsigned hole_class, bool exact)
{
	const uint64_t *holes = look->sweep.hole_bytes[hole_class];
	json_t *object = json_object();
	bool bounded = hole_class < SIZE_CLASSES - 1;
	json_put(object, "up_to_bytes", bounded ? json_count(size_class_upper_bytes(hole_class)) : NULL);
	json_put_bool(object, "free_pages", hole_class == HOLE_FREE_PAGE);
	if (hole_class < SIZE_CLASSES) {
		struct estimate live = look->sweep.live_bytes[hole_class][BACKING_SMALL];
		estimate_add(&live, &look->sweep.live_bytes[hole_class][BACKING_HUGE]);
		json_put_estimate(object, "live_bytes", &live, exact);
		json_put_estimate(object, "live_huge_bytes",
				  &look->sweep.live_bytes[hole_class][BACKING_HUGE], exact);
	} else {
		json_put_count(object, "live_bytes", 0);
		json_put_count(object, "live_huge_bytes", 0);
	}
	json_put(object, "unused_bytes", exact ? json_count(holes[0] + holes[1]) : NULL);
	json_put(object, "bloat_bytes", exact ? json_count(holes[BACKING_HUGE]) : NULL);
	return object;
}

static bool class_empty(const struct hugeblocks_look *look, unsigned hole_class)
{
	const uint64_t *holes = look->sweep.hole_bytes[hole_class];
	if (holes[BACKING_SMALL] || holes[BACKING_HUGE])
		return false;
	return hole_class == HOLE_FREE_PAGE ||
	       (!(look->sweep.live_bytes[hole_class][BACKING_SMALL].value > 0) &&
		!(look->sweep.live_bytes[hole_class][BACKING_HUGE].value > 0));
}

static json_t *classes_json(const struct hugeblocks_look *look, bool exact)
{
	json_t *array = json_array();
	for (unsigned i = 0; i < HOLE_CLASSES; i++)
		if (!class_empty(look, i))
			json_array_append_new(array, class_json(look, i, exact));
	return array;
}

static json_t *moments_json(const struct trace *trace, const struct hugeblocks *blocks)
{
	size_t count;
	const struct hugeblocks_moment *moments = hugeblocks_moments(blocks, &count);
	bool exact = hugeblocks_exact(blocks);
	json_t *array = json_array();
	for (size_t i = 0; i < count; i++) {
		const struct hugeblocks_sums *sums = &moments[i].sums;
		json_t *object = json_object();
		json_put_real(object, "t_s", trace_seconds(trace, moments[i].time));
		json_put_count(object, "resident_bytes", sums->resident_bytes);
		json_put_count(object, "huge_bytes", sums->huge_bytes);
		json_put_estimate(object, "live_bytes", &sums->live_bytes, exact);
		json_put_estimate(object, "live_huge_bytes", &sums->live_huge_bytes, exact);
		json_put_remainder(object, "unused_bytes", &sums->unused_bytes, exact);
		json_put_remainder(object, "bloat_bytes", &sums->bloat_bytes, exact);
		json_array_append_new(array, object);
	}
	return array;
}

/* By owner and by class over time; the looks between two of these are in moments[] alone. */
static json_t *kept_json(const struct trace *trace, const struct hugeblocks *blocks)
{
	size_t count;
	const struct hugeblocks_look *looks = hugeblocks_kept(blocks, &count);
	bool exact = hugeblocks_exact(blocks);
	json_t *array = json_array();
	for (size_t i = 0; i < count; i++) {
		json_t *object = json_object();
		json_put_real(object, "t_s", trace_seconds(trace, looks[i].time));
		json_put(object, "owners", owners_json(&looks[i], exact));
		json_put(object, "size_classes", classes_json(&looks[i], exact));
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *free_lists_json(const struct trace *trace)
{
	const struct allocstats *stats = trace_allocator(trace);
	if (stats->kind == 0)
		return NULL;
	json_t *object = json_object();
	json_put_real(object, "at_s", trace_seconds(trace, stats->mark.time));
	for (size_t i = 0; i < FREE_LISTS; i++) {
		uint64_t bytes = allocstats_first(stats, free_lists[i].names);
		json_put(object, free_lists[i].key, bytes == ALLOCSTATS_UNKNOWN ? NULL : json_count(bytes));
	}
	return object;
}

static json_t *allocator_json(const struct trace *trace, const struct hugeblocks *blocks)
{
	const struct hugeblocks_look *look = hugeblocks_usual(blocks);
	const struct hugeblocks_sums sums = hugeblocks_sums(look);
	bool exact = hugeblocks_exact(blocks);
	json_t *object = json_object();
	json_put_real(object, "at_s", trace_seconds(trace, look->time));
	json_put_bool(object, "estimated", !exact);
	json_put_count(object, "resident_bytes", sums.resident_bytes);
	json_put_count(object, "huge_bytes", sums.huge_bytes);
	json_put_estimate(object, "live_bytes", &sums.live_bytes, exact);
	json_put_estimate(object, "live_huge_bytes", &sums.live_huge_bytes, exact);
	json_put_estimate(object, "live_elsewhere_bytes", &look->live_elsewhere_bytes, exact);
	json_put(object, "owners", owners_json(look, exact));
	json_put(object, "size_classes", classes_json(look, exact));
	json_put(object, "free_lists", free_lists_json(trace));
	json_put(object, "moments", moments_json(trace, blocks));
	json_put(object, "looks", kept_json(trace, blocks));
	return object;
}

void hugeblocks_put_json(json_t *object, const struct trace *trace, const struct hugeblocks *blocks)
{
	if (!blocks || !hugeblocks_known(blocks) || !hugeblocks_complete(blocks)) {
		json_put_null(object, "bloat_bytes");
		json_put_null(object, "unused_bytes");
		json_put_null(object, "allocator");
		return;
	}
	const struct hugeblocks_sums sums = hugeblocks_sums(hugeblocks_usual(blocks));
	bool exact = hugeblocks_exact(blocks);
	json_put_remainder(object, "bloat_bytes", &sums.bloat_bytes, exact);
	json_put_remainder(object, "unused_bytes", &sums.unused_bytes, exact);
	json_put(object, "allocator", allocator_json(trace, blocks));
}

/* ---- text ---------------------------------------------------------------------------------------------- */

static const char *range_text(char *text, size_t bytes, const struct remainder *remainder, bool exact)
{
	char value[FORMAT_TEXT_BYTES], low[FORMAT_TEXT_BYTES], high[FORMAT_TEXT_BYTES];
	format_bytes(value, remainder->value);
	if (exact)
		snprintf(text, bytes, "%s", value);
	else
		snprintf(text, bytes, "%s (%s to %s)", value, format_bytes(low, remainder->low),
			 format_bytes(high, remainder->high));
	return text;
}

#define RANGE_TEXT_BYTES (3 * FORMAT_TEXT_BYTES + 8)

static void print_head(FILE *file, const struct trace *trace, const struct hugeblocks *blocks,
		       const struct hugeblocks_look *look)
{
	const struct hugeblocks_sums sums = hugeblocks_sums(look);
	char at[FORMAT_TEXT_BYTES], resident[FORMAT_TEXT_BYTES], huge[FORMAT_TEXT_BYTES];
	char unused[RANGE_TEXT_BYTES], bloat[RANGE_TEXT_BYTES], share[FORMAT_TEXT_BYTES];
	bool exact = hugeblocks_exact(blocks), peak = look == hugeblocks_peak(blocks);
	fprintf(file,
		"memory of the allocator, %s (%s)%s:\n"
		"  resident %s, of it %s covered by no live block: %s\n"
		"  on huge pages %s, of it covered by no live block (bloat): %s\n",
		peak ? "at its peak" : "at the end", format_seconds(at, trace_seconds(trace, look->time)),
		exact ? "" : ", estimated from samples, in brackets 95% intervals",
		format_bytes(resident, (double)sums.resident_bytes),
		format_percent(share, sums.unused_bytes.value, (double)sums.resident_bytes),
		range_text(unused, sizeof unused, &sums.unused_bytes, exact),
		format_bytes(huge, (double)sums.huge_bytes),
		range_text(bloat, sizeof bloat, &sums.bloat_bytes, exact));
	if (look->live_elsewhere_bytes.value > 0)
		fprintf(file, "  live blocks in regions of no known allocator, not part of this: %s\n",
			format_bytes(at, look->live_elsewhere_bytes.value));
}

static void print_owners(FILE *file, const struct hugeblocks_look *look, bool exact)
{
	fprintf(file, "\n  %-18s %12s %12s  %-12s %-12s %s\n", "owner", "resident", "huge", "rounding",
		"bloat", "unused");
	for (unsigned kind = 0; kind < OWNER_KINDS; kind++) {
		const struct hugeblocks_owner owner = hugeblocks_owner(look, (enum owner_kind)kind);
		char text[3][FORMAT_TEXT_BYTES], unused[RANGE_TEXT_BYTES], rounding[FORMAT_TEXT_BYTES];
		if (!owner.resident_bytes)
			continue;
		fprintf(file, "  %-18s %12s %12s  %-12s %-12s %s\n", owner_kind_name((enum owner_kind)kind),
			format_bytes(text[0], (double)owner.resident_bytes),
			format_bytes(text[1], (double)owner.huge_bytes),
			owner.rounding_known ? format_bytes(rounding, owner.rounding_bytes.value) : "unknown",
			format_bytes(text[2], owner.bloat_bytes.value),
			range_text(unused, sizeof unused, &owner.unused_bytes, exact));
	}
}

static uint64_t class_bytes(const struct hugeblocks_look *look, unsigned hole_class)
{
	return look->sweep.hole_bytes[hole_class][BACKING_SMALL] +
	       look->sweep.hole_bytes[hole_class][BACKING_HUGE];
}

static void print_class(FILE *file, const struct hugeblocks_look *look, unsigned hole_class)
{
	char name[HOLE_NAME_BYTES], unused[FORMAT_TEXT_BYTES], bloat[FORMAT_TEXT_BYTES];
	char live[FORMAT_TEXT_BYTES] = "-";
	if (hole_class < SIZE_CLASSES)
		format_bytes(live, look->sweep.live_bytes[hole_class][BACKING_SMALL].value +
					   look->sweep.live_bytes[hole_class][BACKING_HUGE].value);
	fprintf(file, "  %-22s %12s %12s %12s\n", hole_class_name(hole_class, name),
		format_bytes(unused, (double)class_bytes(look, hole_class)),
		format_bytes(bloat, (double)look->sweep.hole_bytes[hole_class][BACKING_HUGE]), live);
}

/* The classes with most unused bytes, by size. */
static void print_classes(FILE *file, const struct hugeblocks_look *look)
{
	unsigned shown = 0;
	uint64_t smallest = 1;
	for (unsigned larger = CLASSES_TEXT + 1; larger > CLASSES_TEXT; smallest *= 2) {
		larger = 0;
		for (unsigned i = 0; i < HOLE_CLASSES; i++)
			larger += class_bytes(look, i) >= smallest;
	}
	smallest /= 2;
	fprintf(file, "\n  %-22s %12s %12s %12s\n", "blocks on the page", "unused", "of it bloat", "live");
	for (unsigned i = 0; i < HOLE_CLASSES; i++) {
		if (class_bytes(look, i) < smallest || class_bytes(look, i) == 0)
			continue;
		print_class(file, look, i);
		shown++;
	}
	if (!shown)
		fputs("  (nothing is unused)\n", file);
}

static void print_free_lists(FILE *file, const struct trace *trace)
{
	const struct allocstats *stats = trace_allocator(trace);
	char at[FORMAT_TEXT_BYTES], bytes[FORMAT_TEXT_BYTES];
	bool any = false;
	for (size_t i = 0; stats->kind && i < FREE_LISTS; i++) {
		uint64_t value = allocstats_first(stats, free_lists[i].names);
		if (value == ALLOCSTATS_UNKNOWN)
			continue;
		if (!any)
			fprintf(file, "\n  free by the allocator's own count (%s): ",
				format_seconds(at, trace_seconds(trace, stats->mark.time)));
		fprintf(file, "%s%s %s", any ? ", " : "", free_lists[i].title,
			format_bytes(bytes, (double)value));
		any = true;
	}
	if (any)
		fputc('\n', file);
}

void hugeblocks_print(FILE *file, const struct trace *trace, const struct hugeblocks *blocks)
{
	if (!blocks || !hugeblocks_known(blocks)) {
		fputs("memory of the allocator: not known, the trace holds no look at pages\n", file);
		return;
	}
	if (!hugeblocks_complete(blocks)) {
		fputs("memory of the allocator: not known, the blocks of the beginning are lost with it\n",
		      file);
		return;
	}
	const struct hugeblocks_look *look = hugeblocks_usual(blocks);
	bool exact = hugeblocks_exact(blocks);
	print_head(file, trace, blocks, look);
	print_owners(file, look, exact);
	if (exact)
		print_classes(file, look);
	else
		fputs("\n  by size class: in full mode alone\n", file);
	print_free_lists(file, trace);
}
