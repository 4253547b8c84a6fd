/*
 * Lines of numbers that Java YCSB prints below an operation. Three kinds share one shape:
 *
 *     [READ], 17, 5         `histogram`: 5 operations took from 17 to below 18 ms; ">1000" is the rest
 *     [READ], 17, 5.0       hdr, verbose: 5 operations took 17 us
 *     [READ], 1000, 17.25   `timeseries`: 17.25 us were the mean around one second after the start
 *
 * Whole numbers are of the first. Of the others a histogram is what counts as many as there were operations
 * and ends at the largest latency.
 */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/ycsb_parse.h"

/* hdr with three digits has some 25,000 values up to an hour, a time series of a day at 1 s has 86,400. */
#define BUCKETS_MAX 131072u

/* ---- reading ----------------------------------------------------------------------------------------- */

static enum ycsb_outcome over_line(struct ycsb_operation *operation, struct text measurement,
				   struct text value)
{
	uint64_t at_ms, count;
	if (!text_count(measurement, &at_ms) || !text_count(value, &count))
		return YCSB_UNREAD;
	operation->over_us = (double)at_ms * 1000;
	operation->over_count = count;
	operation->bucket_kind = YCSB_BUCKETS_MS;
	return YCSB_TAKEN;
}

enum ycsb_outcome ycsb_bucket_line(struct ycsb_parser *parser, struct ycsb_operation *operation,
				   struct text measurement, struct text value)
{
	double at, number;
	if (text_skip(&measurement, ">"))
		return over_line(operation, measurement, value);
	if (!text_double(measurement, &at) || !text_double(value, &number))
		return YCSB_UNREAD;
	bool whole = !memchr(value.at, '.', text_length(value)) && isfinite(number);
	if (whole)
		operation->bucket_kind = YCSB_BUCKETS_MS;
	if ((whole && number == 0) || operation->bucket_count == BUCKETS_MAX)
		return YCSB_TAKEN;
	struct ycsb_bucket *grown =
		ycsb_grow(parser, operation->buckets, operation->bucket_count, sizeof *operation->buckets);
	if (!grown)
		return YCSB_OTHER;
	operation->buckets = grown;
	grown[operation->bucket_count++] = (struct ycsb_bucket){at, number};
	return YCSB_TAKEN;
}

/* ---- which kind -------------------------------------------------------------------------------------- */

static bool counts_all(const struct ycsb_operation *operation)
{
	double sum = (double)operation->over_count;
	for (size_t i = 0; i < operation->bucket_count; i++) {
		double count = operation->buckets[i].value;
		if (!(count >= 0) || count != floor(count))
			return false;
		sum += count;
	}
	return operation->count != YCSB_UNKNOWN && sum == (double)operation->count;
}

static bool ascends(const struct ycsb_operation *operation)
{
	for (size_t i = 1; i < operation->bucket_count; i++)
		if (operation->buckets[i].at <= operation->buckets[i - 1].at)
			return false;
	return true;
}

static bool ends_at_the_largest(const struct ycsb_operation *operation)
{
	double last_us = operation->buckets[operation->bucket_count - 1].at;
	return isnan(operation->max_us) || fabs(last_us - operation->max_us) <= 0.002 * operation->max_us + 1;
}

static void drop(struct ycsb_operation *operation)
{
	free(operation->buckets);
	operation->buckets = NULL;
	operation->bucket_count = 0;
	operation->bucket_kind = YCSB_BUCKETS_NONE;
	operation->over_us = 0;
	operation->over_count = 0;
}

static void scale(struct ycsb_operation *operation, double factor)
{
	for (size_t i = 0; i < operation->bucket_count; i++)
		operation->buckets[i].at *= factor;
}

/* A histogram that is cut off counts too few, and is no histogram to take percentiles from. */
static void settle(struct ycsb_operation *operation)
{
	bool milliseconds = operation->bucket_kind == YCSB_BUCKETS_MS;
	if (!ascends(operation) || (milliseconds && !counts_all(operation))) {
		drop(operation);
	} else if (milliseconds) {
		scale(operation, 1000);
	} else if (counts_all(operation) && ends_at_the_largest(operation)) {
		operation->bucket_kind = YCSB_BUCKETS_US;
	} else {
		operation->bucket_kind = YCSB_BUCKETS_MEANS;
		scale(operation, 1e-3);
	}
}

/* ---- percentiles ------------------------------------------------------------------------------------- */

double ycsb_bucket_percentile_us(const struct ycsb_operation *operation, double percentile)
{
	double wanted = ceil(percentile / 100 * (double)operation->count - 1e-9), below = 0;
	if (operation->bucket_kind != YCSB_BUCKETS_MS && operation->bucket_kind != YCSB_BUCKETS_US)
		return NAN;
	for (size_t i = 0; i < operation->bucket_count; i++) {
		below += operation->buckets[i].value;
		if (below >= wanted && below > 0)
			return operation->buckets[i].at;
	}
	return NAN;
}

static void add_percentiles(struct ycsb_parser *parser, struct ycsb_operation *operation)
{
	static const double wanted[] = {50, 95, 99, 99.9};
	for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
		double us = ycsb_bucket_percentile_us(operation, wanted[i]);
		if (!isnan(us) && isnan(ycsb_percentile_us(operation, wanted[i])))
			ycsb_operation_percentile(parser, operation, wanted[i], us);
	}
}

void ycsb_buckets_close(struct ycsb_parser *parser, struct ycsb_operation *operation)
{
	if (operation->bucket_count == 0 && operation->over_us == 0) {
		drop(operation);
		return;
	}
	settle(operation);
	if (operation->bucket_kind == YCSB_BUCKETS_MS)
		operation->resolution_us = 1000;
	add_percentiles(parser, operation);
}
