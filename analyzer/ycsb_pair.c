/*
 * Which summary belongs to which status lines. A client that writes into one file prints its status lines and
 * then its summary; files that were put together (`cat two.err two.out`) hold all status lines first, or all
 * summaries first. A summary that comes behind the last of several series must not become its own unseen.
 */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/ycsb_parse.h"

#define NOBODY SIZE_MAX

/* One half of a run: its status lines, or its summary. */
struct part {
	size_t run; /* index into the file's runs */
	bool series;
	size_t mate; /* index of the other half */
};

struct part_list {
	struct part *items;
	size_t count;
};

/* How near the totals of two halves have to be; see totals_fit(). */
enum closeness { EXACT, NEAR, ADJACENT };

/* Series first..middle - 1 stand before summaries middle..end - 1, or the other way round. */
struct group {
	size_t first, middle, end;
	bool series_first;
};

static const char *const kind_names[] = {"INSERT", "READ", "UPDATE", "SCAN", "DELETE", "READ-MODIFY-WRITE"};

unsigned ycsb_kind(struct text name)
{
	for (size_t i = 0; i < sizeof kind_names / sizeof *kind_names; i++)
		if (text_equals(name, kind_names[i]))
			return 1u << i;
	return 0;
}

/* ---- whether two halves fit -------------------------------------------------------------------------- */

bool ycsb_has_series(const struct ycsb_run *run)
{
	return run->last_operations != YCSB_UNKNOWN;
}

bool ycsb_has_summary(const struct ycsb_run *run)
{
	return run->operation_kinds > 0 || !isnan(run->runtime_ms) || !isnan(run->throughput_ops_s);
}

static bool kinds_fit(const struct ycsb_run *series, const struct ycsb_run *summary)
{
	unsigned kinds = 0;
	for (size_t i = 0; i < summary->operation_kinds; i++)
		kinds |= ycsb_kind(text_of(summary->operations[i].name));
	return kinds == 0 || (series->series_kinds & ~kinds) == 0;
}

static double most_per_interval(const struct ycsb_run *series)
{
	double most = 0;
	for (size_t i = 0; i < series->interval_count; i++)
		most = fmax(most, (double)series->intervals[i].operations);
	return most;
}

/*
 * The last status line is printed when the last thread has ended, with what the summary counts; where it is
 * missing (up to 0.1.4, or interrupted) the counter is behind by up to an interval, which only halves that
 * stand beside each other may be.
 */
static bool totals_fit(const struct ycsb_run *series, const struct ycsb_run *summary, enum closeness how)
{
	double operations = summary->throughput_ops_s * summary->runtime_ms / 1000;
	double missing = operations - (double)series->last_operations;
	double slack = how == EXACT ? 0.5 : 0.5 + 0.01 * operations;
	if (isnan(operations) || series->interval_count == 0)
		return true;
	if (summary->runtime_ms < 0)
		return true;
	return missing >= -slack &&
	       missing <= slack + (how == ADJACENT ? 1.5 * most_per_interval(series) : 0);
}

static bool times_fit(const struct ycsb_run *series, const struct ycsb_run *summary, enum closeness how)
{
	double runtime_s = summary->runtime_ms / 1000;
	double slack_s = 1.5 + 0.02 * runtime_s;
	if (!(runtime_s >= 0) || series->interval_count == 0 || series->last_printed_s < 0 ||
	    (series->flags & YCSB_FLAG_CLOCK_BACK))
		return true;
	if (how == ADJACENT)
		slack_s += 1.5 * series->usual_interval_s;
	return fabs(series->last_printed_s - runtime_s) <= slack_s;
}

static bool runs_fit(const struct ycsb_run *series, const struct ycsb_run *summary, enum closeness how)
{
	return kinds_fit(series, summary) && totals_fit(series, summary, how) &&
	       times_fit(series, summary, how);
}

bool ycsb_halves_fit(const struct ycsb_run *series, const struct ycsb_run *summary)
{
	return runs_fit(series, summary, NEAR);
}

static bool fit(const struct ycsb_file *file, const struct part *a, const struct part *b, enum closeness how)
{
	const struct ycsb_run *series = &file->runs[a->series ? a->run : b->run];
	const struct ycsb_run *summary = &file->runs[a->series ? b->run : a->run];
	return runs_fit(series, summary, how);
}

/* ---- groups ------------------------------------------------------------------------------------------ */

static void wed(struct part_list *parts, size_t a, size_t b)
{
	parts->items[a].mate = b;
	parts->items[b].mate = a;
}

static bool pair_evenly(const struct ycsb_file *file, struct part_list *parts, struct group group)
{
	size_t count = group.middle - group.first;
	enum closeness how = !group.series_first ? EXACT : count == 1 ? ADJACENT : NEAR;
	if (count != group.end - group.middle)
		return false;
	for (size_t i = 0; i < count; i++)
		if (!fit(file, &parts->items[group.first + i], &parts->items[group.middle + i], how))
			return false;
	for (size_t i = 0; i < count; i++)
		wed(parts, group.first + i, group.middle + i);
	return true;
}

/* Nearest first, from the boundary between both kinds outwards; the order is kept. */
static void pair_what_fits(const struct ycsb_file *file, struct part_list *parts, struct group group)
{
	bool more_before = group.middle - group.first >= group.end - group.middle;
	size_t i = more_before ? group.middle : group.first;
	enum closeness how = group.series_first ? NEAR : EXACT;
	if (more_before) {
		for (size_t b = group.end; b-- > group.middle;) {
			size_t a = i;
			while (a-- > group.first)
				if (fit(file, &parts->items[a], &parts->items[b], how)) {
					wed(parts, a, b);
					i = a;
					break;
				}
		}
		return;
	}
	size_t b = group.middle;
	for (; i < group.middle; i++) {
		for (size_t at = b; at < group.end; at++)
			if (fit(file, &parts->items[i], &parts->items[at], how)) {
				wed(parts, i, at);
				b = at + 1;
				break;
			}
	}
}

static void mark_unpaired(struct ycsb_file *file, const struct part_list *parts, struct group group)
{
	bool series_left = false, summary_left = false;
	for (size_t i = group.first; i < group.end; i++) {
		series_left |= parts->items[i].mate == NOBODY && parts->items[i].series;
		summary_left |= parts->items[i].mate == NOBODY && !parts->items[i].series;
	}
	for (size_t i = group.first; series_left && summary_left && i < group.end; i++)
		if (parts->items[i].mate == NOBODY)
			file->runs[parts->items[i].run].flags |= YCSB_FLAG_UNPAIRED;
}

/* Pairs what stands as `series_first` says, of the parts that nobody has yet. */
static void pair_groups(struct ycsb_file *file, struct part_list *parts, bool series_first)
{
	for (size_t at = 0; at < parts->count;) {
		struct group group = {.first = at, .series_first = series_first};
		while (at < parts->count && parts->items[at].mate == NOBODY &&
		       parts->items[at].series == series_first)
			at++;
		group.middle = at;
		while (at < parts->count && parts->items[at].mate == NOBODY &&
		       parts->items[at].series != series_first)
			at++;
		group.end = at;
		if (group.middle == group.first || group.end == group.middle) {
			at += at == group.first;
			continue;
		}
		if (!pair_evenly(file, parts, group))
			pair_what_fits(file, parts, group);
		if (series_first)
			mark_unpaired(file, parts, group);
	}
}

/* ---- splitting and joining --------------------------------------------------------------------------- */

#define SUMMARY_FLAGS                                                                                        \
	((unsigned)(YCSB_FLAG_LOST_TABLE | YCSB_FLAG_NEGATIVE_TIME | YCSB_FLAG_ERRORS |                      \
		    YCSB_FLAG_ERRORS_INVALID | YCSB_FLAG_NO_OPERATIONS | YCSB_FLAG_P95_IS_P90 |              \
		    YCSB_FLAG_CUT_OFF | YCSB_FLAG_UNPAIRED))

/* Takes the summary out of a run and appends it as a run of its own; what the command line said stays. */
static size_t split(struct ycsb_parser *parser, size_t index)
{
	struct ycsb_file *file = parser->file;
	struct ycsb_run *grown = ycsb_grow(parser, file->runs, file->run_count, sizeof *grown);
	if (!grown)
		return NOBODY;
	file->runs = grown;
	struct ycsb_run *series = &grown[index], *summary = &grown[file->run_count];
	*summary = *series;
	summary->phase = YCSB_PHASE_UNKNOWN;
	summary->threads_asked = summary->record_count = summary->operation_count = YCSB_UNKNOWN;
	summary->flags &= SUMMARY_FLAGS;
	summary->intervals = NULL;
	summary->interval_count = 0;
	summary->usual_interval_s = summary->last_printed_s = NAN;
	summary->last_operations = YCSB_UNKNOWN;
	summary->clock_text[0] = 0;
	summary->first_line = summary->summary_line;
	summary->offset_bytes = summary->summary_offset_bytes;
	series->format = YCSB_JAVA_TEXT;
	series->operations = NULL;
	series->operation_kinds = 0;
	series->complete = false;
	series->throughput_ops_s = series->runtime_ms = series->error_rate = NAN;
	series->threads_ended = YCSB_UNKNOWN;
	series->flags = (series->flags & ~SUMMARY_FLAGS) | (series->flags & YCSB_FLAG_UNPAIRED);
	series->flags |= YCSB_FLAG_NO_SUMMARY;
	return file->run_count++;
}

static void known_or(uint64_t *value, uint64_t other)
{
	if (*value == YCSB_UNKNOWN)
		*value = other;
}

void ycsb_join(struct ycsb_run *summary, struct ycsb_run *series)
{
	summary->intervals = series->intervals;
	summary->interval_count = series->interval_count;
	summary->usual_interval_s = series->usual_interval_s;
	summary->last_operations = series->last_operations;
	summary->last_printed_s = series->last_printed_s;
	summary->series_kinds = series->series_kinds;
	summary->zone_offset_s = series->zone_offset_s;
	summary->zone_assumed = series->zone_assumed;
	summary->zone_first_s = series->zone_first_s;
	memcpy(summary->clock_text, series->clock_text, sizeof summary->clock_text);
	if (!summary->version[0])
		memcpy(summary->version, series->version, sizeof summary->version);
	if (summary->phase == YCSB_PHASE_UNKNOWN)
		summary->phase = series->phase;
	known_or(&summary->threads_asked, series->threads_asked);
	known_or(&summary->record_count, series->record_count);
	known_or(&summary->operation_count, series->operation_count);
	summary->flags |= series->flags;
	summary->flags &= ~(unsigned)(YCSB_FLAG_UNPAIRED | (summary->complete ? YCSB_FLAG_NO_SUMMARY : 0));
	if (series->first_line < summary->first_line) {
		summary->first_line = series->first_line;
		summary->offset_bytes = series->offset_bytes;
	}
	series->intervals = NULL;
	ycsb_run_free(series);
	/* The client stays: seen_before() looks at it. */
	*series = (struct ycsb_run){.format = YCSB_JAVA_TEXT, .first_line = UINT64_MAX};
	memcpy(series->client, summary->client, sizeof series->client);
}

/* Halves that shared a run and do not belong together are taken apart first, so that every mate is free. */
static bool apply(struct ycsb_parser *parser, struct part_list *parts)
{
	struct ycsb_file *file = parser->file;
	for (size_t i = 0; i + 1 < parts->count; i++) {
		struct part *series = &parts->items[i], *summary = &parts->items[i + 1];
		if (series->run != summary->run || series->mate == i + 1)
			continue;
		summary->run = split(parser, series->run);
		if (summary->run == NOBODY)
			return false;
	}
	for (size_t i = 0; i < parts->count; i++) {
		const struct part *part = &parts->items[i];
		if (part->series && part->mate != NOBODY && parts->items[part->mate].run != part->run)
			ycsb_join(&file->runs[parts->items[part->mate].run], &file->runs[part->run]);
	}
	return true;
}

/* ---- all of it --------------------------------------------------------------------------------------- */

static bool is_java(const struct ycsb_run *run)
{
	return run->format == YCSB_JAVA_TEXT || run->format == YCSB_JAVA_JSON;
}

static void take_parts(const struct ycsb_file *file, const char *client, struct part_list *parts)
{
	parts->count = 0;
	for (size_t i = 0; i < file->run_count; i++) {
		const struct ycsb_run *run = &file->runs[i];
		if (!is_java(run) || strcmp(run->client, client) != 0)
			continue;
		if (ycsb_has_series(run))
			parts->items[parts->count++] = (struct part){i, true, NOBODY};
		if (ycsb_has_summary(run))
			parts->items[parts->count++] = (struct part){i, false, NOBODY};
	}
}

/* Runs whose status lines went elsewhere are dropped. */
static void drop_joined(struct ycsb_file *file)
{
	size_t kept = 0;
	for (size_t i = 0; i < file->run_count; i++)
		if (file->runs[i].first_line != UINT64_MAX)
			file->runs[kept++] = file->runs[i];
	file->run_count = kept;
}

static bool seen_before(const struct ycsb_file *file, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (is_java(&file->runs[i]) && strcmp(file->runs[i].client, file->runs[index].client) == 0)
			return true;
	return false;
}

void ycsb_pair(struct ycsb_parser *parser)
{
	struct ycsb_file *file = parser->file;
	size_t runs = file->run_count;
	struct part_list parts = {calloc(2 * runs + 1, sizeof *parts.items), 0};
	if (!parts.items)
		parser->out_of_memory = true;
	for (size_t i = 0; parts.items && i < runs; i++) {
		if (!is_java(&file->runs[i]) || file->runs[i].first_line == UINT64_MAX ||
		    seen_before(file, i))
			continue;
		take_parts(file, file->runs[i].client, &parts);
		pair_groups(file, &parts, true);
		pair_groups(file, &parts, false);
		if (!apply(parser, &parts))
			break;
	}
	free(parts.items);
	drop_joined(file);
}
