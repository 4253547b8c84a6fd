/* YCSB output as JSON: what `ycsb --json` prints, and report.json holds as `ycsb`. */
#ifndef MTRACE_YCSB_OBJECT_H
#define MTRACE_YCSB_OBJECT_H

#include "analyzer/json.h"
#include "analyzer/ycsb.h"

/* {"files": [...]}; owned by the caller. Values that are not known are null. */
json_t *ycsb_object(const struct ycsb_file *files, size_t count);

/* The runs of one of the files alone, as an array. */
json_t *ycsb_runs_array(const struct ycsb_file *files, size_t count, size_t file);

#endif
