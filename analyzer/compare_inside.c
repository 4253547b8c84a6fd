#include "analyzer/compare_inside.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/array.h"
#include "analyzer/stats.h"

/* ---- pairs of runs ----------------------------------------------------------------------------------- */

static bool is_known(const struct compare_run *run, size_t arm, size_t quantity)
{
	return run->arm == arm && run->use == RUN_USED && quantity < run->inside.count &&
	       !isnan(run->inside.values[quantity]);
}

static bool same_cell(const struct compare_run *a, const struct compare_run *b)
{
	return a->threads == b->threads && strcmp(a->workload, b->workload) == 0;
}

/* Whether some run of the base and one of the arm stand in one block at one level. */
static bool has_blocks(const struct compare *compare, size_t arm, size_t quantity)
{
	for (size_t i = 0; i < compare->run_count; i++) {
		const struct compare_run *base = &compare->runs[i];
		for (size_t j = 0;
		     base->block != COMPARE_NO_BLOCK && is_known(base, 0, quantity) && j < compare->run_count;
		     j++) {
			const struct compare_run *other = &compare->runs[j];
			if (is_known(other, arm, quantity) && other->block == base->block &&
			    same_cell(base, other))
				return true;
		}
	}
	return false;
}

static void count_pairs(const struct compare *compare, struct inside_change *change)
{
	change->within_blocks = has_blocks(compare, change->arm, change->quantity);
	for (size_t i = 0; i < compare->run_count; i++) {
		const struct compare_run *base = &compare->runs[i];
		for (size_t j = 0; is_known(base, 0, change->quantity) && j < compare->run_count; j++) {
			const struct compare_run *other = &compare->runs[j];
			if (!is_known(other, change->arm, change->quantity) || !same_cell(base, other) ||
			    (change->within_blocks && base->block != other->block))
				continue;
			double from = base->inside.values[change->quantity];
			double to = other->inside.values[change->quantity];
			change->up += to > from;
			change->down += to < from;
			change->pairs++;
		}
	}
}

static double median_of(const struct compare *compare, size_t arm, size_t quantity, double *room)
{
	size_t count = 0;
	for (size_t i = 0; i < compare->run_count; i++)
		if (is_known(&compare->runs[i], arm, quantity))
			room[count++] = compare->runs[i].inside.values[quantity];
	return stats_median(room, count);
}

/* ---- the ratio over all levels ----------------------------------------------------------------------- */

/* Of the differences of logarithms within blocks, so that levels do not count as noise. */
static struct ratio ratio_of(const struct compare *compare, const struct inside_change *change, double *room)
{
	size_t pairs = 0;
	for (size_t i = 0; i < compare->run_count; i++) {
		const struct compare_run *base = &compare->runs[i];
		if (!is_known(base, 0, change->quantity))
			continue;
		double sum = 0;
		size_t count = 0;
		for (size_t j = 0; j < compare->run_count; j++) {
			const struct compare_run *other = &compare->runs[j];
			if (!is_known(other, change->arm, change->quantity) || !same_cell(base, other) ||
			    base->block != other->block)
				continue;
			double from = base->inside.values[change->quantity];
			double to = other->inside.values[change->quantity];
			sum += from > 0 && to > 0 ? log(to / from) : NAN;
			count++;
		}
		if (count > 0)
			room[pairs++] = sum / (double)count;
	}
	return ratio_paired(room, pairs);
}

static struct ratio no_ratio(void)
{
	return ratio_paired(NULL, 0);
}

/* ---- changes ----------------------------------------------------------------------------------------- */

static bool add_change(struct compare *compare, size_t quantity, size_t arm, double *room)
{
	struct inside_change change = {.quantity = quantity, .arm = arm};
	count_pairs(compare, &change);
	if (change.pairs < 2)
		return true;
	change.base_center = median_of(compare, 0, quantity, room);
	change.arm_center = median_of(compare, arm, quantity, room);
	change.consistency =
		(double)(change.up > change.down ? change.up : change.down) / (double)change.pairs;
	change.ratio = change.within_blocks ? ratio_of(compare, &change, room) : no_ratio();
	if (change.up == 0 && change.down == 0)
		return true;
	if (!array_reserve(&compare->changes, &compare->change_capacity, compare->change_count + 1,
			   sizeof *compare->changes))
		return false;
	compare->changes[compare->change_count++] = change;
	return true;
}

/* Of those that moved in the same share of pairs, the one that is further from no change comes first. */
static double distance(const struct inside_change *change)
{
	double t = log(change->ratio.ratio) / change->ratio.log_se;
	return isnan(t) ? 0 : fabs(t);
}

static int most_consistent_first(const void *left, const void *right)
{
	const struct inside_change *a = left, *b = right;
	if (a->consistency != b->consistency)
		return a->consistency > b->consistency ? -1 : 1;
	double x = distance(a), y = distance(b);
	if (x != y)
		return x > y ? -1 : 1;
	return (a->quantity > b->quantity) - (a->quantity < b->quantity);
}

/* ---- throughput on coverage -------------------------------------------------------------------------- */

struct within {
	double xx, xy, yy;
	size_t groups;
};

/* Sums of squares and products about the means of the groups. */
static struct within sums_within(const double *x, const double *y, const size_t *group, size_t n)
{
	struct within sums = {0};
	for (size_t i = 0; i < n; i++) {
		double mean_x = 0, mean_y = 0;
		size_t size = 0;
		bool first = true;
		for (size_t j = 0; j < n; j++) {
			if (group[j] != group[i])
				continue;
			first &= j >= i;
			mean_x += x[j];
			mean_y += y[j];
			size++;
		}
		double dx = x[i] - mean_x / (double)size, dy = y[i] - mean_y / (double)size;
		sums.xx += dx * dx;
		sums.xy += dx * dy;
		sums.yy += dy * dy;
		sums.groups += first;
	}
	return sums;
}

struct inside_regression inside_regress(const double *x, const double *y, const size_t *group, size_t n)
{
	struct within sums = sums_within(x, y, group, n);
	struct inside_regression fit = {.runs = n, .groups = sums.groups};
	double freedom = (double)n - (double)sums.groups - 1;
	if (freedom < REGRESSION_FREEDOM_MIN || !(sums.xx > 1e-12))
		return fit;
	fit.known = true;
	fit.slope = sums.xy / sums.xx;
	double residual = fmax(0, sums.yy - fit.slope * sums.xy);
	double se = sqrt(residual / freedom / sums.xx), half = se * ratio_t_critical(RATIO_LEVEL, freedom);
	fit.low = fit.slope - half;
	fit.high = fit.slope + half;
	fit.p = ratio_t_p(fit.slope / se, freedom);
	return fit;
}

static size_t group_of(const struct compare *compare, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (same_cell(&compare->runs[i], &compare->runs[index]))
			return i;
	return index;
}

static bool regress(struct compare *compare)
{
	size_t n = 0, count = compare->run_count;
	double *x = malloc((count + 1) * sizeof *x), *y = malloc((count + 1) * sizeof *y);
	size_t *group = malloc((count + 1) * sizeof *group);
	bool fine = x && y && group;
	for (size_t i = 0; fine && i < count; i++) {
		const struct compare_run *run = &compare->runs[i];
		double throughput = run_value(run, COMPARE_OVERALL, METRIC_THROUGHPUT, NULL);
		if (run->use != RUN_USED || run->inside.count == 0 ||
		    isnan(run->inside.values[INSIDE_COVERAGE]) || !(throughput > 0))
			continue;
		x[n] = run->inside.values[INSIDE_COVERAGE];
		y[n] = log(throughput);
		group[n++] = group_of(compare, i);
	}
	if (fine)
		compare->regression = inside_regress(x, y, group, n);
	free(x);
	free(y);
	free(group);
	return fine;
}

bool compare_inside(struct compare *compare, struct error *error)
{
	double *room = malloc((compare->run_count + 1) * sizeof *room);
	bool fine = room != NULL;
	for (size_t q = 0; fine && q < inside_quantities(compare); q++)
		for (size_t arm = 1; fine && arm < compare->arm_count; arm++)
			fine = add_change(compare, q, arm, room);
	free(room);
	if (fine && compare->change_count > 1)
		qsort(compare->changes, compare->change_count, sizeof *compare->changes,
		      most_consistent_first);
	return (fine && regress(compare)) || compare_out_of_memory(error);
}
