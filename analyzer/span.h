/*
 * Resampling: what a value was on average over another interval than the one it was measured over.
 */
#ifndef MTRACE_SPAN_H
#define MTRACE_SPAN_H

#include <stddef.h>
#include <stdint.h>

struct span {
	int64_t start_ns;
	int64_t end_ns;
	double value; /* NaN: not known, as if the span were not there */
};

/* Spans in order of time, without overlap; for calls with ascending `start_ns`. */
struct span_list {
	const struct span *spans;
	size_t count;
	size_t next; /* first span that may still matter; begin with 0 */
};

/* How much of a lies within b; 0 where they do not meet. */
int64_t span_overlap_ns(int64_t a_start_ns, int64_t a_end_ns, int64_t b_start_ns, int64_t b_end_ns);

/*
 * Mean over start_ns..end_ns, weighted by overlap; NaN where less than half of it is covered. The mean of
 * equal values is that value exactly, so that a series that never changes still does not.
 */
double span_mean(struct span_list *list, int64_t start_ns, int64_t end_ns);

#endif
