/*
 * Simulating a part of a long trace: one window of WINDOW_CALLS allocator calls in every N, spread evenly.
 *
 * SHARDS (Waldspurger et al., FAST 2015) simulates a sample of the addresses with a cache scaled down by the
 * same rate. Batches of 2 to 32 objects and a budget shared among classes do not scale down, so that the
 * sample here is one of time. The caches stay as they are between windows; the first quarter of each window
 * brings them up to date and is not counted.
 *
 * A figure of the whole trace is its ratio to calls over all counted windows, times all calls. The 95%
 * interval is that of a ratio estimator from n windows out of N (Cochran, Sampling Techniques, 1977, section
 * 6.4), with Student's t for n - 1.
 */
#ifndef MTRACE_WINDOWS_H
#define MTRACE_WINDOWS_H

#include <stdbool.h>
#include <stdint.h>

#include "analyzer/cachemodel.h"

#define WINDOW_CALLS (UINT64_C(1) << 18)
#define WINDOW_WARM  (WINDOW_CALLS / 4)

/* Of one design in one lane. */
struct window_lane {
	struct cachemodel_result before; /* at the start of counting in this window */
	struct cachemodel_result sum;	 /* over the counted windows */
	double misses_squared, misses_calls;
};

/* Zero-initialize, then set `every`. */
struct windows {
	uint64_t every; /* 0, 1: everything is simulated and nothing else here is used */
	uint64_t calls; /* of the trace so far */
	uint64_t count; /* windows counted */
	uint64_t calls_before[CACHE_DESIGNS];
	double calls_sum[CACHE_DESIGNS], calls_squared[CACHE_DESIGNS];
	struct window_lane lanes[CACHE_DESIGNS][CACHEMODEL_LANES_MAX];
};

/* Counts a call of the allocator. Returns whether it is to be simulated. */
bool windows_step(struct windows *windows, struct cachemodel *const *models);

struct window_ratio {
	double value, low, high; /* NaN, 0, 1 without a counted window; without an interval from one */
};
/* Misses by calls. */
struct window_ratio windows_miss_ratio(const struct windows *windows, enum cache_design design,
				       unsigned lane);

/* The counts of all windows, scaled to `calls` calls. */
struct cachemodel_result windows_scaled(const struct windows *windows, enum cache_design design,
					unsigned lane, double calls);

#endif
