/*
 * What cheaper atomic instructions in glibc can have done to throughput, beside what was measured: for arms
 * that run under different C libraries, from traces that recorded locks (MTRACE_LOCKS=1).
 */
#ifndef MTRACE_COMPARE_LOCKS_H
#define MTRACE_COMPARE_LOCKS_H

#include "analyzer/compare_inside.h"
#include "analyzer/document.h"

/*
 * Into the run: atomic instructions of lock calls per operation (the quantity INSIDE_LOCK_ATOMICS), and the
 * share of throughput that each ns saved on each of them can give (locks_exposure.h). Both stay NaN where the
 * trace has no locks. After inside_take().
 */
void compare_locks_take(struct compare_run *run, const struct timeline *timeline, const struct stage *stage,
			int64_t start_ns, int64_t end_ns);

#define LOCK_BOUNDS 3
extern const double lock_bound_saved_ns[LOCK_BOUNDS];

/* One arm against the base. */
struct lock_bound {
	double base_per_operation,
		arm_per_operation;	  /* medians; the arm's NaN where its traces have no locks */
	double gain_percent[LOCK_BOUNDS]; /* at most, by the medians of the base */
	struct ratio measured;		  /* of throughput */
	double needed_ns, needed_low_ns, needed_high_ns; /* to be saved on each instruction for that; NaN
							    below no gain */
};

/* False where the arm runs under the base's C library, or no used run of the base has locks. */
bool compare_lock_bound(const struct compare *compare, size_t arm, struct lock_bound *bound);

/* Part of "what moved with it". */
void compare_locks_print(const struct document *document, const struct compare *compare);
json_t *compare_locks_array(const struct compare *compare);

#endif
