#include "analyzer/findings.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/format.h"
#include "analyzer/info.h"
#include "analyzer/report.h"
#include "analyzer/report_locks.h"

/* ---- the list ---------------------------------------------------------------------------------------- */

bool findings_add(struct finding_list *list, const char *id, const char *format, ...)
{
	char *text = NULL;
	va_list args;
	va_start(args, format);
	int length = vasprintf(&text, format, args);
	va_end(args);
	if (length < 0)
		return false;
	struct finding *items = realloc(list->items, (list->count + 1) * sizeof *items);
	if (!items) {
		free(text);
		return false;
	}
	list->items = items;
	items[list->count++] = (struct finding){id, text};
	return true;
}

void findings_free(struct finding_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->items[i].text);
	free(list->items);
	*list = (struct finding_list){0};
}

/* ---- one trace --------------------------------------------------------------------------------------- */

/* "3.2%", and never "0.0%" for something that is there. */
static const char *share_text(char *text, double part, double whole)
{
	if (part > 0 && part < whole / 1000)
		snprintf(text, FORMAT_TEXT_BYTES, "less than 0.1%%");
	else
		format_percent(text, part, whole);
	return text;
}

/* What the findings of one trace are made from. */
struct subject {
	struct finding_list *list;
	const struct stage *stage;
	const struct trace_info *info;
	const char *path;
};

static bool find_damage(const struct subject *subject)
{
	size_t count;
	uint64_t all = trace_damage_count(subject->stage->trace);
	const struct trace_damage *damage = trace_damage(subject->stage->trace, &count);
	if (count == 0)
		return true;
	return findings_add(subject->list, "damage",
			    "%s: %" PRIu64
			    " stretch(es) could not be read, the first in %s at offset %" PRIu64
			    ": %s. What lies around them was read; totals from counters still hold.",
			    subject->path, all, damage[0].file, damage[0].offset_bytes, damage[0].text);
}

static bool find_end(const struct subject *subject)
{
	if (subject->info->complete)
		return true;
	return findings_add(
		subject->list, "incomplete",
		"%s: the trace has no end record: the process was killed or still ran. %s", subject->path,
		subject->info->rings ? "What its threads had committed was read from the rings file."
				     : "No rings file was found beside it, so the last events are missing.");
}

static bool find_notes(const struct subject *subject)
{
	size_t count;
	const char *const *notes = trace_notes(subject->stage->trace, &count);
	for (size_t i = 0; i < count; i++)
		if (!findings_add(subject->list, "trace-note", "%s: %s.", subject->path, notes[i]))
			return false;
	return true;
}

/* "17 to full rings, 5 in signal handlers": the causes there were. */
static void lost_causes(const uint64_t *counters, char *text, size_t bytes)
{
	static const struct {
		enum counter counter;
		const char *where;
	} causes[] = {
		{COUNTER_LOST_RING_FULL, "to full rings"},
		{COUNTER_LOST_NO_THREAD, "in threads without a slot"},
		{COUNTER_LOST_REENTRY, "in signal handlers"},
		{COUNTER_LOST_DISK, "to the disk"},
		{COUNTER_LOST_SAMPLE_SET, "sampled blocks without room"},
		{COUNTER_LOST_STOPPED, "during an exec that failed"},
	};
	size_t used = 0;
	text[0] = 0;
	for (size_t i = 0; i < sizeof causes / sizeof *causes && used < bytes; i++) {
		char count[FORMAT_TEXT_BYTES];
		if (counters[causes[i].counter] == 0)
			continue;
		used += (size_t)snprintf(text + used, bytes - used, "%s%s %s", used ? ", " : "",
					 format_count(count, counters[causes[i].counter]), causes[i].where);
	}
}

static bool find_lost(const struct subject *subject)
{
	const struct trace_info *info = subject->info;
	char lost[FORMAT_TEXT_BYTES], share[FORMAT_TEXT_BYTES], causes[256];
	if (!info->counters_known)
		return findings_add(subject->list, "no-counters",
				    "%s: neither a snapshot nor the rings file could be read: exact totals, "
				    "and the number "
				    "of lost events, are not known.",
				    subject->path);
	if (info->lost == 0)
		return true;
	double all = (double)info->counters[COUNTER_EVENTS] + (double)info->lost;
	lost_causes(info->counters, causes, sizeof causes);
	return findings_add(subject->list, "lost-events",
			    "%s: %s events were lost (%s of all): %s. Calls per second come from counters "
			    "and stay exact; "
			    "live bytes and sites miss these events.",
			    subject->path, format_count(lost, info->lost),
			    share_text(share, (double)info->lost, all), causes);
}

static bool find_stream(const struct subject *subject)
{
	const struct stage *stage = subject->stage;
	char text[FORMAT_TEXT_BYTES];
	bool fine = true;
	if (stage->wrapped)
		fine = findings_add(
			subject->list, "wrapped",
			"%s: a flight recorder: what came before %s was overwritten. Live bytes are not "
			"known, "
			"since blocks from that time may still be in use.",
			subject->path,
			format_seconds(text, trace_seconds(stage->trace, subject->info->first_time)));
	else if (stage->stats.missing_chunks)
		fine = findings_add(
			subject->list, "missing-chunks",
			"%s: %s chunk(s) of events never arrived; live bytes and sites miss them.",
			subject->path, format_count(text, stage->stats.missing_chunks));
	if (fine && !stage->wrapped && stage->totals.lost_frees)
		fine = findings_add(
			subject->list, "live-bytes-partial",
			"%s: %s blocks were handed out again although their free was not seen: lost events, "
			"or "
			"an allocator entered past the hooks. Live bytes can be too high where it happened.",
			subject->path, format_count(text, stage->totals.lost_frees));
	return fine;
}

static bool find_allocator(const struct subject *subject)
{
	const char *source = trace_key(subject->stage->trace, "malloc_source");
	const char *reason = trace_key(subject->stage->trace, "malloc_source_reason");
	const char *module = trace_key(subject->stage->trace, "patch_module");
	bool blind = source && !strcmp(source, "blind");
	bool partly = source && !strcmp(source, "interposed") && module &&
		      !trace_key(subject->stage->trace, "patch_time");
	if (!blind && !partly)
		return true;
	return findings_add(
		subject->list, blind ? "malloc-blind" : "malloc-partly-blind",
		"%s: the program's own allocator could not be entered%s%s. Its allocations are not in "
		"the trace; region calls, faults and memory are. MTRACE_PATCH=auto enters it where the "
		"system lets code be changed.",
		subject->path, reason && *reason ? ": " : "", reason ? reason : "");
}

static bool find_stacks(const struct subject *subject)
{
	const struct trace_info *info = subject->info;
	const char *unwinder = trace_key(subject->stage->trace, "unwinder");
	char share[FORMAT_TEXT_BYTES];
	uint64_t depth;
	if (trace_key_number(subject->stage->trace, "stack_depth", &depth) && depth == 0)
		return findings_add(
			subject->list, "no-stacks",
			"%s: recorded with MTRACE_STACK_DEPTH=0: nothing can be said about sites.",
			subject->path);
	if (unwinder && strcmp(unwinder, "none") == 0)
		return findings_add(subject->list, "unwinder-missing",
				    "%s: no unwinder was found where the program ran, so that no stack was "
				    "recorded; install "
				    "libunwind there, or keep the copy beside libmtrace.so.",
				    subject->path);
	uint64_t stackless = info->counters[COUNTER_STACKLESS], events = info->counters[COUNTER_EVENTS];
	if (!info->counters_known || stackless == 0)
		return true;
	return findings_add(subject->list, "stackless",
			    "%s: %s of the events (%" PRIu64
			    ") have no stack although one was wanted; sites miss them.",
			    subject->path, share_text(share, (double)stackless, (double)events), stackless);
}

static bool find_names(const struct subject *subject)
{
	const struct stage *stage = subject->stage;
	if (stage->unmatched_count == 0)
		return true;
	return findings_add(subject->list, "symbols-unmatched",
			    "%s: %zu module(s) without names, the first: %s. --sysroot and --debug-dir say "
			    "where the files "
			    "of the traced machine are.",
			    subject->path, stage->unmatched_count, stage->unmatched[0]);
}

#define CLOCK_STEP_S 0.1

static bool find_clocks(const struct subject *subject, const struct timeline *timeline)
{
	const struct stage *stage = subject->stage;
	bool fine = true;
	if (stage->start_ns == 0)
		fine = findings_add(subject->list, "no-wall-clock",
				    "%s: no clock mark could be read; nothing can be aligned with it.",
				    subject->path);
	if (fine && stage->clock_step_s > CLOCK_STEP_S)
		fine = findings_add(subject->list, "clock-step",
				    "%s: the wall clock was stepped by up to %.1f s while the trace ran; the "
				    "alignment with the "
				    "client is off by as much around that moment.",
				    subject->path, stage->clock_step_s);
	if (fine && stage->max_huge_age_s > 3 * timeline->usual_interval_s)
		fine = findings_add(subject->list, "huge-stale",
				    "%s: AnonHugePages was read less often than once per interval; its "
				    "figures are up to %.1f s "
				    "old.",
				    subject->path, stage->max_huge_age_s);
	return fine;
}

static bool find_in_trace(struct report *report, const struct stage *stage)
{
	const struct trace_info *info = trace_info(stage->trace);
	struct subject subject = {&report->findings, stage, info, info->path};
	return find_end(&subject) && find_damage(&subject) && find_notes(&subject) && find_lost(&subject) &&
	       find_stream(&subject) && find_allocator(&subject) && find_stacks(&subject) &&
	       find_names(&subject) && find_clocks(&subject, &report->model.timelines[stage->timeline]);
}

static bool find_in_timeline(struct report *report, const struct timeline *timeline)
{
	if (timeline->row_count == 0)
		return findings_add(&report->findings, "no-intervals",
				    "%s: no snapshot could be read, so that there are no series.",
				    timeline->label);
	if (timeline->estimated)
		return findings_add(&report->findings, "estimated",
				    "%s: sample mode. Calls, bytes per second and all that the kernel counts "
				    "are exact; live "
				    "bytes, size classes and sites are estimates from samples, live bytes "
				    "with their 95%% interval.",
				    timeline->label);
	return true;
}

bool findings_collect(struct report *report)
{
	bool fine = true;
	for (size_t i = 0; fine && i < report->model.stage_count; i++)
		fine = find_in_trace(report, &report->model.stages[i]);
	for (size_t i = 0; fine && i < report->model.timeline_count; i++)
		fine = find_in_timeline(report, &report->model.timelines[i]);
	return fine && findings_collect_allocator(report) && findings_collect_locks(report) &&
	       findings_collect_client(report);
}
