#include "analyzer/compare_runs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/compare_manifest.h"
#include "analyzer/warmup.h"

#define ABOVE_MIN 10   /* operations above a percentile */
#define SAME_MIN  4    /* values that are all the same in two runs */
#define THROTTLED 0.98 /* of -target: reached */

/* ---- values ------------------------------------------------------------------------------------------ */

static bool is_compared(const char *name)
{
	enum ycsb_operation_class class = ycsb_classify(name);
	return class == YCSB_OP_DONE || class == YCSB_OP_FOREIGN || strcmp(name, "READ-MODIFY-WRITE") == 0 ||
	       strcmp(name, "READ_MODIFY_WRITE") == 0;
}

static bool take_operation(struct compare_run *out, const struct ycsb_operation *operation)
{
	if (!is_compared(operation->name) || operation->count == 0)
		return true;
	bool fine = run_add_value(out, operation->name, METRIC_MEAN, operation->mean_us, 0);
	for (enum compare_metric m = 0; fine && m < METRICS; m++) {
		double percentile = metric_infos[m].percentile;
		double above = operation->count == YCSB_UNKNOWN
				       ? INFINITY
				       : (double)operation->count * (1 - percentile / 100);
		if (!isnan(percentile) && above >= ABOVE_MIN)
			fine = run_add_value(out, operation->name, m,
					     ycsb_percentile_us(operation, percentile),
					     operation->resolution_us);
	}
	return fine;
}

double run_trimmed_throughput(const struct ycsb_run *run, double *trimmed_s, bool *no_steady_state)
{
	size_t count = run->interval_count;
	*trimmed_s = 0;
	*no_steady_state = false;
	if (count > 0 && run->intervals[count - 1].partial)
		count--;
	double *rates = malloc((count + 1) * sizeof *rates);
	if (!rates || count < WARMUP_INTERVALS_MIN) {
		free(rates);
		return NAN;
	}
	for (size_t i = 0; i < count; i++)
		rates[i] = run->intervals[i].ops_s;
	size_t cut = warmup_length(rates, count);
	free(rates);
	if (cut == 0)
		return run->throughput_ops_s;
	double operations = 0, end_s = run->intervals[run->interval_count - 1].end_s;
	for (size_t i = cut; i < run->interval_count; i++)
		operations += (double)run->intervals[i].operations;
	*trimmed_s = run->intervals[cut].start_s - run->intervals[0].start_s;
	*no_steady_state = cut == count / 2;
	return operations / (end_s - run->intervals[cut].start_s);
}

static bool take_throughput(struct compare_run *out, const struct ycsb_run *run, bool trim)
{
	double throughput = run->throughput_ops_s;
	if (trim) {
		double trimmed = run_trimmed_throughput(run, &out->trimmed_s, &out->no_steady_state);
		if (isnan(trimmed) &&
		    !run_add_finding(out, "no-series", YCSB_WARNING,
				     "too few status lines to see its warm-up: nothing was cut"))
			return false;
		throughput = isnan(trimmed) ? throughput : trimmed;
	}
	if (out->no_steady_state &&
	    !run_add_finding(out, "no-steady-state", YCSB_WARNING,
			     "its rate goes on changing for half of the run: more than a warm-up"))
		return false;
	return run_add_value(out, COMPARE_OVERALL, METRIC_THROUGHPUT, throughput, 0);
}

/* ---- settings that YCSB itself prints ---------------------------------------------------------------- */

static void put_setting(json_t *settings, const char *key, uint64_t value)
{
	char text[32];
	if (value == YCSB_UNKNOWN)
		return;
	snprintf(text, sizeof text, "%llu", (unsigned long long)value);
	json_put_string(settings, key, text);
}

static void put_ycsb_settings(json_t *settings, const struct ycsb_run *run)
{
	json_put_string(settings, "ycsb.format", ycsb_format_name(run->format));
	if (run->version[0])
		json_put_string(settings, "ycsb.version", run->version);
	put_setting(settings, "ycsb.recordcount", run->record_count);
	if (!(run->most_s > 0))
		put_setting(settings, "ycsb.operationcount", run->operation_count);
	if (run->most_s > 0)
		put_setting(settings, "ycsb.maxexecutiontime", (uint64_t)run->most_s);
	if (run->target_ops_s > 0)
		put_setting(settings, "ycsb.target", (uint64_t)run->target_ops_s);
}

/* ---- one run ----------------------------------------------------------------------------------------- */

static char *source_of(const struct ycsb_file *file, size_t index)
{
	char *text = NULL;
	if (file->run_count > 1)
		return asprintf(&text, "%s, run %zu", file->path, index + 1) < 0 ? NULL : text;
	return strdup(file->path);
}

static void take_times(struct compare_run *out, const struct ycsb_run *run)
{
	if (run->interval_count == 0 || run->intervals[0].start_ns == YCSB_NO_TIME)
		return;
	out->start_ns = run->intervals[0].start_ns;
	out->end_ns = run->intervals[run->interval_count - 1].end_ns;
}

static bool take_findings(struct compare_run *out, const struct ycsb_audit *audit)
{
	for (size_t i = 0; i < audit->finding_count; i++) {
		const struct ycsb_finding *finding = &audit->findings[i];
		if (finding->severity >= YCSB_WARNING &&
		    !run_add_finding(out, finding->id, finding->severity, "%s", finding->text))
			return false;
	}
	return true;
}

/* Without a command line, one that does nothing but insert. */
static bool is_load(const struct ycsb_run *run)
{
	bool inserts = false;
	for (size_t i = 0; i < run->operation_kinds; i++) {
		const char *name = run->operations[i].name;
		if (strncmp(name, "INSERT", 6) == 0)
			inserts = true;
		else if (ycsb_classify(name) == YCSB_OP_DONE || ycsb_classify(name) == YCSB_OP_FOREIGN)
			return run->phase == YCSB_PHASE_LOAD;
	}
	return run->phase == YCSB_PHASE_LOAD || (run->phase == YCSB_PHASE_UNKNOWN && inserts);
}

/* Such a client cannot be faster than it was told to be. */
static bool find_throttle(struct compare_run *out, const struct ycsb_run *run)
{
	if (!(run->target_ops_s > 0) || run->throughput_ops_s < THROTTLED * run->target_ops_s)
		return true;
	return run_add_finding(
		out, "throttled", YCSB_WARNING,
		"the client was throttled to %.6g ops/s and reached it: latencies can be compared, "
		"throughput cannot",
		run->target_ops_s);
}

static bool take_values(struct compare_run *out, const struct ycsb_run *run, bool trim)
{
	if (!take_throughput(out, run, trim) ||
	    !run_add_value(out, COMPARE_OVERALL, METRIC_RUNTIME, run->runtime_ms, 0))
		return false;
	for (size_t i = 0; i < run->operation_kinds; i++)
		if (!take_operation(out, &run->operations[i]))
			return false;
	return true;
}

static bool take_run(struct compare *compare, size_t arm, const struct ycsb_file *files, size_t count,
		     size_t file, size_t index, const struct run_origin *origin)
{
	const struct ycsb_run *run = &files[file].runs[index];
	struct ycsb_audit audit;
	struct compare_run *out = compare_add_run(compare, arm);
	if (!out)
		return false;
	ycsb_audit(files, count, file, index, &audit);
	out->source = source_of(&files[file], index);
	out->workload = strdup(origin->workload ? origin->workload : "");
	out->trace = origin->trace ? strdup(origin->trace) : NULL;
	out->settings = json_object();
	out->threads = audit.threads;
	out->operations = audit.operations_done;
	out->mean_us = audit.mean_us;
	out->error_rate = run->error_rate;
	out->threads_busy = audit.threads_busy;
	if (!out->source || !out->workload || !out->settings || (origin->trace && !out->trace))
		return false;
	out->use = is_load(run) ? RUN_LOAD : audit.worst == YCSB_INVALID ? RUN_INVALID : RUN_USED;
	take_times(out, run);
	put_ycsb_settings(out->settings, run);
	return take_findings(out, &audit) && find_throttle(out, run) &&
	       take_values(out, run, compare->settings.trim_warmup) &&
	       manifest_apply(origin->manifest, origin->campaign, out);
}

bool compare_take_runs(struct compare *compare, size_t arm, const struct ycsb_file *files, size_t count,
		       size_t file, const struct run_origin *origin, struct error *error)
{
	for (size_t r = 0; r < files[file].run_count; r++)
		if (!take_run(compare, arm, files, count, file, r, origin))
			return compare_out_of_memory(error);
	return true;
}

/* ---- copies of a run ---------------------------------------------------------------------------------- */

/* Whether a value has decimals that chance does not repeat: averages and rates do, unless they were rounded.
 */
static bool has_digits(const struct compare_run *run)
{
	for (size_t i = 0; i < run->value_count; i++) {
		double thousandths = run->values[i].value * 1e3;
		if (fabs(thousandths - round(thousandths)) > 1e-6 * fmax(1, thousandths) * 1e-3)
			return true;
	}
	return false;
}

static bool same_numbers(const struct compare_run *a, const struct compare_run *b)
{
	if (a->threads != b->threads || a->start_ns != b->start_ns || a->value_count != b->value_count ||
	    a->value_count < SAME_MIN || strcmp(a->workload, b->workload) != 0)
		return false;
	for (size_t i = 0; i < a->value_count; i++)
		if (a->values[i].value != b->values[i].value || a->values[i].metric != b->values[i].metric ||
		    strcmp(a->values[i].operation, b->values[i].operation) != 0)
			return false;
	return has_digits(a);
}

/* Two times the same run would count as two that agree: noise would be underestimated. */
static bool find_copy(struct compare *compare, size_t index)
{
	struct compare_run *run = &compare->runs[index];
	for (size_t i = 0; i < index; i++) {
		const struct compare_run *other = &compare->runs[i];
		if (other->use != RUN_USED || !same_numbers(other, run))
			continue;
		if (other->arm != run->arm)
			return run_add_finding(run, "same-run", YCSB_WARNING,
					       "%s holds the very numbers of %s, which is of the other arm",
					       run->source, other->source);
		run->use = RUN_COPY;
		return compare_remark(compare, "copy", "%s holds the very numbers of %s: they count once",
				      run->source, other->source);
	}
	return true;
}

/* ---- choosing ---------------------------------------------------------------------------------------- */

static bool same_cell(const struct compare_run *a, const struct compare_run *b)
{
	return a->arm == b->arm && a->threads == b->threads && strcmp(a->workload, b->workload) == 0;
}

static bool is_earlier(const struct compare_run *a, const struct compare_run *b)
{
	if (a->start_ns != YCSB_NO_TIME && b->start_ns != YCSB_NO_TIME && a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns;
	return a->order < b->order;
}

/* Whether a used or invalid run of its arm, workload and level came before. */
static bool has_earlier(const struct compare *compare, const struct compare_run *run)
{
	for (size_t i = 0; i < compare->run_count; i++) {
		const struct compare_run *other = &compare->runs[i];
		bool measured =
			other->use == RUN_USED || other->use == RUN_INVALID || other->use == RUN_FIRST;
		if (other != run && measured && same_cell(other, run) && is_earlier(other, run))
			return true;
	}
	return false;
}

static bool has_phase_of_runs(const struct compare *compare)
{
	for (size_t i = 0; i < compare->run_count; i++)
		if (compare->runs[i].use != RUN_LOAD)
			return true;
	return false;
}

/* Loads are compared where there is nothing else. */
static void choose_loads(struct compare *compare)
{
	if (has_phase_of_runs(compare))
		return;
	for (size_t i = 0; i < compare->run_count; i++) {
		struct compare_run *run = &compare->runs[i];
		run->use = RUN_USED;
		for (size_t f = 0; f < run->finding_count; f++)
			if (run->findings[f].severity == YCSB_INVALID)
				run->use = RUN_INVALID;
	}
}

bool compare_choose_runs(struct compare *compare, struct error *error)
{
	choose_loads(compare);
	for (size_t i = 0; i < compare->run_count; i++)
		if (compare->runs[i].use == RUN_USED && !find_copy(compare, i))
			return compare_out_of_memory(error);
	for (size_t i = 0; compare->settings.exclude_first && i < compare->run_count; i++) {
		struct compare_run *run = &compare->runs[i];
		if (run->use == RUN_USED && !has_earlier(compare, run))
			run->use = RUN_FIRST;
	}
	for (size_t i = 0; i < compare->run_count; i++)
		if (compare->runs[i].use == RUN_USED)
			return true;
	return error_set(error, ERROR_INPUT, NULL, ERROR_NO_OFFSET,
			 "there is no run that can be used: all are loads, warm-ups, failed or invalid "
			 "(mtrace-analyze ycsb FILE... says why)");
}
