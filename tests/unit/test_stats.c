/* Statistics against textbook values, values computed by hand, and simulation. */

#include <criterion/criterion.h>
#include <math.h>

#include "analyzer/stats.h"
#include "tests/unit/support_noise.h"

#define NEAR(got, wanted, tolerance)                                                                         \
	cr_assert_float_eq(got, wanted, tolerance, "%s: %.12g instead of %.12g", #got, (double)(got),        \
			   (double)(wanted))

/* ---- centre and quantiles ---------------------------------------------------------------------------- */

Test(stats, means)
{
	double x[] = {1, 2, 4};
	NEAR(stats_mean(x, 3), 7.0 / 3, 1e-15);
	NEAR(stats_geometric_mean(x, 3), 2, 1e-15);
	double with_zero[] = {1, 0};
	cr_assert(isnan(stats_geometric_mean(with_zero, 2)));
	cr_assert(isnan(stats_mean(x, 0)) && isnan(stats_geometric_mean(x, 0)));
}

Test(stats, quantiles_of_type_7)
{
	double x[] = {10, 1, 9, 2, 8, 3, 7, 4, 6, 5};
	NEAR(stats_quantile(x, 10, 0.25), 3.25, 1e-15);
	NEAR(stats_quantile(x, 10, 0), 1, 0);
	NEAR(stats_quantile(x, 10, 1), 10, 0);
	NEAR(stats_median(x, 10), 5.5, 0);
	NEAR(stats_median(x, 9), 6, 0);
	NEAR(x[0], 10, 0); /* the order of the caller stays */
	NEAR(stats_median(x, 1), 10, 0);
	cr_assert(isnan(stats_median(x, 0)));
}

/* ---- ranks and correlation --------------------------------------------------------------------------- */

Test(stats, ties_share_the_mean_of_their_ranks)
{
	double x[] = {20, 10, 30, 20, 30, 30}, rank[6];
	double wanted[] = {2.5, 1, 5, 2.5, 5, 5};
	cr_assert(stats_rank(x, 6, rank));
	for (size_t i = 0; i < 6; i++)
		NEAR(rank[i], wanted[i], 0);
}

Test(stats, pearson_of_anscombe)
{
	double x[] = {10, 8, 13, 9, 11, 14, 6, 4, 12, 7, 5};
	double y[] = {8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68};
	NEAR(stats_pearson(x, y, 11), 0.81642, 5e-6);
}

Test(stats, spearman_of_a_textbook)
{
	/* Intelligence quotient against hours of television: -29/165, p 0.627188 over 8 degrees of freedom.
	 */
	double x[] = {106, 100, 86, 101, 99, 103, 97, 113, 112, 110};
	double y[] = {7, 27, 2, 50, 28, 29, 20, 12, 6, 17};
	double r = stats_spearman(x, y, 10);
	NEAR(r, -29.0 / 165, 1e-14);
	NEAR(stats_correlation_p(r, 10), 0.627188, 1e-6);
}

Test(stats, spearman_with_ties)
{
	/* Ranks 1 2.5 2.5 4 against 1 3 2 4: 4.5 / sqrt(4.5 * 5). */
	double x[] = {1, 2, 2, 3}, y[] = {1, 3, 2, 4};
	NEAR(stats_spearman(x, y, 4), 4.5 / sqrt(22.5), 1e-14);
}

Test(stats, spearman_ignores_the_scale)
{
	double x[] = {1, 2, 3, 4, 5}, y[] = {1, 10, 100, 1000, 10000}, down[] = {5, 4, 3, 2, -1e9};
	NEAR(stats_spearman(x, y, 5), 1, 1e-15);
	NEAR(stats_spearman(x, down, 5), -1, 1e-15);
}

Test(stats, a_series_that_never_changes_has_no_correlation)
{
	double x[] = {3, 3, 3}, y[] = {1, 2, 3};
	cr_assert(stats_is_constant(x, 3) && !stats_is_constant(y, 3));
	cr_assert(isnan(stats_pearson(x, y, 3)) && isnan(stats_spearman(y, x, 3)));
	cr_assert(isnan(stats_effective_n(x, y, 3)) && isnan(stats_autocorrelation(x, 3, 1)));
}

/* ---- significance ------------------------------------------------------------------------------------ */

Test(stats, p_in_closed_form)
{
	/* With 2 degrees of freedom p is 1 - |r|, with one it is 1 - 2/pi * asin |r|. */
	for (double r = -0.95; r < 1; r += 0.1) {
		NEAR(stats_correlation_p(r, 4), 1 - fabs(r), 1e-12);
		NEAR(stats_correlation_p(r, 3), 1 - 2 / M_PI * asin(fabs(r)), 1e-12);
	}
	NEAR(stats_correlation_p(0, 50), 1, 1e-12);
	NEAR(stats_correlation_p(1, 50), 0, 0);
	cr_assert(isnan(stats_correlation_p(0.5, 2)) && isnan(stats_correlation_p(NAN, 9)));
}

Test(stats, p_at_the_tabled_critical_values)
{
	/* Pearson's r at the two-sided 5% and 1% level, from any table of critical values. */
	NEAR(stats_correlation_p(0.444, 20), 0.05, 1e-3);
	NEAR(stats_correlation_p(0.561, 20), 0.01, 2e-4);
	NEAR(stats_correlation_p(0.197, 100), 0.05, 1e-3);
}

Test(stats, benjamini_hochberg)
{
	double p[] = {0.01, 0.04, 0.03, 0.005}, wanted[] = {0.02, 0.04, 0.04, 0.02}, adjusted[4];
	cr_assert(stats_adjust_bh(p, 4, adjusted));
	for (size_t i = 0; i < 4; i++)
		NEAR(adjusted[i], wanted[i], 1e-15);
}

Test(stats, tests_not_made_do_not_count)
{
	double p[] = {NAN, 0.04, NAN, 0.02, 0.9};
	cr_assert(stats_adjust_bh(p, 5, p));
	cr_assert(isnan(p[0]) && isnan(p[2]));
	NEAR(p[1], 0.06, 1e-15);
	NEAR(p[3], 0.06, 1e-15);
	NEAR(p[4], 0.9, 1e-15);
}

/* ---- autocorrelation --------------------------------------------------------------------------------- */

static double autocorrelation_by_definition(const double *x, size_t n, size_t lag)
{
	double mean = stats_mean(x, n), variance = 0, covariance = 0;
	for (size_t i = 0; i < n; i++)
		variance += (x[i] - mean) * (x[i] - mean) / (double)n;
	for (size_t i = 0; i + lag < n; i++)
		covariance += (x[i] - mean) * (x[i + lag] - mean) / (double)(n - lag);
	return covariance / variance;
}

Test(stats, autocorrelation)
{
	double alternating[] = {1, -1, 1, -1, 1, -1, 1, -1}, x[61];
	uint64_t seed = 4;
	NEAR(stats_autocorrelation(alternating, 8, 1), -1, 1e-12);
	NEAR(stats_autocorrelation(alternating, 8, 2), 1, 1e-12);
	noise_ar1(&seed, 0.7, x, 61);
	for (size_t lag = 0; lag < 61; lag += 6)
		NEAR(stats_autocorrelation(x, 61, lag), autocorrelation_by_definition(x, 61, lag), 1e-10);
	cr_assert(isnan(stats_autocorrelation(x, 61, 61)));
}

static double mean_effective_n(double phi, size_t n, unsigned simulations)
{
	double x[500], y[500], sum = 0;
	uint64_t seed = 11;
	for (unsigned i = 0; i < simulations; i++) {
		noise_ar1(&seed, phi, x, n);
		noise_ar1(&seed, phi, y, n);
		sum += stats_effective_n(x, y, n);
	}
	return sum / simulations;
}

Test(stats, effective_n_of_autoregressive_series)
{
	/* In theory n * (1 - phi^2) / (1 + phi^2). */
	NEAR(mean_effective_n(0, 500, 100), 500, 25);
	NEAR(mean_effective_n(0.5, 500, 100), 500 * 0.75 / 1.25, 40);
	NEAR(mean_effective_n(0.8, 500, 100), 500 * 0.36 / 1.64, 25);
}

Test(stats, effective_n_never_exceeds_n)
{
	double x[40], y[40];
	for (size_t i = 0; i < 40; i++) {
		x[i] = (double)(i % 2);
		y[i] = (double)((i + 1) / 2 % 2);
	}
	cr_assert_leq(stats_effective_n(x, y, 40), 40);
	for (size_t i = 0; i < 40; i++)
		x[i] = y[i] = (double)i;
	double trend = stats_effective_n(x, y, 40);
	cr_assert(trend >= 3 && trend < 10, "two trends are worth %g pairs", trend);
}

static double false_positives(double phi, size_t n, unsigned simulations)
{
	double x[500], y[500];
	uint64_t seed = 99;
	unsigned hits = 0;
	for (unsigned i = 0; i < simulations; i++) {
		noise_ar1(&seed, phi, x, n);
		noise_ar1(&seed, phi, y, n);
		hits += stats_correlation_p(stats_pearson(x, y, n), stats_effective_n(x, y, n)) < 0.05;
	}
	return hits / (double)simulations;
}

Test(stats, independent_series_are_called_connected_in_a_twentieth_of_cases)
{
	/* 1000 simulations: a standard error of 0.007. Counting all pairs as independent gives 0.50 at phi
	 * 0.9. */
	cr_assert_leq(false_positives(0, 60, 1000), 0.075);
	cr_assert_leq(false_positives(0.9, 60, 1000), 0.075);
	cr_assert_leq(false_positives(0.8, 200, 1000), 0.075);
	/* nor is the test so careful that it never speaks */
	cr_assert_geq(false_positives(0.9, 60, 1000), 0.025);
}
