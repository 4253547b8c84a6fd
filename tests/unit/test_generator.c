#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>

#include "bench/generator.h"

static double exact_zeta(uint64_t n, double theta)
{
	double sum = 0;

	for (uint64_t k = n; k > 0; k--)
		sum += pow((double)k, -theta);
	return sum;
}

/* A count of `expected` on average, seen by independent draws: five standard deviations either way. */
static void expect_count(uint64_t count, double expected, const char *what)
{
	cr_expect(fabs((double)count - expected) < 5 * sqrt(expected), "%s: %llu seen, %.0f expected", what,
		  (unsigned long long)count, expected);
}

Test(generator, fnv_hash_is_that_of_ycsb)
{
	/* The first key of every YCSB load is user6284781860667377211, the second user8517097267634966620. */
	cr_expect_eq(fnv_hash(0), UINT64_C(6284781860667377211));
	cr_expect_eq(fnv_hash(1), UINT64_C(8517097267634966620));
}

Test(generator, zeta_agrees_with_the_sum)
{
	static const uint64_t counts[] = {1, 2, 255, 256, 257, 1000, 1000000};

	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
		double exact = exact_zeta(counts[i], 0.99);

		cr_expect(fabs(zeta(counts[i], 0.99) / exact - 1) < 1e-11, "n = %llu",
			  (unsigned long long)counts[i]);
	}
	cr_expect(fabs(zeta(5000, 0.5) / exact_zeta(5000, 0.5) - 1) < 1e-11);
}

Test(generator, zeta_of_ten_billion_is_the_constant_of_ycsb)
{
	cr_expect(fabs(zeta(UINT64_C(10000000000), 0.99) - 26.46902820178302) < 1e-8);
}

Test(generator, top_two_zipfian_ranks_are_exact_and_the_next_close)
{
	enum { DRAWS = 2000000, TOP = 50 };
	struct zipfian zipfian;
	struct prng prng;
	uint64_t seen[TOP] = {0};

	zipfian_init(&zipfian, 1000000, ZIPFIAN_THETA);
	prng_seed(&prng, 7, 0);
	for (int i = 0; i < DRAWS; i++) {
		uint64_t rank = zipfian_next(&zipfian, &prng);

		cr_assert_lt(rank, 1000000);
		if (rank < TOP)
			seen[rank]++;
	}
	for (int rank = 0; rank < TOP; rank++) {
		double truth = DRAWS * pow(rank + 1, -0.99) / exact_zeta(1000000, 0.99);

		if (rank < 2)
			expect_count(seen[rank], truth, "rank 0 or 1");
		else /* the method's own error, and sampling */
			cr_expect(fabs((double)seen[rank] / truth - 1) < 0.25, "rank %d: %llu for %.0f", rank,
				  (unsigned long long)seen[rank], truth);
	}
}

/* Bins: ranks 0..99 one by one, then by doubling up to all ranks. */
static unsigned bin_of(uint64_t rank)
{
	return rank < 100 ? (unsigned)rank : 100 + (unsigned)(63 - __builtin_clzll(rank)) - 6;
}

static uint64_t bin_start(unsigned bin)
{
	return bin <= 100 ? bin : UINT64_C(1) << (bin - 94);
}

Test(generator, zipfian_follows_its_distribution_by_chi_square)
{
	enum { DRAWS = 2000000, BINS = 100 + 14 };
	struct zipfian zipfian;
	struct prng prng;
	double chi_square = 0, expected_total = 0;
	uint64_t seen[BINS] = {0};

	zipfian_init(&zipfian, 1 << 20, ZIPFIAN_THETA);
	prng_seed(&prng, 11, 3);
	for (int i = 0; i < DRAWS; i++)
		seen[bin_of(zipfian_next(&zipfian, &prng))]++;
	for (unsigned bin = 0; bin < BINS; bin++) {
		double expected = DRAWS * (zipfian_cdf(&zipfian, bin_start(bin + 1)) -
					   zipfian_cdf(&zipfian, bin_start(bin)));

		chi_square += ((double)seen[bin] - expected) * ((double)seen[bin] - expected) / expected;
		expected_total += expected;
	}
	cr_expect_float_eq(expected_total, DRAWS, 1e-3);
	/* 113 degrees of freedom: mean 113, 99.99 % quantile 176. */
	cr_expect_lt(chi_square, 176.0, "chi-square %.1f", chi_square);
	cr_expect_gt(chi_square, 60.0, "too good to be random: %.1f", chi_square);
}

Test(generator, zipfian_cdf_joins_its_exact_and_its_approximate_part)
{
	struct zipfian zipfian;

	zipfian_init(&zipfian, 1000, ZIPFIAN_THETA);
	cr_expect_float_eq(zipfian_cdf(&zipfian, 2), exact_zeta(2, 0.99) / exact_zeta(1000, 0.99), 1e-12);
	cr_expect_float_eq(zipfian_cdf(&zipfian, 1000), 1, 0);
}

Test(generator, zipfian_of_one_and_two_items)
{
	struct zipfian one, two;
	struct prng prng;
	unsigned second = 0;

	zipfian_init(&one, 1, ZIPFIAN_THETA);
	zipfian_init(&two, 2, ZIPFIAN_THETA);
	prng_seed(&prng, 1, 1);
	for (int i = 0; i < 10000; i++) {
		uint64_t rank = zipfian_next(&two, &prng);

		cr_assert_eq(zipfian_next(&one, &prng), 0);
		cr_assert_lt(rank, 2);
		second += rank == 1;
	}
	expect_count(second, 10000 * pow(2, -0.99) / (1 + pow(2, -0.99)), "second of two");
}

Test(generator, scrambled_puts_hot_ranks_where_the_hash_says_and_covers_all)
{
	enum { ITEMS = 1000, DRAWS = 1000000 };
	static uint64_t seen[ITEMS];
	struct scrambled scrambled;
	struct prng prng;
	double zeta_all = zeta(SCRAMBLED_RANKS, 0.99), tail = 0;
	uint64_t hottest = 0;

	scrambled_init(&scrambled, ITEMS);
	prng_seed(&prng, 5, 0);
	for (int i = 0; i < DRAWS; i++) {
		uint64_t item = scrambled_next(&scrambled, &prng);

		cr_assert_lt(item, ITEMS);
		seen[item]++;
	}
	for (uint64_t item = 0; item < ITEMS; item++) {
		cr_expect_gt(seen[item], 0, "item %llu was never chosen", (unsigned long long)item);
		if (seen[item] > seen[hottest])
			hottest = item;
	}
	cr_expect_eq(hottest, fnv_hash(0) % ITEMS);
	/* Each item also has its thousandth of the ranks beyond the first few hundred. */
	tail = (1 - zeta(1000, 0.99) / zeta_all) / ITEMS;
	cr_expect((double)seen[fnv_hash(0) % ITEMS] > DRAWS * (1 / zeta_all + tail) * 0.97);
	cr_expect((double)seen[fnv_hash(0) % ITEMS] < DRAWS * (1 / zeta_all + tail) * 1.06);
	cr_expect((double)seen[fnv_hash(1) % ITEMS] > DRAWS * (pow(2, -0.99) / zeta_all + tail) * 0.97);
	cr_expect((double)seen[fnv_hash(1) % ITEMS] < DRAWS * (pow(2, -0.99) / zeta_all + tail) * 1.10);
}

Test(generator, latest_prefers_the_newest_and_grows)
{
	enum { DRAWS = 200000 };
	struct latest latest, fresh;
	struct prng prng;
	uint64_t newest = 0, oldest = UINT64_MAX;

	latest_init(&latest, 100);
	prng_seed(&prng, 3, 0);
	for (int i = 0; i < DRAWS; i++) {
		uint64_t item = latest_next(&latest, 100, &prng);

		cr_assert_lt(item, 100);
		newest += item == 99;
		oldest = item < oldest ? item : oldest;
	}
	expect_count(newest, DRAWS / exact_zeta(100, 0.99), "newest");
	cr_expect_eq(oldest, 0);

	/* By small steps (terms added) and by a large one (a new sum), as if it had always been that long. */
	for (uint64_t items = 101; items <= 400; items += 13)
		latest_next(&latest, items, &prng);
	latest_next(&latest, 5000, &prng);
	latest_next(&latest, 5007, &prng);
	latest_init(&fresh, 5007);
	cr_expect_float_eq(latest.ranks.zeta_items, fresh.ranks.zeta_items, 1e-10);
	cr_expect_float_eq(latest.ranks.eta, fresh.ranks.eta, 1e-12);
}

Test(generator, below_is_uniform)
{
	enum { SIDES = 37, DRAWS = 370000 };
	uint64_t seen[SIDES] = {0};
	struct prng prng;
	double chi_square = 0;

	prng_seed(&prng, 42, 0);
	for (int i = 0; i < DRAWS; i++)
		seen[prng_below(&prng, SIDES)]++;
	for (int side = 0; side < SIDES; side++)
		chi_square += ((double)seen[side] - 10000) * ((double)seen[side] - 10000) / 10000;
	/* 36 degrees of freedom: 99.99 % quantile 76. */
	cr_expect_lt(chi_square, 76.0);
	cr_expect_eq(prng_below(&prng, 1), 0);
}

Test(generator, streams_of_a_seed_differ_and_repeat)
{
	struct prng one, other, again;

	prng_seed(&one, 9, 0);
	prng_seed(&other, 9, 1);
	prng_seed(&again, 9, 0);
	for (int i = 0; i < 100; i++) {
		uint64_t value = prng_next(&one);

		cr_expect_neq(value, prng_next(&other));
		cr_expect_eq(value, prng_next(&again));
	}
}

Test(generator, weights_need_not_add_up_to_one)
{
	enum { DRAWS = 80000 };
	static const double weights[] = {3, 0, 4, 1, 0};
	struct weighted weighted;
	struct prng prng;
	uint64_t seen[5] = {0};

	cr_assert(weighted_init(&weighted, weights, 5));
	prng_seed(&prng, 2, 0);
	for (int i = 0; i < DRAWS; i++)
		seen[weighted_next(&weighted, &prng)]++;
	expect_count(seen[0], DRAWS * 3 / 8.0, "weight 3");
	expect_count(seen[2], DRAWS * 4 / 8.0, "weight 4");
	expect_count(seen[3], DRAWS * 1 / 8.0, "weight 1");
	cr_expect_eq(seen[1] + seen[4], 0);
}

Test(generator, weights_that_make_no_choice_are_refused)
{
	struct weighted weighted;

	cr_expect_not(weighted_init(&weighted, (double[]){0, 0}, 2));
	cr_expect_not(weighted_init(&weighted, (double[]){1, -0.1}, 2));
	cr_expect_not(weighted_init(&weighted, (double[]){1, NAN}, 2));
	cr_expect_not(weighted_init(&weighted, (double[]){1, INFINITY}, 2));
	cr_expect_not(weighted_init(&weighted, NULL, 0));
}
