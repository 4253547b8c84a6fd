/*
 * Which series move with throughput: correlation within segments, then pooled.
 *
 * segment   a stretch under one load: one YCSB run, or one thread level of a sweep. Levels are never mixed:
 * more threads raise throughput and nearly every memory series alike, which would look like a connection
 *           (Simpson's paradox).
 * interval  the time between two status lines of YCSB. All series are given per interval of their segment, in
 * order of time and without gaps; NaN is a value that is not known, and the pair with it is left out. lag
 * positive: the series leads, its value at time t goes with throughput at t + lag. Negative: it follows.
 *
 * The lag reported is that of the best match within 10 s and within a quarter of the shortest segment, and
 * choosing it is paid for: half of the error
 * allowed goes to lag 0, the other half is shared evenly by all other lags tried (weighted Bonferroni:
 * Genovese, Roeder and Wasserman, "False discovery control with p-value weighting", Biometrika 93(3), 2006).
 * The best match is the lag with the smallest p after this weighting, so lag 0 stands unless another lag is
 * clearly better; that p is `p`. It comes from Spearman's correlation with the effective number of pairs
 * (stats_effective_n over the ranks), by Student's t. `p_adjusted` then pays for the number of series
 * (Benjamini-Hochberg over all rows of the same kind: one family for the pooled rows, another for the rows of
 * single segments). Correlation is association, never cause.
 *
 * Pooling: Fisher's z of each usable segment at a common lag, weighted by n_effective - 3 (Fisher,
 * "Statistical Methods for Research Workers", the chapter on the correlation coefficient); the pooled p is
 * that of the mean correlation over 3 + sum(n_effective - 3) pairs, which for a single segment is the p of
 * that segment.
 */
#ifndef MTRACE_CORRELATE_H
#define MTRACE_CORRELATE_H

#include <stdbool.h>
#include <stddef.h>

#define CORRELATE_MAX_LAG_S	10.0 /* the farthest lag tried */
#define CORRELATE_MIN_INTERVALS 20   /* fewer give no numbers */
#define CORRELATE_LEVEL		0.05 /* p_adjusted from here on is "no support in this data" */

struct correlate_segment {
	const char *name;	  /* of the caller, must outlive the result */
	double interval_s;	  /* usual time between two points, > 0 */
	size_t count;		  /* points */
	const double *throughput; /* [count], operations/s */
};

struct correlate_series {
	const char *name;	     /* of the caller, must outlive the result */
	const double *const *values; /* [segment][point]; a NULL row: not measured in that segment */
};

enum correlate_verdict {
	CORRELATE_WITH,	      /* supported: rises and falls with throughput */
	CORRELATE_AGAINST,    /* supported: rises when throughput falls */
	CORRELATE_NO_SUPPORT, /* p_adjusted not below CORRELATE_LEVEL */
	/* from here on unusable: no numbers */
	CORRELATE_TOO_FEW,
	CORRELATE_SERIES_CONSTANT,
	CORRELATE_THROUGHPUT_CONSTANT,
	CORRELATE_NOT_MEASURED,
};

struct correlate_result {
	const char *series;
	const char *segment; /* NULL: pooled over the usable segments */
	size_t series_index;
	size_t segment_index; /* SIZE_MAX: pooled */

	/* At the best lag; NaN where unusable. */
	double spearman;
	double pearson;
	double lag_s;
	double n_effective;
	double p;
	double p_adjusted;

	/* At lag 0, before any choice; NaN where unusable. */
	double spearman_lag0;
	double pearson_lag0;

	double lag_max_s; /* the farthest lag tried, either way; NaN where unusable */
	size_t count; /* pairs known at lag 0; pooled: of the usable segments; unusable: of the one that gives
			 the reason */
	size_t lags_tried; /* 0 where unusable */
	size_t segments;   /* usable segments behind this row: 1, or more where pooled; 0 where unusable */
	enum correlate_verdict verdict;
};

struct correlate_results {
	struct correlate_result
		*rows; /* per series: the pooled row, then one a segment where there are several */
	size_t count;
};

/*
 * Correlates every series with throughput. On true `out` is filled in and owned by the caller
 * (correlate_results_free); false where memory is short, and `out` is empty.
 */
bool correlate(const struct correlate_segment *segments, size_t segment_count,
	       const struct correlate_series *series, size_t series_count, struct correlate_results *out);

void correlate_results_free(struct correlate_results *results);

/* True for verdicts that carry numbers. */
static inline bool correlate_usable(enum correlate_verdict verdict)
{
	return verdict < CORRELATE_TOO_FEW;
}

/* "moves with throughput", "moves against throughput", "no support in this data", "unusable: never changes",
 * ... */
const char *correlate_verdict_text(enum correlate_verdict verdict);

#endif
