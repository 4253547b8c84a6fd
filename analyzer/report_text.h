/* The summary of a report for a terminal: what was traced, what the client did, what goes with it, and what
 * to mind. */
#ifndef MTRACE_REPORT_TEXT_H
#define MTRACE_REPORT_TEXT_H

#include <stdio.h>

#include "analyzer/report.h"

/* Writes the summary; text from traces and clients is made safe for a terminal. */
void report_text_print(FILE *file, const struct report *report);

/* Writes it to directory/summary.txt. */
bool report_text_write(const struct report *report, struct error *error);

/* "0.012", "< 0.0001", "-" for NaN. Returns `out`. */
const char *report_p_text(double p, char out[16]);

#endif
