/*
 * Several clients of one run, put together: rates, counts and threads are added, means weighted, extremes
 * taken. Percentiles have no sum: they come from the added histograms where every client printed one, and are
 * unknown otherwise.
 *
 * Which runs belong together: within a file whose lines carry the names of clients ("ycsb-1 | ..."), the
 * first runs of all, the second runs of all, and so on. With `all_files` the same over all files, each of
 * which is taken for the output of other clients.
 */
#ifndef MTRACE_YCSB_CLIENTS_H
#define MTRACE_YCSB_CLIENTS_H

#include <stdbool.h>
#include <stddef.h>

#include "analyzer/error.h"
#include "analyzer/ycsb.h"

/*
 * Fills in `out` with a run for each group of two clients or more, as a file without a path of its own: its
 * `path` says what it is in words. No group: no runs. The caller frees it with ycsb_file_free(). False where
 * memory is short.
 */
bool ycsb_clients(const struct ycsb_file *files, size_t count, bool all_files, struct ycsb_file *out,
		  struct error *error);

#endif
