/*
 * Regions, pages and looks beside a replay (replay.h) of one trace: for who wants nothing but hugeblocks.
 *
 *     struct hugeblocks_pass pass = {.replay = &replay};
 *     hugeblocks_pass_open(&pass, &options, &error) &&
 *             replay_run(&replay, hugeblocks_pass_visit, &pass, &error) &&
 *             hugeblocks_pass_finish(&pass, &error)
 *     hugeblocks_pass_close(&pass);
 *
 * A trace without looks at pages costs nothing: `blocks` stays unknown.
 */
#ifndef MTRACE_HUGEBLOCKS_PASS_H
#define MTRACE_HUGEBLOCKS_PASS_H

#include "analyzer/hugeblocks.h"
#include "analyzer/replay.h"

struct hugeblocks_pass {
	struct replay *replay; /* set by the caller; not owned */
	struct pages *pages;
	struct regions *regions;
	struct hugeblocks *blocks;
	bool watching; /* there are pages in the trace */
};

/* False on an error (memory), which is set. */
bool hugeblocks_pass_open(struct hugeblocks_pass *pass, const struct symbol_options *options,
			  struct error *error);
bool hugeblocks_pass_visit(void *pass, const struct merge_item *item, struct error *error);
/* The look at the end: after replay_run(). */
bool hugeblocks_pass_finish(struct hugeblocks_pass *pass, struct error *error);
void hugeblocks_pass_close(struct hugeblocks_pass *pass);

#endif
