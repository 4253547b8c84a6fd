/* Committed bytes by owner as series of the model's rows. */
#ifndef MTRACE_REGIONS_SERIES_H
#define MTRACE_REGIONS_SERIES_H

#include "analyzer/regions.h"
#include "analyzer/series.h"

/*
 * The levels as they are now into a row's values, indexed by enum series_id. A kind of owner that never had a
 * region stays as it is there (NaN): it is not 0 but absent.
 */
void regions_series(const struct regions *regions, double *values);

#endif
