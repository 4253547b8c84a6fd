/*
 * Which pages of the guest are resident, and which are huge, in the trace as BLOCK_PAGES (FORMAT.md). One
 * round looks at the mappings once, in steps of about PAGESCAN_HOLD_US with a rest between them, so that a
 * guest's mmap waits for no more than one step. All rounds together take at most 1 part in CLOCK_COST_SHARE
 * of one CPU: where a whole round would take more, what has not changed and is on small pages is looked at in
 * turns, and where that does not do either, rounds become rarer. By the writer only.
 */
#ifndef MTRACE_HUGEPAGES_H
#define MTRACE_HUGEPAGES_H

#include <stdbool.h>
#include <stdint.h>

/* Once per interval, after mapsnap_take(): begins a round where one is due. */
void hugepages_take(uint64_t interval_ms);

/* When hugepages_step() is to be called next, CLOCK_MONOTONIC; UINT64_MAX: no round is under way. */
uint64_t hugepages_due_ns(void);
void hugepages_step(void);

/* Looks at everything once more, without rests, for at most 200 ms of CPU time. */
void hugepages_finish(void);

/* The next round tells of everything, changed or not. */
void hugepages_want_whole(void);

/* In a forked child: nothing has been told yet in its trace. */
void hugepages_forget(void);

/*
 * Bytes of private anonymous memory mapped as huge pages, as AnonHugePages of smaps has them, and how old the
 * oldest part of that sum is. False: not known.
 */
bool hugepages_anon(uint64_t now_ns, uint64_t *bytes, uint64_t *age_ns);

#endif
