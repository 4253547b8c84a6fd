/* Values of one arm in one cell, and the ratio of two such sets of runs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/compare_knee.h"

bool cell_values(const struct compare *compare, const char *workload, uint64_t threads, size_t arm,
		 const char *operation, enum compare_metric metric, struct cell_values *out)
{
	*out = (struct cell_values){
		malloc((compare->run_count + 1) * sizeof *out->values),
		malloc((compare->run_count + 1) * sizeof *out->blocks),
		0,
	};
	if (!out->values || !out->blocks)
		return false;
	for (size_t i = 0; i < compare->run_count; i++) {
		const struct compare_run *run = &compare->runs[i];
		if (run->arm != arm || run->use != RUN_USED || run->threads != threads ||
		    strcmp(run->workload, workload) != 0)
			continue;
		double value = run_value(run, operation, metric, NULL);
		if (isnan(value))
			continue;
		out->values[out->count] = value;
		out->blocks[out->count++] = run->block;
	}
	return true;
}

void cell_values_free(struct cell_values *values)
{
	free(values->values);
	free(values->blocks);
	*values = (struct cell_values){0};
}

static double block_mean(const struct cell_values *of, uint64_t block)
{
	double sum = 0;
	size_t count = 0;
	for (size_t i = 0; i < of->count; i++) {
		if (of->blocks[i] != block)
			continue;
		sum += of->values[i] > 0 ? log(of->values[i]) : NAN;
		count++;
	}
	return count ? sum / (double)count : NAN;
}

static bool seen_before(const struct cell_values *of, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (of->blocks[i] == of->blocks[index])
			return true;
	return false;
}

struct ratio cell_ratio(const struct cell_values *from, const struct cell_values *to)
{
	double *differences = malloc((from->count + 1) * sizeof *differences);
	size_t pairs = 0;
	for (size_t i = 0; differences && i < from->count; i++) {
		double difference = block_mean(to, from->blocks[i]) - block_mean(from, from->blocks[i]);
		if (from->blocks[i] != COMPARE_NO_BLOCK && !seen_before(from, i) && !isnan(difference))
			differences[pairs++] = difference;
	}
	struct ratio ratio = pairs >= 2 ? ratio_paired(differences, pairs)
					: ratio_welch(from->values, from->count, to->values, to->count);
	free(differences);
	return ratio;
}
