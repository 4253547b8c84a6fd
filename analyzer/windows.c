#include "analyzer/windows.h"

#include <gsl/gsl_cdf.h>
#include <math.h>

#define FIGURES(X)                                                                                           \
	X(underflows)                                                                                        \
	X(overflows)                                                                                         \
	X(fetches)                                                                                           \
	X(fetched_objects)                                                                                   \
	X(releases)                                                                                          \
	X(released_objects)                                                                                  \
	X(central_fetches)                                                                                   \
	X(central_fetched_objects)                                                                           \
	X(central_releases)                                                                                  \
	X(central_released_objects)

static void start_counting(struct windows *windows, struct cachemodel *const *models)
{
	for (unsigned d = 0; d < CACHE_DESIGNS; d++) {
		if (!models[d])
			continue;
		windows->calls_before[d] = cachemodel_allocs(models[d]) + cachemodel_frees(models[d]);
		for (unsigned i = 0; i < cachemodel_lanes(models[d]); i++)
			windows->lanes[d][i].before = cachemodel_result(models[d], i);
	}
}

static void take_lane(struct window_lane *lane, const struct cachemodel_result *now, double calls)
{
	double misses = (double)(now->underflows - lane->before.underflows) +
			(double)(now->overflows - lane->before.overflows);
#define ADD(figure) lane->sum.figure += now->figure - lane->before.figure;
	FIGURES(ADD)
#undef ADD
	lane->sum.capacity_bytes = now->capacity_bytes;
	lane->sum.cached_bytes_peak = now->cached_bytes_peak;
	lane->misses_squared += misses * misses;
	lane->misses_calls += misses * calls;
}

static void end_window(struct windows *windows, struct cachemodel *const *models)
{
	windows->count++;
	for (unsigned d = 0; d < CACHE_DESIGNS; d++) {
		if (!models[d])
			continue;
		double calls = (double)(cachemodel_allocs(models[d]) + cachemodel_frees(models[d]) -
					windows->calls_before[d]);
		windows->calls_sum[d] += calls;
		windows->calls_squared[d] += calls * calls;
		for (unsigned i = 0; i < cachemodel_lanes(models[d]); i++) {
			struct cachemodel_result now = cachemodel_result(models[d], i);
			take_lane(&windows->lanes[d][i], &now, calls);
		}
	}
}

bool windows_step(struct windows *windows, struct cachemodel *const *models)
{
	if (windows->every <= 1)
		return true;
	uint64_t at = windows->calls % WINDOW_CALLS;
	bool inside = windows->calls / WINDOW_CALLS % windows->every == 0;
	windows->calls++;
	if (inside && at == WINDOW_WARM)
		start_counting(windows, models);
	if (inside && at == WINDOW_CALLS - 1)
		end_window(windows, models);
	return inside;
}

struct window_ratio windows_miss_ratio(const struct windows *windows, enum cache_design design, unsigned lane)
{
	const struct window_lane *state = &windows->lanes[design][lane];
	double calls = windows->calls_sum[design], n = (double)windows->count;
	double all = fmax(n, (double)windows->calls / (double)WINDOW_CALLS);
	if (!(calls > 0))
		return (struct window_ratio){NAN, 0, 1};
	double ratio = (double)(state->sum.underflows + state->sum.overflows) / calls;
	if (windows->count < 2)
		return (struct window_ratio){ratio, 0, 1};
	double squares = state->misses_squared - 2 * ratio * state->misses_calls +
			 ratio * ratio * windows->calls_squared[design];
	double variance = (1 - n / all) * n / (n - 1) * fmax(squares, 0) / (calls * calls);
	double half = gsl_cdf_tdist_Pinv(0.975, n - 1) * sqrt(fmax(variance, 0));
	return (struct window_ratio){ratio, fmax(ratio - half, 0), fmin(ratio + half, 1)};
}

struct cachemodel_result windows_scaled(const struct windows *windows, enum cache_design design,
					unsigned lane, double calls)
{
	struct cachemodel_result result = windows->lanes[design][lane].sum;
	double scale = windows->calls_sum[design] > 0 ? calls / windows->calls_sum[design] : 0;
#define SCALE(figure) result.figure = (uint64_t)llround((double)result.figure * scale);
	FIGURES(SCALE)
#undef SCALE
	return result;
}
