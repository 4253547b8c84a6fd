/*
 * The kernel's own sums by mapping in the trace, as BLOCK_SMAPS: what is eligible for huge pages, and what
 * the finer looks are checked against. A reading walks all page tables under the mmap lock, mapping by
 * mapping (37 ms for 16 GiB): so it is made at the start, at the end, and rarely. By the writer only.
 */
#ifndef MTRACE_SMAPS_H
#define MTRACE_SMAPS_H

#include <stdbool.h>
#include <stdint.h>

/* Where that is due. `alone`: nothing else tells of huge pages, so that it may cost as much as that would. */
void smaps_take(uint64_t interval_ms, bool alone);

/* At the end, which the guest waits for: unless the last one took longer than 200 ms of CPU time. */
void smaps_finish(void);

/* The next smaps_take() may come as early as if it were alone. */
void smaps_want(void);

/* In a forked child: nothing has been told yet in its trace. */
void smaps_forget(void);

#endif
