/* Intervals and peaks, against draws of the sampling process itself. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "analyzer/livemap.h"

#define PERIOD 4096u

static uint64_t random_state;

/* splitmix64 of a counter. */
static uint64_t random_next(void)
{
	uint64_t x = random_state += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

static double random_unit(void)
{
	return (double)(random_next() >> 11) * ldexp(1, -53);
}

static bool sampled(uint64_t size_bytes)
{
	return random_unit() < sample_probability(size_bytes, PERIOD);
}

static void put(struct livemap *map, uint64_t time, uint64_t address, uint64_t size_bytes)
{
	struct trace_event event = {.kind = size_bytes ? EVENT_MALLOC : EVENT_FREE,
				    .thread = 1,
				    .time = time,
				    .end_time = time,
				    .address = address,
				    .size_bytes = size_bytes,
				    .stack_id = 1};
	cr_assert(livemap_apply(map, &event));
}

/* ---- intervals ----------------------------------------------------------------------------------------- */

/* An estimate of k samples of blocks far smaller than T = 1000. */
static struct estimate samples(double k)
{
	return (struct estimate){.value = 1000 * k, .variance = 1e6 * k, .weight = 1000};
}

/* Limits of a Poisson mean as every table has them: Garwood 1936, table 1. */
Test(estimate, few_samples_have_the_exact_limits_of_a_poisson_mean)
{
	static const struct {
		double k, low, high;
	} table[] = {{0, 0, 3.6889},	   {1, 0.0253, 5.5716},	  {2, 0.2422, 7.2247},
		     {5, 1.6235, 11.6683}, {10, 4.7954, 18.3904}, {20, 12.2165, 30.8884}};
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		struct estimate estimate = samples(table[i].k);
		cr_assert_float_eq(estimate_low(&estimate), 1000 * table[i].low, 0.1);
		cr_assert_float_eq(estimate_high(&estimate), 1000 * table[i].high, 0.1);
	}
}

Test(estimate, the_step_to_the_normal_approximation_is_small)
{
	struct estimate below = samples(999), above = samples(1001);
	cr_assert_float_eq(estimate_low(&below), estimate_low(&above), 4000);
	cr_assert_float_eq(estimate_high(&below), estimate_high(&above), 4000);
}

Test(estimate, full_mode_has_no_interval)
{
	struct estimate exact = {.value = 1234, .floor = 1234};
	cr_assert_eq(estimate_low(&exact), 1234);
	cr_assert_eq(estimate_high(&exact), 1234);
}

Test(estimate, rounding_that_is_left_over_does_no_harm)
{
	struct estimate left = {.value = 1e-9, .variance = -1e-12, .weight = 1000};
	cr_assert_eq(estimate_low(&left), 0);
	cr_assert_float_eq(estimate_high(&left), 3688.9, 0.1);
}

/* A peak that was taken over so often that its low end lies where GSL's quantile gives up. */
Test(estimate, the_farthest_tail_is_a_number)
{
	for (double k = 1; k < 1000; k *= 1.1)
		for (double times = 1; times < 1e40; times *= 10) {
			struct estimate live = samples(k);
			struct peak peak = {
				.value = live.value, .at = live, .replaced = times * live.variance};
			peak_finish(&peak, &(struct estimate){.weight = 1000});
			cr_assert(peak_low(&peak) >= 0 && peak_low(&peak) <= peak.value, "%g %g", k, times);
			cr_assert_leq(peak.value, peak_high(&peak));
		}
}

/* How many of 400 draws have an interval of bytes that holds the truth, and of blocks. */
static void assert_covers(uint64_t size_bytes, uint64_t blocks)
{
	unsigned held = 0;
	double truth = (double)(size_bytes * blocks);
	random_state = size_bytes;
	for (unsigned round = 0; round < 400; round++) {
		struct livemap *map = livemap_create(PERIOD, 1000);
		for (uint64_t i = 0; i < blocks; i++)
			if (sampled(size_bytes))
				put(map, i, 0x1000 + 16 * i, size_bytes);
		cr_assert(livemap_finish(map));
		const struct estimate *live = &livemap_totals(map)->live_bytes;
		held += estimate_low(live) <= truth * (1 + 1e-9) && truth <= estimate_high(live) * (1 + 1e-9);
		livemap_free(map);
	}
	/* 380 are promised, 4.4 their deviation. */
	cr_assert_geq(held, 366, "%lu blocks of %lu bytes: %u", blocks, size_bytes, held);
}

Test(estimate, intervals_hold_the_truth_whatever_the_size_and_number)
{
	static const uint64_t sizes[] = {16, 512, 2048, 4096, 8192, 20000, 100000};
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		for (uint64_t bytes = 2000; bytes < 1000000; bytes *= 5)
			assert_covers(sizes[i], bytes / sizes[i] + 1);
}

/* ---- peaks --------------------------------------------------------------------------------------------- */

struct life {
	uint64_t size_bytes; /* 0: a free */
	uint64_t address;
};

enum { BLOCKS = 2000, STEPS = 60000, LIVES = BLOCKS + 2 * STEPS };

/* Blocks come until BLOCKS are live; then each step frees a random one for a new one; `late` of the new ones
 * are larger. Returns the true peak. */
static double make_process(struct life *lives, unsigned turnover_steps, unsigned larger_from)
{
	uint64_t sizes[BLOCKS], live = 0, peak = 0;
	size_t at = 0;
	for (unsigned i = 0; i < BLOCKS + turnover_steps; i++) {
		unsigned slot = i < BLOCKS ? i : (unsigned)(random_next() % BLOCKS);
		if (i >= BLOCKS) {
			lives[at++] = (struct life){0, 0x1000 + 16 * slot};
			live -= sizes[slot];
		}
		sizes[slot] = 1 + random_next() % 1000 * (i > larger_from ? 2 : 1);
		lives[at++] = (struct life){sizes[slot], 0x1000 + 16 * slot};
		live += sizes[slot];
		peak = live > peak ? live : peak;
	}
	lives[at] = (struct life){0, 0};
	return (double)peak;
}

static void draw(struct livemap *map, const struct life *lives)
{
	bool *taken = calloc(BLOCKS, sizeof *taken);
	for (uint64_t i = 0; lives[i].address; i++) {
		size_t slot = (lives[i].address - 0x1000) / 16;
		if (lives[i].size_bytes)
			taken[slot] = sampled(lives[i].size_bytes);
		if (taken[slot])
			put(map, 2000 * i, lives[i].address, lives[i].size_bytes);
	}
	free(taken);
	cr_assert(livemap_finish(map));
}

static void assert_peak(unsigned turnover_steps, unsigned larger_from, double bias_max)
{
	struct life *lives = calloc(LIVES + 1, sizeof *lives);
	unsigned held = 0, held_site = 0;
	double sum = 0;
	random_state = turnover_steps + larger_from;
	double truth = make_process(lives, turnover_steps, larger_from);
	for (unsigned round = 0; round < 40; round++) {
		size_t count;
		struct livemap *map = livemap_create(PERIOD, 1000);
		draw(map, lives);
		const struct peak *peak = &livemap_totals(map)->live_bytes_peak;
		const struct peak *site = &livemap_sites(map, &count)->live_bytes_peak;
		held += peak_low(peak) <= truth && truth <= peak_high(peak);
		held_site += peak_low(site) <= truth && truth <= peak_high(site);
		cr_assert(peak_low(peak) <= peak->value && peak->value <= peak_high(peak));
		sum += peak->value;
		livemap_free(map);
	}
	cr_assert_geq(held, 36, "%u steps, larger from %u: %u", turnover_steps, larger_from, held);
	cr_assert_geq(held_site, 36);
	cr_assert_float_eq(sum / 40 / truth, 1, bias_max, "%u steps, larger from %u: %g", turnover_steps,
			   larger_from, sum / 40 / truth);
	free(lives);
}

/* About 240 samples are live: one deviation is 6%, and the largest error of 30 turnovers near 20%. */
Test(estimate, a_peak_is_held_by_its_interval_after_many_turnovers)
{
	assert_peak(60000, UINT32_MAX, 0.05);
	assert_peak(10000, UINT32_MAX, 0.05);
}

Test(estimate, a_peak_is_held_by_its_interval_in_growth)
{
	assert_peak(0, UINT32_MAX, 0.03);
	assert_peak(60000, 50000, 0.05);
	assert_peak(4000, 2000, 0.05);
}

Test(estimate, parts_and_what_is_left)
{
	struct estimate sum = {.weight = 1000};
	estimate_add_part(&sum, 100, 40, 1000);
	const double p = sample_probability(100, 1000);
	cr_expect_float_eq(sum.value, 40 / p, 1e-9);
	cr_expect_float_eq(sum.variance, 1600 * (1 - p) / (p * p), 1e-6);
	cr_expect_eq(sum.floor, 40);
	struct interval left = estimate_remainder(10000, &sum), none = estimate_remainder(30, &sum);
	cr_expect_float_eq(left.value, 10000 - sum.value, 1e-9);
	cr_expect_float_eq(left.low, 10000 - estimate_high(&sum), 1e-9);
	cr_expect_float_eq(left.high, 10000 - estimate_low(&sum), 1e-9);
	cr_expect(none.value == 0 && none.low == 0 && none.high == 0);
	struct interval most = estimate_within(&sum, 100);
	cr_expect(most.value == 100 && most.high == 100 && most.low <= 100);
	struct estimate exact = {0};
	estimate_add_part(&exact, 100, 40, 0);
	cr_expect(exact.value == 40 && exact.variance == 0 && estimate_high(&exact) == 40);
}
