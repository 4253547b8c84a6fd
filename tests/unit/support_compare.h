/* Simulated campaigns, for tests and tests/bench/compare_rates.c. */
#ifndef MTRACE_TESTS_SUPPORT_COMPARE_H
#define MTRACE_TESTS_SUPPORT_COMPARE_H

#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/compare.h"

#define SIMULATED_LEVELS 5

struct simulation {
	size_t runs;	 /* an arm, at each level */
	double noise;	 /* standard deviation of ln(throughput) from run to run */
	double drift;	 /* the same of what the runs of a block have in common */
	bool blocks;	 /* whether the comparison may know the blocks */
	double effect;	 /* ln of the true ratio ... */
	size_t affected; /* ... at this level alone; SIMULATED_LEVELS: at all */
};

/* False where memory is short. compare_free() before the next one. */
static inline bool simulate(struct compare *compare, const struct simulation *of, gsl_rng *random)
{
	struct error error = {0};
	size_t arm;
	*compare = (struct compare){0};
	compare->settings.metrics[METRIC_THROUGHPUT] = true;
	compare->settings.equivalence = 0.02;
	if (!compare_arm(compare, "base", &arm, &error) || !compare_arm(compare, "arm", &arm, &error))
		return false;
	for (size_t block = 0; block < of->runs; block++) {
		double drift = gsl_ran_gaussian(random, 1) * of->drift;
		for (size_t level = 0; level < SIMULATED_LEVELS; level++) {
			for (arm = 0; arm < 2; arm++) {
				struct compare_run *run = compare_add_run(compare, arm);
				bool moved = arm == 1 &&
					     (of->affected == level || of->affected == SIMULATED_LEVELS);
				if (!run)
					return false;
				run->source = strdup("");
				run->workload = strdup("");
				run->settings = json_object();
				run->threads = (uint64_t)4 << level;
				run->block = of->blocks ? block : COMPARE_NO_BLOCK;
				double log_ops = log(10000 * (double)(level + 1)) + drift +
						 gsl_ran_gaussian(random, 1) * of->noise +
						 (moved ? of->effect : 0);
				if (!run_add_value(run, COMPARE_OVERALL, METRIC_THROUGHPUT, exp(log_ops), 0))
					return false;
			}
		}
	}
	return true;
}

#endif
