/*
 * Ratios of two arms over repeated runs: how large, how certain, and what a campaign of this size can show at
 * all.
 *
 * The unit is a run. Values are compared on the logarithmic scale, on which run-to-run noise is a factor and
 * the interval of a ratio is symmetric. Everything below is Student's t on logarithms:
 *
 *   paired   one difference a block, ln(arm) - ln(base); n - 1 degrees of freedom. What a block has in common
 *            (temperature, neighbours, the time of the day) cancels.
 *   Welch    no blocks: variances of both arms apart, Satterthwaite's degrees of freedom (B. L. Welch, "The
 *            generalization of 'Student's' problem when several different population variances are
 *            involved", Biometrika 34, 1947).
 *
 * "Noise" is a standard deviation of logarithms: 0.03 are about 3% from run to run. NaN is the answer to a
 * question that the data cannot answer.
 */
#ifndef MTRACE_RATIO_H
#define MTRACE_RATIO_H

#include <stdbool.h>
#include <stddef.h>

#define RATIO_LEVEL 0.05 /* intervals are of 95% */
#define RATIO_POWER 0.8	 /* chance that "can be shown" stands for */

enum ratio_method {
	RATIO_NONE,   /* no interval: one run an arm, or no noise at all in what was printed */
	RATIO_PAIRED, /* within blocks */
	RATIO_WELCH,
};

struct ratio {
	enum ratio_method method;
	double ratio; /* arm / base: of geometric means */
	double low;   /* 95% interval */
	double high;
	double p;	/* two-sided, against a ratio of 1 */
	double log_se;	/* standard error of ln(ratio) */
	double freedom; /* of Student's t */
	size_t base_n;	/* runs; of a paired ratio the number of blocks */
	size_t arm_n;
};

/*
 * From n differences ln(arm) - ln(base), one a block. n < 2, or differences that are all the same (values
 * printed too coarsely to show noise), give the ratio without interval and p.
 */
struct ratio ratio_paired(const double *log_ratio, size_t n);

/*
 * From the values of both arms, all of them > 0; otherwise the ratio itself is NaN. Fewer than two values on
 * a side, or no noise on either, give the ratio without interval and p.
 */
struct ratio ratio_welch(const double *base, size_t base_n, const double *arm, size_t arm_n);

/*
 * The mean of independent ratios on the logarithmic scale, with the degrees of freedom of their variances
 * (F. E. Satterthwaite, "An approximate distribution of estimates of variance components", Biometrics
 * Bulletin 2(6), 1946). One without an interval leaves the mean without one.
 */
struct ratio ratio_mean(const struct ratio *ratios, size_t n);

/* Two-sided p of a t with `freedom` degrees of freedom, and the quantile of which |t| is above with
 * probability `alpha`. */
double ratio_t_p(double t, double freedom);
double ratio_t_critical(double alpha, double freedom);

/* ---- what can be shown ------------------------------------------------------------------------------- */

/* Noise of one run, as far as the data tell it. */
struct noise {
	enum ratio_method method;
	double difference; /* paired: of the difference within a block */
	double base, arm;  /* Welch */
	double freedom;	   /* how well it is known */
};

/* Noise of the paired differences, or of the values of both arms; method RATIO_NONE where it is not known. */
struct noise noise_paired(const double *log_ratio, size_t n);
struct noise noise_welch(const double *base, size_t base_n, const double *arm, size_t arm_n);

/* The same noise seen several times, put together: variances weighted by their degrees of freedom. Only
 * those of the first one's method count. */
struct noise noise_pool(const struct noise *noises, size_t n);

/*
 * The same with its median in the place of the estimate: half of all estimates are below the true noise times
 * this correction, half above. The plain estimate is too small more often than not, the more so the fewer its
 * degrees of freedom, and makes the power stated from it too high (by up to 17 points with 2 degrees of
 * freedom, by up to 6 with 9; with the correction by up to 10 and 3).
 */
struct noise noise_median(const struct noise *noise);

/*
 * Probability that a two-sided t test at level `alpha` finds a true ratio of exp(log_effect) with base_n and
 * arm_n runs (paired: base_n blocks), given the noise: from the noncentral t distribution; for Welch's test
 * of few runs also over how its degrees of freedom may fall out.
 */
double ratio_power(const struct noise *noise, size_t base_n, size_t arm_n, double log_effect, double alpha);

/*
 * The smallest true difference that is found with RATIO_POWER, as a fraction of the base: 0.06 stands for 6%
 * more. NaN where the noise is not known or more than 1000% would be needed.
 */
double ratio_detectable(const struct noise *noise, size_t base_n, size_t arm_n, double alpha);

#define RATIO_RUNS_MAX 10000u

/* Runs an arm (paired: blocks) with which a true difference of `effect` (0.02: 2%) is found with RATIO_POWER;
 * 0 where the noise is not known, or more than RATIO_RUNS_MAX are needed. */
size_t ratio_runs_needed(const struct noise *noise, double effect, double alpha);

/* Student's noncentral t: probability that |T| exceeds the critical value of level alpha. */
double ratio_t_power(double noncentrality, double freedom, double alpha);

const char *ratio_method_name(enum ratio_method method); /* "paired", "welch"; NULL for none */

#endif
