/*
 * HdrHistogram's histograms, as its logs carry them: base64 of the "V2 compressed" encoding.
 *
 * Values are counted in an array of buckets, each half of which doubles the width of its steps: 10^digits
 * different values are told apart in every range (three digits: to 0.1%). The encoding, big-endian:
 *
 *     0x1c849314, length, zlib of [ 0x1c849313, payload length, index offset (0 here), digits,
 *                                   lowest value, highest value, a ratio for doubles, payload ]
 *     payload: a ZigZag LEB128 number each; n >= 0 is the count of the next bucket, n < 0 skips -n buckets
 *     (the ninth byte of a number holds eight bits)
 *
 * Source: HdrHistogram's AbstractHistogram (Java), which YCSB links. Older encodings are refused.
 */
#ifndef MTRACE_HDR_H
#define MTRACE_HDR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Starts as zeroes. */
struct hdr_histogram {
	unsigned digits;	 /* significant decimal ones, 0..5 */
	unsigned unit_magnitude; /* the finest step is 2^this */
	uint64_t *counts;	 /* by bucket */
	size_t length;		 /* buckets, up to the last that counts something */
	size_t capacity;
	uint64_t total;
};

enum hdr_result {
	HDR_DONE,
	HDR_DAMAGED, /* not base64, not zlib, cut off, or numbers that make no sense */
	HDR_FOREIGN, /* another encoding, or a histogram of doubles */
	HDR_NO_MEMORY,
};

/* Decodes `length` characters into `out`, whose former content is replaced and whose room is used again. Any
 * input is safe. */
enum hdr_result hdr_decode(const char *base64, size_t length, struct hdr_histogram *out);

/* Adds the counts of `more`. HDR_FOREIGN where the two differ in digits or unit; a sum without counts takes
 * over those of `more`. */
enum hdr_result hdr_add(struct hdr_histogram *sum, const struct hdr_histogram *more);

void hdr_free(struct hdr_histogram *histogram);

/* The range of values that share a bucket. */
uint64_t hdr_lowest(const struct hdr_histogram *histogram, size_t bucket);
uint64_t hdr_highest(const struct hdr_histogram *histogram, size_t bucket);

/* As Java's getMean(), getMinValue(), getMaxValue() and getValueAtPercentile() (rank: ceil). NaN where
 * nothing was counted. */
double hdr_mean(const struct hdr_histogram *histogram);
double hdr_min(const struct hdr_histogram *histogram);
double hdr_max(const struct hdr_histogram *histogram);
double hdr_percentile(const struct hdr_histogram *histogram, double percentile);

#endif
