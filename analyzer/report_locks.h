/* What a report says about locks that takes the client's runs: how much of them goes with each operation. */
#ifndef MTRACE_REPORT_LOCKS_H
#define MTRACE_REPORT_LOCKS_H

#include "analyzer/report.h"

/* Once the runs are in the time of the traces: fills in report->lock_atomics_per_operation, and
 * `per_operation` of the stages' JSON. False when out of memory. */
bool report_locks(struct report *report);
void report_locks_free(struct report *report);

/* The text of one stage with that line; NULL where the stage has no locks. Owned by the caller. */
char *report_locks_text(const struct report *report, size_t stage);

/* Locks that keep many of their threads waiting. False when out of memory. */
bool findings_collect_locks(struct report *report);

#endif
