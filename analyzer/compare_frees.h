/*
 * Where blocks are freed: on which CPU and by which thread, against where they were allocated. A block that
 * comes back on another CPU ends in another per-CPU cache than the one it came from.
 */
#ifndef MTRACE_COMPARE_FREES_H
#define MTRACE_COMPARE_FREES_H

#include <stdbool.h>

#include "analyzer/error.h"
#include "analyzer/reader.h"

/* Of frees whose block's allocation stood in the trace, within start..end (since 1970); in sample mode a
 * sampled block counts for as many as it stands for. NaN without such frees, or where CPUs are not recorded.
 */
struct free_shares {
	double other_cpu;    /* 0..1 */
	double other_thread; /* 0..1 */
};

/* One pass over the trace. False where memory is short or reading fails; damage is passed over. */
bool free_shares(struct trace *trace, int64_t start_ns, int64_t end_ns, struct free_shares *shares,
		 struct error *error);

#endif
