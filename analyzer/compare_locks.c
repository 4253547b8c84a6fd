#include "analyzer/compare_locks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/compare_words.h"
#include "analyzer/locks_exposure.h"
#include "analyzer/stats.h"

const double lock_bound_saved_ns[LOCK_BOUNDS] = {1, 5, 20};

/* ---- one run ------------------------------------------------------------------------------------------- */

static double busy_cpus(const struct timeline *timeline, int64_t start_ns, int64_t end_ns)
{
	double own = inside_mean(timeline, SERIES_WRITER_CPU, start_ns, end_ns);
	double all = inside_mean(timeline, SERIES_CPU_USER, start_ns, end_ns) +
		     inside_mean(timeline, SERIES_CPU_SYSTEM, start_ns, end_ns);
	double cpus = all - (isnan(own) ? 0 : own);
	return cpus > 0 ? cpus : NAN;
}

/* The hottest lock is known of the whole trace: taken is its share of all instructions. */
void compare_locks_take(struct compare_run *run, const struct timeline *timeline, const struct stage *stage,
			int64_t start_ns, int64_t end_ns)
{
	double rate = inside_mean(timeline, SERIES_LOCK_ATOMICS, start_ns, end_ns);
	if (!stage->locks || isnan(rate))
		return;
	struct lock_exposure exposure = lock_exposure(stage->locks, busy_cpus(timeline, start_ns, end_ns));
	if (exposure.atomics_per_s > 0)
		exposure.hottest_per_s *= rate / exposure.atomics_per_s;
	exposure.atomics_per_s = rate;
	run->inside.values[INSIDE_LOCK_ATOMICS] =
		rate / run_value(run, COMPARE_OVERALL, METRIC_THROUGHPUT, NULL);
	run->inside.lock_share_per_ns = lock_share(&exposure, 1);
}

/* ---- one arm ------------------------------------------------------------------------------------------- */

static bool other_library(const struct compare *compare, size_t arm)
{
	for (size_t i = 0; i < compare->difference_count; i++)
		if (strncmp(compare->differences[i].key, "glibc.", strlen("glibc.")) == 0 &&
		    compare->differences[i].differs[arm])
			return true;
	return compare->axis && strcmp(compare->axis, "glibc") == 0;
}

/* Median over the used runs; NaN where none knows it. */
static double median_of(const struct compare *compare, size_t arm, bool share)
{
	double *values = malloc((compare->run_count + 1) * sizeof *values), median = NAN;
	size_t count = 0;
	for (size_t i = 0; values && i < compare->run_count; i++) {
		const struct compare_run *run = &compare->runs[i];
		if (run->arm != arm || run->use != RUN_USED || !run->inside.count)
			continue;
		double value =
			share ? run->inside.lock_share_per_ns : run->inside.values[INSIDE_LOCK_ATOMICS];
		if (!isnan(value))
			values[count++] = value;
	}
	if (count)
		median = stats_median(values, count);
	free(values);
	return median;
}

static bool is_throughput(const char *operation, enum compare_metric metric)
{
	return metric == METRIC_THROUGHPUT && strcmp(operation, COMPARE_OVERALL) == 0;
}

/* Over all levels of threads where there are several. */
static struct ratio measured_of(const struct compare *compare, size_t arm)
{
	for (size_t i = 0; i < compare->overall_count; i++) {
		const struct compare_overall *overall = &compare->overall[i];
		if (overall->arm == arm && is_throughput(overall->operation, overall->metric))
			return overall->ratio;
	}
	for (size_t i = 0; i < compare->row_count; i++) {
		const struct compare_row *row = &compare->rows[i];
		if (row->arm.arm == arm && is_throughput(row->operation, row->metric))
			return row->ratio;
	}
	return ratio_paired(NULL, 0);
}

/* A share s of the time saved makes 1 / (1 - s) of the throughput. */
static double needed_ns(double ratio, double share_per_ns)
{
	return ratio > 1 ? (1 - 1 / ratio) / share_per_ns : NAN;
}

bool compare_lock_bound(const struct compare *compare, size_t arm, struct lock_bound *bound)
{
	double share_per_ns = median_of(compare, 0, true);
	if (!other_library(compare, arm) || !(share_per_ns > 0))
		return false;
	*bound = (struct lock_bound){.base_per_operation = median_of(compare, 0, false),
				     .arm_per_operation = median_of(compare, arm, false),
				     .measured = measured_of(compare, arm)};
	for (size_t i = 0; i < LOCK_BOUNDS; i++)
		bound->gain_percent[i] = lock_gain_of_share(share_per_ns * lock_bound_saved_ns[i]);
	bound->needed_ns = needed_ns(bound->measured.ratio, share_per_ns);
	bound->needed_low_ns = needed_ns(bound->measured.low, share_per_ns);
	bound->needed_high_ns = needed_ns(bound->measured.high, share_per_ns);
	return true;
}

/* ---- output -------------------------------------------------------------------------------------------- */

static void add_measured(struct words *words, const struct lock_bound *bound)
{
	char change[WORDS_PERCENT_BYTES], low[WORDS_PERCENT_BYTES], high[WORDS_PERCENT_BYTES];
	if (bound->measured.method == RATIO_NONE) {
		words_add(words, " What was measured has no interval to set beside it.");
		return;
	}
	words_add(words, " Measured: %s%% [%s, %s].", words_change(change, bound->measured.ratio - 1),
		  words_change(low, bound->measured.low - 1), words_change(high, bound->measured.high - 1));
	if (bound->measured.low > 1)
		words_add(words,
			  " For that, each would have to be at least %.3g ns cheaper (%.3g to %.3g ns).",
			  bound->needed_ns, bound->needed_low_ns, bound->needed_high_ns);
}

/* Infinite where they would save more time than there is. */
static const char *gain_text(char out[32], double percent)
{
	if (isinf(percent))
		return "any amount";
	snprintf(out, 32, "%.2g%%", percent);
	return out;
}

void compare_locks_print(const struct document *document, const struct compare *compare)
{
	for (size_t arm = 1; arm < compare->arm_count; arm++) {
		struct lock_bound bound;
		char room[1024] = "", gains[3][32];
		struct words words = {room, sizeof room, 0};
		if (!compare_lock_bound(compare, arm, &bound))
			continue;
		words_add(&words, "Locks of %s: %.3g atomic instructions through glibc for each operation",
			  compare->arms[0].label, bound.base_per_operation);
		if (!isnan(bound.arm_per_operation))
			words_add(&words, " (%s: %.3g)", compare->arms[arm].label, bound.arm_per_operation);
		words_add(&words,
			  ". Were each of them 1, 5 or 20 ns cheaper, throughput could grow by %s, "
			  "%s or %s at most.",
			  gain_text(gains[0], bound.gain_percent[0]),
			  gain_text(gains[1], bound.gain_percent[1]),
			  gain_text(gains[2], bound.gain_percent[2]));
		add_measured(&words, &bound);
		words_add(&words,
			  " Atomics that are compiled into the program, and glibc's own locks, are not "
			  "in it.");
		document_text(document, "%s", room);
	}
}

static json_t *bound_object(const struct compare *compare, size_t arm, const struct lock_bound *bound)
{
	json_t *object = json_object(), *gains = json_array();
	json_put_string(object, "base", compare->arms[0].label);
	json_put_string(object, "arm", compare->arms[arm].label);
	json_put_real(object, "base_atomics_per_operation", bound->base_per_operation);
	json_put_real(object, "arm_atomics_per_operation", bound->arm_per_operation);
	for (size_t i = 0; i < LOCK_BOUNDS; i++) {
		json_t *gain = json_object();
		json_put_real(gain, "saved_ns", lock_bound_saved_ns[i]);
		json_put_real(gain, "at_most_percent", bound->gain_percent[i]);
		json_array_append_new(gains, gain);
	}
	json_put(object, "gain", gains);
	json_put_real(object, "measured_percent", 100 * (bound->measured.ratio - 1));
	json_put_real(object, "measured_percent_low", 100 * (bound->measured.low - 1));
	json_put_real(object, "measured_percent_high", 100 * (bound->measured.high - 1));
	json_put_real(object, "needed_ns", bound->needed_ns);
	json_put_real(object, "needed_ns_low", bound->needed_low_ns);
	json_put_real(object, "needed_ns_high", bound->needed_high_ns);
	return object;
}

json_t *compare_locks_array(const struct compare *compare)
{
	json_t *array = json_array();
	for (size_t arm = 1; arm < compare->arm_count; arm++) {
		struct lock_bound bound;
		if (compare_lock_bound(compare, arm, &bound))
			json_array_append_new(array, bound_object(compare, arm, &bound));
	}
	return array;
}
