#include "analyzer/tally.h"

#include <math.h>

#define DEVIATIONS 1.959963984540054 /* of the normal distribution, 2.5% beyond on each side */

static struct share wilson(double part, double whole, double whole_squared, bool exact)
{
	if (!(whole > 0))
		return (struct share){NAN, 0, 1};
	double value = part / whole;
	if (exact)
		return (struct share){value, value, value};
	double n = whole * whole / whole_squared, z2 = DEVIATIONS * DEVIATIONS;
	double center = (value + z2 / (2 * n)) / (1 + z2 / n);
	double half = DEVIATIONS / (1 + z2 / n) * sqrt(value * (1 - value) / n + z2 / (4 * n * n));
	return (struct share){value, fmin(fmax(center - half, 0), value),
			      fmax(fmin(center + half, 1), value)};
}

struct share tally_share_blocks(const struct tally *part, const struct tally *whole, bool exact)
{
	return wilson(part->blocks, whole->blocks, whole->blocks_squared, exact);
}

struct share tally_share_bytes(const struct tally *part, const struct tally *whole, bool exact)
{
	return wilson(part->bytes, whole->bytes, whole->bytes_squared, exact);
}

struct estimate tally_blocks(const struct tally *tally, bool exact)
{
	double samples = (double)tally->samples;
	return (struct estimate){
		.value = tally->blocks,
		.variance = exact ? 0 : fmax(tally->blocks_squared - tally->blocks, 0),
		.floor = samples,
		.weight = exact || !tally->samples ? 0 : tally->blocks / samples,
	};
}
