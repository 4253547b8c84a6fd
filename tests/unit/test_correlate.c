/* Correlation within segments: levels, lags, what is unusable, and the price of looking many times. */

#include <criterion/criterion.h>
#include <math.h>

#include "analyzer/correlate.h"
#include "analyzer/stats.h"
#include "tests/unit/support_noise.h"

#define NEAR(got, wanted, tolerance)                                                                         \
	cr_assert_float_eq(got, wanted, tolerance, "%s: %.12g instead of %.12g", #got, (double)(got),        \
			   (double)(wanted))

#define POINTS_MAX 200

static struct correlate_results results;

static void free_results(void)
{
	correlate_results_free(&results);
}

TestSuite(correlate, .fini = free_results);

/* One series against throughput in one segment of one-second intervals. */
static const struct correlate_result *single(const double *series, const double *throughput, size_t n,
					     double interval_s)
{
	struct correlate_segment segment = {"run", interval_s, n, throughput};
	const double *rows[] = {series};
	struct correlate_series named = {"rss_bytes", rows};
	correlate_results_free(&results);
	cr_assert(correlate(&segment, 1, &named, 1, &results));
	cr_assert_eq(results.count, 1, "a single segment gives one row");
	cr_assert_str_eq(results.rows[0].series, "rss_bytes");
	cr_assert_null(results.rows[0].segment);
	return &results.rows[0];
}

/* ---- what moves together ----------------------------------------------------------------------------- */

Test(correlate, a_series_that_follows_throughput_at_once)
{
	double x[80], y[80];
	uint64_t seed = 1;
	for (size_t i = 0; i < 80; i++) {
		y[i] = 1000 + noise_normal(&seed);
		x[i] = -y[i] + 0.5 * noise_normal(&seed);
	}
	NEAR(single(x, y, 24, 1)->lag_max_s, 6, 1e-12); /* a quarter */
	const struct correlate_result *row = single(x, y, 80, 1);
	cr_assert_eq(row->verdict, CORRELATE_AGAINST);
	NEAR(row->lag_s, 0, 0);
	NEAR(row->spearman, stats_spearman(x, y, 80), 1e-9);
	NEAR(row->pearson, stats_pearson(x, y, 80), 1e-9);
	NEAR(row->spearman_lag0, row->spearman, 0);
	cr_assert(row->p < 1e-6 && row->p_adjusted == row->p);
	cr_assert_eq(row->count, 80);
	cr_assert_eq(row->lags_tried, 21);
	cr_assert(row->n_effective > 60 && row->n_effective <= 80);
}

static void check_lag(long lag, double interval_s)
{
	double noise[POINTS_MAX], x[100], y[100];
	uint64_t seed = 3;
	for (size_t i = 0; i < POINTS_MAX; i++)
		noise[i] = noise_normal(&seed);
	for (size_t i = 0; i < 100; i++) {
		y[i] = noise[i + 50];
		x[i] = noise[(size_t)((long)i + 50 + lag)] + 0.3 * noise_normal(&seed);
	}
	const struct correlate_result *row = single(x, y, 100, interval_s);
	cr_assert_eq(row->verdict, CORRELATE_WITH);
	NEAR(row->lag_s, (double)lag * interval_s, 1e-12);
	cr_assert_gt(row->spearman, 0.85);
	cr_assert_lt(fabs(row->spearman_lag0), 0.4);
}

Test(correlate, the_lag_is_found_with_its_sign)
{
	check_lag(3, 1);   /* x[t] is y[t + 3]: the series leads */
	check_lag(-7, 1);  /* and follows */
	check_lag(10, 1);  /* the farthest tried */
	check_lag(2, 2.5); /* in seconds, not in points */
}

Test(correlate, a_lag_beyond_ten_seconds_is_not_tried)
{
	double noise[POINTS_MAX], x[150], y[150];
	uint64_t seed = 5;
	for (size_t i = 0; i < POINTS_MAX; i++)
		noise[i] = noise_normal(&seed);
	for (size_t i = 0; i < 150; i++) {
		y[i] = noise[i];
		x[i] = noise[i + 11];
	}
	cr_assert_eq(single(x, y, 150, 1)->verdict, CORRELATE_NO_SUPPORT);
	cr_assert_eq(single(x, y, 150, 30)->lags_tried, 1, "intervals longer than 10 s leave lag 0");
	cr_assert_eq(single(x, y, 20, 1)->lags_tried, 11, "a quarter of the points at most");
}

/* ---- segments ---------------------------------------------------------------------------------------- */

static void correlate_two(const struct correlate_segment segments[2], const double *first,
			  const double *second)
{
	const double *rows[] = {first, second};
	struct correlate_series named = {"live_bytes", rows};
	cr_assert(correlate(segments, 2, &named, 1, &results));
	cr_assert_eq(results.count, 3);
}

Test(correlate, levels_are_never_mixed)
{
	/* Within each thread level memory works against throughput; the higher level has more of both. */
	double x[120], y[120];
	uint64_t seed = 7;
	for (size_t i = 0; i < 120; i++) {
		double level = i < 60 ? 0 : 10, noise = noise_normal(&seed);
		y[i] = 100 + level + noise;
		x[i] = 50 + level - noise + 0.4 * noise_normal(&seed);
	}
	cr_assert_gt(stats_spearman(x, y, 120), 0.3, "mixed, they would seem to rise together");
	struct correlate_segment segments[] = {{"8 threads", 1, 60, y}, {"16 threads", 1, 60, y + 60}};
	correlate_two(segments, x, x + 60);
	for (size_t i = 0; i < 3; i++)
		cr_assert_eq(results.rows[i].verdict, CORRELATE_AGAINST);
	cr_assert_lt(results.rows[0].spearman, -0.8);
	cr_assert_eq(results.rows[0].segments, 2);
	cr_assert_eq(results.rows[0].count, 120);
	cr_assert_str_eq(results.rows[2].segment, "16 threads");
	cr_assert_eq(results.rows[2].segment_index, 1);
}

Test(correlate, pooling_weighs_fishers_z)
{
	double x[2][70], y[2][70];
	uint64_t seed = 13;
	for (size_t i = 0; i < 140; i++) {
		y[i / 70][i % 70] = noise_normal(&seed);
		x[i / 70][i % 70] = y[i / 70][i % 70] * (i < 70 ? 2 : 0.5) + noise_normal(&seed);
	}
	/* Intervals of 20 s leave one lag, so each row is at lag 0. */
	struct correlate_segment segments[] = {{"a", 20, 70, y[0]}, {"b", 20, 40, y[1]}};
	correlate_two(segments, x[0], x[1]);
	const struct correlate_result *pooled = &results.rows[0], *a = &results.rows[1],
				      *b = &results.rows[2];
	double weight_a = a->n_effective - 3, weight_b = b->n_effective - 3;
	double z = (weight_a * atanh(a->spearman) + weight_b * atanh(b->spearman)) / (weight_a + weight_b);
	NEAR(pooled->spearman, tanh(z), 1e-12);
	NEAR(pooled->n_effective, 3 + weight_a + weight_b, 1e-9);
	NEAR(pooled->p, stats_correlation_p(pooled->spearman, pooled->n_effective), 1e-12);
	cr_assert_lt(pooled->p, fmin(a->p, b->p));
}

Test(correlate, segments_of_different_intervals_share_a_lag_in_seconds)
{
	double noise[2][POINTS_MAX], x[2][120], y[2][120];
	uint64_t seed = 17;
	for (size_t i = 0; i < 2 * POINTS_MAX; i++)
		noise[i / POINTS_MAX][i % POINTS_MAX] = noise_normal(&seed);
	for (size_t i = 0; i < 120; i++) {
		y[0][i] = noise[0][i];
		x[0][i] = noise[0][i + 4]; /* 4 points of 1 s */
		y[1][i] = noise[1][i];
		x[1][i] = noise[1][i + 2]; /* 2 points of 2 s */
	}
	struct correlate_segment segments[] = {{"a", 1, 120, y[0]}, {"b", 2, 120, y[1]}};
	correlate_two(segments, x[0], x[1]);
	NEAR(results.rows[0].lag_s, 4, 1e-12);
	cr_assert_gt(results.rows[0].spearman, 0.99);
	cr_assert_eq(results.rows[0].lags_tried, 11, "steps of the coarser one");
}

Test(correlate, an_unusable_segment_leaves_the_others)
{
	double x[80], y[80];
	uint64_t seed = 19;
	for (size_t i = 0; i < 80; i++) {
		y[i] = noise_normal(&seed);
		x[i] = y[i] + 0.2 * noise_normal(&seed);
	}
	struct correlate_segment segments[] = {{"short", 1, 19, y}, {"long", 1, 61, y + 19}};
	correlate_two(segments, x, x + 19);
	cr_assert_eq(results.rows[1].verdict, CORRELATE_TOO_FEW);
	cr_assert_eq(results.rows[0].segments, 1);
	cr_assert_eq(results.rows[0].count, 61, "only what was used");
	NEAR(results.rows[0].lag_max_s, 10, 1e-12);
	NEAR(results.rows[0].p, results.rows[2].p, 1e-12);
	NEAR(results.rows[0].spearman, results.rows[2].spearman, 1e-12);
}

/* ---- what is unusable -------------------------------------------------------------------------------- */

static void check_unusable(const double *series, const double *throughput, size_t n,
			   enum correlate_verdict verdict, const char *text)
{
	const struct correlate_result *row = single(series, throughput, n, 1);
	cr_assert_eq(row->verdict, verdict, "%s", correlate_verdict_text(row->verdict));
	cr_assert_str_eq(correlate_verdict_text(row->verdict), text);
	cr_assert_not(correlate_usable(row->verdict));
	cr_assert(isnan(row->spearman) && isnan(row->pearson) && isnan(row->lag_s) &&
		  isnan(row->n_effective) && isnan(row->p) && isnan(row->p_adjusted) &&
		  isnan(row->spearman_lag0) && isnan(row->pearson_lag0));
}

Test(correlate, unusable_series_get_no_numbers)
{
	double x[30], y[30], same[30], unknown[30];
	for (size_t i = 0; i < 30; i++) {
		x[i] = (double)(i * 7 % 30);
		y[i] = (double)(i * 11 % 30);
		same[i] = 4096;
		unknown[i] = NAN;
	}
	check_unusable(same, y, 30, CORRELATE_SERIES_CONSTANT, "unusable: never changes");
	check_unusable(x, same, 30, CORRELATE_THROUGHPUT_CONSTANT, "unusable: throughput never changes");
	check_unusable(x, y, 19, CORRELATE_TOO_FEW, "unusable: fewer than 20 intervals");
	check_unusable(unknown, y, 30, CORRELATE_NOT_MEASURED, "unusable: not measured");
	check_unusable(NULL, y, 30, CORRELATE_NOT_MEASURED, "unusable: not measured");
	cr_assert(correlate_usable(single(x, y, 20, 1)->verdict), "20 are enough");
}

Test(correlate, unknown_values_are_left_out_in_pairs)
{
	double x[40], y[40];
	uint64_t seed = 23;
	for (size_t i = 0; i < 40; i++) {
		y[i] = noise_normal(&seed);
		x[i] = y[i];
	}
	x[3] = NAN;
	y[3] = y[17] = NAN;
	const struct correlate_result *row = single(x, y, 40, 1);
	cr_assert_eq(row->count, 38);
	NEAR(row->spearman, 1, 1e-12);
}

Test(correlate, no_segment_and_no_series)
{
	struct correlate_series named = {"rss_bytes", NULL};
	cr_assert(correlate(NULL, 0, &named, 1, &results));
	cr_assert_eq(results.count, 1);
	cr_assert_eq(results.rows[0].verdict, CORRELATE_NOT_MEASURED);
	correlate_results_free(&results);
	cr_assert(correlate(NULL, 0, NULL, 0, &results));
	cr_assert_eq(results.count, 0);
}

/* ---- many tests -------------------------------------------------------------------------------------- */

#define SERIES 6

/* Share of simulations in which any of SERIES independent series seems to move with throughput. */
static double family_wise(double phi, size_t n, size_t segment_count, unsigned simulations)
{
	static double y[3][POINTS_MAX], x[SERIES][3][POINTS_MAX];
	uint64_t seed = 31;
	unsigned hits = 0;
	for (unsigned i = 0; i < simulations; i++) {
		struct correlate_segment segments[3];
		struct correlate_series series[SERIES];
		const double *rows[SERIES][3];
		for (size_t k = 0; k < segment_count; k++) {
			noise_ar1(&seed, phi, y[k], n);
			segments[k] = (struct correlate_segment){"level", 1, n, y[k]};
			for (size_t s = 0; s < SERIES; s++) {
				noise_ar1(&seed, phi, x[s][k], n);
				rows[s][k] = x[s][k];
			}
		}
		for (size_t s = 0; s < SERIES; s++)
			series[s] = (struct correlate_series){"noise", rows[s]};
		cr_assert(correlate(segments, segment_count, series, SERIES, &results));
		bool hit = false;
		for (size_t r = 0; r < results.count; r++)
			hit = hit ||
			      (!results.rows[r].segment && results.rows[r].verdict != CORRELATE_NO_SUPPORT);
		hits += hit;
		correlate_results_free(&results);
	}
	return hits / (double)simulations;
}

Test(correlate, looking_at_many_lags_and_series_is_paid_for)
{
	/*
	 * 200 simulations a cell have a standard error of 0.015. The best of 21 lags taken at its own p gives
	 * 0.9 and more here, and so does counting autocorrelated pairs as independent.
	 */
	cr_assert_leq(family_wise(0, 80, 1, 200), 0.095);
	cr_assert_leq(family_wise(0.9, 80, 1, 200), 0.095);
	cr_assert_leq(family_wise(0.8, 40, 3, 100), 0.115);
}

Test(correlate, p_is_adjusted_over_the_series_that_were_tested)
{
	double x[4][60], y[60];
	uint64_t seed = 37;
	for (size_t i = 0; i < 60; i++) {
		y[i] = noise_normal(&seed);
		x[0][i] = y[i] + 2 * noise_normal(&seed);
		x[1][i] = noise_normal(&seed);
		x[2][i] = 5;
		x[3][i] = y[i] + 3 * noise_normal(&seed);
	}
	struct correlate_segment segment = {"run", 20, 60, y};
	const double *rows[4][1] = {{x[0]}, {x[1]}, {x[2]}, {x[3]}};
	struct correlate_series series[] = {
		{"a", rows[0]}, {"b", rows[1]}, {"constant", rows[2]}, {"c", rows[3]}};
	cr_assert(correlate(&segment, 1, series, 4, &results));
	double p[] = {results.rows[0].p, results.rows[1].p, results.rows[3].p}, adjusted[3];
	cr_assert(stats_adjust_bh(p, 3, adjusted));
	NEAR(results.rows[0].p_adjusted, adjusted[0], 1e-15);
	NEAR(results.rows[1].p_adjusted, adjusted[1], 1e-15);
	NEAR(results.rows[3].p_adjusted, adjusted[2], 1e-15);
	cr_assert(isnan(results.rows[2].p_adjusted));
}

Test(correlate, the_choice_of_a_lag_costs_twice_the_other_lags)
{
	double noise[POINTS_MAX], x[100], y[100];
	uint64_t seed = 41;
	for (size_t i = 0; i < POINTS_MAX; i++)
		noise[i] = noise_normal(&seed);
	for (size_t i = 0; i < 100; i++) {
		y[i] = noise[i];
		x[i] = noise[i + 5] + 2 * noise_normal(&seed);
	}
	const struct correlate_result *row = single(x, y, 100, 1);
	NEAR(row->lag_s, 5, 0);
	/* 20 other lags share half of the error */
	NEAR(row->p, 40 * stats_correlation_p(row->spearman, row->n_effective), 1e-12);
}
