/* How often the interval of a share holds the share: computed where samples weigh the same, drawn where they
 * do not. */
#include <criterion/criterion.h>
#include <gsl/gsl_randist.h>
#include <math.h>

#include "analyzer/tally.h"

static struct tally samples(double count, double weight)
{
	return (struct tally){.blocks = count * weight,
			      .blocks_squared = count * weight * weight,
			      .bytes = count * weight * 100,
			      .bytes_squared = count * weight * weight * 1e4,
			      .samples = (uint64_t)count};
}

/* ---- equal weights ------------------------------------------------------------------------------------- */

#define SAMPLES_MOST 1500u

static struct share shares_of[SAMPLES_MOST + 1]; /* by how many of n samples have the property */

static void compute_shares(unsigned n)
{
	for (unsigned k = 0; k <= n; k++) {
		const struct tally part = samples(k, 22), whole = samples(n, 22);
		shares_of[k] = tally_share_blocks(&part, &whole, false);
	}
}

/* The probability that the interval from n samples holds the share that they are drawn from; its mean width.
 */
static double coverage(unsigned n, double truth, double *width)
{
	double covered = 0;
	*width = 0;
	for (unsigned k = 0; k <= n; k++) {
		const double probability = gsl_ran_binomial_pdf(k, truth, n);
		covered += shares_of[k].low <= truth && truth <= shares_of[k].high ? probability : 0;
		*width += probability * (shares_of[k].high - shares_of[k].low);
	}
	return covered;
}

/* Shares of 1% to 99%: at least `least` everywhere and `mean_least` on average, and no wider than need be. */
static void assert_coverage(unsigned n, double least, double mean_least, double width_by_normal)
{
	double sum = 0, width;
	compute_shares(n);
	for (unsigned percent = 1; percent < 100; percent++) {
		const double truth = percent / 100.0;
		const double covered = coverage(n, truth, &width);
		cr_assert_geq(covered, least, "%u samples, %u%%: %g", n, percent, covered);
		sum += covered;
	}
	cr_assert_geq(sum / 99, mean_least, "%u samples: %g", n, sum / 99);
	coverage(n, 0.5, &width);
	const double normal = 2 * 1.959964 * 0.5 / sqrt(n);
	cr_assert_leq(width, width_by_normal * normal, "%u samples: %g, %g", n, width, normal);
}

Test(tally, few_samples_are_covered_whatever_the_share)
{
	assert_coverage(1, 0.95, 0.95, 1);
	assert_coverage(5, 0.95, 0.95, 1);
	assert_coverage(20, 0.95, 0.95, 1.06);
	assert_coverage(100, 0.95, 0.95, 1.06);
	assert_coverage(400, 0.95, 0.95, 1.04);
}

/* Wilson's promises 95% on average over the shares only, and gives 94.99%. */
Test(tally, many_samples_are_covered)
{
	assert_coverage(999, 0.95, 0.95, 1.03);
	assert_coverage(1500, 0.94, 0.949, 1.01);
}

Test(tally, the_step_between_the_two_intervals_is_small)
{
	for (double value = 0.02; value < 1; value += 0.07) {
		const struct tally part[] = {samples(999 * value, 3), samples(1001 * value, 3)};
		const struct tally whole[] = {samples(999, 3), samples(1001, 3)};
		const struct share below = tally_share_bytes(&part[0], &whole[0], false);
		const struct share above = tally_share_bytes(&part[1], &whole[1], false);
		const double width = above.high - above.low;
		cr_assert_float_eq(below.low, above.low, 0.06 * width);
		cr_assert_float_eq(below.high, above.high, 0.06 * width);
	}
}

/* Clopper and Pearson, as tables have them. */
Test(tally, the_limits_are_those_of_the_tables)
{
	static const struct {
		double k, n, low, high;
	} table[] = {
		{0, 10, 0, 0.3085}, {1, 10, 0.0025, 0.4450}, {5, 10, 0.1871, 0.8129}, {10, 10, 0.6915, 1}};
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		const struct tally part = samples(table[i].k, 1), whole = samples(table[i].n, 1);
		const struct share share = tally_share_blocks(&part, &whole, false);
		cr_expect_float_eq(share.low, table[i].low, 1e-4);
		cr_expect_float_eq(share.high, table[i].high, 1e-4);
	}
}

Test(tally, nothing_and_everything)
{
	const struct tally none = {0}, one = samples(1, 1000), many = samples(500, 1);
	struct share share = tally_share_blocks(&none, &none, false);
	cr_assert(isnan(share.value) && share.low == 0 && share.high == 1);
	share = tally_share_blocks(&one, &one, false);
	cr_assert(share.value == 1 && share.low < 0.03 && share.high == 1);
	share = tally_share_blocks(&none, &many, true);
	cr_assert(share.value == 0 && share.low == 0 && share.high == 0);
}

/* ---- unequal weights ----------------------------------------------------------------------------------- */

#define PERIOD 65536.0

struct stratum {
	unsigned blocks;
	double bytes, share;
};

/* splitmix64 of a counter, in (0, 1]. */
static double random_unit(uint64_t *state)
{
	uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return ((double)((x ^ x >> 31) >> 11) + 1) * 0x1p-53;
}

/* How many of the blocks are sampled: from one to the next in a geometric step. */
static unsigned drawn(uint64_t *state, unsigned blocks, double probability)
{
	unsigned count = 0;
	const double scale = log1p(-probability);
	for (double at = -1; blocks;) {
		at += 1 + floor(log(random_unit(state)) / scale);
		if (at >= blocks)
			break;
		count++;
	}
	return count;
}

static void add(struct tally *tally, double count, double weight, double bytes)
{
	tally->blocks += count * weight;
	tally->blocks_squared += count * weight * weight;
	tally->bytes += count * weight * bytes;
	tally->bytes_squared += count * weight * weight * bytes * bytes;
	tally->samples += (uint64_t)count;
}

/* One run: whether the intervals of blocks and of bytes hold the true shares. */
static void draw_run(const struct stratum *strata, unsigned count, uint64_t *state, unsigned held[2])
{
	struct tally part = {0}, whole = {0};
	double sums[4] = {0};
	for (unsigned i = 0; i < count; i++) {
		const struct stratum *s = &strata[i];
		const double probability = -expm1(-s->bytes / PERIOD);
		const unsigned remote = (unsigned)lround(s->blocks * s->share);
		const double of_remote = drawn(state, remote, probability);
		add(&part, of_remote, 1 / probability, s->bytes);
		add(&whole, of_remote + drawn(state, s->blocks - remote, probability), 1 / probability,
		    s->bytes);
		sums[0] += remote;
		sums[1] += s->blocks;
		sums[2] += remote * s->bytes;
		sums[3] += s->blocks * s->bytes;
	}
	const struct share blocks = tally_share_blocks(&part, &whole, false);
	const struct share bytes = tally_share_bytes(&part, &whole, false);
	held[0] += blocks.low <= sums[0] / sums[1] && sums[0] / sums[1] <= blocks.high;
	held[1] += bytes.low <= sums[2] / sums[3] && sums[2] / sums[3] <= bytes.high;
}

#define RUNS 2000u

/* The draws are the same ones on every machine. 1900 are promised, 9.7 is their deviation. */
static void assert_held(const struct stratum *strata, unsigned count)
{
	uint64_t state = 20261201;
	unsigned held[2] = {0};
	for (unsigned run = 0; run < RUNS; run++)
		draw_run(strata, count, &state, held);
	cr_expect_geq(held[0], RUNS * 95 / 100 - 20, "blocks: %u of %u, %g of the first", held[0], RUNS,
		      strata[0].share);
	cr_expect_geq(held[1], RUNS * 95 / 100 - 20, "bytes: %u of %u, %g of the first", held[1], RUNS,
		      strata[0].share);
}

static const double shares[] = {0.01, 0.05, 0.25, 0.5, 0.9, 0.99};

/* Of a hundred thousand small blocks a hundred are sampled, and those make the share. */
Test(tally, sizes_with_one_share)
{
	for (unsigned i = 0; i < sizeof shares / sizeof *shares; i++)
		assert_held((struct stratum[]){{100000, 64, shares[i]},
					       {2000, 4096, shares[i]},
					       {50, 65536, shares[i]}},
			    3);
}

Test(tally, small_blocks_go_elsewhere_and_large_ones_stay)
{
	for (unsigned i = 0; i < sizeof shares / sizeof *shares; i++) {
		assert_held(
			(struct stratum[]){{100000, 64, shares[i]}, {2000, 4096, 0.05}, {50, 65536, 0.05}},
			3);
		assert_held((struct stratum[]){{10000, 64, shares[i]}, {2000, 4096, 0.95}, {50, 65536, 0.95}},
			    3);
	}
}

Test(tally, large_blocks_are_sampled_nearly_all)
{
	for (unsigned i = 0; i < sizeof shares / sizeof *shares; i++)
		assert_held(
			(struct stratum[]){{20000, 256, shares[i]}, {2000, 4096, 0.5}, {200, 262144, 0.5}},
			3);
}
