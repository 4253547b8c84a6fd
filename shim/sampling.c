#include "shim/sampling.h"

#include "shim/raw.h"

#define BITMAP_WORDS      ((1u << SAMPLE_BITMAP_BITS) / 64)
#define BUCKET_BITS       17u
#define BUCKETS           (1u << BUCKET_BITS)
#define BUCKET_ENTRIES    8u /* a cache line */
#define BUCKETS_TRIED     4u
#define REBUILD_AT_INSERTS 4096u

_Atomic(_Atomic uint64_t *) sample_bitmap;

static struct {
	double mean_bytes;
	_Atomic uint64_t *entries; /* BUCKETS * BUCKET_ENTRIES addresses, 0: free */
	_Atomic uint8_t *spilled;  /* by bucket: some of its blocks went to the next one */
	_Atomic uint64_t bitmaps[2][BITMAP_WORDS];
	_Atomic(_Atomic uint64_t *) building; /* the other bitmap while it is made, else NULL */
	_Atomic uint32_t inserts;             /* since the last rebuild */
} set;

bool sampling_start(uint64_t mean_bytes)
{
	set.mean_bytes = (double)mean_bytes;
	if (!set.entries)
		set.entries = raw_reserve(BUCKETS * BUCKET_ENTRIES * sizeof(uint64_t));
	if (!set.spilled)
		set.spilled = raw_reserve(BUCKETS);
	atomic_store_explicit(&sample_bitmap, set.bitmaps[0], memory_order_relaxed);
	return set.entries && set.spilled;
}

void sampling_forget(void)
{
	if (set.entries)
		raw_munmap((void *)set.entries, BUCKETS * BUCKET_ENTRIES * sizeof(uint64_t));
	if (set.spilled)
		raw_munmap((void *)set.spilled, BUCKETS);
	memset(&set, 0, sizeof set);
}

/* ---- the exponential distribution ------------------------------------------------------------------------------- */

static uint64_t random_bits(struct thread *thread)
{
	/* Marsaglia's xorshift64 with Vigna's multiplier (xorshift64*). */
	uint64_t x = thread->random;
	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	thread->random = x;
	return x * UINT64_C(0x2545f4914f6cdd1d);
}

/* Natural logarithm of 0 < x <= 1, to 1e-7: the exponent by its bits, the rest by the series of artanh. libm's log would
 * bind to a symbol version that older hosts lack. */
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

int64_t sampling_draw(struct thread *thread)
{
	double uniform = (double)((random_bits(thread) >> 11) + 1) * 0x1p-53; /* in (0, 1] */
	return (int64_t)(-natural_log(uniform) * set.mean_bytes);
}

/* ---- the set ---------------------------------------------------------------------------------------------------- */

static void set_bit(_Atomic uint64_t *bitmap, uint64_t address)
{
	uint64_t bit = sample_hash(address) >> (64 - SAMPLE_BITMAP_BITS);
	atomic_fetch_or_explicit(&bitmap[bit / 64], UINT64_C(1) << (bit % 64), memory_order_relaxed);
}

static uint64_t bucket_of(uint64_t address, unsigned attempt)
{
	return ((sample_hash(address) >> 20) + attempt) & (BUCKETS - 1);
}

static bool put_in_bucket(_Atomic uint64_t *entries, uint64_t address)
{
	for (unsigned i = 0; i < BUCKET_ENTRIES; i++) {
		uint64_t found = 0;
		if (atomic_compare_exchange_strong(&entries[i], &found, address) || found == address)
			return true;
	}
	return false;
}

static bool put_in_table(uint64_t address)
{
	for (unsigned attempt = 0; attempt < BUCKETS_TRIED; attempt++) {
		uint64_t bucket = bucket_of(address, attempt);
		if (put_in_bucket(&set.entries[bucket * BUCKET_ENTRIES], address))
			return true;
		atomic_store_explicit(&set.spilled[bucket], 1, memory_order_relaxed);
	}
	return false;
}

/*
 * Beside a rebuild: the address is stored before `building` is read, and the rebuild publishes `building` before it reads
 * the addresses, all sequentially consistent. So either the rebuild finds the address, or we find the new bitmap.
 */
bool sample_set_insert(uint64_t address)
{
	if (!put_in_table(address))
		return false;
	_Atomic uint64_t *building = atomic_load(&set.building);
	if (building)
		set_bit(building, address);
	set_bit(atomic_load(&sample_bitmap), address);
	atomic_fetch_add_explicit(&set.inserts, 1, memory_order_relaxed);
	return true;
}

bool sample_set_remove(uint64_t address)
{
	for (unsigned attempt = 0; attempt < BUCKETS_TRIED; attempt++) {
		uint64_t bucket = bucket_of(address, attempt);
		_Atomic uint64_t *entries = &set.entries[bucket * BUCKET_ENTRIES];
		for (unsigned i = 0; i < BUCKET_ENTRIES; i++) {
			if (atomic_load_explicit(&entries[i], memory_order_relaxed) != address)
				continue;
			atomic_store(&entries[i], 0);
			return true;
		}
		if (!atomic_load_explicit(&set.spilled[bucket], memory_order_relaxed))
			return false;
	}
	return false;
}

void sample_set_rebuild(void)
{
	if (atomic_load_explicit(&set.inserts, memory_order_relaxed) < REBUILD_AT_INSERTS)
		return;
	atomic_store_explicit(&set.inserts, 0, memory_order_relaxed);
	_Atomic uint64_t *old = atomic_load(&sample_bitmap);
	_Atomic uint64_t *fresh = old == set.bitmaps[0] ? set.bitmaps[1] : set.bitmaps[0];
	for (unsigned i = 0; i < BITMAP_WORDS; i++)
		atomic_store_explicit(&fresh[i], 0, memory_order_relaxed);
	atomic_store(&set.building, fresh);
	for (uint64_t i = 0; i < BUCKETS * BUCKET_ENTRIES; i++) {
		uint64_t address = atomic_load(&set.entries[i]);
		if (address)
			set_bit(fresh, address);
	}
	atomic_store(&sample_bitmap, fresh);
	atomic_store(&set.building, NULL);
}
