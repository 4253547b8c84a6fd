/* A small simulation of what tests/bench/compare_rates.c does at large: how often a comparison is wrong. */
#include <criterion/criterion.h>

#include "analyzer/compare_rows.h"
#include "tests/unit/support_compare.h"

#define CAMPAIGNS 600

static gsl_rng *rng;
static struct error error;

static void start(void)
{
	rng = gsl_rng_alloc(gsl_rng_mt19937);
	gsl_rng_set(rng, 3);
	error = (struct error){0};
}

TestSuite(compare_rates, .init = start);

struct rates {
	double wrong, covered, overall_covered;
};

static struct rates no_effect(struct simulation of)
{
	struct rates rates = {0};
	size_t rows = 0;
	for (size_t i = 0; i < CAMPAIGNS; i++) {
		struct compare compare;
		bool wrong = false;
		cr_assert(simulate(&compare, &of, rng) && compare_rows(&compare, &error), "%s", error.text);
		cr_assert_eq(compare.row_count, SIMULATED_LEVELS);
		cr_assert_eq(compare.overall_count, 1);
		for (size_t r = 0; r < compare.row_count; r++, rows++) {
			const struct compare_row *row = &compare.rows[r];
			wrong |= row->verdict == VERDICT_FASTER || row->verdict == VERDICT_SLOWER;
			rates.covered += row->ratio.low <= 1 && row->ratio.high >= 1 ? 1 : 0;
		}
		const struct compare_overall *overall = &compare.overall[0];
		wrong |= overall->verdict == VERDICT_FASTER || overall->verdict == VERDICT_SLOWER;
		rates.overall_covered += overall->ratio.low <= 1 && overall->ratio.high >= 1 ? 1 : 0;
		rates.wrong += wrong ? 1 : 0;
		compare_free(&compare);
	}
	rates.wrong /= CAMPAIGNS;
	rates.covered /= (double)rows;
	rates.overall_covered /= CAMPAIGNS;
	return rates;
}

/* Four standard deviations of the simulation itself: 0.036 about 0.05, 0.016 about 0.95 over all rows. */
static void check(struct simulation of)
{
	struct rates rates = no_effect(of);
	cr_assert(rates.wrong <= 0.05 + 0.036, "family-wise rate %.3f", rates.wrong);
	cr_assert(rates.covered >= 0.95 - 0.016, "coverage %.3f", rates.covered);
	cr_assert(rates.overall_covered >= 0.95 - 0.036, "coverage %.3f", rates.overall_covered);
}

Test(compare_rates, without_an_effect_in_blocks)
{
	check((struct simulation){3, 0.03, 0.03, true, 0, SIMULATED_LEVELS});
	check((struct simulation){6, 0.10, 0.20, true, 0, SIMULATED_LEVELS});
}

Test(compare_rates, without_an_effect_and_without_blocks)
{
	check((struct simulation){3, 0.10, 0, false, 0, SIMULATED_LEVELS});
	check((struct simulation){10, 0.01, 0, false, 0, SIMULATED_LEVELS});
}

/* The power that is stated, against what is found: within five points, and four deviations of 600 campaigns.
 */
static void check_power(struct simulation of, size_t effect)
{
	double stated = 0, found = 0;
	of.effect = log1p(compare_effects[effect]);
	of.affected = 2;
	for (size_t i = 0; i < CAMPAIGNS; i++) {
		struct compare compare;
		cr_assert(simulate(&compare, &of, rng) && compare_rows(&compare, &error) &&
			  compare_verdicts(&compare, &error));
		const struct compare_row *row = &compare.rows[of.affected];
		cr_assert_eq(row->threads, (uint64_t)4 << of.affected);
		found += row->verdict == VERDICT_FASTER ? 1 : 0;
		stated += row->reach.power[effect];
		compare_free(&compare);
	}
	stated /= CAMPAIGNS;
	found /= CAMPAIGNS;
	double noise = 4 * sqrt(stated * (1 - stated) / CAMPAIGNS);
	cr_assert(fabs(stated - found) <= 0.05 + noise, "stated %.3f, found %.3f", stated, found);
	cr_assert(stated > 0.2 && stated < 0.9, "%.3f tells nothing", stated);
}

Test(compare_rates, power_in_blocks)
{
	check_power((struct simulation){6, 0.01, 0.02, true, 0, 0}, 1);
	check_power((struct simulation){10, 0.03, 0.03, true, 0, 0}, 2);
}

Test(compare_rates, power_without_blocks)
{
	check_power((struct simulation){3, 0.01, 0, false, 0, 0}, 2);
}
