/*
 * Values of series for people: a unit with a prefix that keeps figures between 1 and 1000, or 1024 for bytes.
 * For an axis one scale serves all values; for plain counts and times see format.h.
 */
#ifndef MTRACE_SCALE_H
#define MTRACE_SCALE_H

#include <stddef.h>

struct scale {
	double divisor; /* value / divisor is what stands before the unit */
	char unit[24];	/* "MiB", "k ops/s", "ms", ... */
};

/*
 * The scale for values up to `largest`, of a unit of series.h: bytes go by powers of 1024, microseconds to ms
 * and s, CPUs and threads stay as they are, anything else by powers of 1000 (k, M, G). NaN and 0 get no
 * prefix.
 */
struct scale scale_for(double largest, const char *unit);

#define SCALE_TEXT_BYTES 48

/* "12.3 MiB", three significant digits; "unknown" for NaN. Returns `out`. */
const char *scale_text(double value, const char *unit, char out[SCALE_TEXT_BYTES]);

#endif
