/*
 * What is looked at once per interval: the sums of all counters, and the process as the kernel sees it.
 */
#ifndef MTRACE_SNAPSHOT_H
#define MTRACE_SNAPSHOT_H

#include "trace/layout.h"

/* Opens the /proc files that are read each time. By the thread that will read them. */
void snapshot_start(void);

/* Descriptors opened by snapshot_start, for keeping them when others are closed; -1: none. */
#define SNAPSHOT_FDS 2
void snapshot_fds(int fds[SNAPSHOT_FDS]);
void snapshot_close(void);

/* Fills everything but `mark.watermark`, which is the writer's. */
void snapshot_take(struct snapshot *snapshot, uint64_t interval_ms);

#endif
