/* Findings about the client's output, the alignment and the correlations. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/findings.h"
#include "analyzer/format.h"
#include "analyzer/report.h"

static const struct ycsb_run *unplaced_run(const struct report *report, const struct unplaced *unplaced)
{
	return &report->files[unplaced->file].runs[unplaced->run];
}

static bool nothing_overlaps(const struct alignment *alignment)
{
	for (size_t i = 0; i < alignment->unplaced_count; i++)
		if (alignment->unplaced[i].reason == UNPLACED_TOO_SHORT)
			return false;
	return alignment->segment_count == 0;
}

static bool find_no_overlap(struct report *report)
{
	const struct alignment *alignment = &report->alignment;
	char trace_start[FORMAT_TEXT_BYTES], trace_end[FORMAT_TEXT_BYTES];
	char start[FORMAT_TEXT_BYTES], end[FORMAT_TEXT_BYTES], hint[160];
	if (!nothing_overlaps(alignment) || alignment->client_start_ns == alignment->client_end_ns)
		return true;
	if (alignment->have_hint)
		snprintf(hint, sizeof hint,
			 "--ycsb-offset %" PRId64
			 " would make them meet: is the client's clock in that zone?",
			 alignment->hint_offset_s);
	else
		snprintf(hint, sizeof hint,
			 "Is this the output of the run that was traced? --ycsb-offset sets the client's "
			 "zone, "
			 "--ycsb-start the start of a run without a clock.");
	return findings_add(
		&report->findings, "ycsb-no-overlap",
		"No status line of YCSB lies within the traces. Traces: %s to %s. YCSB: %s to %s. %s",
		format_utc(trace_start, report->model.start_ns), format_utc(trace_end, report->model.end_ns),
		format_utc(start, alignment->client_start_ns), format_utc(end, alignment->client_end_ns),
		hint);
}

static bool find_unplaced(struct report *report)
{
	static const struct {
		const char *id, *text;
	} reasons[] = {
		[UNPLACED_NO_SERIES] = {"ycsb-no-series",
					"has no status lines (-s), so that only its summary is shown"},
		[UNPLACED_NO_CLOCK] = {"ycsb-no-clock",
				       "has no wall clock; --ycsb-start TIME says when it started"},
		[UNPLACED_NO_OVERLAP] = {"ycsb-elsewhere", "ran while nothing was traced"},
		[UNPLACED_TOO_SHORT] = {"ycsb-too-short",
					"is shorter than one interval of the trace: none lies within it"},
	};
	for (size_t i = 0; i < report->alignment.unplaced_count; i++) {
		const struct unplaced *unplaced = &report->alignment.unplaced[i];
		if (unplaced->reason == UNPLACED_NO_OVERLAP && nothing_overlaps(&report->alignment))
			continue; /* said once for all */
		if (!findings_add(&report->findings, reasons[unplaced->reason].id,
				  "%s: the run at line %" PRIu64 " %s.", report->files[unplaced->file].path,
				  unplaced_run(report, unplaced)->first_line, reasons[unplaced->reason].text))
			return false;
	}
	return true;
}

/* The flags that make a reader trust a run less, in words. */
static const struct {
	enum ycsb_flag flag;
	const char *text;
} flag_texts[] = {
	{YCSB_FLAG_NO_SUMMARY, "has no summary: the client was killed or failed"},
	{YCSB_FLAG_LOST_TABLE, "ended without its result lines"},
	{YCSB_FLAG_NEGATIVE_TIME, "has a negative run time: the client's clock was stepped"},
	{YCSB_FLAG_CLOCK_BACK, "has a status line stamped before its predecessor"},
	{YCSB_FLAG_ZONE_CHANGED, "crossed a change of daylight saving, which was followed"},
	{YCSB_FLAG_ERRORS, "has more than 0.1% failed operations"},
	{YCSB_FLAG_ERRORS_INVALID, "has more than 1% failed operations: its throughput is that of failures"},
	{YCSB_FLAG_NO_OPERATIONS, "counts no operation"},
	{YCSB_FLAG_UNPAIRED,
	 "stands beside status lines or a summary of another run (other operations, total or "
	 "run time), and was not paired with them"},
	{YCSB_FLAG_START_IGNORED, "has a clock of its own, which was used: --ycsb-start is ignored"},
	{YCSB_FLAG_INTERVALS_MERGED, "has more status lines than are kept; neighbours were merged"},
};

/* What has status lines only because its summary was not found was not killed for that. */
static bool is_said_better(const struct ycsb_run *run, enum ycsb_flag flag)
{
	return flag == YCSB_FLAG_NO_SUMMARY && (run->flags & YCSB_FLAG_UNPAIRED);
}

static bool find_flags(struct report *report)
{
	for (size_t f = 0; f < report->file_count; f++) {
		const struct ycsb_file *file = &report->files[f];
		for (size_t r = 0; r < file->run_count; r++) {
			const struct ycsb_run *run = &file->runs[r];
			for (size_t i = 0; i < sizeof flag_texts / sizeof *flag_texts; i++) {
				if (!(run->flags & flag_texts[i].flag) ||
				    is_said_better(run, flag_texts[i].flag))
					continue;
				if (!findings_add(&report->findings, "ycsb-flags",
						  "%s: the run at line %" PRIu64 " %s.", file->path,
						  run->first_line, flag_texts[i].text))
					return false;
			}
		}
	}
	return true;
}

/* Series that got no number, gathered by the reason for it; all of them together need no list. */
static bool find_unusable(struct report *report, enum correlate_verdict verdict)
{
	const struct correlate_results *results = &report->aligned.results;
	char *names = NULL;
	size_t bytes = 0, count = 0, all = 0;
	FILE *text = open_memstream(&names, &bytes);
	if (!text)
		return false;
	for (size_t i = 0; i < results->count; i++) {
		const struct correlate_result *row = &results->rows[i];
		char label[160];
		all += row->segment == NULL;
		if (row->verdict != verdict || row->segment)
			continue;
		fprintf(text, "%s%s", count++ ? ", " : "",
			report_series_label(report, row, label, sizeof label));
	}
	bool fine = fclose(text) == 0;
	if (fine && count && count == all)
		fine = findings_add(&report->findings, "series-unusable",
				    "No correlation for any series (%s).", correlate_verdict_text(verdict));
	else if (fine && count)
		fine = findings_add(&report->findings, "series-unusable",
				    "No correlation for %zu of %zu series (%s): %s.", count, all,
				    correlate_verdict_text(verdict), names);
	free(names);
	return fine;
}

/* Why no series could use a segment, what says most about the run first; CORRELATE_NO_SUPPORT where one did.
 */
static enum correlate_verdict segment_verdict(const struct correlate_results *results, size_t segment)
{
	static const enum correlate_verdict reasons[] = {CORRELATE_TOO_FEW, CORRELATE_THROUGHPUT_CONSTANT,
							 CORRELATE_SERIES_CONSTANT};
	bool met[CORRELATE_NOT_MEASURED + 1] = {false};
	for (size_t i = 0; i < results->count; i++) {
		const struct correlate_result *row = &results->rows[i];
		if (!row->segment || row->segment_index != segment)
			continue;
		if (correlate_usable(row->verdict))
			return CORRELATE_NO_SUPPORT;
		met[row->verdict] = true;
	}
	for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
		if (met[reasons[i]])
			return reasons[i];
	return CORRELATE_NOT_MEASURED;
}

static bool find_unused_segments(struct report *report)
{
	const struct alignment *alignment = &report->alignment;
	if (alignment->segment_count < 2)
		return true; /* find_unusable() has said it */
	for (size_t s = 0; s < alignment->segment_count; s++) {
		const struct segment *segment = &alignment->segments[s];
		enum correlate_verdict verdict = segment_verdict(&report->aligned.results, s);
		if (correlate_usable(verdict))
			continue;
		if (!findings_add(
			    &report->findings, "run-unused",
			    "The run \"%s\" is not part of any correlation (%s); it has %zu interval%s.",
			    segment->name, correlate_verdict_text(verdict), segment->count,
			    segment->count == 1 ? "" : "s"))
			return false;
	}
	return true;
}

static bool find_no_support(struct report *report)
{
	const struct correlate_results *results = &report->aligned.results;
	size_t tested = 0, supported = 0;
	for (size_t i = 0; i < results->count; i++) {
		if (results->rows[i].segment || !correlate_usable(results->rows[i].verdict))
			continue;
		tested++;
		supported += results->rows[i].verdict != CORRELATE_NO_SUPPORT;
	}
	if (tested == 0 || supported > 0)
		return true;
	return findings_add(
		&report->findings, "no-support",
		"None of the %zu series tested moves with throughput beyond chance: no support in this data.",
		tested);
}

bool findings_collect_client(struct report *report)
{
	if (report->file_count == 0)
		return findings_add(&report->findings, "ycsb-none",
				    "No YCSB output was given (--ycsb FILE): throughput is not known, and "
				    "nothing is correlated.");
	bool fine = find_no_overlap(report) && find_unplaced(report) && find_flags(report);
	for (int verdict = CORRELATE_TOO_FEW; fine && verdict <= CORRELATE_NOT_MEASURED; verdict++)
		fine = find_unusable(report, (enum correlate_verdict)verdict);
	return fine && find_unused_segments(report) && find_no_support(report);
}
