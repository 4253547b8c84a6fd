/*
 * The memory of a stage while its trace is gone through: regions, pages, looks at live blocks, the map, and
 * what of them goes into the model's rows. What it fills in belongs to the stage and stays after the pass.
 */
#ifndef MTRACE_MODEL_MEMORY_H
#define MTRACE_MODEL_MEMORY_H

#include "analyzer/model.h"

/* False on an error (memory), which is set; stage_memory_close() is due in any case. */
bool stage_memory_open(struct stage *stage, const struct symbol_options *options, struct error *error);
void stage_memory_close(struct stage *stage);

/* Each false on an error, which is set. */
bool stage_memory_event(struct stage *stage, const struct trace_event *event, struct error *error);
/* Before the row of the snapshot is made. *looked: live blocks were looked at. */
bool stage_memory_snapshot(struct stage *stage, const struct livemap *live, const struct snapshot *snapshot,
			   bool *looked, struct error *error);
bool stage_memory_finish(struct stage *stage, const struct livemap *live, struct error *error);

/* After the pass, while names can be looked up: what the report says about huge pages. */
bool stage_memory_render(struct stage *stage, struct symbols *symbols, struct error *error);

/* The levels of this moment into a row, whose sites still go by the live map's index. */
void stage_memory_row(const struct stage *stage, bool looked, struct model_row *row);

#endif
