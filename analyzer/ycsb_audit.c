#include "analyzer/ycsb_audit.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/format.h"

#define THREADS_SLACK 0.1 /* share by which Little's law may differ from the thread level */

/* ---- findings ---------------------------------------------------------------------------------------- */

__attribute__((format(printf, 4, 5))) static void find(struct ycsb_audit *audit, enum ycsb_severity severity,
						       const char *id, const char *format, ...)
{
	if (audit->finding_count == YCSB_FINDINGS_MAX)
		return;
	struct ycsb_finding *finding = &audit->findings[audit->finding_count++];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(finding->text, sizeof finding->text, format, arguments);
	va_end(arguments);
	finding->id = id;
	finding->severity = severity;
	audit->worst = severity > audit->worst ? severity : audit->worst;
}

/* Insertion keeps the order within a severity. */
static void order_findings(struct ycsb_audit *audit)
{
	for (size_t i = 1; i < audit->finding_count; i++) {
		struct ycsb_finding moved = audit->findings[i];
		size_t at = i;
		for (; at > 0 && audit->findings[at - 1].severity < moved.severity; at--)
			audit->findings[at] = audit->findings[at - 1];
		audit->findings[at] = moved;
	}
}

static const struct {
	enum ycsb_flag flag;
	enum ycsb_severity severity;
	const char *text;
} flag_texts[] = {
	{YCSB_FLAG_NO_SUMMARY, YCSB_INVALID,
	 "no summary: the client was killed or failed before its end; only what it printed on the way is "
	 "known"},
	{YCSB_FLAG_LOST_TABLE, YCSB_INVALID,
	 "the client finished and its final table is missing: two signals end go-ycsb at once, and "
	 "timeout(1) "
	 "sends two; use timeout --foreground"},
	{YCSB_FLAG_NEGATIVE_TIME, YCSB_INVALID,
	 "the run time is negative: the client's clock was set back, and throughput means nothing"},
	{YCSB_FLAG_CLOCK_BACK, YCSB_WARNING,
	 "a status line is stamped before the one above it: the client's clock was set back"},
	{YCSB_FLAG_ZONE_CHANGED, YCSB_NOTE,
	 "local time jumped by whole quarters of an hour (daylight saving); it was followed"},
	{YCSB_FLAG_DUPLICATE_STATUS, YCSB_NOTE, "status lines stand twice and were counted once"},
	{YCSB_FLAG_NO_OPERATIONS, YCSB_INVALID, "not one operation was done"},
	{YCSB_FLAG_P95_IS_P90, YCSB_WARNING,
	 "the release that printed this (0.2 to 0.3) names the 90th percentile \"95th\""},
	{YCSB_FLAG_INTERVALS_MERGED, YCSB_NOTE,
	 "the series is so long that neighbouring intervals were merged"},
	{YCSB_FLAG_CUT_OFF, YCSB_WARNING, "the file ends within a line, whose last number may be cut"},
	{YCSB_FLAG_UNPAIRED, YCSB_WARNING,
	 "stands beside status lines or a summary of another run, and was kept apart from them"},
	{YCSB_FLAG_UNEVEN, YCSB_WARNING,
	 "the run times of the clients differ by more than 5%: for a part of the time not all of them ran"},
	{YCSB_FLAG_START_IGNORED, YCSB_NOTE, "a start was given, and the file has a clock of its own"},
};

static void find_flags(const struct ycsb_run *run, struct ycsb_audit *audit)
{
	for (size_t i = 0; i < sizeof flag_texts / sizeof *flag_texts; i++)
		if (run->flags & flag_texts[i].flag)
			find(audit, flag_texts[i].severity, ycsb_flag_name(flag_texts[i].flag), "%s",
			     flag_texts[i].text);
}

static void find_errors(const struct ycsb_run *run, struct ycsb_audit *audit)
{
	double percent = 100 * run->error_rate;
	if (run->flags & YCSB_FLAG_ERRORS)
		find(audit, YCSB_WARNING, ycsb_flag_name(YCSB_FLAG_ERRORS),
		     "%.3g%% of the operations failed (more than 0.1%%)", percent);
	if (run->flags & YCSB_FLAG_ERRORS_INVALID)
		find(audit, YCSB_INVALID, ycsb_flag_name(YCSB_FLAG_ERRORS_INVALID),
		     "%.3g%% of the operations failed (more than 1%%); failures take another way than "
		     "operations and their rate is no throughput",
		     percent);
}

/* ---- sums over a run --------------------------------------------------------------------------------- */

static bool is_go(const struct ycsb_run *run)
{
	return run->format >= YCSB_GO_TEXT && run->format <= YCSB_GO_CSV;
}

struct sums {
	double done, failed;
	double pairs;	    /* READ-MODIFY-WRITE: a READ and an UPDATE that are one operation */
	double weighted_us; /* count * mean of both */
	double done_us;	    /* of those that succeeded */
	bool foreign;
	bool all_means;
};

static bool is_pair(const char *name)
{
	static const char *const names[] = {"READ-MODIFY-WRITE", "READ_MODIFY_WRITE", "HdrREAD-MODIFY-WRITE"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

static struct sums sum_operations(const struct ycsb_run *run)
{
	struct sums sums = {.all_means = true};
	for (size_t i = 0; i < run->operation_kinds; i++) {
		const struct ycsb_operation *operation = &run->operations[i];
		enum ycsb_operation_class class = ycsb_classify(operation->name);
		double count = operation->count == YCSB_UNKNOWN ? 0 : (double)operation->count;
		sums.foreign |= class == YCSB_OP_FOREIGN;
		sums.pairs += is_pair(operation->name) ? count : 0;
		if ((class != YCSB_OP_DONE && class != YCSB_OP_FAILED) || count == 0)
			continue;
		*(class == YCSB_OP_DONE ? &sums.done : &sums.failed) += count;
		sums.all_means &= !isnan(operation->mean_us);
		sums.weighted_us += count * operation->mean_us;
		if (class == YCSB_OP_DONE)
			sums.done_us += count * operation->mean_us;
	}
	return sums;
}

/* go-ycsb's throughput is over the time that it measured, which a warm-up makes shorter than the run. */
static double measured_s(const struct ycsb_run *run, const struct sums *sums)
{
	if (!is_go(run))
		return run->runtime_ms / 1000;
	double twice = ycsb_find_operation(run, "TOTAL") ? sums->pairs : 0;
	return (sums->done - twice) / run->throughput_ops_s;
}

static void take_sums(const struct ycsb_run *run, struct ycsb_audit *audit)
{
	struct sums sums = sum_operations(run);
	double seconds = measured_s(run, &sums);
	audit->operations_done = run->throughput_ops_s * run->runtime_ms / 1000;
	if (!run->complete && run->last_operations != YCSB_UNKNOWN)
		audit->operations_done = (double)run->last_operations;
	audit->operations_counted = audit->threads_busy = audit->mean_us = NAN;
	if (run->operation_kinds == 0 || sums.foreign)
		return;
	if (is_go(run) || run->clients > 1) /* whole numbers, where its throughput has a rounded time in it */
		audit->operations_done = sums.done - sums.pairs;
	audit->operations_counted =
		sums.done - sums.pairs + (run->phase == YCSB_PHASE_LOAD ? 0 : sums.failed);
	if (sums.done > 0)
		audit->mean_us = sums.done_us / sums.done;
	if (sums.all_means && seconds > 0 && sums.done + sums.failed > 0)
		audit->threads_busy = sums.weighted_us / 1e6 / seconds;
}

/* ---- checks ------------------------------------------------------------------------------------------ */

static double java_counted(const struct ycsb_run *run, const struct ycsb_audit *audit, double done)
{
	/* Without a command line the phase is not known: either sum will do. */
	struct sums sums = sum_operations(run);
	double successes = sums.done - sums.pairs;
	return run->phase == YCSB_PHASE_UNKNOWN && successes == done ? successes : audit->operations_counted;
}

static void check_identity(const struct ycsb_run *run, struct ycsb_audit *audit)
{
	char left[FORMAT_TEXT_BYTES], right[FORMAT_TEXT_BYTES];
	double done = round(audit->operations_done), counted = audit->operations_counted;
	if (!run->complete || isnan(counted) || run->clients > 1 || (run->flags & YCSB_FLAG_CUT_OFF))
		return;
	if (is_go(run)) {
		const struct ycsb_operation *total = ycsb_find_operation(run, "TOTAL");
		done = total ? (double)total->count : NAN;
		counted = sum_operations(run).done;
	} else {
		counted = java_counted(run, audit, done);
	}
	if (!(fabs(done) < 1e18) || done == counted || done < 0)
		return;
	find(audit, YCSB_INVALID, "operations-identity",
	     "the operations of the summary add up to %s, %s to %s: parts of it are lost or edited",
	     format_count(left, (uint64_t)counted), is_go(run) ? "its TOTAL" : "throughput times run time",
	     format_count(right, (uint64_t)done));
}

static void choose_threads(const struct ycsb_file *file, const struct ycsb_run *run, struct ycsb_audit *audit)
{
	audit->threads_named = ycsb_threads_in_name(file->path);
	audit->threads = ycsb_threads(run);
	audit->threads_source = run->threads_asked != YCSB_UNKNOWN ? YCSB_THREADS_ASKED : YCSB_THREADS_ENDED;
	if (audit->threads == YCSB_UNKNOWN) {
		audit->threads = audit->threads_named;
		audit->threads_source = YCSB_THREADS_NAMED;
	}
	if (audit->threads == YCSB_UNKNOWN)
		audit->threads_source = YCSB_THREADS_UNKNOWN;
}

static void check_levels(const struct ycsb_run *run, struct ycsb_audit *audit)
{
	uint64_t asked = run->threads_asked, ended = run->threads_ended, named = audit->threads_named;
	if (asked != YCSB_UNKNOWN && ended != YCSB_UNKNOWN && ended != asked)
		find(audit, YCSB_WARNING, "threads-ended", "%llu threads were asked for and %llu ended",
		     (unsigned long long)asked, (unsigned long long)ended);
	if (named != YCSB_UNKNOWN && audit->threads != named)
		find(audit, YCSB_WARNING, "threads-name",
		     "the file is named after %llu threads, the %s says %llu", (unsigned long long)named,
		     audit->threads_source == YCSB_THREADS_ASKED ? "command line" : "summary",
		     (unsigned long long)audit->threads);
	if (asked == YCSB_UNKNOWN && run->threads_misnamed != YCSB_UNKNOWN)
		find(audit, YCSB_WARNING, "threads-misnamed",
		     "%llu threads were asked for by a name that the client does not know (threadcount is "
		     "the one), and it ran with its default",
		     (unsigned long long)run->threads_misnamed);
}

static void check_busy(const struct ycsb_run *run, struct ycsb_audit *audit)
{
	uint64_t level = audit->threads != YCSB_UNKNOWN ? audit->threads : run->threads_misnamed;
	if (level == YCSB_UNKNOWN || level == 0 || isnan(audit->threads_busy))
		return;
	double ratio = audit->threads_busy / (double)level;
	bool throttled = run->target_ops_s > 0;
	if (ratio > 1 + THREADS_SLACK)
		find(audit, YCSB_WARNING, "threads-busy",
		     "%.4g threads were busy by Little's law, more than the level of %llu",
		     audit->threads_busy, (unsigned long long)level);
	else if (ratio < 1 - THREADS_SLACK && !throttled)
		find(audit, YCSB_WARNING, "threads-busy",
		     "%.4g threads were busy by Little's law, not %llu: fewer ran, or the client itself was "
		     "what they waited for",
		     audit->threads_busy, (unsigned long long)level);
}

/* What a load put there: its record count, else what it inserted (a part only, where insertcount says so). */
static uint64_t loaded_records(const struct ycsb_run *load)
{
	const struct ycsb_operation *insert = ycsb_find_operation(load, "INSERT");
	if (load->record_count != YCSB_UNKNOWN)
		return load->record_count;
	return insert && load->insert_count == YCSB_UNKNOWN ? insert->count : YCSB_UNKNOWN;
}

/* A -p of the load's command line that the run's lacks leaves the run to its workload file. */
static void check_missing_records(const struct ycsb_run *run, const struct ycsb_run *load,
				  struct ycsb_audit *audit)
{
	char count[FORMAT_TEXT_BYTES];
	if (run->phase != YCSB_PHASE_RUN || is_go(run) || load->record_count == YCSB_UNKNOWN)
		return;
	find(audit, YCSB_WARNING, "record-count-default",
	     "the load was given %s records on its command line and the run was given none: what its "
	     "workload "
	     "file says holds",
	     format_count(count, load->record_count));
}

static void check_records(const struct ycsb_run *run, const struct ycsb_run *load, struct ycsb_audit *audit)
{
	char left[FORMAT_TEXT_BYTES], right[FORMAT_TEXT_BYTES];
	uint64_t loaded = load ? loaded_records(load) : YCSB_UNKNOWN;
	if (run->phase == YCSB_PHASE_LOAD || loaded == YCSB_UNKNOWN || loaded == run->record_count)
		return;
	if (run->record_count == YCSB_UNKNOWN) {
		check_missing_records(run, load, audit);
		return;
	}
	find(audit, YCSB_WARNING, "record-count",
	     "the load made %s records and the run works on %s: another share of the data is in the caches "
	     "than meant",
	     format_count(left, loaded), format_count(right, run->record_count));
}

static void check_load(const struct ycsb_run *run, struct ycsb_audit *audit)
{
	char left[FORMAT_TEXT_BYTES], right[FORMAT_TEXT_BYTES];
	const struct ycsb_operation *insert = ycsb_find_operation(run, "INSERT");
	uint64_t wanted = run->insert_count != YCSB_UNKNOWN ? run->insert_count : run->record_count;
	if (run->phase != YCSB_PHASE_LOAD || !insert || !run->complete || insert->count >= wanted ||
	    wanted == YCSB_UNKNOWN)
		return;
	/* Each thread takes the same whole share: up to 0.17 the remainder is not inserted. */
	uint64_t missing = wanted - insert->count;
	if (audit->threads == YCSB_UNKNOWN || missing >= audit->threads)
		find(audit, YCSB_WARNING, "load-short", "%s of %s records were inserted",
		     format_count(left, insert->count), format_count(right, wanted));
}

static uint64_t count_of_status(const struct ycsb_run *run, const char *status)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < run->operation_kinds; i++)
		if (ycsb_classify(run->operations[i].name) != YCSB_OP_TWICE)
			for (size_t r = 0; r < run->operations[i].return_count; r++)
				if (strcmp(run->operations[i].returns[r].name, status) == 0)
					sum += run->operations[i].returns[r].count;
	return sum;
}

static void check_not_found(const struct ycsb_run *run, struct ycsb_audit *audit)
{
	char count[FORMAT_TEXT_BYTES];
	uint64_t missed = count_of_status(run, "NOT_FOUND");
	if (missed > 0)
		find(audit, YCSB_WARNING, "not-found",
		     "%s operations found no record: the run asks for keys that were not loaded",
		     format_count(count, missed));
}

/* A run that stopped early did other work than its neighbours; one that was given a time did not. */
static void check_work(const struct ycsb_run *run, struct ycsb_audit *audit)
{
	char left[FORMAT_TEXT_BYTES], right[FORMAT_TEXT_BYTES];
	uint64_t asked = run->operation_count;
	double done = audit->operations_done;
	bool timed = run->most_s > 0 && !is_go(run); /* go-ycsb ignores maxexecutiontime */
	if (!run->complete || run->phase == YCSB_PHASE_LOAD || asked == YCSB_UNKNOWN || isnan(done) || timed)
		return;
	if (is_go(run))
		done += sum_operations(run).failed;
	/* Equal whole shares again, and an operation in flight a thread. */
	double slack = audit->threads == YCSB_UNKNOWN ? 0.01 * (double)asked : (double)audit->threads;
	if (done >= 0 && done < (double)asked - slack)
		find(audit, YCSB_WARNING, "operations-short", "%s of %s operations were done",
		     format_count(left, (uint64_t)done), format_count(right, asked));
}

/* ---- all of it --------------------------------------------------------------------------------------- */

static const struct ycsb_run *find_load(const struct ycsb_file *files, size_t file_count, size_t file,
					size_t run)
{
	const struct ycsb_run *before = NULL;
	for (size_t f = 0; f < file_count; f++) {
		for (size_t r = 0; r < files[f].run_count; r++) {
			const struct ycsb_run *candidate = &files[f].runs[r];
			bool behind = f > file || (f == file && r > run);
			if (behind && before)
				return before;
			if (candidate->phase == YCSB_PHASE_LOAD && loaded_records(candidate) != YCSB_UNKNOWN)
				before = candidate;
		}
	}
	return before;
}

void ycsb_audit(const struct ycsb_file *files, size_t file_count, size_t file, size_t run_index,
		struct ycsb_audit *audit)
{
	const struct ycsb_run *run = &files[file].runs[run_index];
	*audit = (struct ycsb_audit){.worst = YCSB_NOTE};
	choose_threads(&files[file], run, audit);
	take_sums(run, audit);
	find_flags(run, audit);
	find_errors(run, audit);
	check_identity(run, audit);
	check_levels(run, audit);
	check_busy(run, audit);
	check_records(run, find_load(files, file_count, file, run_index), audit);
	check_load(run, audit);
	check_not_found(run, audit);
	check_work(run, audit);
	order_findings(audit);
}
