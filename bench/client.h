/*
 * One phase, load or run: threads over a workload, throttled, timed and reported as YCSB's client does it.
 */
#ifndef MTRACE_BENCH_CLIENT_H
#define MTRACE_BENCH_CLIENT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "bench/engine.h"
#include "bench/workload.h"

enum { PERCENTILES_MOST = 32 };

struct client_settings {
	unsigned threads;
	double target_ops_s;   /* over all threads; 0: as fast as they can */
	uint64_t time_limit_s; /* maxexecutiontime; 0: none */
	bool status;	       /* -s */
	uint64_t status_interval_s;
	const char *label; /* before the time in status lines */
	double percentiles[PERCENTILES_MOST];
	unsigned percentile_count;
};

struct client_result {
	uint64_t operations; /* done, failed ones of the run phase included */
	uint64_t errors;     /* operations that returned ERROR */
	uint64_t not_found;
	int64_t runtime_ms;
	bool interrupted; /* by client_interrupt() */
};

/*
 * Runs one phase against an open store and waits for its end. Status lines go to stderr, the export block to
 * `out`. The phase ends when its operations are done, when its time is over, when client_interrupt() was
 * called, or, loading, for each thread after its first failed insert. False where threads or sessions could
 * not be had.
 */
bool client_run(const struct client_settings *settings, struct workload *workload,
		const struct engine *engine, void *store, bool loading, FILE *out,
		struct client_result *result, struct failure *failure);

/* Ends the present phase early, as at the end of its time. May be called from a signal handler. */
void client_interrupt(void);

#endif
