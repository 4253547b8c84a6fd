/* The allocator's own figures as `info` shows them: the newest that the trace holds. */
#ifndef MTRACE_ALLOCSTATS_JSON_H
#define MTRACE_ALLOCSTATS_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "analyzer/reader.h"

/* "google-tcmalloc", "gperftools", "none" where the process exports nothing to ask; NULL: not known. */
const char *allocstats_kind_name(const struct trace *trace);

/*
 * {kind, at_s, values_age_s, per_cpu_age_s, per_cpu_caches_active, max_per_cpu_cache_bytes, values{},
 * cpus[]}. `values` has the allocator's own names.
 */
json_t *allocstats_json(const struct trace *trace);

/* One line, cut off at `bytes`. False: there is nothing to say. */
bool allocstats_text(const struct trace *trace, char *text, size_t bytes);

#endif
