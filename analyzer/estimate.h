/*
 * Sums estimated from samples, their 95% intervals, and the largest value that such a sum had over time.
 *
 * A block of s bytes is sampled with probability p(s) = 1 - exp(-max(s, 1) / T). A sample stands for 1/p
 * blocks and s/p bytes; the variance of a sum of s/p is estimated by the sum of s^2 (1 - p) / p^2 over the
 * samples (Horvitz and Thompson, JASA 47, 1952, for independent draws).
 *
 * Interval of a sum of variance v, of which `floor` was seen and u = value - floor was not; both are taken
 * as gamma distributed:
 *   low  = v / (2 value) * chi2(0.025, 2 value^2 / v), at least floor
 *   high = floor + V / (2 U) * chi2(0.975, 2 U^2 / V),  U = u + w, V = v + w^2
 * with w the weight that one sample more would have: at most T bytes. For k samples of blocks far below T
 * that is T/2 * chi2(0.025, 2 k) .. T/2 * chi2(0.975, 2 k + 2), the exact limits of a Poisson mean (Garwood,
 * Biometrika 28, 1936); for unequal weights it is the form of Fay and Feuer (Statistics in Medicine 16,
 * 1997). Blocks far above T are sampled almost surely and add their own size. No sample at all: 0 .. 3.69 T.
 * From 1000 samples' worth on: value +- 1.96 standard deviations.
 *
 * A peak is the largest of many estimates, and so too large: the maximum also finds the largest error.
 * Estimates of blocks that lived at different times err independently: the error's autocorrelation falls
 * from 1 with slope 1/(mean lifetime), so that while the blocks were replaced N times over, it exceeds z
 * standard deviations with probability Q(z) + N z phi(z) (Leadbetter, Lindgren and Rootzen, Extremes, 1983,
 * chapter 12; Q and phi are those of the normal distribution). N counts only times whose estimate came within
 * PEAK_NEAR deviations of the largest. Of the largest estimate M with deviation sigma then
 *   low    the low end of M's interval at Q(z), where the probability above is 0.025
 *   high   the high end of M's interval: M is at least the estimate at the true peak
 *   value  M - z sigma, where the probability is 0.5, but not less than what is live at the end
 */
#ifndef MTRACE_ESTIMATE_H
#define MTRACE_ESTIMATE_H

#include <stdbool.h>
#include <stdint.h>

/* An estimated sum. In full mode variance is 0 and value an integer. */
struct estimate {
	double value;
	double variance;
	double floor;  /* what was seen: the value cannot be lower */
	double weight; /* w above where nothing was seen, and its upper bound; 0: full mode */
};

double estimate_low(const struct estimate *estimate); /* of the 95% interval */
double estimate_high(const struct estimate *estimate);

#define PEAK_NEAR 4.0

/* The largest value of an estimate over time. Zero-initialize; peak_raise() after each growth. */
struct peak {
	double value;	    /* final after peak_finish(): until then the largest estimate */
	struct estimate at; /* the largest estimate */
	double reference;   /* the largest estimate when `replaced` was last 0 */
	double replaced;    /* variance of the samples that came while the estimate was near: N v */
};

/* `live` has grown by a sample of variance `added`. True where it is a new maximum. */
static inline bool peak_raise(struct peak *peak, const struct estimate *live, double added);
void peak_finish(struct peak *peak, const struct estimate *live);
double peak_low(const struct peak *peak);
double peak_high(const struct peak *peak);

/* p(s) above; 1 where sample_bytes is 0. */
double sample_probability(uint64_t size_bytes, uint64_t sample_bytes);

/*
 * Adds to a sum what a sampled block of `size_bytes` contributes to it: `part_bytes`, which may be less than
 * its size (the part that lies somewhere), or something else that goes with it. In full mode (sample_bytes is
 * 0) `part_bytes` themselves. `sum` starts as {.weight = sample_bytes}.
 */
void estimate_add_part(struct estimate *sum, uint64_t size_bytes, double part_bytes, uint64_t sample_bytes);

void estimate_add(struct estimate *sum, const struct estimate *part); /* of other blocks */

/* A figure with its 95% interval. */
struct interval {
	double value, low, high;
};

/* What is left of an exactly known `whole` without `part` of it; none below 0. */
struct interval estimate_remainder(double whole, const struct estimate *part);

/* The estimate where it is known to be no more than `most`. */
struct interval estimate_within(const struct estimate *estimate, double most);

void peak_follow(struct peak *peak, const struct estimate *live, double added); /* for peak_raise() */

static inline bool peak_raise(struct peak *peak, const struct estimate *live, double added)
{
	bool higher = live->value > peak->at.value;
	if (higher) {
		peak->at = *live;
		peak->value = live->value;
	}
	if (live->weight > 0)
		peak_follow(peak, live, added);
	return higher;
}

#endif
