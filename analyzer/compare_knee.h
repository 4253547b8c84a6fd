/*
 * Levels of threads: where throughput peaks, what is the sweet spot, what each step costs. And money.
 *
 * peak          the level with the highest centre of throughput. Where it is the last one that was run there
 * is no knee in the tested range. sweet spot    the fewest threads whose centre reaches KNEE_SHARE of the
 * peak's. price         throughput * 3600 / (dollars an hour), in operations per dollar; the best arm of a
 * cell is 100%.
 */
#ifndef MTRACE_COMPARE_KNEE_H
#define MTRACE_COMPARE_KNEE_H

#include "analyzer/compare.h"

#define KNEE_SHARE 0.95

/* Fills in compare->knees: for each workload and arm with two levels or more. False where memory is short. */
bool compare_knees(struct compare *compare, struct error *error);

/* Fills in compare->prices, where every arm of a cell has its price (arms[].usd_per_hour). */
bool compare_prices(struct compare *compare, struct error *error);

/* ---- parts ------------------------------------------------------------------------------------------- */

/* Values of one arm's used runs in a cell. */
struct cell_values {
	double *values;
	uint64_t *blocks;
	size_t count;
};

/* False where memory is short. free() both arrays. */
bool cell_values(const struct compare *compare, const char *workload, uint64_t threads, size_t arm,
		 const char *operation, enum compare_metric metric, struct cell_values *out);
void cell_values_free(struct cell_values *values);

/* to / from: paired within blocks where two or more hold both, else Welch's. */
struct ratio cell_ratio(const struct cell_values *from, const struct cell_values *to);

#endif
