/*
 * A server's own data beside the traces: a timeline of its own, in the same wall clock, cut to the time of
 * the traces and a minute around it.
 */
#ifndef MTRACE_MODEL_FTDC_H
#define MTRACE_MODEL_FTDC_H

#include "analyzer/model.h"
#include "analyzer/report.h"

/*
 * Appends a timeline to `model` unless there is no sample in its time, and fills in `server`, whose summary
 * is then the caller's. Damage is printed and sets server->damaged. False with `error`: cannot be read at all
 * (ERROR_INPUT), or memory is short. May be called for each member of a replica set.
 */
bool model_add_ftdc(struct model *model, const char *path, struct report_server *server, struct error *error);

#endif
