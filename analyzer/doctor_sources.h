/* What diagnostic data and traces say, as facts. */
#ifndef MTRACE_DOCTOR_SOURCES_H
#define MTRACE_DOCTOR_SOURCES_H

#include "analyzer/doctor_facts.h"
#include "analyzer/error.h"

/*
 * The newest state that a diagnostic.data folder, or a file of it, describes. False with `error` where it
 * cannot be read at all. *damaged is set where parts of it could not be read.
 */
bool doctor_ftdc(const char *path, struct facts *facts, bool *damaged, struct error *error);

/*
 * Of a file of diagnostic data, the state of the allocator alone, where its newest sample is of the process
 * that takes `pid` for its own id. Nothing is said about files that cannot be read.
 */
void doctor_ftdc_allocator(const char *path, int64_t pid, struct facts *facts);

/* The same of a trace, whose events are read for the rseq registrations. */
bool doctor_trace(const char *path, struct facts *facts, bool *damaged, struct error *error);

#endif
