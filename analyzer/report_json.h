/*
 * report.json: everything a report holds, for machines (fields: docs/JSON.md). What is not known is
 * null.
 *
 *   traces[]        the object of `info --json` for each trace; `info` is that of the trace with most events
 *   series[]        one entry per series and timeline; the values stand in series.csv
 *   segments[]      what was correlated; the values stand in aligned.csv
 *   correlations[]  segment null: pooled over all segments
 */
#ifndef MTRACE_REPORT_JSON_H
#define MTRACE_REPORT_JSON_H

#include <jansson.h>

#include "analyzer/report.h"

/* The object; owned by the caller. */
json_t *report_json(const struct report *report);

/* Writes it to directory/report.json. */
bool report_json_write(const struct report *report, struct error *error);

#endif
