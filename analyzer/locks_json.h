/* What `locks --json` prints, and report.json holds as `locks`; docs/JSON.md lists the fields. */
#ifndef MTRACE_LOCKS_JSON_H
#define MTRACE_LOCKS_JSON_H

#include "analyzer/json.h"
#include "analyzer/locks_names.h"

/* The object; owned by the caller. NULL where the trace holds no records of locks. */
json_t *locks_json(const struct locks_view *view);

#endif
