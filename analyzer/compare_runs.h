/*
 * From YCSB's output to the runs of a comparison: one for each run in a file.
 *
 * What is taken: throughput of the whole run, and of each operation mean and percentiles. A percentile that
 * fewer than ten operations lie above is left out: it is the value of a few of them. Warnings of the audit
 * (ycsb_audit.h) stay with the run; one whose numbers are none is not used.
 */
#ifndef MTRACE_COMPARE_RUNS_H
#define MTRACE_COMPARE_RUNS_H

#include "analyzer/compare.h"

/* What is known of a file's runs from elsewhere; zero-initialize. Nothing is taken over. */
struct run_origin {
	const char *workload;	/* its name; NULL */
	const json_t *manifest; /* docs/campaign.md; NULL */
	size_t campaign;	/* from 1: a block is one of this campaign's */
	const char *trace;	/* path; NULL */
};

/*
 * Appends the runs of files[file] to `arm`. All `count` files are the arm's: a run is audited against the
 * load among them. False where memory is short.
 */
bool compare_take_runs(struct compare *compare, size_t arm, const struct ycsb_file *files, size_t count,
		       size_t file, const struct run_origin *origin, struct error *error);

/* After the last run of all arms: which of them are used (load phases, --exclude-first). */
bool compare_choose_runs(struct compare *compare, struct error *error);

/*
 * The rate of a run behind its warm-up, from its status lines; *trimmed_s is what was cut, 0 where the whole
 * run is even. NaN without a series long enough.
 */
double run_trimmed_throughput(const struct ycsb_run *run, double *trimmed_s, bool *no_steady_state);

#endif
