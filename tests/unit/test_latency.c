#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>

#include "bench/generator.h"
#include "bench/latency.h"

Test(latency, buckets_follow_each_other_without_gap)
{
	for (uint32_t bucket = 0; bucket + 1 < LATENCY_BUCKETS; bucket++) {
		uint64_t low = latency_bucket_low_us(bucket), high = latency_bucket_high_us(bucket);

		cr_assert_leq(low, high);
		cr_assert_eq(high + 1, latency_bucket_low_us(bucket + 1), "bucket %u", bucket);
		cr_assert_eq(latency_bucket(low), bucket);
		cr_assert_eq(latency_bucket(high), bucket);
		/* Three significant digits. */
		cr_assert(high - low <= low / 1024, "bucket %u", bucket);
	}
	cr_expect_eq(latency_bucket_high_us(LATENCY_BUCKETS - 1), UINT32_MAX);
	cr_expect_eq(latency_bucket(UINT64_MAX), LATENCY_BUCKETS - 1);
}

Test(latency, bucket_ends_are_those_of_ycsbs_histogram)
{
	/* Values that YCSB prints: upper ends for maxima and percentiles, lower ends for minima. */
	static const uint64_t high[] = {2047, 2049, 4097 + 2, 9471, 13087, 45983, 193279, 376063};
	static const uint64_t low[] = {2048, 45952, 58048, 125184};

	for (size_t i = 0; i < sizeof high / sizeof *high; i++)
		cr_expect_eq(latency_bucket_high_us(latency_bucket(high[i])), high[i], "%llu",
			     (unsigned long long)high[i]);
	for (size_t i = 0; i < sizeof low / sizeof *low; i++)
		cr_expect_eq(latency_bucket_low_us(latency_bucket(low[i])), low[i], "%llu",
			     (unsigned long long)low[i]);
}

static int ascending(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

static struct latency *new_latency(void)
{
	return calloc(1, sizeof(struct latency));
}

Test(latency, percentiles_against_an_exact_sort)
{
	enum { COUNT = 30011 };
	static const double percents[] = {0.001, 1, 25, 50, 90, 95, 99, 99.9, 99.99, 100};
	static uint64_t values[COUNT];
	struct latency *latency = new_latency();
	struct latency_sum *sum = calloc(1, sizeof *sum);
	struct prng prng;
	double total = 0;

	prng_seed(&prng, 1, 0);
	for (int i = 0; i < COUNT; i++) { /* six orders of magnitude */
		values[i] = (uint64_t)exp(prng_unit(&prng) * 14);
		total += (double)values[i];
		latency_record(latency, values[i] * 1000);
	}
	qsort(values, COUNT, sizeof *values, ascending);
	latency_sum_add(sum, latency);
	cr_expect_eq(sum->count, COUNT);
	for (size_t i = 0; i < sizeof percents / sizeof *percents; i++) {
		uint64_t rank = (uint64_t)ceil(percents[i] / 100 * COUNT),
			 found = latency_percentile_us(sum, percents[i]);
		uint64_t exact = values[rank - 1];

		cr_expect(found >= exact && found - exact <= exact / 1024, "%g: %llu for %llu", percents[i],
			  (unsigned long long)found, (unsigned long long)exact);
	}
	cr_expect_float_eq(latency_average_us(sum), total / COUNT, 1e-6);
	cr_expect_eq(latency_min_us(sum), values[0]);
	cr_expect_eq(latency_max_us(sum), latency_bucket_high_us(latency_bucket(values[COUNT - 1])));
	free(latency);
	free(sum);
}

Test(latency, rank_is_not_lost_to_binary_fractions)
{
	struct latency *latency = new_latency();
	struct latency_sum *sum = calloc(1, sizeof *sum);

	for (uint64_t i = 1; i <= 1000; i++)
		latency_record(latency, i * 1000);
	latency_sum_add(sum, latency);
	cr_expect_eq(latency_percentile_us(sum, 99.9), 999);
	cr_expect_eq(latency_percentile_us(sum, 99), 990);
	cr_expect_eq(latency_percentile_us(sum, 0.1), 1);
	cr_expect_eq(latency_percentile_us(sum, 0.11), 2);
	cr_expect_eq(latency_percentile_us(sum, 100), 1000);
	free(latency);
	free(sum);
}

Test(latency, sums_and_differences)
{
	struct latency *one = new_latency(), *other = new_latency();
	struct latency_sum *before = calloc(1, sizeof *before), *now = calloc(1, sizeof *now),
			   *between = calloc(1, sizeof *between);

	latency_record(one, 3000);
	latency_sum_add(before, one);
	latency_record(one, 5000);
	latency_record(other, 9000000);
	latency_sum_add(now, one);
	latency_sum_add(now, other);
	latency_sum_difference(between, now, before);
	cr_expect_eq(now->count, 3);
	cr_expect_eq(between->count, 2);
	cr_expect_eq(latency_min_us(between), 5);
	cr_expect_eq(latency_max_us(between), 9007); /* 9000 in a bucket of 8 */
	cr_expect_float_eq(latency_average_us(between), (5 + 9000) / 2.0, 1e-9);
	free(one);
	free(other);
	free(before);
	free(now);
	free(between);
}

Test(latency, rounds_to_the_nearest_microsecond_and_averages_nanoseconds)
{
	struct latency *latency = new_latency();
	struct latency_sum *sum = calloc(1, sizeof *sum);

	latency_record(latency, 1499);
	latency_record(latency, 1500);
	latency_sum_add(sum, latency);
	cr_expect_eq(sum->counts[1], 1);
	cr_expect_eq(sum->counts[2], 1);
	cr_expect_float_eq(latency_average_us(sum), 1.4995, 1e-12);
	free(latency);
	free(sum);
}

Test(latency, average_stays_within_minimum_and_maximum)
{
	struct latency *latency = new_latency();
	struct latency_sum *sum = calloc(1, sizeof *sum);

	latency_record(latency, 2400); /* counted as 2 us */
	latency_sum_add(sum, latency);
	cr_expect_eq(latency_max_us(sum), 2);
	cr_expect_float_eq(latency_average_us(sum), 2, 0);
	free(latency);
	free(sum);
}

Test(latency, an_empty_sum_looks_as_in_ycsb)
{
	struct latency_sum *sum = calloc(1, sizeof *sum);

	cr_expect_eq(latency_min_us(sum), INT64_MAX);
	cr_expect_eq(latency_max_us(sum), 0);
	cr_expect_eq(latency_percentile_us(sum, 99), 0);
	cr_expect(isnan(latency_average_us(sum)));
	free(sum);
}
