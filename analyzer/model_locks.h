/*
 * The locks of a stage while its trace is gone through, and what of them goes into the model's rows. What it
 * fills in belongs to the stage and stays after the pass.
 */
#ifndef MTRACE_MODEL_LOCKS_H
#define MTRACE_MODEL_LOCKS_H

#include "analyzer/model.h"

/* stage->locks stays NULL where the trace has none: the others then do nothing. False on an error, which is
 * set. */
bool stage_locks_open(struct stage *stage, struct error *error);
void stage_locks_close(struct stage *stage);

/* Before the event is applied to `live` and to the stage's regions. False on an error, which is set. */
bool stage_locks_event(struct stage *stage, const struct livemap *live, const struct trace_event *event,
		       struct error *error);
void stage_locks_snapshot(struct stage *stage, const struct snapshot *snapshot);
bool stage_locks_finish(struct stage *stage, const struct livemap *live, struct error *error);

/* The series of locks into the stage's rows: means over what the readings cover, unknown where that is less
 * than half of a row. */
void stage_locks_rows(const struct stage *stage, struct model_row *rows, size_t count);

/* After the pass, while names can be looked up: what the report says about locks. */
bool stage_locks_render(struct stage *stage, struct symbols *symbols, struct error *error);

#endif
