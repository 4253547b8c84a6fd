#include "analyzer/stats.h"

#include <math.h>
#include <stdlib.h>

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_fft_halfcomplex.h>
#include <gsl/gsl_fft_real.h>

double stats_mean(const double *x, size_t n)
{
	double sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += x[i];
	return n ? sum / (double)n : NAN;
}

double stats_geometric_mean(const double *x, size_t n)
{
	double sum = 0;
	for (size_t i = 0; i < n; i++) {
		if (!(x[i] > 0))
			return NAN;
		sum += log(x[i]);
	}
	return n ? exp(sum / (double)n) : NAN;
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

void stats_sort(double *x, size_t n)
{
	qsort(x, n, sizeof *x, compare_doubles);
}

double stats_quantile_sorted(const double *sorted, size_t n, double q)
{
	if (n == 0)
		return NAN;
	double position = q * (double)(n - 1);
	size_t below = (size_t)position;
	if (below + 1 >= n)
		return sorted[n - 1];
	return sorted[below] + (position - (double)below) * (sorted[below + 1] - sorted[below]);
}

double stats_quantile(const double *x, size_t n, double q)
{
	double *copy = malloc((n ? n : 1) * sizeof *copy);
	if (!copy)
		return NAN;
	for (size_t i = 0; i < n; i++)
		copy[i] = x[i];
	stats_sort(copy, n);
	double value = stats_quantile_sorted(copy, n, q);
	free(copy);
	return value;
}

double stats_median(const double *x, size_t n)
{
	return stats_quantile(x, n, 0.5);
}

/* ---- ranks ------------------------------------------------------------------------------------------- */

struct indexed {
	double value;
	size_t index;
};

static int compare_indexed(const void *a, const void *b)
{
	double x = ((const struct indexed *)a)->value, y = ((const struct indexed *)b)->value;
	return (x > y) - (x < y);
}

static size_t tie_end(const struct indexed *order, size_t n, size_t begin)
{
	size_t end = begin + 1;
	while (end < n && order[end].value == order[begin].value)
		end++;
	return end;
}

bool stats_rank(const double *x, size_t n, double *rank)
{
	struct indexed *order = malloc((n ? n : 1) * sizeof *order);
	if (!order)
		return false;
	for (size_t i = 0; i < n; i++)
		order[i] = (struct indexed){x[i], i};
	qsort(order, n, sizeof *order, compare_indexed);
	for (size_t begin = 0, end; begin < n; begin = end) {
		end = tie_end(order, n, begin);
		/* ranks begin+1 .. end, shared */
		for (size_t i = begin; i < end; i++)
			rank[order[i].index] = (double)(begin + 1 + end) / 2;
	}
	free(order);
	return true;
}

/* ---- correlation ------------------------------------------------------------------------------------- */

bool stats_is_constant(const double *x, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (x[i] != x[0])
			return false;
	return true;
}

double stats_pearson(const double *x, const double *y, size_t n)
{
	if (n < 2 || stats_is_constant(x, n) || stats_is_constant(y, n))
		return NAN;
	double mean_x = stats_mean(x, n), mean_y = stats_mean(y, n);
	double xx = 0, yy = 0, xy = 0;
	for (size_t i = 0; i < n; i++) {
		double dx = x[i] - mean_x, dy = y[i] - mean_y;
		xx += dx * dx;
		yy += dy * dy;
		xy += dx * dy;
	}
	double r = xy / (sqrt(xx) * sqrt(yy));
	return fmax(-1, fmin(1, r));
}

double stats_spearman(const double *x, const double *y, size_t n)
{
	double *ranks = malloc((n ? n : 1) * 2 * sizeof *ranks);
	double r = NAN;
	if (ranks && stats_rank(x, n, ranks) && stats_rank(y, n, ranks + n))
		r = stats_pearson(ranks, ranks + n, n);
	free(ranks);
	return r;
}

/*
 * Autocovariances of x at lags 0..lags: each sum of products over the number of its products. By the square
 * of the Fourier transform, since a day of one-second intervals at n/5 lags would take minutes term by term.
 * The zeroes behind x keep its end from meeting its beginning. False where memory is short.
 */
static bool autocovariances(const double *x, size_t n, size_t lags, double *covariance)
{
	size_t size = 2;
	while (size < n + lags + 1)
		size *= 2;
	double *work = calloc(size, sizeof *work);
	if (!work)
		return false;
	double mean = stats_mean(x, n);
	for (size_t i = 0; i < n; i++)
		work[i] = x[i] - mean;
	gsl_fft_real_radix2_transform(work, 1, size);
	/* Half-complex order: the imaginary part of work[i] is at work[size - i]; 0 and size / 2 have none.
	 */
	work[0] *= work[0];
	work[size / 2] *= work[size / 2];
	for (size_t i = 1; i < size / 2; i++) {
		work[i] = work[i] * work[i] + work[size - i] * work[size - i];
		work[size - i] = 0;
	}
	gsl_fft_halfcomplex_radix2_inverse(work, 1, size);
	for (size_t lag = 0; lag <= lags; lag++)
		covariance[lag] = work[lag] / (double)(n - lag);
	free(work);
	return true;
}

double stats_autocorrelation(const double *x, size_t n, size_t lag)
{
	if (lag >= n || stats_is_constant(x, n))
		return NAN;
	double *covariance = malloc((lag + 1) * sizeof *covariance);
	double r = NAN;
	if (covariance && autocovariances(x, n, lag, covariance))
		r = covariance[lag] / covariance[0];
	free(covariance);
	return r;
}

static double effective_n(const double *xx, const double *yy, size_t n)
{
	double count = (double)n, sum = 0;
	for (size_t lag = 1; lag <= n / 5; lag++)
		sum += (count - (double)lag) / count * (xx[lag] / xx[0]) * (yy[lag] / yy[0]);
	double inverse = 1 / count + 2 / count * sum;
	/* Noise can drive the sum below zero; that must not make more of the data than there is. */
	if (inverse <= 1 / count)
		return count;
	return fmax(3, 1 / inverse);
}

double stats_effective_n(const double *x, const double *y, size_t n)
{
	if (n < 3 || stats_is_constant(x, n) || stats_is_constant(y, n))
		return NAN;
	size_t lags = n / 5;
	double *covariance = malloc(2 * (lags + 1) * sizeof *covariance);
	double n_eff = NAN;
	if (covariance && autocovariances(x, n, lags, covariance) &&
	    autocovariances(y, n, lags, covariance + lags + 1))
		n_eff = effective_n(covariance, covariance + lags + 1, n);
	free(covariance);
	return n_eff;
}

double stats_correlation_p(double r, double n_eff)
{
	if (isnan(r) || !(n_eff > 2))
		return NAN;
	double freedom = n_eff - 2;
	if (fabs(r) >= 1)
		return 0;
	double t = fabs(r) * sqrt(freedom / (1 - r * r));
	return fmin(1, 2 * gsl_cdf_tdist_Q(t, freedom));
}

/* ---- many tests -------------------------------------------------------------------------------------- */

/* The tests that were made, in order of their p; the others get their NaN. NULL where memory is short. */
static struct indexed *order_tests(const double *p, size_t n, double *adjusted, size_t *tests)
{
	struct indexed *order = malloc((n ? n : 1) * sizeof *order);
	*tests = 0;
	for (size_t i = 0; order && i < n; i++) {
		if (isnan(p[i]))
			adjusted[i] = NAN;
		else
			order[(*tests)++] = (struct indexed){p[i], i};
	}
	if (order)
		qsort(order, *tests, sizeof *order, compare_indexed);
	return order;
}

bool stats_adjust_bh(const double *p, size_t n, double *adjusted)
{
	size_t tests;
	struct indexed *order = order_tests(p, n, adjusted, &tests);
	if (!order)
		return false;
	double least = 1;
	for (size_t rank = tests; rank > 0; rank--) {
		least = fmin(least, order[rank - 1].value * (double)tests / (double)rank);
		adjusted[order[rank - 1].index] = least;
	}
	free(order);
	return true;
}

bool stats_adjust_holm(const double *p, size_t n, double *adjusted)
{
	size_t tests;
	struct indexed *order = order_tests(p, n, adjusted, &tests);
	if (!order)
		return false;
	double most = 0;
	for (size_t i = 0; i < tests; i++) {
		most = fmax(most, fmin(1, order[i].value * (double)(tests - i)));
		adjusted[order[i].index] = most;
	}
	free(order);
	return true;
}
