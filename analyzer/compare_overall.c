/* The mean ratio over all levels of threads, every level counting alike: a geometric mean. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/array.h"
#include "analyzer/compare_rows.h"
#include "analyzer/stats.h"

#define LEVELS_MAX 256

struct levels {
	const struct compare_row *rows[LEVELS_MAX];
	size_t count;
};

static bool same_series(const struct compare_row *a, const struct compare_row *b)
{
	return a->arm.arm == b->arm.arm && a->metric == b->metric && strcmp(a->workload, b->workload) == 0 &&
	       strcmp(a->operation, b->operation) == 0;
}

static struct levels levels_of(const struct compare *compare, const struct compare_row *like)
{
	struct levels levels = {{0}, 0};
	for (size_t i = 0; i < compare->row_count && levels.count < LEVELS_MAX; i++) {
		const struct compare_row *row = &compare->rows[i];
		if (same_series(row, like) && row->threads != YCSB_UNKNOWN && !isnan(row->ratio.ratio))
			levels.rows[levels.count++] = row;
	}
	return levels;
}

/* The mean difference of a block over all levels; NaN where a level lacks the block. */
static double block_difference(const struct levels *levels, uint64_t block)
{
	double sum = 0;
	for (size_t l = 0; l < levels->count; l++) {
		const struct compare_row *row = levels->rows[l];
		size_t at = 0;
		while (row->blocks && at < row->ratio.base_n && row->blocks[at] != block)
			at++;
		if (!row->blocks || at == row->ratio.base_n)
			return NAN;
		sum += row->log_ratio[at];
	}
	return sum / (double)levels->count;
}

/* Blocks that hold all levels are the unit: what a block does to an arm, it may do at every level. */
static bool by_block(const struct levels *levels, struct compare_overall *overall, bool *fine)
{
	const struct compare_row *first = levels->rows[0];
	if (!first->blocks)
		return false;
	double *differences = malloc((first->ratio.base_n + 1) * sizeof *differences);
	size_t count = 0;
	*fine = differences != NULL;
	for (size_t i = 0; differences && i < first->ratio.base_n; i++) {
		double difference = block_difference(levels, first->blocks[i]);
		if (!isnan(difference))
			differences[count++] = difference;
	}
	if (count >= 2) {
		overall->by_block = true;
		overall->ratio = ratio_paired(differences, count);
		overall->reach.noise = noise_paired(differences, count);
	}
	free(differences);
	return count >= 2;
}

/* One run an arm at each level: the levels themselves are the blocks. */
static bool by_level(const struct levels *levels, struct compare_overall *overall)
{
	double differences[LEVELS_MAX];
	for (size_t l = 0; l < levels->count; l++) {
		differences[l] = log(levels->rows[l]->ratio.ratio);
		if (levels->rows[l]->base.n > 1 || levels->rows[l]->arm.n > 1)
			return false;
	}
	overall->ratio = ratio_paired(differences, levels->count);
	overall->by_level = true;
	return true;
}

static void by_noise(const struct levels *levels, struct compare_overall *overall)
{
	struct ratio ratios[LEVELS_MAX];
	for (size_t l = 0; l < levels->count; l++)
		ratios[l] = levels->rows[l]->ratio;
	overall->ratio = ratio_mean(ratios, levels->count);
}

static bool add_overall(struct compare *compare, const struct compare_row *like)
{
	struct levels levels = levels_of(compare, like);
	bool fine = true;
	if (levels.count < 2)
		return true;
	if (!array_reserve(&compare->overall, &compare->overall_capacity, compare->overall_count + 1,
			   sizeof *compare->overall))
		return false;
	struct compare_overall *overall = &compare->overall[compare->overall_count];
	*overall = (struct compare_overall){
		.workload = like->workload,
		.metric = like->metric,
		.arm = like->arm.arm,
		.levels = levels.count,
		.reach.noise = noise_paired(NULL, 0),
	};
	snprintf(overall->operation, sizeof overall->operation, "%s", like->operation);
	if (!by_block(&levels, overall, &fine) && fine && !by_level(&levels, overall))
		by_noise(&levels, overall);
	compare->overall_count++;
	return fine;
}

static bool is_first_of_series(const struct compare *compare, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (same_series(&compare->rows[i], &compare->rows[index]))
			return false;
	return true;
}

/* Throughput; other metrics where throughput was not asked for. Each further question makes all answers less
 * certain. */
bool compare_overall(struct compare *compare, struct error *error)
{
	bool throughput = compare->settings.metrics[METRIC_THROUGHPUT];
	for (size_t i = 0; i < compare->row_count; i++) {
		const struct compare_row *row = &compare->rows[i];
		if ((throughput && row->metric != METRIC_THROUGHPUT) || !is_first_of_series(compare, i))
			continue;
		if (!add_overall(compare, row))
			return compare_out_of_memory(error);
	}
	return true;
}
