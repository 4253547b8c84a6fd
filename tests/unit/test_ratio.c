/* Ratios and their power, against values that R's documentation prints, closed forms, and each other. */
#include <criterion/criterion.h>
#include <math.h>

#include "analyzer/ratio.h"
#include "analyzer/stats.h"

#define NEAR(got, wanted, tolerance)                                                                         \
	cr_assert_float_eq(got, wanted, tolerance, "%s: %.12g instead of %.12g", #got, (double)(got),        \
			   (double)(wanted))

/* The sleep data of "Student" (Biometrika 6, 1908), R's data set `sleep`: hours gained with two drugs. */
static const double drug1[] = {0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0};
static const double drug2[] = {1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4};

#define PATIENTS 10

/* ---- intervals and p --------------------------------------------------------------------------------- */

/* t.test(drug1, drug2, paired = TRUE): t = -4.0621, df = 9, p = 0.002833, interval -2.4598858 -0.7001142. */
Test(ratio, paired_is_students_t_on_logarithms)
{
	double differences[PATIENTS];
	for (size_t i = 0; i < PATIENTS; i++)
		differences[i] = drug1[i] - drug2[i];
	struct ratio ratio = ratio_paired(differences, PATIENTS);
	cr_assert_eq(ratio.method, RATIO_PAIRED);
	NEAR(log(ratio.ratio), -1.58, 1e-12);
	NEAR(log(ratio.ratio) / ratio.log_se, -4.0621, 5e-5);
	NEAR(ratio.p, 0.002833, 5e-7);
	NEAR(log(ratio.low), -2.4598858, 5e-8);
	NEAR(log(ratio.high), -0.7001142, 5e-8);
	NEAR(ratio.freedom, 9, 0);
}

/* t.test(drug1, drug2): t = -1.8608, df = 17.776, p = 0.07939, interval -3.3654832 0.2054832. */
Test(ratio, without_blocks_it_is_welchs)
{
	double base[PATIENTS], arm[PATIENTS];
	for (size_t i = 0; i < PATIENTS; i++) {
		base[i] = exp(drug2[i]);
		arm[i] = exp(drug1[i]);
	}
	struct ratio ratio = ratio_welch(base, PATIENTS, arm, PATIENTS);
	cr_assert_eq(ratio.method, RATIO_WELCH);
	NEAR(log(ratio.ratio) / ratio.log_se, -1.8608, 5e-5);
	NEAR(ratio.freedom, 17.776, 5e-4);
	NEAR(ratio.p, 0.07939, 5e-6);
	NEAR(log(ratio.low), -3.3654832, 5e-8);
	NEAR(log(ratio.high), 0.2054832, 5e-8);
}

Test(ratio, exchanging_the_arms_gives_the_inverse)
{
	double a[] = {100, 104, 97}, b[] = {120, 118, 131, 125};
	struct ratio there = ratio_welch(a, 3, b, 4), back = ratio_welch(b, 4, a, 3);
	NEAR(there.ratio * back.ratio, 1, 1e-12);
	NEAR(there.low * back.high, 1, 1e-12);
	NEAR(there.p, back.p, 1e-15);
}

Test(ratio, one_run_gives_no_interval)
{
	double a[] = {6662.1275371047195}, b[] = {6871.605426919102}, two[] = {1, 2};
	struct ratio ratio = ratio_welch(a, 1, b, 1);
	cr_assert_eq(ratio.method, RATIO_NONE);
	NEAR(ratio.ratio, 1.031443, 5e-7);
	cr_assert(isnan(ratio.low) && isnan(ratio.high) && isnan(ratio.p));
	cr_assert(isnan(ratio_welch(a, 1, two, 2).p));
	cr_assert(isnan(ratio_paired(two, 1).p));
	cr_assert(isnan(ratio_paired(NULL, 0).ratio));
}

/* Latencies in whole milliseconds can be the same in every run: no noise is not certainty. */
Test(ratio, values_without_noise_give_no_interval)
{
	double a[] = {3000, 3000, 3000}, b[] = {4000, 4000, 4000}, zero[] = {0, 1, 2};
	double same[] = {log(4000.0 / 3000), log(4000.0 / 3000), log(4000.0 / 3000)};
	cr_assert_eq(ratio_welch(a, 3, b, 3).method, RATIO_NONE);
	cr_assert_eq(ratio_paired(same, 3).method, RATIO_NONE);
	NEAR(ratio_paired(same, 3).ratio, 4.0 / 3, 1e-12);
	cr_assert(isnan(ratio_welch(zero, 3, b, 3).ratio));
}

Test(ratio, mean_of_equal_ratios_is_as_certain_as_their_number_makes_it)
{
	double differences[] = {0.01, 0.03, 0.02, 0.04};
	struct ratio one = ratio_paired(differences, 4), four[] = {one, one, one, one};
	struct ratio mean = ratio_mean(four, 4);
	NEAR(mean.ratio, one.ratio, 1e-12);
	NEAR(mean.log_se, one.log_se / 2, 1e-12);
	NEAR(mean.freedom, 12, 1e-9); /* equal variances: the degrees of freedom add up */
	cr_assert(isnan(ratio_mean(NULL, 0).ratio));
	four[2] = ratio_paired(differences, 1);
	cr_assert_eq(ratio_mean(four, 4).method, RATIO_NONE);
}

/* ---- power ------------------------------------------------------------------------------------------- */

/* R: power.t.test(n = 20, delta = 1, sd = 1) gives power = 0.8689528. */
Test(ratio, power_of_r)
{
	NEAR(ratio_t_power(1 / sqrt(2.0 / 20), 38, 0.05), 0.8689528, 1e-6);
}

/* R: power.t.test(power = .90, delta = 1) gives n = 22.02110. */
Test(ratio, runs_needed_of_r)
{
	struct noise noise = {RATIO_WELCH, NAN, 1, 1, 40};
	double effect = expm1(1.0);
	cr_assert_lt(ratio_power(&noise, 22, 22, log1p(effect), 0.05), 0.9);
	cr_assert_gt(ratio_power(&noise, 23, 23, log1p(effect), 0.05), 0.9);
}

Test(ratio, without_an_effect_the_power_is_the_level)
{
	NEAR(ratio_t_power(0, 2, 0.05), 0.05, 1e-6);
	NEAR(ratio_t_power(0, 57.3, 0.01), 0.01, 1e-6);
	struct noise paired = {RATIO_PAIRED, 0.03, NAN, NAN, 5};
	NEAR(ratio_power(&paired, 6, 6, 0, 0.05), 0.05, 1e-6);
}

Test(ratio, detectable_and_runs_needed_agree)
{
	struct noise paired = {RATIO_PAIRED, 0.02, NAN, NAN, 20}, welch = {RATIO_WELCH, NAN, 0.02, 0.02, 20};
	const struct noise *noises[] = {&paired, &welch};
	for (size_t i = 0; i < 2; i++) {
		for (size_t n = 3; n < 40; n += 6) {
			double effect = ratio_detectable(noises[i], n, n, 0.01);
			NEAR(ratio_power(noises[i], n, n, log1p(effect), 0.01), RATIO_POWER, 1e-6);
			cr_assert_eq(ratio_runs_needed(noises[i], effect * 1.0001, 0.01), n);
		}
	}
}

Test(ratio, what_is_not_known_is_not_stated)
{
	struct noise none = noise_paired(NULL, 0);
	cr_assert_eq(none.method, RATIO_NONE);
	cr_assert(isnan(ratio_detectable(&none, 3, 3, 0.05)));
	cr_assert_eq(ratio_runs_needed(&none, 0.01, 0.05), 0);
	struct noise huge = {RATIO_PAIRED, 40, NAN, NAN, 5};
	cr_assert_eq(ratio_runs_needed(&huge, 0.01, 0.05), 0, "more than RATIO_RUNS_MAX");
	cr_assert(isnan(ratio_detectable(&huge, 3, 3, 0.05)));
}

Test(ratio, pooled_noise_weighs_by_degrees_of_freedom)
{
	struct noise noises[] = {{RATIO_PAIRED, 0.01, NAN, NAN, 2},
				 {RATIO_NONE, NAN, NAN, NAN, NAN},
				 {RATIO_PAIRED, 0.03, NAN, NAN, 6}};
	struct noise pool = noise_pool(noises, 3);
	NEAR(pool.difference, sqrt((2 * 0.0001 + 6 * 0.0009) / 8), 1e-12);
	NEAR(pool.freedom, 8, 0);
	cr_assert_eq(noise_pool(&noises[1], 1).method, RATIO_NONE);
}

/* The median of chi-squared with 2 degrees of freedom is 2 ln 2. */
Test(ratio, median_of_the_noise)
{
	struct noise noise = {RATIO_PAIRED, 0.01, NAN, NAN, 2}, none = noise_paired(NULL, 0);
	NEAR(noise_median(&noise).difference, 0.01 / sqrt(log(2)), 1e-12);
	cr_assert_eq(noise_median(&none).method, RATIO_NONE);
}

/* ---- many tests -------------------------------------------------------------------------------------- */

/* By the definition: (m - i + 1) p, and never below its predecessor. R: p.adjust(p, "holm"). */
Test(ratio, holm)
{
	double p[] = {0.04, 0.01, NAN, 0.03, 0.005}, adjusted[5];
	cr_assert(stats_adjust_holm(p, 5, adjusted));
	NEAR(adjusted[4], 0.02, 1e-15);
	NEAR(adjusted[1], 0.03, 1e-15);
	NEAR(adjusted[3], 0.06, 1e-15);
	NEAR(adjusted[0], 0.06, 1e-15);
	cr_assert(isnan(adjusted[2]));
	double high[] = {0.6, 0.9};
	cr_assert(stats_adjust_holm(high, 2, high));
	NEAR(high[0], 1, 0);
	NEAR(high[1], 1, 0);
}
