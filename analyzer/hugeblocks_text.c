#include <math.h>

#include "analyzer/allocstats.h"
#include "analyzer/format.h"
#include "analyzer/hugeblocks_output.h"
#include "analyzer/reader.h"

#define CLASSES_TEXT 12u /* rows of the table: the classes with most unused bytes */
#define MOMENTS_TEXT 8u

static const char *range_text(char *text, size_t bytes, const struct interval *interval, bool exact)
{
	char value[FORMAT_TEXT_BYTES], low[FORMAT_TEXT_BYTES], high[FORMAT_TEXT_BYTES];
	format_bytes(value, interval->value);
	if (exact)
		snprintf(text, bytes, "%s", value);
	else
		snprintf(text, bytes, "%s (%s to %s)", value, format_bytes(low, interval->low),
			 format_bytes(high, interval->high));
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

/* Evenly spread, with the first and the last. */
static void print_over_time(FILE *file, const struct trace *trace, const struct hugeblocks *blocks)
{
	size_t count;
	const struct hugeblocks_moment *moments = hugeblocks_moments(blocks, &count);
	size_t shown = count < MOMENTS_TEXT ? count : MOMENTS_TEXT;
	if (count < 2)
		return;
	fprintf(file, "\n  %10s %12s %12s %12s %12s\n", "t", "resident", "unused", "huge", "bloat");
	for (size_t i = 0; i < shown; i++) {
		const struct hugeblocks_moment *moment = &moments[i * (count - 1) / (shown - 1)];
		char text[4][FORMAT_TEXT_BYTES];
		fprintf(file, "  %8.3f s %12s %12s %12s %12s\n", trace_seconds(trace, moment->time),
			format_bytes(text[0], (double)moment->sums.resident_bytes),
			format_bytes(text[1], moment->sums.unused_bytes.value),
			format_bytes(text[2], (double)moment->sums.huge_bytes),
			format_bytes(text[3], moment->sums.bloat_bytes.value));
	}
	if (shown < count)
		fprintf(file, "  %zu of %zu moments; --json has all\n", shown, count);
}

static void print_free_lists(FILE *file, const struct trace *trace)
{
	const struct allocstats *stats = trace_allocator(trace);
	char at[FORMAT_TEXT_BYTES], bytes[FORMAT_TEXT_BYTES];
	bool any = false;
	for (size_t i = 0; stats->kind && i < ALLOCATOR_LISTS; i++) {
		uint64_t value = allocstats_first(stats, allocator_lists[i].names);
		if (value == ALLOCSTATS_UNKNOWN)
			continue;
		if (!any)
			fprintf(file, "\n  free by the allocator's own count (%s): ",
				format_seconds(at, trace_seconds(trace, stats->mark.time)));
		fprintf(file, "%s%s %s", any ? ", " : "", allocator_lists[i].title,
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
	print_over_time(file, trace, blocks);
	print_free_lists(file, trace);
}
