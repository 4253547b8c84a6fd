/*
 * Huge page settings of the machine and of the process, and the machine's counters of what became of them, in
 * the trace as BLOCK_SETTINGS: all at first, then what has changed. By the writer only.
 */
#ifndef MTRACE_THP_H
#define MTRACE_THP_H

#include <stdint.h>

/* Once per interval, or as often as its cost allows. */
void thp_take(uint64_t interval_ms);

void thp_take_now(void);

/* The next block is whole. */
void thp_want_whole(void);

/* In a forked child: nothing has been told yet in its trace. */
void thp_forget(void);

#endif
