/*
 * The trace's clock. A time unit is 2^shift ticks of the processor's counter, chosen to last 8 to 16 ns where
 * the counter is that fine: deltas then mostly fit one byte. Where the counter cannot be used, it is
 * CLOCK_MONOTONIC in units of 8 ns.
 */
#ifndef MTRACE_CLOCK_H
#define MTRACE_CLOCK_H

#include <time.h>

#include "shim/raw.h"
#include "trace/layout.h"

struct shim_clock {
	unsigned shift;
	bool monotonic;	  /* the fallback */
	uint64_t tick_hz; /* nominal; the marks in the trace are the truth */
};
extern struct shim_clock shim_clock __attribute__((visibility("hidden")));

/* Measures the counter's rate for 100 us. Before the first clock_now(). */
void clock_start(void);

uint64_t clock_monotonic_ns(void);

/* CPU time of the calling thread: what it waits for a CPU or a lock is no cost of what it does. */
uint64_t clock_thread_cpu_ns(void);

/* What the shim's own thread reads once an interval may cost this share of the time, whatever the guest's
 * size. */
#define CLOCK_COST_SHARE 200 /* 1 part in */

/* True where a reading that took cost_ns at last_ns may be made again. Half an interval early is on time: the
 * next chance comes a whole one later. */
static inline bool clock_cost_allows(uint64_t now_ns, uint64_t interval_ms, uint64_t last_ns,
				     uint64_t cost_ns)
{
	return now_ns + interval_ms * 500000 >= last_ns + cost_ns * CLOCK_COST_SHARE;
}

static inline uint64_t clock_now(void)
{
	if (__builtin_expect(shim_clock.monotonic, 0))
		return clock_monotonic_ns() >> shim_clock.shift;
	return arch_ticks() >> shim_clock.shift;
}

/* The trace's clock beside the wall clock, read closely together; the watermark is left 0. */
struct clock_mark clock_mark(void);

#endif
