/*
 * Random numbers, and the distributions of YCSB over them.
 *
 * Everything here is deterministic in the seed. A `struct prng` belongs to one thread; a generator that is
 * not changed (all but struct latest) may be shared.
 *
 * "Rank" is the place in the order of popularity, from 0, the hottest. "Item" is a number in 0..items-1.
 */
#ifndef MTRACE_BENCH_GENERATOR_H
#define MTRACE_BENCH_GENERATOR_H

#include <stdbool.h>
#include <stdint.h>

/* YCSB's constant of all its Zipfian distributions. */
#define ZIPFIAN_THETA 0.99

/* The number of ranks, 0..10^10, that YCSB's ScrambledZipfianGenerator folds onto the keys. */
#define SCRAMBLED_RANKS 10000000001U

struct prng {
	uint64_t state;
};

/* Streams of the same seed and different `stream` numbers do not overlap in any way that matters here. */
void prng_seed(struct prng *prng, uint64_t seed, uint64_t stream);

/* splitmix64 (Steele, Lea, Flood 2014): one addition and a bit mixer; passes BigCrush. */
static inline uint64_t prng_next(struct prng *prng)
{
	uint64_t z = prng->state += UINT64_C(0x9E3779B97F4A7C15);

	z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
	z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
	return z ^ z >> 31;
}

/* Uniform in [0, 1), 53 bits. */
static inline double prng_unit(struct prng *prng)
{
	return (double)(prng_next(prng) >> 11) * 0x1p-53;
}

/* Uniform in 0..limit-1; limit > 0. The bias of at most limit / 2^64 is below what any run could show. */
static inline uint64_t prng_below(struct prng *prng, uint64_t limit)
{
	return (uint64_t)((unsigned __int128)prng_next(prng) * limit >> 64);
}

/*
 * The hash that YCSB puts between ranks, key numbers and key names: FNV-1a with 64 bits over the eight bytes
 * of `value`, lowest first, then the absolute value as of a signed number (Java has no unsigned).
 */
uint64_t fnv_hash(uint64_t value);

/*
 * The generalised harmonic number: the sum of k^-theta for k = 1..n. Terms up to 256 are added up, the rest
 * is the Euler-Maclaurin formula with its first correction; the relative error is below 1e-11 for 0 < theta
 * < 1. So 10^10 items cost as much as 1,000 do, and no constant has to be built in.
 */
double zeta(uint64_t n, double theta);

/*
 * Zipfian ranks by the method that YCSB uses (Gray et al., "Quickly generating billion-record synthetic
 * databases", SIGMOD 1994). Ranks 0 and 1 have exactly the probabilities 1/zeta and 2^-theta/zeta. From rank
 * 2 on the method inverts a continuous approximation: P(rank < k) = 1 - (1 - (k/items)^(1-theta)) / eta for k
 * >= 2 which is up to a fifth above the true k^-theta/zeta at rank 2, and close to it further down.
 */
struct zipfian {
	uint64_t items;
	double theta;
	double zeta_items;
	double alpha;
	double eta;
};

void zipfian_init(struct zipfian *zipfian, uint64_t items, double theta); /* items >= 1, 0 < theta < 1 */
uint64_t zipfian_next(const struct zipfian *zipfian, struct prng *prng);
/* P(rank < k) as zipfian_next() has it (the formula above), for tests. */
double zipfian_cdf(const struct zipfian *zipfian, uint64_t k);

/* YCSB's scrambled Zipfian: of SCRAMBLED_RANKS ranks, rank r is item fnv_hash(r) modulo items. */
struct scrambled {
	struct zipfian ranks;
	uint64_t items;
};

void scrambled_init(struct scrambled *scrambled, uint64_t items);
uint64_t scrambled_next(const struct scrambled *scrambled, struct prng *prng);

/* YCSB's "latest": Zipfian ranks counted back from the newest item. Belongs to one thread, since it grows. */
struct latest {
	struct zipfian ranks;
};

void latest_init(struct latest *latest, uint64_t items);
/* `items` is the present number, at least as many as before. */
uint64_t latest_next(struct latest *latest, uint64_t items, struct prng *prng);

/* A choice by weights; they need not add up to 1. */
enum { WEIGHTED_MOST = 8 };

struct weighted {
	unsigned count;
	double bound[WEIGHTED_MOST]; /* running sums of weight / total; the last is 1 */
};

/* False where count is 0 or above WEIGHTED_MOST, a weight is negative or not finite, or all are 0. */
bool weighted_init(struct weighted *weighted, const double *weights, unsigned count);
unsigned weighted_next(const struct weighted *weighted, struct prng *prng);

#endif
