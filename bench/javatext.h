/*
 * Numbers and times written as Java writes them, since YCSB's output is read by programs that know only that.
 *
 * Each function fills a caller's buffer of JAVATEXT_BYTES and returns it. None depends on the locale.
 */
#ifndef MTRACE_BENCH_JAVATEXT_H
#define MTRACE_BENCH_JAVATEXT_H

#include <stdint.h>

enum { JAVATEXT_BYTES = 64 };

/*
 * Double.toString: the shortest digits that read back as the same value, at least one on either side of the
 * point; scientific ("1.0E7") outside 10^-3..10^7; NaN, Infinity, -Infinity.
 */
char *java_double(char text[JAVATEXT_BYTES], double value);

/* DecimalFormat("#.##"): at most two decimals, half to even, no trailing zeros; NaN, and \u221E. */
char *java_two_decimals(char text[JAVATEXT_BYTES], double value);

/*
 * "1 day 9 hours ", "5 minutes ", "5 second ", "42 seconds ": the remaining time of a status line. Minutes
 * are left out from a day on, seconds from a minute on; "second" goes with one digit, not with one second
 * (sic).
 */
char *java_remaining(char text[JAVATEXT_BYTES], int64_t seconds);

/* A (long) cast: NaN becomes 0, what is too large the largest value. */
int64_t java_long(double value);

/* "2023-06-05 16:13:49:458": milliseconds since the epoch in local time, without a zone. */
char *java_timestamp(char text[JAVATEXT_BYTES], int64_t wall_ms);

/* "50th", "1st", "99th", and "99.9" (no suffix): as in 99thPercentileLatency(us). */
char *java_ordinal(char text[JAVATEXT_BYTES], double percent);

#endif
