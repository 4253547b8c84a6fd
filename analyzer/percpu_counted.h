/* The exact counts of a trace in sample mode (cpucounts.h) in the output of `percpu`. */
#ifndef MTRACE_PERCPU_COUNTED_H
#define MTRACE_PERCPU_COUNTED_H

#include <stdio.h>

#include "analyzer/json.h"
#include "analyzer/percpu.h"

/* The object `counted` of docs/JSON.md; NULL where the trace has no counts. */
json_t *percpu_counted_json(const struct percpu *percpu);

/* Tables by CPU and by size, each cut to `top` lines (0: all); nothing where the trace has no counts. */
void percpu_counted_print(FILE *file, const struct percpu *percpu, size_t top);

#endif
