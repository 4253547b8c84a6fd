#include "analyzer/compare_knee.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/array.h"
#include "analyzer/stats.h"

#define LEVELS_MAX 256

struct level {
	uint64_t threads;
	double ops_s, mean_us;
};

struct levels {
	const char *workload;
	size_t arm;
	struct level items[LEVELS_MAX];
	size_t count;
};

/* ---- levels of one arm ------------------------------------------------------------------------------- */

static bool is_of(const struct compare_run *run, const struct levels *levels)
{
	return run->arm == levels->arm && run->use == RUN_USED && run->threads != YCSB_UNKNOWN &&
	       strcmp(run->workload, levels->workload) == 0;
}

static double mean_latency(const struct compare *compare, const struct levels *levels, uint64_t threads,
			   double *room)
{
	size_t count = 0;
	for (size_t i = 0; i < compare->run_count; i++) {
		const struct compare_run *run = &compare->runs[i];
		if (is_of(run, levels) && run->threads == threads && !isnan(run->mean_us))
			room[count++] = run->mean_us;
	}
	return compare_center(compare->settings.center, METRIC_MEAN, room, count);
}

static bool add_level(const struct compare *compare, struct levels *levels, uint64_t threads, double *room)
{
	struct cell_values values;
	for (size_t i = 0; i < levels->count; i++)
		if (levels->items[i].threads == threads)
			return true;
	bool fine = cell_values(compare, levels->workload, threads, levels->arm, COMPARE_OVERALL,
				METRIC_THROUGHPUT, &values);
	double center = fine ? compare_center(compare->settings.center, METRIC_THROUGHPUT, values.values,
					      values.count)
			     : NAN;
	cell_values_free(&values);
	if (!isnan(center) && levels->count < LEVELS_MAX)
		levels->items[levels->count++] =
			(struct level){threads, center, mean_latency(compare, levels, threads, room)};
	return fine;
}

static int by_threads(const void *left, const void *right)
{
	const struct level *a = left, *b = right;
	return (a->threads > b->threads) - (a->threads < b->threads);
}

static bool find_levels(const struct compare *compare, struct levels *levels)
{
	double *room = malloc((compare->run_count + 1) * sizeof *room);
	bool fine = room != NULL;
	for (size_t i = 0; fine && i < compare->run_count; i++)
		if (is_of(&compare->runs[i], levels))
			fine = add_level(compare, levels, compare->runs[i].threads, room);
	free(room);
	if (levels->count > 1)
		qsort(levels->items, levels->count, sizeof *levels->items, by_threads);
	return fine;
}

/* ---- steps ------------------------------------------------------------------------------------------- */

static double center_of(const struct compare *compare, const struct levels *levels, uint64_t threads,
			const char *operation, enum compare_metric metric)
{
	struct cell_values values;
	double center = NAN;
	if (cell_values(compare, levels->workload, threads, levels->arm, operation, metric, &values))
		center = compare_center(compare->settings.center, metric, values.values, values.count);
	cell_values_free(&values);
	return center;
}

static void add_p95(const struct compare *compare, const struct levels *levels, struct knee_step *step,
		    const char *operation)
{
	for (size_t i = 0; i < step->p95_count; i++)
		if (strcmp(step->p95[i].operation, operation) == 0)
			return;
	if (step->p95_count == KNEE_OPERATIONS_MAX)
		return;
	struct knee_latency *p95 = &step->p95[step->p95_count];
	snprintf(p95->operation, sizeof p95->operation, "%s", operation);
	p95->from_us = center_of(compare, levels, step->from, operation, METRIC_P95);
	p95->to_us = center_of(compare, levels, step->to, operation, METRIC_P95);
	if (!isnan(p95->from_us) && !isnan(p95->to_us))
		step->p95_count++;
}

static void fill_step(const struct compare *compare, const struct levels *levels, size_t at,
		      struct knee_step *step)
{
	const struct level *from = &levels->items[at], *to = &levels->items[at + 1];
	*step = (struct knee_step){.from = from->threads,
				   .to = to->threads,
				   .from_ops_s = from->ops_s,
				   .to_ops_s = to->ops_s,
				   .from_mean_us = from->mean_us,
				   .to_mean_us = to->mean_us};
	for (size_t i = 0; i < compare->run_count; i++) {
		const struct compare_run *run = &compare->runs[i];
		for (size_t v = 0;
		     is_of(run, levels) && run->threads == from->threads && v < run->value_count; v++)
			if (run->values[v].metric == METRIC_P95)
				add_p95(compare, levels, step, run->values[v].operation);
	}
}

/* ---- knees ------------------------------------------------------------------------------------------- */

static struct ratio sweet_ratio(const struct compare *compare, const struct levels *levels, uint64_t sweet,
				uint64_t peak)
{
	struct cell_values from, to = {0};
	struct ratio ratio = ratio_paired(NULL, 0);
	if (cell_values(compare, levels->workload, peak, levels->arm, COMPARE_OVERALL, METRIC_THROUGHPUT,
			&from) &&
	    cell_values(compare, levels->workload, sweet, levels->arm, COMPARE_OVERALL, METRIC_THROUGHPUT,
			&to) &&
	    sweet != peak)
		ratio = cell_ratio(&from, &to);
	cell_values_free(&from);
	cell_values_free(&to);
	return ratio;
}

static void find_spots(const struct compare *compare, const struct levels *levels, struct compare_knee *knee)
{
	size_t peak = 0, sweet = 0;
	for (size_t i = 1; i < levels->count; i++)
		if (levels->items[i].ops_s > levels->items[peak].ops_s)
			peak = i;
	while (levels->items[sweet].ops_s < KNEE_SHARE * levels->items[peak].ops_s)
		sweet++;
	knee->peak_threads = levels->items[peak].threads;
	knee->peak_ops_s = levels->items[peak].ops_s;
	knee->peak_is_last = peak + 1 == levels->count;
	knee->sweet_threads = levels->items[sweet].threads;
	knee->sweet_ops_s = levels->items[sweet].ops_s;
	knee->sweet_ratio = sweet_ratio(compare, levels, knee->sweet_threads, knee->peak_threads);
}

static bool add_knee(struct compare *compare, const char *workload, size_t arm)
{
	struct levels levels = {.workload = workload, .arm = arm};
	if (!find_levels(compare, &levels))
		return false;
	if (levels.count < 2)
		return true;
	if (!array_reserve(&compare->knees, &compare->knee_capacity, compare->knee_count + 1,
			   sizeof *compare->knees))
		return false;
	struct compare_knee *knee = &compare->knees[compare->knee_count];
	*knee = (struct compare_knee){.workload = workload, .arm = arm};
	knee->steps = calloc(levels.count, sizeof *knee->steps);
	if (!knee->steps)
		return false;
	compare->knee_count++;
	find_spots(compare, &levels, knee);
	knee->step_count = levels.count - 1;
	for (size_t i = 0; i < knee->step_count; i++)
		fill_step(compare, &levels, i, &knee->steps[i]);
	return true;
}

static bool is_first_of_workload(const struct compare *compare, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (strcmp(compare->runs[i].workload, compare->runs[index].workload) == 0)
			return false;
	return true;
}

bool compare_knees(struct compare *compare, struct error *error)
{
	for (size_t i = 0; i < compare->run_count; i++)
		for (size_t arm = 0; is_first_of_workload(compare, i) && arm < compare->arm_count; arm++)
			if (!add_knee(compare, compare->runs[i].workload, arm))
				return compare_out_of_memory(error);
	return true;
}

/* ---- price ------------------------------------------------------------------------------------------- */

static bool add_price(struct compare *compare, const struct compare_row *row, size_t arm)
{
	double center = center_of(compare, &(struct levels){.workload = row->workload, .arm = arm},
				  row->threads, COMPARE_OVERALL, METRIC_THROUGHPUT);
	if (!array_reserve(&compare->prices, &compare->price_capacity, compare->price_count + 1,
			   sizeof *compare->prices))
		return false;
	double usd = compare->arms[arm].usd_per_hour;
	compare->prices[compare->price_count++] = (struct compare_price){
		.workload = row->workload,
		.threads = row->threads,
		.arm = arm,
		.usd_per_hour = usd,
		.ops_per_usd = center * 3600 / usd,
	};
	return true;
}

/* The best of the prices from `first` on becomes 100%. */
static void rank_prices(const struct compare *compare, struct compare_price *prices, size_t count)
{
	struct compare_price *best = &prices[0];
	struct cell_values from, to;
	for (size_t i = 1; i < count; i++)
		if (prices[i].ops_per_usd > best->ops_per_usd || isnan(best->ops_per_usd))
			best = &prices[i];
	best->best = !isnan(best->ops_per_usd);
	for (size_t i = 0; i < count; i++) {
		struct compare_price *price = &prices[i];
		price->relative = price->ops_per_usd / best->ops_per_usd;
		price->ratio = ratio_paired(NULL, 0);
		to = (struct cell_values){0};
		if (cell_values(compare, price->workload, price->threads, best->arm, COMPARE_OVERALL,
				METRIC_THROUGHPUT, &from) &&
		    cell_values(compare, price->workload, price->threads, price->arm, COMPARE_OVERALL,
				METRIC_THROUGHPUT, &to) &&
		    price != best)
			price->ratio = cell_ratio(&from, &to);
		cell_values_free(&from);
		cell_values_free(&to);
		double dearer = best->usd_per_hour / price->usd_per_hour;
		price->ratio.ratio = price->best ? 1 : price->ratio.ratio * dearer;
		price->ratio.low *= dearer;
		price->ratio.high *= dearer;
	}
}

static bool is_priced_cell(const struct compare *compare, size_t index)
{
	const struct compare_row *row = &compare->rows[index];
	for (size_t i = 0; i < index; i++)
		if (compare->rows[i].threads == row->threads &&
		    strcmp(compare->rows[i].workload, row->workload) == 0)
			return false;
	return true;
}

bool compare_prices(struct compare *compare, struct error *error)
{
	for (size_t arm = 0; arm < compare->arm_count; arm++)
		if (isnan(compare->arms[arm].usd_per_hour))
			return true;
	for (size_t i = 0; i < compare->row_count; i++) {
		size_t first = compare->price_count;
		if (!is_priced_cell(compare, i))
			continue;
		for (size_t arm = 0; arm < compare->arm_count; arm++)
			if (!add_price(compare, &compare->rows[i], arm))
				return compare_out_of_memory(error);
		rank_prices(compare, &compare->prices[first], compare->price_count - first);
	}
	return true;
}
