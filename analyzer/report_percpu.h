/* The part of a report that `percpu` has: one for each trace, in the order of model.stages. */
#ifndef MTRACE_REPORT_PERCPU_H
#define MTRACE_REPORT_PERCPU_H

#include <jansson.h>

#include "analyzer/percpu.h"
#include "analyzer/report.h"
#include "analyzer/symbols.h"

struct report_percpu {
	struct percpu *percpu;
	json_t *json; /* of percpu_json(): made while the symbols are there */
	char *text;   /* of percpu_print_summary() */
};

/* A pass over each trace. False with `error` set on failure; report_percpu_free() then, too. */
bool report_percpu_read(struct report *report, const struct symbol_options *options, struct error *error);
void report_percpu_free(struct report *report);

/* The one whose figures are drawn for a timeline: of its stages that with most blocks; NULL: none. */
const struct percpu *report_percpu_of(const struct report *report, size_t timeline);

#endif
