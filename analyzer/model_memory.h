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

/*
 * Each false on an error, which is set. The levels of this moment go into the newest row of `timeline`, whose
 * sites still go by the live map's index: the shim goes through the pages right after a snapshot, at the end
 * of that row. NULL: there is no row yet.
 */
bool stage_memory_event(struct stage *stage, const struct livemap *live, const struct trace_event *event,
			struct model_row *row, struct error *error);
/* Before the row of the snapshot is made; stage_memory_row() then fills that one in. */
bool stage_memory_snapshot(struct stage *stage, const struct livemap *live, const struct snapshot *snapshot,
			   struct model_row *row, struct error *error);
bool stage_memory_finish(struct stage *stage, const struct livemap *live, struct model_row *row,
			 struct error *error);
bool stage_memory_row(struct stage *stage, const struct livemap *live, uint64_t time, struct model_row *row,
		      struct error *error);

/* After the pass, while names can be looked up: what the report says about huge pages. */
bool stage_memory_render(struct stage *stage, struct symbols *symbols, struct error *error);

#endif
