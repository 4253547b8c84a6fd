#include "analyzer/warmup.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>

#define PERMUTATIONS 399
#define LEVEL	     0.05

struct split {
	size_t at;	/* values before it */
	double between; /* sum of squares that the two means explain */
};

/* The best split with at most `limit` values on its left. */
static struct split best_split(const double *x, size_t n, size_t limit)
{
	double total = 0, left = 0;
	struct split best = {0, 0};
	for (size_t i = 0; i < n; i++)
		total += x[i];
	double mean = total / (double)n;
	for (size_t i = 1; i <= limit && i < n; i++) {
		left += x[i - 1] - mean;
		double between = left * left * (double)n / ((double)i * (double)(n - i));
		if (between > best.between)
			best = (struct split){i, between};
	}
	return best;
}

static bool is_more_than_chance(const double *x, size_t n, size_t limit, double between, double *room,
				gsl_rng *random)
{
	unsigned as_large = 1; /* the series itself is one of the permutations */
	memcpy(room, x, n * sizeof *room);
	for (unsigned i = 0; i < PERMUTATIONS; i++) {
		gsl_ran_shuffle(random, room, n, sizeof *room);
		as_large += best_split(room, n, limit).between >= between * (1 - 1e-9);
	}
	return as_large <= LEVEL * (PERMUTATIONS + 1);
}

static size_t cut_all(const double *rates, size_t n, double *room, gsl_rng *random)
{
	size_t cut = 0, most = n / 2;
	while (cut < most) {
		struct split split = best_split(rates + cut, n - cut, most - cut);
		if (split.at == 0 ||
		    !is_more_than_chance(rates + cut, n - cut, most - cut, split.between, room, random))
			break;
		cut += split.at;
	}
	return cut;
}

size_t warmup_length(const double *rates, size_t n)
{
	if (n < WARMUP_INTERVALS_MIN)
		return 0;
	gsl_rng *random = gsl_rng_alloc(gsl_rng_mt19937);
	double *room = malloc(n * sizeof *room);
	size_t cut = 0;
	if (random && room) {
		gsl_rng_set(random, 1);
		cut = cut_all(rates, n, room, random);
	}
	if (random)
		gsl_rng_free(random);
	free(room);
	return cut;
}
