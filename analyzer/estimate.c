#include "analyzer/estimate.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_randist.h>
#include <math.h>

#define TAIL	       0.025 /* on each side of a 95% interval */
#define NORMAL_FROM    1000.0
#define BISECTIONS     60
#define DEVIATIONS_MAX 38.0 /* beyond it the normal distribution's tail is 0 in a double */

double sample_probability(uint64_t size_bytes, uint64_t sample_bytes)
{
	if (!sample_bytes)
		return 1;
	double bytes = size_bytes ? (double)size_bytes : 1;
	return -expm1(-bytes / (double)sample_bytes);
}

/* ---- sums ---------------------------------------------------------------------------------------------- */

/* Wilson and Hilferty, PNAS 17, 1931: good to a few percent, and for any tail. */
static double chisq_approximately(double probability, double freedom)
{
	double spread = 2 / (9 * freedom);
	double root = 1 - spread + gsl_cdf_ugaussian_Pinv(probability) * sqrt(spread);
	return root > 0 ? freedom * root * root * root : 0;
}

/* GSL's iteration does not converge in the farthest tails, and would end the program. */
static double chisq_quantile(double probability, double freedom)
{
	gsl_error_handler_t *handler = gsl_set_error_handler_off();
	double quantile = gsl_cdf_chisq_Pinv(probability, freedom);
	gsl_set_error_handler(handler);
	return isfinite(quantile) && quantile >= 0 ? quantile : chisq_approximately(probability, freedom);
}

static double gamma_quantile(double mean, double variance, double probability)
{
	return variance / (2 * mean) * chisq_quantile(probability, 2 * mean * mean / variance);
}

static double low_at(const struct estimate *estimate, double tail)
{
	double value = estimate->value, variance = estimate->variance, low = 0;
	if (!(value > 0) || !(variance > 0))
		return estimate->floor;
	if (value * value / variance < NORMAL_FROM)
		low = gamma_quantile(value, variance, tail);
	else
		low = value - gsl_cdf_ugaussian_Qinv(tail) * sqrt(variance);
	return fmax(low, estimate->floor);
}

double estimate_low(const struct estimate *estimate)
{
	return low_at(estimate, TAIL);
}

double estimate_high(const struct estimate *estimate)
{
	double mean = fmax(estimate->value - estimate->floor, 0), variance = fmax(estimate->variance, 0);
	double weight = estimate->weight;
	if (!(weight > 0))
		return estimate->value;
	if (mean * mean >= NORMAL_FROM * variance && variance > 0 && mean >= NORMAL_FROM * weight)
		return estimate->value + gsl_cdf_ugaussian_Qinv(TAIL) * sqrt(variance);
	if (mean > 0 && variance > 0 && variance / mean < weight)
		weight = variance / mean;
	mean += weight;
	double high = gamma_quantile(mean, variance + weight * weight, 1 - TAIL);
	return estimate->floor + fmax(high, mean);
}

void estimate_add_part(struct estimate *sum, uint64_t size_bytes, double part_bytes, uint64_t sample_bytes)
{
	double p = sample_probability(size_bytes, sample_bytes);
	sum->value += part_bytes / p;
	sum->variance += part_bytes * part_bytes * (1 - p) / (p * p);
	sum->floor += part_bytes;
	/* One sample more, of a block like this one. */
	sum->weight =
		fmax(sum->weight, (double)sample_bytes * part_bytes / (size_bytes ? (double)size_bytes : 1));
}

void estimate_add(struct estimate *sum, const struct estimate *part)
{
	sum->value += part->value;
	sum->variance += part->variance;
	sum->floor += part->floor;
	sum->weight = fmax(sum->weight, part->weight);
}

struct interval estimate_remainder(double whole, const struct estimate *part)
{
	return (struct interval){
		.value = fmax(whole - part->value, 0),
		.low = fmax(whole - estimate_high(part), 0),
		.high = fmax(whole - estimate_low(part), 0),
	};
}

struct interval estimate_within(const struct estimate *estimate, double most)
{
	return (struct interval){
		.value = fmin(estimate->value, most),
		.low = fmin(estimate_low(estimate), most),
		.high = fmin(estimate_high(estimate), most),
	};
}

/* ---- peaks --------------------------------------------------------------------------------------------- */

void peak_follow(struct peak *peak, const struct estimate *live, double added)
{
	double near = PEAK_NEAR * sqrt(fmax(peak->at.variance, 0));
	if (peak->at.value > peak->reference + near) {
		peak->reference = peak->at.value;
		peak->replaced = 0;
	} else if (live->value >= peak->at.value - near) {
		peak->replaced += added;
	}
}

static double exceeds(double deviations, double times)
{
	return gsl_cdf_ugaussian_Q(deviations) + times * deviations * gsl_ran_ugaussian_pdf(deviations);
}

/* The deviations that the largest error exceeds with this probability; it falls only from one deviation on.
 */
static double deviations_at(double probability, double times)
{
	double low = exceeds(1, times) >= probability ? 1 : 0, high = low > 0 ? DEVIATIONS_MAX : 1;
	for (unsigned i = 0; i < BISECTIONS; i++) {
		double middle = (low + high) / 2;
		if (exceeds(middle, times) >= probability)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static double times_replaced(const struct peak *peak)
{
	return peak->at.variance > 0 ? peak->replaced / peak->at.variance : 0;
}

void peak_finish(struct peak *peak, const struct estimate *live)
{
	if (!(peak->at.weight > 0) || !(peak->at.variance > 0))
		return;
	double value = peak->at.value - deviations_at(0.5, times_replaced(peak)) * sqrt(peak->at.variance);
	peak->value = fmin(fmax(fmax(value, peak_low(peak)), live->value), peak->at.value);
}

double peak_low(const struct peak *peak)
{
	return low_at(&peak->at, gsl_cdf_ugaussian_Q(deviations_at(TAIL, times_replaced(peak))));
}

double peak_high(const struct peak *peak)
{
	return estimate_high(&peak->at);
}
