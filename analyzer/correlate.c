#include "analyzer/correlate.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "analyzer/stats.h"

/* The pairs of one series with throughput in one segment at one lag, known values only. */
struct pairs {
	double *x;	/* series */
	double *y;	/* throughput */
	double *rank_x; /* room for ranks, filled in by pairs_rank() */
	double *rank_y;
	size_t count;
};

/* One series over the segments that are usable for it, and the lags common to them. */
struct scan {
	const struct correlate_segment **segments;
	const double **values; /* per segment */
	size_t segment_count;
	double step_s;
	long lags; /* -lags..lags steps */
	struct pairs pairs;
};

/* What a scan says at one lag, over all its segments. */
struct fit {
	double spearman;
	double pearson;
	double n_effective;
	double p; /* of this lag alone */
};

/* ---- pairs ------------------------------------------------------------------------------------------- */

static bool pairs_alloc(struct pairs *pairs, size_t capacity)
{
	double *room = malloc((capacity ? capacity : 1) * 4 * sizeof *room);
	*pairs = (struct pairs){room, room + capacity, room + 2 * capacity, room + 3 * capacity, 0};
	return room != NULL;
}

/* values[i] beside throughput[i + lag]: with a positive lag the series comes first. */
static void pairs_take(struct pairs *pairs, const struct correlate_segment *segment, const double *values,
		       long lag)
{
	pairs->count = 0;
	size_t shift = (size_t)labs(lag);
	for (size_t i = 0; i + shift < segment->count; i++) {
		double x = values[lag < 0 ? i + shift : i];
		double y = segment->throughput[lag > 0 ? i + shift : i];
		if (isnan(x) || isnan(y))
			continue;
		pairs->x[pairs->count] = x;
		pairs->y[pairs->count++] = y;
	}
}

static bool pairs_rank(struct pairs *pairs)
{
	return stats_rank(pairs->x, pairs->count, pairs->rank_x) &&
	       stats_rank(pairs->y, pairs->count, pairs->rank_y);
}

/* ---- one lag over several segments ------------------------------------------------------------------- */

/* Fisher's z of a sum of weighted correlations; a correlation of 1 stays finite. */
struct pool {
	double weighted_spearman, weighted_pearson;
	double weight;
	double pairs_above_3; /* sum of n_effective - 3 */
};

static double fisher_z(double r)
{
	const double nearly_one = 1 - 1e-15;
	return atanh(fmax(-nearly_one, fmin(nearly_one, r)));
}

static void pool_add(struct pool *pool, const struct pairs *pairs)
{
	double spearman = stats_pearson(pairs->rank_x, pairs->rank_y, pairs->count);
	double pearson = stats_pearson(pairs->x, pairs->y, pairs->count);
	double n_effective = stats_effective_n(pairs->rank_x, pairs->rank_y, pairs->count);
	if (isnan(spearman) || isnan(pearson) || isnan(n_effective))
		return;
	/* A segment worth 3 pairs says next to nothing, but alone it still has a correlation. */
	double weight = fmax(1e-6, n_effective - 3);
	pool->weighted_spearman += weight * fisher_z(spearman);
	pool->weighted_pearson += weight * fisher_z(pearson);
	pool->weight += weight;
	pool->pairs_above_3 += n_effective - 3;
}

static struct fit pool_fit(const struct pool *pool)
{
	if (!(pool->weight > 0))
		return (struct fit){NAN, NAN, NAN, 1};
	struct fit fit = {
		.spearman = tanh(pool->weighted_spearman / pool->weight),
		.pearson = tanh(pool->weighted_pearson / pool->weight),
		.n_effective = 3 + pool->pairs_above_3,
	};
	fit.p = stats_correlation_p(fit.spearman, fit.n_effective);
	return fit;
}

static bool scan_fit(struct scan *scan, long lag, struct fit *fit)
{
	struct pool pool = {0};
	for (size_t i = 0; i < scan->segment_count; i++) {
		const struct correlate_segment *segment = scan->segments[i];
		long points = lround((double)lag * scan->step_s / segment->interval_s);
		pairs_take(&scan->pairs, segment, scan->values[i], points);
		if (!pairs_rank(&scan->pairs))
			return false;
		pool_add(&pool, &scan->pairs);
	}
	*fit = pool_fit(&pool);
	return true;
}

/* ---- choice of the lag ------------------------------------------------------------------------------- */

/* The lags of a scan: up to 10 s in steps of its coarsest segment, over at most a quarter of its shortest. */
static void scan_set_lags(struct scan *scan)
{
	size_t shortest = SIZE_MAX;
	scan->step_s = 0;
	for (size_t i = 0; i < scan->segment_count; i++)
		scan->step_s = fmax(scan->step_s, scan->segments[i]->interval_s);
	for (size_t i = 0; i < scan->segment_count; i++) {
		double points_a_step = scan->step_s / scan->segments[i]->interval_s;
		size_t steps = (size_t)((double)scan->segments[i]->count / 4 / points_a_step);
		if (steps < shortest)
			shortest = steps;
	}
	/* Intervals are measured, 0.9999 s is meant as 1: a little slack keeps the tenth lag. */
	double lags = floor(CORRELATE_MAX_LAG_S / scan->step_s * 1.01);
	scan->lags = (long)fmin(lags, (double)shortest);
}

/* p after paying for the choice: half of the error goes to lag 0, half to the 2 * lags others. */
static double paid_p(const struct scan *scan, long lag, double p)
{
	if (scan->lags == 0)
		return p;
	double share = lag == 0 ? 0.5 : 0.5 / (2 * (double)scan->lags);
	return fmin(1, p / share);
}

static void take_fit(struct correlate_result *row, const struct scan *scan, long lag, const struct fit *fit)
{
	row->spearman = fit->spearman;
	row->pearson = fit->pearson;
	row->n_effective = fit->n_effective;
	row->lag_s = (double)lag * scan->step_s;
	row->p = paid_p(scan, lag, fit->p);
}

/* Lag 0 first, then outwards: of two equally good ones the nearer stands. */
static bool scan_best(struct scan *scan, struct correlate_result *row)
{
	struct fit fit;
	if (!scan_fit(scan, 0, &fit))
		return false;
	take_fit(row, scan, 0, &fit);
	row->spearman_lag0 = fit.spearman;
	row->pearson_lag0 = fit.pearson;
	for (long step = 1; step <= scan->lags; step++) {
		for (int sign = 1; sign >= -1; sign -= 2) {
			if (!scan_fit(scan, sign * step, &fit))
				return false;
			if (paid_p(scan, step, fit.p) < row->p)
				take_fit(row, scan, sign * step, &fit);
		}
	}
	row->lags_tried = 2 * (size_t)scan->lags + 1;
	row->lag_max_s = (double)scan->lags * scan->step_s;
	row->segments = scan->segment_count;
	row->verdict = CORRELATE_NO_SUPPORT; /* until p is adjusted */
	return true;
}

/* ---- rows -------------------------------------------------------------------------------------------- */

/* Whether a segment can be used for a series; CORRELATE_NO_SUPPORT stands for yes. */
static enum correlate_verdict judge(const struct correlate_segment *segment, const double *values,
				    struct pairs *pairs)
{
	pairs->count = 0;
	if (!values)
		return CORRELATE_NOT_MEASURED;
	pairs_take(pairs, segment, values, 0);
	if (segment->count > 0 && pairs->count == 0)
		return CORRELATE_NOT_MEASURED;
	if (pairs->count < CORRELATE_MIN_INTERVALS)
		return CORRELATE_TOO_FEW;
	if (stats_is_constant(pairs->x, pairs->count))
		return CORRELATE_SERIES_CONSTANT;
	if (stats_is_constant(pairs->y, pairs->count))
		return CORRELATE_THROUGHPUT_CONSTANT;
	return CORRELATE_NO_SUPPORT;
}

static struct correlate_result empty_row(const struct correlate_series *series, size_t series_index)
{
	return (struct correlate_result){
		.series = series->name,
		.series_index = series_index,
		.segment_index = SIZE_MAX,
		.spearman = NAN,
		.pearson = NAN,
		.lag_s = NAN,
		.lag_max_s = NAN,
		.n_effective = NAN,
		.p = NAN,
		.p_adjusted = NAN,
		.spearman_lag0 = NAN,
		.pearson_lag0 = NAN,
		.verdict = CORRELATE_NOT_MEASURED,
	};
}

/* The row of one segment; where it is usable the segment joins `pooled` as well. */
static bool segment_row(const struct correlate_segment *segment, const double *values, struct scan *pooled,
			struct correlate_result *row)
{
	row->verdict = judge(segment, values, &pooled->pairs);
	row->count = pooled->pairs.count;
	if (!correlate_usable(row->verdict))
		return true;
	pooled->segments[pooled->segment_count] = segment;
	pooled->values[pooled->segment_count++] = values;
	struct scan alone = {&segment, &values, 1, 0, 0, pooled->pairs};
	scan_set_lags(&alone);
	return scan_best(&alone, row);
}

/* With nothing to pool, the reason is that of the segment with the most pairs. */
static void pooled_reason(struct correlate_result *pooled, const struct correlate_result *rows, size_t count)
{
	size_t most = 0;
	for (size_t i = 0; i < count; i++) {
		if (i == 0 || rows[i].count > most) {
			most = rows[i].count;
			pooled->verdict = rows[i].verdict;
			pooled->count = most;
		}
	}
}

static bool series_rows(const struct correlate_segment *segments, size_t segment_count,
			const struct correlate_series *series, size_t series_index, struct scan *pooled,
			struct correlate_result *rows)
{
	struct correlate_result *total = &rows[0], *single = &rows[1];
	*total = empty_row(series, series_index);
	pooled->segment_count = 0;
	for (size_t i = 0; i < segment_count; i++) {
		single[i] = empty_row(series, series_index);
		single[i].segment = segments[i].name;
		single[i].segment_index = i;
		if (!segment_row(&segments[i], series->values[i], pooled, &single[i]))
			return false;
		total->count += correlate_usable(single[i].verdict) ? single[i].count : 0;
	}
	if (pooled->segment_count == 0) {
		pooled_reason(total, single, segment_count);
		return true;
	}
	scan_set_lags(pooled);
	return scan_best(pooled, total);
}

/* ---- all series -------------------------------------------------------------------------------------- */

static bool in_family(const struct correlate_result *row, bool pooled)
{
	return (row->segment == NULL) == pooled;
}

static bool adjust_family(struct correlate_results *results, bool pooled)
{
	double *p = malloc((results->count ? results->count : 1) * sizeof *p);
	if (!p)
		return false;
	for (size_t i = 0; i < results->count; i++)
		p[i] = in_family(&results->rows[i], pooled) ? results->rows[i].p : NAN;
	bool done = stats_adjust_bh(p, results->count, p);
	for (size_t i = 0; done && i < results->count; i++) {
		struct correlate_result *row = &results->rows[i];
		if (!in_family(row, pooled) || !correlate_usable(row->verdict))
			continue;
		row->p_adjusted = p[i];
		if (p[i] < CORRELATE_LEVEL)
			row->verdict = row->spearman > 0 ? CORRELATE_WITH : CORRELATE_AGAINST;
	}
	free(p);
	return done;
}

/* A single segment has no pooling: its own row would repeat the pooled one. */
static void drop_single_rows(struct correlate_results *results)
{
	size_t kept = 0;
	for (size_t i = 0; i < results->count; i++)
		if (results->rows[i].segment == NULL)
			results->rows[kept++] = results->rows[i];
	results->count = kept;
}

static bool scan_alloc(struct scan *scan, const struct correlate_segment *segments, size_t segment_count)
{
	size_t longest = 0;
	for (size_t i = 0; i < segment_count; i++)
		if (segments[i].count > longest)
			longest = segments[i].count;
	*scan = (struct scan){0};
	scan->segments = malloc((segment_count + 1) * sizeof *scan->segments);
	scan->values = malloc((segment_count + 1) * sizeof *scan->values);
	return pairs_alloc(&scan->pairs, longest) && scan->segments && scan->values;
}

static void scan_free(struct scan *scan)
{
	free(scan->segments);
	free(scan->values);
	free(scan->pairs.x);
}

bool correlate(const struct correlate_segment *segments, size_t segment_count,
	       const struct correlate_series *series, size_t series_count, struct correlate_results *out)
{
	struct scan scan;
	size_t rows_a_series = segment_count + 1;
	*out = (struct correlate_results){calloc(series_count * rows_a_series + 1, sizeof *out->rows), 0};
	bool done = scan_alloc(&scan, segments, segment_count) && out->rows;
	for (size_t i = 0; done && i < series_count; i++) {
		done = series_rows(segments, segment_count, &series[i], i, &scan, &out->rows[out->count]);
		out->count += rows_a_series;
	}
	if (done && segment_count == 1)
		drop_single_rows(out);
	done = done && adjust_family(out, true) && adjust_family(out, false);
	scan_free(&scan);
	if (!done)
		correlate_results_free(out);
	return done;
}

void correlate_results_free(struct correlate_results *results)
{
	free(results->rows);
	*results = (struct correlate_results){NULL, 0};
}

const char *correlate_verdict_text(enum correlate_verdict verdict)
{
	switch (verdict) {
	case CORRELATE_WITH:
		return "moves with throughput";
	case CORRELATE_AGAINST:
		return "moves against throughput";
	case CORRELATE_NO_SUPPORT:
		return "no support in this data";
	case CORRELATE_TOO_FEW:
		return "unusable: fewer than 20 intervals";
	case CORRELATE_SERIES_CONSTANT:
		return "unusable: never changes";
	case CORRELATE_THROUGHPUT_CONSTANT:
		return "unusable: throughput never changes";
	case CORRELATE_NOT_MEASURED:
		return "unusable: not measured";
	}
	return "unknown";
}
