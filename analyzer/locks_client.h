/* Atomic instructions set against the operations of YCSB. */
#ifndef MTRACE_LOCKS_CLIENT_H
#define MTRACE_LOCKS_CLIENT_H

#include "analyzer/locksums.h"
#include "analyzer/ycsb.h"

enum lock_client_time {
	LOCK_CLIENT_NONE,  /* no run says how much it did, or none lies in the time of the trace */
	LOCK_CLIENT_RUNS,  /* over the time in which the runs went on, by their clock */
	LOCK_CLIENT_WHOLE, /* no run has a clock: over the whole trace, what the program did besides included
			    */
};

/*
 * Atomic instructions (locks_exposure.h) per operation of the runs, on average; NaN with LOCK_CLIENT_NONE.
 * Clients that ran at the same time share what the program did in it; runs of which the locks cover less than
 * half are left out.
 */
double lock_atomics_per_operation(const struct locks *locks, const struct ycsb_file *files, size_t count,
				  enum lock_client_time *over);

#endif
