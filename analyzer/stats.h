/*
 * Statistics over plain arrays of doubles.
 *
 * Nothing here prints or keeps memory. NaN is the answer to a question that the data cannot answer (too few
 * values, a series that never changes). Inputs hold no NaN unless a function says that it skips them.
 */
#ifndef MTRACE_STATS_H
#define MTRACE_STATS_H

#include <stdbool.h>
#include <stddef.h>

/* Arithmetic mean; NaN for n == 0. */
double stats_mean(const double *x, size_t n);

/* Mean of the logarithms, raised again. NaN for n == 0 or any value that is not positive. */
double stats_geometric_mean(const double *x, size_t n);

/*
 * Quantile q in 0..1 of values in ascending order, interpolated between order statistics (type 7 of Hyndman
 * and Fan, "Sample Quantiles in Statistical Packages", The American Statistician 50(4), 1996; R's default).
 * NaN for n == 0.
 */
double stats_quantile_sorted(const double *sorted, size_t n, double q);

/* The same over values in any order; sorts a copy. NaN also where memory is short. */
double stats_quantile(const double *x, size_t n, double q);
double stats_median(const double *x, size_t n);

/* Sorts in place, ascending. */
void stats_sort(double *x, size_t n);

/* Ranks 1..n into rank[]; equal values share the mean of their ranks. False where memory is short. */
bool stats_rank(const double *x, size_t n, double *rank);

/* True where all values are the same (also for n < 2). */
bool stats_is_constant(const double *x, size_t n);

/* Pearson's product-moment correlation in -1..1; NaN for n < 2 or where x or y never changes. */
double stats_pearson(const double *x, const double *y, size_t n);

/* Spearman's rank correlation: Pearson over the ranks, which is right with ties too. NaN as above. */
double stats_spearman(const double *x, const double *y, size_t n);

/*
 * Autocorrelation of x at `lag` (0 gives 1). Modified estimator: the sum over the n - lag products divided by
 * n - lag, over the variance divided by n, about the mean of all values. NaN where lag >= n or x never
 * changes.
 */
double stats_autocorrelation(const double *x, size_t n, size_t lag);

/*
 * How many independent pairs the n pairs (x, y) are worth once both series follow their own past:
 *
 *     1/n_eff = 1/n + 2/n * sum over j = 1..n/5 of (n - j)/n * r_xx(j) * r_yy(j)
 *
 * Bartlett, "Some aspects of the time-correlation problem in regard to tests of significance", J. Royal Stat.
 * Soc. 98 (1935); with the truncation at n/5 and the estimator above, Pyper and Peterman, "Comparison of
 * methods to account for autocorrelation in correlation analyses of fish data", Can. J. Fish. Aquat. Sci. 55
 * (1998). The result is kept within 3..n: series that alternate never count for more than they are. NaN for
 * n < 3, where a series never changes, or where memory is short.
 */
double stats_effective_n(const double *x, const double *y, size_t n);

/*
 * Two-sided p-value of a correlation r over n_eff independent pairs: Student's t with n_eff - 2 degrees of
 * freedom (which need not be whole), t = r * sqrt((n_eff - 2) / (1 - r^2)). NaN where r is NaN or n_eff <= 2.
 */
double stats_correlation_p(double r, double n_eff);

/*
 * Benjamini and Hochberg's adjusted p-values ("Controlling the False Discovery Rate", J. Royal Stat. Soc. B
 * 57(1), 1995): adjusted[i] below a level means that the share of false discoveries among all such i is below
 * that level. NaN in p stands for a test not made: it is not counted and stays NaN. p and adjusted may be the
 * same array. False where memory is short.
 */
bool stats_adjust_bh(const double *p, size_t n, double *adjusted);

/*
 * Holm's adjusted p-values ("A Simple Sequentially Rejective Multiple Test Procedure", Scandinavian J. of
 * Statistics 6, 1979): the probability that any adjusted[i] is below a level, while there is nothing to be
 * found there, is at most that level. NaN, sharing the array and the return value as above.
 */
bool stats_adjust_holm(const double *p, size_t n, double *adjusted);

#endif
