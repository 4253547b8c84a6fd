/*
 * Sums over blocks, exact or weighted samples, and shares of one sum in another.
 *
 * In sample mode a block of s bytes stands for w = 1/p(s) blocks (estimate.h). Samples are drawn
 * independently of each other, but do not weigh the same: the 95% interval of a share is that of n
 * independent equal ones, n being the effective number: (sum of w)^2 / (sum of w^2) (Kish, Survey Sampling,
 * 1965), or fewer where the variance of the ratio (Cochran, Sampling Techniques, 1977, chapter 6) says so.
 * Below 1000 it is Clopper and Pearson's (Biometrika 26, 1934), which holds the truth at least that often
 * whatever the share and n; Korn and Graubard (Survey Methodology 24, 1998) use it in the same way. Above it
 * is Wilson's (JASA 22, 1927).
 */
#ifndef MTRACE_TALLY_H
#define MTRACE_TALLY_H

#include <stdbool.h>
#include <stdint.h>

#include "analyzer/estimate.h"

struct tally {
	double blocks;	       /* sum of w; an integer in full mode */
	double bytes;	       /* sum of w s */
	double blocks_squared; /* sum of w^2 */
	double bytes_squared;  /* sum of (w s)^2 */
	uint64_t samples;      /* blocks seen */
};

static inline void tally_add(struct tally *tally, double weight, double bytes)
{
	tally->blocks += weight;
	tally->bytes += weight * bytes;
	tally->blocks_squared += weight * weight;
	tally->bytes_squared += weight * weight * bytes * bytes;
	tally->samples++;
}

/* value is NaN where the whole is empty; low and high are then 0 and 1. In full mode low = value = high. */
struct share {
	double value, low, high;
};

struct share tally_share_blocks(const struct tally *part, const struct tally *whole, bool exact);
struct share tally_share_bytes(const struct tally *part, const struct tally *whole, bool exact);

/* The number of blocks with its interval, for estimate_low() and estimate_high(). */
struct estimate tally_blocks(const struct tally *tally, bool exact);

#endif
