/* One pass over a trace with a live map: what info, sites and export --format folded have in common. */
#ifndef MTRACE_REPLAY_H
#define MTRACE_REPLAY_H

#include "analyzer/livemap.h"
#include "analyzer/merge.h"

struct replay {
	struct trace *trace;  /* set by the caller; not owned */
	struct livemap *live; /* NULL before replay_run() */
	struct merge_stats stream;
};

/*
 * Reads all events into replay->live, with progress on a terminal. `visit`, unless NULL, sees each item after
 * the live map did; returning false ends the pass with an error, which it sets. False on an error; what was
 * read until then is in replay->live.
 */
bool replay_run(struct replay *replay,
		bool (*visit)(void *context, const struct merge_item *item, struct error *error),
		void *context, struct error *error);

void replay_free(struct replay *replay);

#endif
