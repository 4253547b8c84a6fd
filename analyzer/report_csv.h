/*
 * The tables of a report, as CSV (RFC 4180, UTF-8, a header line; an empty field is a value that is not
 * known).
 *
 *   series.csv        every row of every trace: trace, t_s, time_utc, interval_s, then all series (series.h).
 * t_s and time_utc are the end of the interval. A status interval of the client that is longer than the row
 * gives all rows within it the same throughput. aligned.csv       the segments' grids: exactly what was
 * correlated correlations.csv  one line per series and segment; segment "pooled" is over all segments
 *   sizes.csv         allocations by size class
 *   sites.csv         live bytes at the end of each row, of the largest sites, and those on huge pages
 *   unused.csv        memory of the allocator without a live block: a line an owner, and (full mode) a size
 *                     class, at up to HUGEBLOCKS_KEPT_MAX moments
 */
#ifndef MTRACE_REPORT_CSV_H
#define MTRACE_REPORT_CSV_H

#include "analyzer/report.h"

bool report_csv_write(const struct report *report, struct error *error);

#endif
