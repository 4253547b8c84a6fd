/* Warm-ups that were put there are found, and none where there is none. */
#include <criterion/criterion.h>
#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>

#include "analyzer/compare_runs.h"
#include "analyzer/warmup.h"

#define INTERVALS 60

static gsl_rng *rng;

static void start(void)
{
	rng = gsl_rng_alloc(gsl_rng_mt19937);
	gsl_rng_set(rng, 7);
}

TestSuite(warmup, .init = start);

/* `cold` intervals at `level` of the rate, the rest at 1000, with 3% noise. */
static void make(double rates[INTERVALS], size_t cold, double level)
{
	for (size_t i = 0; i < INTERVALS; i++)
		rates[i] = 1000 * (i < cold ? level : 1) * (1 + gsl_ran_gaussian(rng, 0.03));
}

/* Never less; a few intervals more where chance looks like a further step. */
Test(warmup, is_cut_where_it_ends)
{
	double rates[INTERVALS];
	size_t exact = 0;
	for (size_t cold = 1; cold <= 20; cold++) {
		make(rates, cold, 0.5);
		size_t cut = warmup_length(rates, INTERVALS);
		cr_assert(cut >= cold && cut <= cold + 10, "%zu instead of %zu", cut, cold);
		exact += cut == cold ? 1 : 0;
	}
	cr_assert(exact >= 16, "%zu of 20", exact);
}

Test(warmup, a_fast_start_is_one_too)
{
	double rates[INTERVALS];
	make(rates, 8, 1.6);
	cr_assert_eq(warmup_length(rates, INTERVALS), 8);
}

Test(warmup, a_ramp_is_cut_in_pieces)
{
	double rates[INTERVALS];
	make(rates, 0, 1);
	for (size_t i = 0; i < 12; i++)
		rates[i] *= (double)(i + 1) / 13;
	size_t cut = warmup_length(rates, INTERVALS);
	cr_assert(cut >= 8 && cut <= 13, "%zu", cut);
}

/* At a level of 5% a twentieth of even series loses something; 200 series, and room for four deviations. */
Test(warmup, even_series_are_left_alone)
{
	double rates[INTERVALS];
	size_t cut = 0;
	for (size_t i = 0; i < 200; i++) {
		make(rates, 0, 1);
		cut += warmup_length(rates, INTERVALS) > 0 ? 1 : 0;
	}
	cr_assert(cut <= 22, "%zu of 200", cut);
}

Test(warmup, short_or_constant_series_have_none)
{
	double rates[INTERVALS];
	make(rates, 3, 0.1);
	cr_assert_eq(warmup_length(rates, WARMUP_INTERVALS_MIN - 1), 0);
	for (size_t i = 0; i < INTERVALS; i++)
		rates[i] = 1000;
	cr_assert_eq(warmup_length(rates, INTERVALS), 0);
	cr_assert_eq(warmup_length(NULL, 0), 0);
}

Test(warmup, never_takes_more_than_half)
{
	double rates[INTERVALS];
	make(rates, 45, 0.5);
	cr_assert(warmup_length(rates, INTERVALS) <= INTERVALS / 2);
}

/* Throughput behind it: operations over time, not the mean of rates. */
Test(warmup, throughput_is_of_what_is_left)
{
	struct ycsb_interval intervals[INTERVALS];
	struct ycsb_run run = {.throughput_ops_s = 900, .intervals = intervals, .interval_count = INTERVALS};
	double rates[INTERVALS], operations = 0, trimmed_s;
	bool no_steady_state;
	make(rates, 6, 0.4);
	for (size_t i = 0; i < INTERVALS; i++) {
		intervals[i] = (struct ycsb_interval){.start_s = (double)i,
						      .end_s = (double)(i + 1),
						      .operations = (uint64_t)rates[i],
						      .ops_s = rates[i]};
		operations += i < 6 ? 0 : (double)intervals[i].operations;
	}
	double got = run_trimmed_throughput(&run, &trimmed_s, &no_steady_state);
	cr_assert_float_eq(got, operations / (INTERVALS - 6), 1e-9);
	cr_assert_float_eq(trimmed_s, 6, 1e-12);
	cr_assert_not(no_steady_state);
	make(rates, 0, 1);
	for (size_t i = 0; i < INTERVALS; i++)
		intervals[i].ops_s = rates[i];
	cr_assert_float_eq(run_trimmed_throughput(&run, &trimmed_s, &no_steady_state), 900, 0,
			   "an even run keeps what its client printed");
	run.interval_count = 3;
	cr_assert(isnan(run_trimmed_throughput(&run, &trimmed_s, &no_steady_state)));
}
