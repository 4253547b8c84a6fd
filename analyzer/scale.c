#include "analyzer/scale.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Climbs while the value is at least one step of `base`; `names` ends with NULL. */
static struct scale climb(double largest, double base, const char *const *names, const char *rest)
{
	struct scale scale = {.divisor = 1};
	while (names[1] && fabs(largest) >= scale.divisor * base) {
		scale.divisor *= base;
		names++;
	}
	snprintf(scale.unit, sizeof scale.unit, "%s%s", *names, rest);
	return scale;
}

struct scale scale_for(double largest, const char *unit)
{
	static const char *const bytes[] = {"B", "KiB", "MiB", "GiB", "TiB", NULL};
	static const char *const micro[] = {"us", "ms", "s", NULL};
	static const char *const plain[] = {"", "k ", "M ", "G ", NULL};
	static const char *const none[] = {"", NULL};
	if (strncmp(unit, "bytes", 5) == 0)
		return climb(largest, 1024, bytes, unit + 5);
	if (strcmp(unit, "us") == 0)
		return climb(largest, 1000, micro, "");
	if (strcmp(unit, "CPUs") == 0 || strcmp(unit, "threads") == 0 || strcmp(unit, "%") == 0)
		return climb(largest, 1000, none, unit);
	return climb(largest, 1000, plain, unit);
}

/* Digits behind the point that leave three significant ones. */
static int decimals(double value)
{
	double size = fabs(value);
	if (size >= 99.95 || size == 0)
		return 0;
	if (size >= 9.995)
		return 1;
	if (size >= 0.9995)
		return 2;
	return size >= 0.09995 ? 3 : 4;
}

const char *scale_text(double value, const char *unit, char out[SCALE_TEXT_BYTES])
{
	if (isnan(value)) {
		snprintf(out, SCALE_TEXT_BYTES, "unknown");
		return out;
	}
	struct scale scale = scale_for(value, unit);
	double scaled = value / scale.divisor;
	int digits = scale.divisor == 1 && scaled == rint(scaled) ? 0 : decimals(scaled);
	snprintf(out, SCALE_TEXT_BYTES, "%.*f %s", digits, scaled, scale.unit);
	return out;
}
