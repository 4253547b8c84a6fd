#include "analyzer/compare_rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/array.h"
#include "analyzer/compare_words.h"
#include "analyzer/stats.h"

struct cell {
	const char *workload;
	uint64_t threads;
};

/* What a row is of, within its cell. */
struct key {
	const char *operation;
	enum compare_metric metric;
};

struct cells {
	struct cell *items;
	size_t count, capacity;
};

struct keys {
	struct key *items;
	size_t count, capacity;
};

/* ---- cells ------------------------------------------------------------------------------------------- */

static bool is_measured(const struct compare_run *run)
{
	return run->use != RUN_WARMUP && run->use != RUN_LOAD && run->use != RUN_COPY;
}

static bool in_cell(const struct cell *cell, const struct compare_run *run)
{
	return run->threads == cell->threads && strcmp(run->workload, cell->workload) == 0;
}

static int by_workload_and_threads(const void *left, const void *right)
{
	const struct cell *a = left, *b = right;
	int order = strcmp(a->workload, b->workload);
	return order ? order : (a->threads > b->threads) - (a->threads < b->threads);
}

static bool find_cells(const struct compare *compare, struct cells *cells)
{
	for (size_t i = 0; i < compare->run_count; i++) {
		const struct compare_run *run = &compare->runs[i];
		size_t c = 0;
		while (c < cells->count && !in_cell(&cells->items[c], run))
			c++;
		if (c < cells->count || !is_measured(run))
			continue;
		if (!array_reserve(&cells->items, &cells->capacity, cells->count + 1, sizeof *cells->items))
			return false;
		cells->items[cells->count++] = (struct cell){run->workload, run->threads};
	}
	if (cells->count > 1)
		qsort(cells->items, cells->count, sizeof *cells->items, by_workload_and_threads);
	return true;
}

/* ---- keys -------------------------------------------------------------------------------------------- */

static bool add_key(struct keys *keys, const char *operation, enum compare_metric metric)
{
	for (size_t i = 0; i < keys->count; i++)
		if (keys->items[i].metric == metric && strcmp(keys->items[i].operation, operation) == 0)
			return true;
	if (!array_reserve(&keys->items, &keys->capacity, keys->count + 1, sizeof *keys->items))
		return false;
	keys->items[keys->count++] = (struct key){operation, metric};
	return true;
}

static bool is_overall(const char *operation)
{
	return strcmp(operation, COMPARE_OVERALL) == 0;
}

/* Latencies of OVERALL are wanted where the cell knows no others. */
static bool has_operations(const struct compare *compare, const struct cell *cell)
{
	for (size_t i = 0; i < compare->run_count; i++) {
		const struct compare_run *run = &compare->runs[i];
		for (size_t v = 0; in_cell(cell, run) && v < run->value_count; v++)
			if (!is_overall(run->values[v].operation))
				return true;
	}
	return false;
}

static int by_operation_and_metric(const void *left, const void *right)
{
	const struct key *a = left, *b = right;
	int order = is_overall(b->operation) - is_overall(a->operation);
	if (!order)
		order = strcmp(a->operation, b->operation);
	return order ? order : (a->metric > b->metric) - (a->metric < b->metric);
}

static bool find_keys(const struct compare *compare, const struct cell *cell, struct keys *keys)
{
	const bool *wanted = compare->settings.metrics;
	bool operations = has_operations(compare, cell);
	if (wanted[METRIC_THROUGHPUT] && !add_key(keys, COMPARE_OVERALL, METRIC_THROUGHPUT))
		return false;
	for (size_t i = 0; i < compare->run_count; i++) {
		const struct compare_run *run = &compare->runs[i];
		for (size_t v = 0; in_cell(cell, run) && run->use == RUN_USED && v < run->value_count; v++) {
			const struct run_value *value = &run->values[v];
			bool latency = metric_infos[value->metric].latency;
			bool twice = operations && latency && is_overall(value->operation);
			if (wanted[value->metric] && !twice &&
			    !add_key(keys, value->operation, value->metric))
				return false;
		}
	}
	if (keys->count > 1)
		qsort(keys->items, keys->count, sizeof *keys->items, by_operation_and_metric);
	return true;
}

/* ---- one side of a row ------------------------------------------------------------------------------- */

struct reading {
	double value;
	uint64_t block;
	int64_t start_ns;
	uint64_t order;
};

struct readings {
	struct reading *items;
	size_t count, capacity;
};

static int by_block_and_time(const void *left, const void *right)
{
	const struct reading *a = left, *b = right;
	if (a->block != b->block)
		return a->block < b->block ? -1 : 1;
	if (a->start_ns != b->start_ns && a->start_ns != YCSB_NO_TIME && b->start_ns != YCSB_NO_TIME)
		return a->start_ns < b->start_ns ? -1 : 1;
	return (a->order > b->order) - (a->order < b->order);
}

static bool gather(const struct compare *compare, struct compare_row *row, size_t arm,
		   struct readings *readings)
{
	for (size_t i = 0; i < compare->run_count; i++) {
		const struct compare_run *run = &compare->runs[i];
		double resolution = 0;
		if (run->arm != arm || run->use != RUN_USED || !row_has_run(row, run))
			continue;
		double value = run_value(run, row->operation, row->metric, &resolution);
		if (isnan(value))
			continue;
		if (!array_reserve(&readings->items, &readings->capacity, readings->count + 1,
				   sizeof *readings->items))
			return false;
		readings->items[readings->count++] =
			(struct reading){value, run->block, run->start_ns, run->order};
		row->resolution = fmax(row->resolution, resolution);
	}
	if (readings->count > 1)
		qsort(readings->items, readings->count, sizeof *readings->items, by_block_and_time);
	return true;
}

/* Runs that no campaign put into blocks are paired as they come, where that is asked for. */
static void pair_in_order(struct readings *base, struct readings *arm)
{
	struct readings *sides[] = {base, arm};
	for (size_t s = 0; s < 2; s++)
		for (size_t i = 0; i < sides[s]->count; i++)
			if (sides[s]->items[i].block != COMPARE_NO_BLOCK)
				return;
	for (size_t s = 0; s < 2; s++)
		for (size_t i = 0; i < sides[s]->count; i++)
			sides[s]->items[i].block = i;
}

static double busy_median(const struct compare *compare, const struct compare_row *row, size_t arm)
{
	double *busy = malloc((compare->run_count + 1) * sizeof *busy);
	size_t count = 0;
	for (size_t i = 0; busy && i < compare->run_count; i++) {
		const struct compare_run *run = &compare->runs[i];
		if (run->arm == arm && run->use == RUN_USED && row_has_run(row, run) &&
		    !isnan(run->threads_busy))
			busy[count++] = run->threads_busy;
	}
	double median = stats_median(busy, count);
	free(busy);
	return median;
}

static double worst_error_rate(const struct compare *compare, const struct compare_row *row, size_t arm)
{
	double worst = NAN;
	for (size_t i = 0; i < compare->run_count; i++) {
		const struct compare_run *run = &compare->runs[i];
		if (run->arm == arm && run->use == RUN_USED && row_has_run(row, run))
			worst = fmax(worst, run->error_rate); /* of a number and NaN, the number */
	}
	return worst;
}

static bool fill_side(const struct compare *compare, const struct compare_row *row, size_t arm,
		      const struct readings *readings, struct compare_side *side)
{
	*side = (struct compare_side){.arm = arm, .min = NAN, .max = NAN};
	side->n = readings->items ? readings->count : 0;
	side->values = malloc((side->n + 1) * sizeof *side->values);
	if (!side->values)
		return false;
	for (size_t i = 0; i < side->n; i++) {
		side->values[i] = readings->items[i].value;
		side->min = fmin(side->min, side->values[i]);
		side->max = fmax(side->max, side->values[i]);
	}
	side->center = compare_center(compare->settings.center, row->metric, side->values, side->n);
	side->error_rate = worst_error_rate(compare, row, arm);
	side->threads_busy = busy_median(compare, row, arm);
	return true;
}

/* ---- the ratio --------------------------------------------------------------------------------------- */

/* Mean logarithm of the readings in `block`; NaN where there are none, or one is 0. */
static double block_mean(const struct readings *readings, uint64_t block)
{
	double sum = 0;
	size_t count = 0;
	for (size_t i = 0; i < readings->count; i++) {
		if (readings->items[i].block != block)
			continue;
		sum += readings->items[i].value > 0 ? log(readings->items[i].value) : NAN;
		count++;
	}
	return count ? sum / (double)count : NAN;
}

/* The differences within blocks; both arrays have room for all of the base's readings. */
static size_t find_pairs(const struct readings *base, const struct readings *arm, double *log_ratio,
			 uint64_t *blocks)
{
	size_t pairs = 0;
	for (size_t i = 0; i < base->count; i++) {
		uint64_t block = base->items[i].block;
		if (block == COMPARE_NO_BLOCK || (i > 0 && base->items[i - 1].block == block))
			continue;
		double difference = block_mean(arm, block) - block_mean(base, block);
		if (isnan(difference))
			continue;
		log_ratio[pairs] = difference;
		blocks[pairs++] = block;
	}
	return pairs;
}

static bool fill_ratio(struct compare_row *row, const struct readings *base, const struct readings *arm)
{
	row->log_ratio = malloc((base->count + 1) * sizeof *row->log_ratio);
	row->blocks = malloc((base->count + 1) * sizeof *row->blocks);
	if (!row->log_ratio || !row->blocks)
		return false;
	size_t pairs = find_pairs(base, arm, row->log_ratio, row->blocks);
	if (pairs >= 2) {
		row->ratio = ratio_paired(row->log_ratio, pairs);
		row->noise = noise_paired(row->log_ratio, pairs);
	} else {
		free(row->log_ratio);
		free(row->blocks);
		row->log_ratio = NULL;
		row->blocks = NULL;
		row->ratio = ratio_welch(row->base.values, row->base.n, row->arm.values, row->arm.n);
		row->noise = noise_welch(row->base.values, row->base.n, row->arm.values, row->arm.n);
	}
	row->center_ratio = row->arm.center / row->base.center;
	return true;
}

/* ---- all rows ---------------------------------------------------------------------------------------- */

bool row_has_run(const struct compare_row *row, const struct compare_run *run)
{
	return run->threads == row->threads && strcmp(run->workload, row->workload) == 0;
}

static bool fill_row(const struct compare *compare, struct compare_row *row, size_t arm)
{
	struct readings base = {0}, other = {0};
	bool fine = gather(compare, row, 0, &base) && gather(compare, row, arm, &other) &&
		    fill_side(compare, row, 0, &base, &row->base) &&
		    fill_side(compare, row, arm, &other, &row->arm);
	if (fine && compare->settings.paired)
		pair_in_order(&base, &other);
	fine = fine && fill_ratio(row, &base, &other);
	free(base.items);
	free(other.items);
	return fine;
}

static bool add_row(struct compare *compare, const struct cell *cell, const struct key *key, size_t arm,
		    bool first)
{
	if (!array_reserve(&compare->rows, &compare->row_capacity, compare->row_count + 1,
			   sizeof *compare->rows))
		return false;
	struct compare_row *row = &compare->rows[compare->row_count];
	*row = (struct compare_row){
		.workload = cell->workload, .threads = cell->threads, .metric = key->metric, .speaks = first};
	snprintf(row->operation, sizeof row->operation, "%s", key->operation);
	compare->row_count++;
	return fill_row(compare, row, arm);
}

static bool arm_in_cell(const struct compare *compare, const struct cell *cell, size_t arm)
{
	for (size_t i = 0; i < compare->run_count; i++)
		if (compare->runs[i].arm == arm && is_measured(&compare->runs[i]) &&
		    in_cell(cell, &compare->runs[i]))
			return true;
	return false;
}

/* A level that one of the arms was never run at cannot be compared. */
static bool say_missing(struct compare *compare, const struct cell *cell, size_t arm)
{
	char level[32] = "an unknown number of";
	if (cell->threads != YCSB_UNKNOWN)
		snprintf(level, sizeof level, "%llu", (unsigned long long)cell->threads);
	return compare_remark(compare, "level-missing", "%s has no run at %s threads%s%s",
			      compare->arms[arm].label, level, *cell->workload ? " of " : "", cell->workload);
}

static bool add_cell(struct compare *compare, const struct cell *cell)
{
	struct keys keys = {0};
	bool fine = find_keys(compare, cell, &keys);
	bool base = arm_in_cell(compare, cell, 0);
	if (!base)
		fine = fine && say_missing(compare, cell, 0);
	for (size_t arm = 1; fine && base && arm < compare->arm_count; arm++)
		if (!arm_in_cell(compare, cell, arm))
			fine = say_missing(compare, cell, arm);
	for (size_t k = 0; fine && base && k < keys.count; k++)
		for (size_t arm = 1; fine && arm < compare->arm_count; arm++)
			if (arm_in_cell(compare, cell, arm))
				fine = add_row(compare, cell, &keys.items[k], arm, k == 0);
	free(keys.items);
	return fine;
}

static bool say_nothing_in_common(const struct compare *compare, struct error *error)
{
	char room[256];
	struct words words = {room, sizeof room, 0};
	room[0] = 0;
	for (size_t i = 0; i < compare->remark_count; i++)
		words_add(&words, "%s%s", i ? "; " : "", compare->remarks[i].text);
	return error_set(error, ERROR_INPUT, NULL, ERROR_NO_OFFSET,
			 "no workload and level of threads that base and arm have in common: %s", room);
}

bool compare_rows(struct compare *compare, struct error *error)
{
	struct cells cells = {0};
	bool fine = find_cells(compare, &cells);
	for (size_t c = 0; fine && c < cells.count; c++)
		fine = add_cell(compare, &cells.items[c]);
	free(cells.items);
	if (!fine)
		return compare_out_of_memory(error);
	if (compare->row_count == 0)
		return say_nothing_in_common(compare, error);
	return compare_overall(compare, error) && compare_decide(compare, error);
}
