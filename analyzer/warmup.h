/*
 * Where the warm-up of a run ends, by a change point in its series of rates.
 *
 * The series is split where two means explain most of its variance, which is E-divisive's first step for a
 * single shift of the mean (Matteson and James, "A nonparametric approach for multiple change point analysis
 * of multivariate data", J. American Statistical Association 109, 2014). Whether the split is more than
 * chance is asked of permutations of the same values: a warm-up of few intervals shows where no two means of
 * mixed intervals are that far apart. A found piece is cut, and the rest is asked again (a ramp has several),
 * until half of the series would be gone: a run that changes later than that has no warm-up but a trend.
 */
#ifndef MTRACE_WARMUP_H
#define MTRACE_WARMUP_H

#include <stddef.h>

#define WARMUP_INTERVALS_MIN 10 /* shorter series have no change point that could be told from chance */

/*
 * How many of the first of n rates are warm-up; 0 where none is to be seen. The same series always gives the
 * same answer: the permutations start from a fixed seed. 0 also where memory is short.
 */
size_t warmup_length(const double *rates, size_t n);

#endif
