/*
 * What is looked at once per interval, apart from the events: mappings, pages, sums by mapping, settings, the
 * allocator's figures, and last the snapshot, which is to tell of the same moment. By the writer only.
 */
#ifndef MTRACE_LOOKS_H
#define MTRACE_LOOKS_H

#include <stdbool.h>
#include <stdint.h>

/* The first ones are due at `now_ns` (CLOCK_MONOTONIC, as all times here). */
void looks_start(uint64_t now_ns);

/* When looks_take() has something to do next. */
uint64_t looks_next_ns(void);

/* Does what is due. `watermark`: the snapshot's. True: a snapshot was written. */
bool looks_take(uint64_t now_ns, uint64_t watermark);

/* At the end: everything once more, but the snapshot. */
void looks_finish(void);
/* False where the disk refused it. */
bool looks_write_snapshot(uint64_t watermark);

/* The next looks tell of everything, not of what has changed: for a trace whose older blocks are overwritten,
 * or that goes on after its end. */
void looks_want_whole(void);

/* In a forked child: nothing has been told yet in its trace. */
void looks_forget(void);

#endif
