#include "bench/generator.h"

#include <math.h>

void prng_seed(struct prng *prng, uint64_t seed, uint64_t stream)
{
	struct prng mixer = {seed};
	uint64_t base = prng_next(&mixer);

	mixer.state = base ^ stream * UINT64_C(0xD1342543DE82EF95);
	prng->state = prng_next(&mixer);
}

uint64_t fnv_hash(uint64_t value)
{
	uint64_t hash = UINT64_C(0xCBF29CE484222325);

	for (int i = 0; i < 8; i++, value >>= 8)
		hash = (hash ^ (value & 0xFF)) * UINT64_C(1099511628211);
	return hash >> 63 ? -hash : hash;
}

double zeta(uint64_t n, double theta)
{
	enum { SUMMED = 256 };
	double sum = 0, m = SUMMED, last = (double)n;

	for (uint64_t k = 1; k <= n && k < SUMMED; k++)
		sum += pow((double)k, -theta);
	if (n < SUMMED)
		return sum;
	return sum + (pow(last, 1 - theta) - pow(m, 1 - theta)) / (1 - theta) +
	       (pow(m, -theta) + pow(last, -theta)) / 2 +
	       theta / 12 * (pow(m, -theta - 1) - pow(last, -theta - 1));
}

/* What follows from items, theta and zeta_items. */
static void zipfian_derive(struct zipfian *zipfian)
{
	double theta = zipfian->theta, items = (double)zipfian->items;

	zipfian->alpha = 1 / (1 - theta);
	zipfian->eta = (1 - pow(2 / items, 1 - theta)) / (1 - zeta(2, theta) / zipfian->zeta_items);
}

void zipfian_init(struct zipfian *zipfian, uint64_t items, double theta)
{
	*zipfian = (struct zipfian){.items = items, .theta = theta, .zeta_items = zeta(items, theta)};
	zipfian_derive(zipfian);
}

uint64_t zipfian_next(const struct zipfian *zipfian, struct prng *prng)
{
	double u = prng_unit(prng), uz = u * zipfian->zeta_items, eta = zipfian->eta;
	uint64_t rank;

	if (uz < 1)
		return 0;
	if (uz < 1 + pow(0.5, zipfian->theta))
		return 1;
	rank = (uint64_t)((double)zipfian->items * pow(eta * u - eta + 1, zipfian->alpha));
	return rank < zipfian->items ? rank : zipfian->items - 1;
}

double zipfian_cdf(const struct zipfian *zipfian, uint64_t k)
{
	if (k == 0)
		return 0;
	if (k >= zipfian->items)
		return 1;
	if (k == 1)
		return 1 / zipfian->zeta_items;
	return 1 - (1 - pow((double)k / (double)zipfian->items, 1 - zipfian->theta)) / zipfian->eta;
}

void scrambled_init(struct scrambled *scrambled, uint64_t items)
{
	zipfian_init(&scrambled->ranks, SCRAMBLED_RANKS, ZIPFIAN_THETA);
	scrambled->items = items;
}

uint64_t scrambled_next(const struct scrambled *scrambled, struct prng *prng)
{
	return fnv_hash(zipfian_next(&scrambled->ranks, prng)) % scrambled->items;
}

void latest_init(struct latest *latest, uint64_t items)
{
	zipfian_init(&latest->ranks, items, ZIPFIAN_THETA);
}

/* A few new items cost a term each; many, a new sum. */
static void latest_grow(struct zipfian *ranks, uint64_t items)
{
	enum { FEW = 64 };

	if (items - ranks->items > FEW)
		ranks->zeta_items = zeta(items, ranks->theta);
	else
		for (uint64_t k = ranks->items + 1; k <= items; k++)
			ranks->zeta_items += pow((double)k, -ranks->theta);
	ranks->items = items;
	zipfian_derive(ranks);
}

uint64_t latest_next(struct latest *latest, uint64_t items, struct prng *prng)
{
	if (items > latest->ranks.items)
		latest_grow(&latest->ranks, items);
	return latest->ranks.items - 1 - zipfian_next(&latest->ranks, prng);
}

bool weighted_init(struct weighted *weighted, const double *weights, unsigned count)
{
	double total = 0, sum = 0;

	for (unsigned i = 0; i < count; i++) {
		if (!(weights[i] >= 0) || !isfinite(weights[i]))
			return false;
		total += weights[i];
	}
	if (count > WEIGHTED_MOST || !(total > 0) || !isfinite(total))
		return false;
	weighted->count = count;
	for (unsigned i = 0; i < count; i++)
		weighted->bound[i] = (sum += weights[i]) / total;
	/* Rounding must not leave a gap at the top, nor give it to a choice of weight 0. */
	for (unsigned i = count; i-- > 0;) {
		weighted->bound[i] = 1;
		if (weights[i] > 0)
			break;
	}
	return true;
}

unsigned weighted_next(const struct weighted *weighted, struct prng *prng)
{
	double u = prng_unit(prng);
	unsigned chosen = 0;

	while (chosen + 1 < weighted->count && u >= weighted->bound[chosen])
		chosen++;
	return chosen;
}
