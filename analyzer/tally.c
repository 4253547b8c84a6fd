#include "analyzer/tally.h"

#include <gsl/gsl_cdf.h>
#include <math.h>

#define DEVIATIONS 1.959963984540054 /* of the normal distribution, 2.5% beyond on each side */
#define TAIL	   0.025
#define WILSON_FROM                                                                                          \
	1000.0 /* samples; from here on the two differ by less than a hundredth of their width               \
		*/
#define BISECTIONS 32

/* Sums of one figure of samples: of all, and of those that have the property. */
struct sums {
	double part, whole, part_squared, whole_squared;
};

/* Both ways to see how much the weights cost, and the worse one: Kish's does not see where heavy samples
 * differ from light ones, the variance of the ratio sees only the samples that came. */
static double effective_samples(const struct sums *sums)
{
	const double value = sums->part / sums->whole, whole2 = sums->whole * sums->whole;
	const double kish = whole2 / sums->whole_squared;
	const double variance =
		((1 - 2 * value) * sums->part_squared + value * value * sums->whole_squared) / whole2;
	const double of_ratio = value * (1 - value) / variance;
	return fmax(of_ratio < kish && value > 0 && value < 1 ? of_ratio : kish, 1);
}

/* Where the beta distribution's function reaches `probability`. */
static double beta_quantile(double probability, double a, double b)
{
	double low = 0, high = 1;
	for (int i = 0; i < BISECTIONS; i++) {
		double middle = (low + high) / 2;
		*(gsl_cdf_beta_P(middle, a, b) < probability ? &low : &high) = middle;
	}
	return (low + high) / 2;
}

static struct share clopper_pearson(double value, double n)
{
	const double k = value * n;
	return (struct share){
		.value = value,
		.low = k > 0 ? beta_quantile(TAIL, k, n - k + 1) : 0,
		.high = k < n ? beta_quantile(1 - TAIL, k + 1, n - k) : 1,
	};
}

static struct share wilson(double value, double n)
{
	const double z2 = DEVIATIONS * DEVIATIONS;
	const double center = (value + z2 / (2 * n)) / (1 + z2 / n);
	const double half = DEVIATIONS / (1 + z2 / n) * sqrt(value * (1 - value) / n + z2 / (4 * n * n));
	return (struct share){value, fmin(fmax(center - half, 0), value),
			      fmax(fmin(center + half, 1), value)};
}

static struct share share_of(const struct sums *sums, bool exact)
{
	if (!(sums->whole > 0))
		return (struct share){NAN, 0, 1};
	const double value = fmin(sums->part / sums->whole, 1);
	if (exact)
		return (struct share){value, value, value};
	const double n = effective_samples(sums);
	return n < WILSON_FROM ? clopper_pearson(value, n) : wilson(value, n);
}

struct share tally_share_blocks(const struct tally *part, const struct tally *whole, bool exact)
{
	return share_of(
		&(struct sums){part->blocks, whole->blocks, part->blocks_squared, whole->blocks_squared},
		exact);
}

struct share tally_share_bytes(const struct tally *part, const struct tally *whole, bool exact)
{
	return share_of(&(struct sums){part->bytes, whole->bytes, part->bytes_squared, whole->bytes_squared},
			exact);
}

struct estimate tally_blocks(const struct tally *tally, bool exact)
{
	double samples = (double)tally->samples;
	return (struct estimate){
		.value = tally->blocks,
		.variance = exact ? 0 : fmax(tally->blocks_squared - tally->blocks, 0),
		.floor = samples,
		.weight = exact || !tally->samples ? 0 : tally->blocks / samples,
	};
}
