#include "analyzer/ratio.h"

#include <math.h>
#include <stdlib.h>

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_integration.h>

#include "analyzer/stats.h"

#define EFFECT_MAX	 10.0 /* of ratio_detectable() */
#define NODES_ONE	 64
#define NODES_TWO	 12
#define OUTCOMES_MAX	 (NODES_TWO * NODES_TWO)
#define WELCH_EXACT_RUNS 24 /* of both arms; with more, the degrees of freedom hardly vary */

/* ---- Student's t ------------------------------------------------------------------------------------- */

double ratio_t_p(double t, double freedom)
{
	if (isnan(t) || !(freedom > 0))
		return NAN;
	return fmin(1, 2 * gsl_cdf_tdist_Q(fabs(t), freedom));
}

double ratio_t_critical(double alpha, double freedom)
{
	return freedom > 0 ? gsl_cdf_tdist_Qinv(alpha / 2, freedom) : NAN;
}

static double variance(const double *x, size_t n)
{
	double mean = stats_mean(x, n), sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += (x[i] - mean) * (x[i] - mean);
	return n > 1 ? sum / (double)(n - 1) : NAN;
}

/* Values that were printed alike have no noise; what rounding leaves of their logarithms is none either. */
static bool is_noise(double variance_of_logs)
{
	return variance_of_logs > 1e-24;
}

static struct ratio without_interval(double log_ratio, size_t base_n, size_t arm_n)
{
	return (struct ratio){
		.ratio = exp(log_ratio),
		.low = NAN,
		.high = NAN,
		.p = NAN,
		.log_se = NAN,
		.freedom = NAN,
		.base_n = base_n,
		.arm_n = arm_n,
	};
}

static struct ratio with_interval(struct ratio ratio, enum ratio_method method, double log_se, double freedom)
{
	double center = log(ratio.ratio), half = ratio_t_critical(RATIO_LEVEL, freedom) * log_se;
	ratio.method = method;
	ratio.low = exp(center - half);
	ratio.high = exp(center + half);
	ratio.p = ratio_t_p(center / log_se, freedom);
	ratio.log_se = log_se;
	ratio.freedom = freedom;
	return ratio;
}

struct ratio ratio_paired(const double *log_ratio, size_t n)
{
	struct ratio ratio = without_interval(stats_mean(log_ratio, n), n, n);
	double spread = variance(log_ratio, n);
	if (n < 2 || !is_noise(spread))
		return ratio;
	return with_interval(ratio, RATIO_PAIRED, sqrt(spread / (double)n), (double)(n - 1));
}

/* Mean and variance of the logarithms; both NaN where a value is not positive. */
static void log_moments(const double *x, size_t n, double *mean, double *spread)
{
	double sum = 0, squares = 0;
	for (size_t i = 0; i < n; i++)
		sum += x[i] > 0 ? log(x[i]) : NAN;
	*mean = n ? sum / (double)n : NAN;
	for (size_t i = 0; i < n; i++)
		squares += x[i] > 0 ? (log(x[i]) - *mean) * (log(x[i]) - *mean) : NAN;
	*spread = n > 1 ? squares / (double)(n - 1) : NAN;
}

struct ratio ratio_welch(const double *base, size_t base_n, const double *arm, size_t arm_n)
{
	double base_mean, base_spread, arm_mean, arm_spread;
	log_moments(base, base_n, &base_mean, &base_spread);
	log_moments(arm, arm_n, &arm_mean, &arm_spread);
	struct ratio ratio = without_interval(arm_mean - base_mean, base_n, arm_n);
	double b = base_spread / (double)base_n, a = arm_spread / (double)arm_n;
	if (base_n < 2 || arm_n < 2 || isnan(b + a) || !is_noise(b + a))
		return ratio;
	double freedom = (b + a) * (b + a) / (b * b / (double)(base_n - 1) + a * a / (double)(arm_n - 1));
	return with_interval(ratio, RATIO_WELCH, sqrt(b + a), freedom);
}

struct ratio ratio_mean(const struct ratio *ratios, size_t n)
{
	double sum = 0, variances = 0, squares = 0;
	size_t base_n = 0, arm_n = 0;
	for (size_t i = 0; i < n; i++) {
		double square = ratios[i].log_se * ratios[i].log_se;
		sum += log(ratios[i].ratio);
		variances += square;
		squares += square * square / ratios[i].freedom;
		base_n += ratios[i].base_n;
		arm_n += ratios[i].arm_n;
	}
	struct ratio mean = without_interval(n ? sum / (double)n : NAN, base_n, arm_n);
	if (n == 0 || isnan(variances) || isnan(squares))
		return mean;
	return with_interval(mean, ratios[0].method, sqrt(variances) / (double)n,
			     variances * variances / squares);
}

/* ---- noise ------------------------------------------------------------------------------------------- */

static struct noise no_noise(void)
{
	return (struct noise){RATIO_NONE, NAN, NAN, NAN, NAN};
}

struct noise noise_paired(const double *log_ratio, size_t n)
{
	struct noise noise = no_noise();
	double spread = variance(log_ratio, n);
	if (n < 2 || !is_noise(spread))
		return noise;
	noise.method = RATIO_PAIRED;
	noise.difference = sqrt(spread);
	noise.freedom = (double)(n - 1);
	return noise;
}

struct noise noise_welch(const double *base, size_t base_n, const double *arm, size_t arm_n)
{
	struct noise noise = no_noise();
	double mean, base_spread, arm_spread;
	log_moments(base, base_n, &mean, &base_spread);
	log_moments(arm, arm_n, &mean, &arm_spread);
	if (base_n < 2 || arm_n < 2 || isnan(base_spread + arm_spread) || !is_noise(base_spread + arm_spread))
		return noise;
	noise.method = RATIO_WELCH;
	noise.base = sqrt(base_spread);
	noise.arm = sqrt(arm_spread);
	noise.freedom = (double)(base_n + arm_n - 2);
	return noise;
}

struct noise noise_pool(const struct noise *noises, size_t n)
{
	struct noise pool = {RATIO_NONE, 0, 0, 0, 0};
	for (size_t i = 0; i < n; i++) {
		if (noises[i].method == RATIO_NONE || (pool.method && noises[i].method != pool.method))
			continue;
		double weight = noises[i].freedom;
		pool.method = noises[i].method;
		pool.difference += weight * noises[i].difference * noises[i].difference;
		pool.base += weight * noises[i].base * noises[i].base;
		pool.arm += weight * noises[i].arm * noises[i].arm;
		pool.freedom += weight;
	}
	if (pool.method == RATIO_NONE)
		return no_noise();
	pool.difference = sqrt(pool.difference / pool.freedom);
	pool.base = sqrt(pool.base / pool.freedom);
	pool.arm = sqrt(pool.arm / pool.freedom);
	return pool;
}

struct noise noise_median(const struct noise *noise)
{
	struct noise median = *noise;
	if (noise->method == RATIO_NONE)
		return median;
	double factor = sqrt(gsl_cdf_chisq_Pinv(0.5, noise->freedom) / noise->freedom);
	median.difference /= factor;
	median.base /= factor;
	median.arm /= factor;
	return median;
}

/* ---- power ------------------------------------------------------------------------------------------- */

/*
 * How the estimated noise may fall out: nodes of a quadrature over its distribution. At each, the test finds
 * a difference where the estimate exceeds `reach` true standard errors. For a known test these are the
 * noncentral t; Welch's has degrees of freedom that are estimated, too, so that both variances are gone
 * through.
 */
struct outcomes {
	double se; /* true standard error of ln(ratio); NaN: no test can be made */
	size_t count;
	double weight[OUTCOMES_MAX];
	double reach[OUTCOMES_MAX];
};

/* Nodes of s = chi / sqrt(freedom), around 1; its standard deviation is about 1 / sqrt(2 freedom). */
static void one_variance(struct outcomes *out, double freedom, double alpha)
{
	double critical = ratio_t_critical(alpha, freedom), spread = 10 / sqrt(2 * freedom);
	double factor = freedom / 2 * log(freedom) - (freedom / 2 - 1) * M_LN2 - lgamma(freedom / 2);
	gsl_integration_glfixed_table *table = gsl_integration_glfixed_table_alloc(NODES_ONE);
	for (size_t i = 0; table && i < NODES_ONE; i++) {
		double s, weight;
		gsl_integration_glfixed_point(fmax(0, 1 - spread), 1 + spread, i, &s, &weight, table);
		out->weight[out->count] = weight * exp(factor + (freedom - 1) * log(s) - freedom * s * s / 2);
		out->reach[out->count++] = critical * s;
	}
	if (table)
		gsl_integration_glfixed_table_free(table);
}

/* Nodes of both estimated variances, evenly in their probability; `share` of the true variance is the base's.
 */
static void two_variances(struct outcomes *out, double share, double base_freedom, double arm_freedom,
			  double alpha)
{
	gsl_integration_glfixed_table *table = gsl_integration_glfixed_table_alloc(NODES_TWO);
	for (size_t i = 0; table && i < NODES_TWO; i++) {
		double u, base_weight;
		gsl_integration_glfixed_point(0, 1, i, &u, &base_weight, table);
		double b = share * gsl_cdf_chisq_Pinv(u, base_freedom) / base_freedom;
		for (size_t j = 0; j < NODES_TWO; j++) {
			double v, arm_weight;
			gsl_integration_glfixed_point(0, 1, j, &v, &arm_weight, table);
			double a = (1 - share) * gsl_cdf_chisq_Pinv(v, arm_freedom) / arm_freedom;
			double freedom = (b + a) * (b + a) / (b * b / base_freedom + a * a / arm_freedom);
			out->weight[out->count] = base_weight * arm_weight;
			out->reach[out->count++] = ratio_t_critical(alpha, freedom) * sqrt(b + a);
		}
	}
	if (table)
		gsl_integration_glfixed_table_free(table);
}

static struct outcomes outcomes_of(const struct noise *noise, size_t base_n, size_t arm_n, double alpha)
{
	struct outcomes out = {.se = NAN};
	if (noise->method == RATIO_PAIRED && base_n > 1) {
		out.se = noise->difference / sqrt((double)base_n);
		one_variance(&out, (double)(base_n - 1), alpha);
	} else if (noise->method == RATIO_WELCH && base_n > 1 && arm_n > 1) {
		double b = noise->base * noise->base / (double)base_n;
		double a = noise->arm * noise->arm / (double)arm_n;
		double x = (double)(base_n - 1), y = (double)(arm_n - 1);
		out.se = sqrt(b + a);
		if (base_n + arm_n <= WELCH_EXACT_RUNS)
			two_variances(&out, b / (b + a), x, y, alpha);
		else
			one_variance(&out, (b + a) * (b + a) / (b * b / x + a * a / y), alpha);
	}
	return out;
}

static double power_of(const struct outcomes *outcomes, double log_effect)
{
	double delta = log_effect / outcomes->se, power = 0;
	if (isnan(delta) || outcomes->count == 0)
		return NAN;
	for (size_t i = 0; i < outcomes->count; i++)
		power += outcomes->weight[i] * (gsl_cdf_ugaussian_P(delta - outcomes->reach[i]) +
						gsl_cdf_ugaussian_P(-delta - outcomes->reach[i]));
	return fmin(1, power);
}

double ratio_t_power(double noncentrality, double freedom, double alpha)
{
	struct outcomes outcomes = {.se = 1};
	if (!(freedom > 0))
		return NAN;
	one_variance(&outcomes, freedom, alpha);
	return power_of(&outcomes, noncentrality);
}

double ratio_power(const struct noise *noise, size_t base_n, size_t arm_n, double log_effect, double alpha)
{
	struct outcomes outcomes = outcomes_of(noise, base_n, arm_n, alpha);
	return power_of(&outcomes, log_effect);
}

double ratio_detectable(const struct noise *noise, size_t base_n, size_t arm_n, double alpha)
{
	struct outcomes outcomes = outcomes_of(noise, base_n, arm_n, alpha);
	double low = 0, high = log1p(EFFECT_MAX);
	if (!(power_of(&outcomes, high) >= RATIO_POWER))
		return NAN;
	for (int i = 0; i < 40; i++) {
		double middle = (low + high) / 2;
		if (power_of(&outcomes, middle) >= RATIO_POWER)
			high = middle;
		else
			low = middle;
	}
	return expm1(high);
}

size_t ratio_runs_needed(const struct noise *noise, double effect, double alpha)
{
	size_t low = 1, high = 2;
	double log_effect = log1p(effect);
	if (noise->method == RATIO_NONE)
		return 0;
	while (high < RATIO_RUNS_MAX && ratio_power(noise, high, high, log_effect, alpha) < RATIO_POWER) {
		low = high;
		high = high * 2 < RATIO_RUNS_MAX ? high * 2 : RATIO_RUNS_MAX;
	}
	if (!(ratio_power(noise, high, high, log_effect, alpha) >= RATIO_POWER))
		return 0;
	while (high - low > 1) {
		size_t middle = (low + high) / 2;
		if (ratio_power(noise, middle, middle, log_effect, alpha) >= RATIO_POWER)
			high = middle;
		else
			low = middle;
	}
	return high;
}

const char *ratio_method_name(enum ratio_method method)
{
	switch (method) {
	case RATIO_PAIRED:
		return "paired";
	case RATIO_WELCH:
		return "welch";
	case RATIO_NONE:
		break;
	}
	return NULL;
}
