/* The allocator's own figures as series of the model's rows. */
#ifndef MTRACE_ALLOCSTATS_SERIES_H
#define MTRACE_ALLOCSTATS_SERIES_H

#include <stdbool.h>
#include <stddef.h>

#include "analyzer/allocstats.h"
#include "analyzer/model.h"

/* A count at one moment; what is before it is spread over the rows up to there. */
struct allocstats_count {
	uint64_t value; /* meaningful where time_ns is not 0 */
	uint64_t time_ns;
	size_t next_row; /* the first one behind it */
};

enum { ALLOCSTATS_COUNTS = 4 };

/* One pass over the records of a trace. Zero-initialize. */
struct allocstats_series {
	struct allocstats_count counts[ALLOCSTATS_COUNTS];
	uint64_t before_ns; /* CLOCK_MONOTONIC of the record before */
};

/*
 * Puts a record into the rows of its trace, of which the last is the interval that ended with it (`count` 0:
 * there is none yet). Levels go into that row, and only where they were read within it. A count is a rate
 * over the time since its last reading, which may be several rows: it goes into all of them, so that sums
 * over time stay right. Rows before its first reading stay unknown.
 */
void allocstats_series_add(struct allocstats_series *series, const struct allocstats *stats,
			   struct model_row *rows, size_t count);

#endif
