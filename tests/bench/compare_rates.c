/*
 * How often a comparison is wrong, by simulation.
 *
 *     compare_rates [SIMULATIONS [SIMULATIONS FOR POWER]]
 *
 * Campaigns of five levels of threads without an effect, with run-to-run noise of 1, 3 and 10% and 3, 6 and
 * 10 runs an arm, in blocks (which drift as much as runs do) and without: the share of campaigns with any
 * verdict of a difference (wanted: at most 5%), and the share of intervals that hold the true ratio (wanted:
 * 95%). Then campaigns with an effect at one level: the power that the comparison states beside what is
 * found.
 *
 * Prints Markdown. The seed is fixed: the same numbers give the same table.
 */
#include <stdio.h>
#include <stdlib.h>

#include <gsl/gsl_errno.h>

#include "analyzer/compare_rows.h"
#include "tests/unit/support_compare.h"

static const double noises[] = {0.01, 0.03, 0.10};
static const size_t sizes[] = {3, 6, 10};

#define NOISES (sizeof noises / sizeof *noises)
#define SIZES  (sizeof sizes / sizeof *sizes)

static gsl_rng *rng;

static void must(bool fine)
{
	if (fine)
		return;
	fputs("compare_rates: out of memory\n", stderr);
	exit(4);
}

struct rates {
	size_t campaigns, wrong; /* any row or overall ratio called faster or slower */
	size_t rows, covered;
	size_t overall_covered;
};

static bool holds(const struct ratio *ratio, double truth)
{
	return ratio->low <= truth && truth <= ratio->high;
}

static void count(const struct compare *compare, struct rates *rates)
{
	bool wrong = false;
	for (size_t i = 0; i < compare->row_count; i++) {
		wrong |= compare->rows[i].p_adjusted < RATIO_LEVEL;
		rates->rows++;
		rates->covered += holds(&compare->rows[i].ratio, 1) ? 1 : 0;
	}
	for (size_t i = 0; i < compare->overall_count; i++) {
		wrong |= compare->overall[i].p_adjusted < RATIO_LEVEL;
		rates->overall_covered += holds(&compare->overall[i].ratio, 1) ? 1 : 0;
	}
	rates->campaigns++;
	rates->wrong += wrong ? 1 : 0;
}

static void no_effect(bool blocks, size_t simulations)
{
	printf("\n%s, no effect, %zu campaigns a row:\n\n", blocks ? "In blocks" : "Without blocks",
	       simulations);
	puts("| noise | runs an arm | any false verdict | intervals of rows that hold 1 | of the overall "
	     "ratio |");
	puts("| ---: | ---: | ---: | ---: | ---: |");
	for (size_t i = 0; i < NOISES * SIZES; i++) {
		struct simulation of = {
			sizes[i % SIZES], noises[i / SIZES], blocks ? noises[i / SIZES] : 0, blocks, 0,
			SIMULATED_LEVELS};
		struct rates rates = {0};
		for (size_t s = 0; s < simulations; s++) {
			struct compare compare;
			struct error error = {0};
			must(simulate(&compare, &of, rng) && compare_rows(&compare, &error));
			count(&compare, &rates);
			compare_free(&compare);
		}
		printf("| %g%% | %zu | %.2f%% | %.2f%% | %.2f%% |\n", 100 * of.noise, of.runs,
		       100 * (double)rates.wrong / (double)rates.campaigns,
		       100 * (double)rates.covered / (double)rates.rows,
		       100 * (double)rates.overall_covered / (double)rates.campaigns);
		fflush(stdout);
	}
}

/* One effect that compare_reach states the power for. */
static void with_effect(bool blocks, size_t noise, size_t size, size_t effect, size_t simulations)
{
	struct simulation of = {sizes[size],
				noises[noise],
				blocks ? noises[noise] : 0,
				blocks,
				log1p(compare_effects[effect]),
				2};
	size_t found = 0;
	double stated = 0;
	for (size_t s = 0; s < simulations; s++) {
		struct compare compare;
		struct error error = {0};
		must(simulate(&compare, &of, rng) && compare_rows(&compare, &error));
		must(compare_verdicts(&compare, &error));
		for (size_t i = 0; i < compare.row_count; i++) {
			if (compare.rows[i].threads != (uint64_t)4 << of.affected)
				continue;
			found += compare.rows[i].p_adjusted < RATIO_LEVEL ? 1 : 0;
			stated += compare.rows[i].reach.power[effect];
		}
		compare_free(&compare);
	}
	printf("| %s | %g%% | %zu | %g%% | %.1f%% | %.1f%% |\n", blocks ? "yes" : "no", 100 * of.noise,
	       of.runs, 100 * compare_effects[effect], 100 * stated / (double)simulations,
	       100 * (double)found / (double)simulations);
	fflush(stdout);
}

static void power(size_t simulations)
{
	printf("\nAn effect at one of five levels, %zu campaigns a row:\n\n", simulations);
	puts("| blocks | noise | runs an arm | effect | power stated (mean) | found |");
	puts("| --- | ---: | ---: | ---: | ---: | ---: |");
	for (size_t b = 0; b < 2; b++)
		for (size_t i = 0; i < NOISES * SIZES; i++)
			for (size_t effect = 0; effect < COMPARE_EFFECTS; effect++)
				with_effect(b == 0, i / SIZES, i % SIZES, effect, simulations);
}

static size_t number(const char *text, size_t otherwise)
{
	char *end;
	unsigned long value = text ? strtoul(text, &end, 10) : otherwise;
	return text && (*end || value < 1 || value > 10000000) ? 0 : value;
}

int main(int argc, char **argv)
{
	size_t simulations = number(argc > 1 ? argv[1] : NULL, 20000);
	size_t for_power = number(argc > 2 ? argv[2] : NULL, 1000);
	if (!simulations || !for_power) {
		fputs("usage: compare_rates [SIMULATIONS [SIMULATIONS FOR POWER]]\n", stderr);
		return 2;
	}
	gsl_set_error_handler_off();
	rng = gsl_rng_alloc(gsl_rng_mt19937);
	must(rng != NULL);
	gsl_rng_set(rng, 20241);
	no_effect(true, simulations);
	no_effect(false, simulations);
	power(for_power);
	gsl_rng_free(rng);
	return 0;
}
