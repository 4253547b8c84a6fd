#include "bench/latency.h"

#include <math.h>

uint32_t latency_bucket(uint64_t value_us)
{
	uint32_t shift;

	if (value_us < LATENCY_LINEAR)
		return (uint32_t)value_us;
	if (value_us > UINT32_MAX)
		value_us = UINT32_MAX;
	shift = (uint32_t)(63 - __builtin_clzll(value_us)) - 10;
	return shift * LATENCY_HALF + (uint32_t)(value_us >> shift);
}

/* Where value_us >> shift is in LATENCY_HALF..LATENCY_LINEAR-1, the bucket is shift * LATENCY_HALF above it.
 */
uint64_t latency_bucket_low_us(uint32_t bucket)
{
	uint32_t shift = bucket < LATENCY_LINEAR ? 0 : bucket / LATENCY_HALF - 1;

	return (uint64_t)(bucket - shift * LATENCY_HALF) << shift;
}

uint64_t latency_bucket_high_us(uint32_t bucket)
{
	uint32_t shift = bucket < LATENCY_LINEAR ? 0 : bucket / LATENCY_HALF - 1;

	return latency_bucket_low_us(bucket) + (UINT64_C(1) << shift) - 1;
}

void latency_record(struct latency *latency, uint64_t elapsed_ns)
{
	uint32_t bucket = latency_bucket((elapsed_ns + 500) / 1000);

	latency_add_relaxed(&latency->counts[bucket], 1);
	latency_add_relaxed(&latency->sum_ns, elapsed_ns);
	if (bucket >= atomic_load_explicit(&latency->used, memory_order_relaxed))
		atomic_store_explicit(&latency->used, bucket + 1, memory_order_relaxed);
}

void latency_sum_add(struct latency_sum *into, const struct latency *latency)
{
	uint32_t used = atomic_load_explicit(&latency->used, memory_order_relaxed);

	for (uint32_t i = 0; i < used; i++) {
		uint64_t count = atomic_load_explicit(&latency->counts[i], memory_order_relaxed);

		into->counts[i] += count;
		into->count += count;
	}
	into->sum_ns += atomic_load_explicit(&latency->sum_ns, memory_order_relaxed);
	if (used > into->used)
		into->used = used;
}

void latency_sum_difference(struct latency_sum *between, const struct latency_sum *now,
			    const struct latency_sum *before)
{
	between->count = now->count - before->count;
	between->sum_ns = now->sum_ns - before->sum_ns;
	between->used = now->used;
	for (uint32_t i = 0; i < now->used; i++)
		between->counts[i] = now->counts[i] - (i < before->used ? before->counts[i] : 0);
}

uint64_t latency_min_us(const struct latency_sum *sum)
{
	for (uint32_t i = 0; i < sum->used; i++)
		if (sum->counts[i])
			return latency_bucket_low_us(i);
	return INT64_MAX;
}

uint64_t latency_max_us(const struct latency_sum *sum)
{
	for (uint32_t i = sum->used; i-- > 0;)
		if (sum->counts[i])
			return latency_bucket_high_us(i);
	return 0;
}

double latency_average_us(const struct latency_sum *sum)
{
	double average = (double)sum->sum_ns / 1000 / (double)sum->count;

	if (!sum->count)
		return NAN;
	return fmin(fmax(average, (double)latency_min_us(sum)), (double)latency_max_us(sum));
}

uint64_t latency_percentile_us(const struct latency_sum *sum, double percent)
{
	/* The small step down keeps 99.9 % of 1,000 at rank 999: 99.9 / 100 is above 0.999 in binary. */
	double rank = ceil(percent / 100 * (double)sum->count * (1 - 1e-12));
	uint64_t wanted = rank < 1 ? 1 : (uint64_t)rank, seen = 0;

	for (uint32_t i = 0; i < sum->used; i++) {
		seen += sum->counts[i];
		if (seen >= wanted)
			return latency_bucket_high_us(i);
	}
	return latency_max_us(sum);
}
