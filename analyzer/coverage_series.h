/* Huge page coverage as series of the model's rows. */
#ifndef MTRACE_COVERAGE_SERIES_H
#define MTRACE_COVERAGE_SERIES_H

#include "analyzer/coverage.h"
#include "analyzer/series.h"

/*
 * The figures of the last snapshot into a row's values, indexed by enum series_id. Where that snapshot was no
 * moment of the coverage they stay as they are there (NaN), and so does a share of nothing.
 */
void coverage_series(const struct coverage *coverage, double *values);

#endif
