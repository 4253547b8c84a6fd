/* Which capacities are simulated: a list from the command line, or those worth a look by themselves. */
#ifndef MTRACE_PERCPU_CAPACITIES_H
#define MTRACE_PERCPU_CAPACITIES_H

#include "analyzer/error.h"
#include "analyzer/percpu.h"

/*
 * Fills in options->capacities, each list rising and without repetition, with the limit in force (where the
 * trace has it) among them. `list`: sizes with K, M, G (powers of 1024), separated by commas; "none"; NULL:
 * the usual ones. `design`: "per-cpu", "per-thread", "both" or NULL. False, with ERROR_USAGE set, where one
 * of the two is not that.
 */
bool percpu_capacities(const char *list, const char *design, const struct trace *trace,
		       struct percpu_options *options, struct error *error);

#endif
