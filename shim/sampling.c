#include "shim/sampling.h"

#include "shim/raw.h"

#define BUCKET_BITS    17u
#define BUCKETS	       (1u << BUCKET_BITS)
#define BUCKET_ENTRIES 8u /* a cache line */
#define BUCKETS_TRIED  4u

_Atomic uint64_t sample_filter[(1u << SAMPLE_FILTER_BITS) / 16];

static struct {
	double mean_bytes;
	_Atomic uint64_t *entries; /* BUCKETS * BUCKET_ENTRIES addresses, 0: free */
	_Atomic uint8_t *spilled;  /* by bucket: some of its blocks went to the next one */
} set;

bool sampling_start(uint64_t mean_bytes)
{
	set.mean_bytes = (double)mean_bytes;
	if (!set.entries)
		set.entries = raw_reserve(BUCKETS * BUCKET_ENTRIES * sizeof(uint64_t));
	if (!set.spilled)
		set.spilled = raw_reserve(BUCKETS);
	return set.entries && set.spilled;
}

void sampling_forget(void)
{
	if (set.entries)
		raw_munmap((void *)set.entries, BUCKETS * BUCKET_ENTRIES * sizeof(uint64_t));
	if (set.spilled)
		raw_munmap((void *)set.spilled, BUCKETS);
	memset(&set, 0, sizeof set);
	memset((void *)sample_filter, 0, sizeof sample_filter);
}

/* ---- the exponential distribution
 * ------------------------------------------------------------------------------- */

uint64_t sampling_random(struct thread *thread)
{
	/* Marsaglia's xorshift64 with Vigna's multiplier (xorshift64*). */
	uint64_t x = thread->random;
	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	thread->random = x;
	return x * UINT64_C(0x2545f4914f6cdd1d);
}

/* Natural logarithm of 0 < x <= 1, to 1e-7: the exponent by its bits, the rest by the series of artanh.
 * libm's log would bind to a symbol version that older hosts lack. */
static double natural_log(double x)
{
	union {
		double number;
		uint64_t bits;
	} part = {x};
	int exponent = (int)(part.bits >> 52) - 1023;
	part.bits = (part.bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1023) << 52;
	double mantissa = part.number; /* 1 <= mantissa < 2 */
	if (mantissa > 1.4142135623730951) {
		mantissa *= 0.5;
		exponent++;
	}
	double z = (mantissa - 1) / (mantissa + 1), square = z * z;
	double series = z * (1 + square * (1.0 / 3 + square * (1.0 / 5 + square * (1.0 / 7 + square / 9))));
	return exponent * 0.6931471805599453 + 2 * series;
}

uint64_t sampling_draw(struct thread *thread)
{
	double uniform = (double)((sampling_random(thread) >> 11) + 1) * 0x1p-53; /* in (0, 1] */
	return (uint64_t)(-natural_log(uniform) * set.mean_bytes) + 1;
}

/* ---- the set
 * ---------------------------------------------------------------------------------------------------- */

/* Adds `one` (1 or -1) to an address's counter, unless it is full: then it stays so for good, which only
 * costs time. */
static void count(uint64_t address, int one)
{
	struct sample_place place = sample_place(address);
	uint64_t word = atomic_load_explicit(&sample_filter[place.word], memory_order_relaxed), wanted;
	do {
		if ((word >> place.shift & 15) == 15)
			return;
		wanted = one > 0 ? word + (UINT64_C(1) << place.shift) : word - (UINT64_C(1) << place.shift);
	} while (!atomic_compare_exchange_weak_explicit(&sample_filter[place.word], &word, wanted,
							memory_order_relaxed, memory_order_relaxed));
}

static uint64_t bucket_of(uint64_t address, unsigned attempt)
{
	return ((sample_hash(address) >> 20) + attempt) & (BUCKETS - 1);
}

static bool put_in_bucket(_Atomic uint64_t *entries, uint64_t address)
{
	for (unsigned i = 0; i < BUCKET_ENTRIES; i++) {
		uint64_t found = 0;
		if (atomic_compare_exchange_strong_explicit(&entries[i], &found, address,
							    memory_order_relaxed, memory_order_relaxed))
			return true;
	}
	return false;
}

bool sample_set_insert(uint64_t address)
{
	/* It can only be there already if its free was not seen (made past our hooks): then it is a new block
	 * now. */
	if (sample_set_maybe(address))
		sample_set_remove(address);
	for (unsigned attempt = 0; attempt < BUCKETS_TRIED; attempt++) {
		uint64_t bucket = bucket_of(address, attempt);
		if (put_in_bucket(&set.entries[bucket * BUCKET_ENTRIES], address)) {
			count(address, 1);
			return true;
		}
		atomic_store_explicit(&set.spilled[bucket], 1, memory_order_relaxed);
	}
	return false;
}

/* No block has such an address, and the hash does not see the bit. */
#define OWN_BIT UINT64_C(1)

bool sample_set_insert_own(uint64_t address)
{
	return sample_set_insert(address | OWN_BIT);
}

bool sample_set_remove_own(uint64_t address)
{
	return sample_set_remove(address | OWN_BIT);
}

bool sample_set_remove(uint64_t address)
{
	for (unsigned attempt = 0; attempt < BUCKETS_TRIED; attempt++) {
		uint64_t bucket = bucket_of(address, attempt);
		_Atomic uint64_t *entries = &set.entries[bucket * BUCKET_ENTRIES];
		for (unsigned i = 0; i < BUCKET_ENTRIES; i++) {
			if (atomic_load_explicit(&entries[i], memory_order_relaxed) != address)
				continue;
			atomic_store_explicit(&entries[i], 0, memory_order_relaxed);
			count(address, -1);
			return true;
		}
		if (!atomic_load_explicit(&set.spilled[bucket], memory_order_relaxed))
			return false;
	}
	return false;
}
