/*
 * Latency histograms with three significant digits, of the layout that YCSB's HdrHistogram has: whole
 * microseconds, exact below 2,048, then 1,024 buckets for every doubling. A value is printed as the upper end
 * of its bucket (the minimum as the lower end), so it is never off by more than 1/1024.
 *
 * One thread writes a `struct latency`; any thread may add it up at any time. Counters are relaxed atomics
 * with a single writer: a reader sees each counter at most a few operations late, never a wrong value. A sum
 * taken while the writer runs can lag behind the counts by the operations in flight.
 *
 * Here a latency is rounded to the nearest microsecond (YCSB cuts it off), and the average comes from a sum
 * of nanoseconds: an operation inside the process takes a few microseconds, where cutting would lose a tenth.
 */
#ifndef MTRACE_BENCH_LATENCY_H
#define MTRACE_BENCH_LATENCY_H

#include <stdatomic.h>
#include <stdint.h>

enum {
	LATENCY_LINEAR = 2048,		   /* buckets of one microsecond */
	LATENCY_HALF = LATENCY_LINEAR / 2, /* buckets per doubling */
	LATENCY_TOP_BIT = 31,		   /* 2^32 - 1 us, 71 minutes; longer ones count as that */
	LATENCY_BUCKETS = LATENCY_LINEAR + (LATENCY_TOP_BIT - 10) * LATENCY_HALF,
};

struct latency {
	_Atomic uint64_t sum_ns;
	_Atomic uint32_t used; /* buckets from here on are 0 */
	_Atomic uint64_t counts[LATENCY_BUCKETS];
};

/* A plain sum of histograms, or the difference of two. Invariant: count is the sum of counts[0..used-1]. */
struct latency_sum {
	uint64_t count;
	uint64_t sum_ns;
	uint32_t used;
	uint64_t counts[LATENCY_BUCKETS];
};

/* The bucket of a value, and the smallest and the largest value of a bucket. */
uint32_t latency_bucket(uint64_t value_us);
uint64_t latency_bucket_low_us(uint32_t bucket);
uint64_t latency_bucket_high_us(uint32_t bucket);

/* Adds one operation. Only the owner of `latency` calls it. */
static inline void latency_add_relaxed(_Atomic uint64_t *counter, uint64_t amount)
{
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + amount,
			      memory_order_relaxed);
}

void latency_record(struct latency *latency, uint64_t elapsed_ns);

/* into += latency. */
void latency_sum_add(struct latency_sum *into, const struct latency *latency);

/* now - before, of the same histograms at two times: what happened in between. */
void latency_sum_difference(struct latency_sum *between, const struct latency_sum *now,
			    const struct latency_sum *before);

/*
 * Figures of a sum, in microseconds. Of an empty one they are what YCSB 0.17 prints: minimum INT64_MAX,
 * maximum and percentiles 0, average NaN. The average is kept within minimum and maximum: both are whole
 * microseconds, and it must not contradict them.
 */
uint64_t latency_min_us(const struct latency_sum *sum);
uint64_t latency_max_us(const struct latency_sum *sum);
double latency_average_us(const struct latency_sum *sum);
/* The value of rank ceil(percent / 100 * count), at least 1: 0 < percent <= 100. */
uint64_t latency_percentile_us(const struct latency_sum *sum, double percent);

#endif
