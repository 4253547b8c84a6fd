/*
 * Exports of a trace for other programs.
 *
 *   csv     a header line, then a line an event (quoting as in RFC 4180; fields that do not apply are empty;
 * addresses in hex) ndjson  an object an event, a line each (fields that do not apply are missing; addresses
 * are integers) folded  a line a call site: frames from the outermost to the innermost, separated by ';', a
 * space, the weight (what flame graph programs read); needs the whole trace before the first line
 */
#ifndef MTRACE_EXPORT_H
#define MTRACE_EXPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "analyzer/replay.h"
#include "analyzer/symbols.h"

enum export_weight {
	EXPORT_WEIGHT_BYTES = 0,  /* requested, reallocs included */
	EXPORT_WEIGHT_ALLOCS = 1, /* calls, reallocs included */
	EXPORT_WEIGHT_LIVE = 2,	  /* live bytes at the end */
};

void export_csv_head(FILE *file);
void export_csv(FILE *file, const struct trace *trace, const struct trace_event *event);
void export_ndjson(FILE *file, const struct trace *trace, const struct trace_event *event);

/* False when out of memory. Sites of weight 0 are left out. */
bool export_folded(FILE *file, const struct replay *replay, struct symbols *symbols,
		   enum export_weight weight);

#endif
