#include "analyzer/locks_exposure.h"

#include <math.h>

struct cost {
	double acquired, released, failed, contended;
};

static const struct cost costs[LOCK_KINDS] = {
	[LOCK_MUTEX] = {1, 1, 1, 2},  [LOCK_RWLOCK] = {1, 1, 1, 2}, [LOCK_SPIN] = {1, 0, 1, 1},
	[LOCK_COND] = {17, 0, 11, 0}, [LOCK_SEM] = {1, 1, 0, 3},    [LOCK_BARRIER] = {3, 0, 0, 0},
	[LOCK_ATOMIC] = {1, 0, 0, 0},
};

double lock_atomics(unsigned kind, const struct lock_sums *sums)
{
	const struct cost *cost = &costs[kind < LOCK_KINDS ? kind : 0];
	uint64_t for_writing = sums->acquired > sums->shared ? sums->acquired - sums->shared : 0;
	return cost->acquired * (double)sums->acquired + cost->released * (double)sums->released +
	       cost->failed * (double)sums->failed + cost->contended * (double)sums->contended +
	       (kind == LOCK_RWLOCK ? (double)for_writing : 0);
}

struct lock_exposure lock_exposure(const struct locks *locks, double cpus)
{
	struct lock_exposure exposure = {.hottest = SIZE_MAX, .cpus = cpus};
	double elapsed_s = locks_elapsed_s(locks), most = 0;
	size_t count;
	const struct lock_row *rows = locks_rows(locks, &count);
	for (size_t i = 0; i < count; i++) {
		exposure.atomics += lock_atomics(rows[i].kind, &rows[i].sums);
		if (rows[i].busiest > most) {
			most = rows[i].busiest;
			exposure.hottest = i;
		}
	}
	exposure.atomics_per_s = elapsed_s > 0 ? exposure.atomics / elapsed_s : NAN;
	exposure.hottest_per_s = elapsed_s > 0 ? most / elapsed_s : NAN;
	return exposure;
}

double lock_share(const struct lock_exposure *exposure, double saved_ns)
{
	return fmax(exposure->atomics_per_s / exposure->cpus, exposure->hottest_per_s) * saved_ns / 1e9;
}

double lock_gain_of_share(double share)
{
	return share < 1 ? 100 * share / (1 - share) : share >= 1 ? INFINITY : NAN;
}

double lock_gain_percent(const struct lock_exposure *exposure, double saved_ns)
{
	return lock_gain_of_share(lock_share(exposure, saved_ns));
}
