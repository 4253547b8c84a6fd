/* What `percpu` found, as JSON: fields in docs/JSON.md. */
#ifndef MTRACE_PERCPU_JSON_H
#define MTRACE_PERCPU_JSON_H

#include "analyzer/json.h"
#include "analyzer/percpu.h"
#include "analyzer/symbols.h"

/* Threads, sites and pairs are cut to the `top` largest; 0: all. `symbols` may be NULL: stacks are empty. */
json_t *percpu_json(const struct percpu *percpu, struct symbols *symbols, size_t top);

#endif
