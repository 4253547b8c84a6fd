/*
 * Series of mongod's diagnostic data: which metrics they are made of, and their values sample by sample.
 *
 * Counters become rates between two samples, whatever lies between them; where a counter went back, or the
 * server was started again, the rate is not known. Metrics of all disks are added up. A metric that is not
 * there (another version, no replica set, no swap) leaves its series unknown: NaN.
 */
#ifndef MTRACE_FTDC_SERIES_H
#define MTRACE_FTDC_SERIES_H

#include "analyzer/ftdc.h"
#include "analyzer/series.h"

#define FTDC_SERIES_COUNT (SERIES_SERVER_LAST - SERIES_SERVER_FIRST + 1)
#define FTDC_SERIES_EXTRA 4    /* figures that series are made of, and that are none */
#define FTDC_MEMBERS_MAX  50   /* of a replica set: mongod's own limit */
#define FTDC_COLUMNS_MAX  4096 /* of a chunk, that are of use: one machine has hundreds of disks */

struct ftdc_member {
	const int64_t *optime_ms, *state, *self; /* columns; NULL where the chunk has none */
};

/* Zero-initialize. */
struct ftdc_series {
	const int64_t *columns[FTDC_COLUMNS_MAX];
	unsigned char source_of[FTDC_COLUMNS_MAX];
	size_t column_count;
	struct ftdc_member members[FTDC_MEMBERS_MAX];
	double before[FTDC_SERIES_COUNT + FTDC_SERIES_EXTRA]; /* sums of the sample before */
	int64_t before_ms;
	bool started; /* there was one */
};

/* For ftdc_options.wanted. */
bool ftdc_series_wants(const char *name);

/* Before the samples of each chunk. */
void ftdc_series_chunk(struct ftdc_series *series, const struct ftdc_chunk *chunk);

/*
 * The next sample of that chunk. False for the first one of all, and where the clock did not advance;
 * otherwise *start_ms to its time is an interval, and values[SERIES_COUNT] has the server's series filled in,
 * with everything else as it was.
 */
bool ftdc_series_sample(struct ftdc_series *series, const struct ftdc_chunk *chunk, size_t sample,
			int64_t *start_ms, double values[SERIES_COUNT]);

#endif
