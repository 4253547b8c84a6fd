/*
 * Runs out of a table: the CSV that `ycsb --summary` writes, or anybody's with a row a run, or a row a run
 * and operation.
 *
 * Columns are known by these names, or by others that the caller maps onto them ("threads=thr,p95_ms=P95"):
 *
 *   arm         label, where the table holds several arms
 *   file run client repetition   which run a row is of: rows that agree in all that are there are one run
 *   workload phase (load, run) threads block
 *   operation   OVERALL, READ, ...; without it rows are OVERALL
 *   throughput_ops_s mean_us p50_us p95_us p99_us p99_9_us runtime_ms ops_per_joule   what is compared;
 *               latencies also as mean_ms, ... (in milliseconds) and mean_s, ...
 *   operations  that were done; error_rate (0..1); valid (0: not used)
 *
 * An empty field is not known. Further columns are passed over.
 */
#ifndef MTRACE_COMPARE_SUMMARY_H
#define MTRACE_COMPARE_SUMMARY_H

#include "analyzer/compare.h"

/* Whether `path` is such a table by its name (.csv, .tsv) and its first line is not that of YCSB's own rows.
 */
bool summary_is(const char *path);

/*
 * Reads it. `arm` NULL: it has a column of labels, and new ones become arms in the order in which they come;
 * else all rows are the arm's. `columns` ("KEY=COLUMN,...") may be NULL. False with `error` set where the
 * file cannot be read, a mapped column is not there, or a number is none.
 */
bool summary_read(struct compare *compare, const char *path, const char *columns, const size_t *arm,
		  struct error *error);

#endif
