#include "shim/clock.h"

#define CALIBRATION_NS	 100000u
#define UNIT_NS_AT_LEAST 8u
#define NS_PER_S	 UINT64_C(1000000000)
#define MONOTONIC_SHIFT	 3u

struct shim_clock shim_clock;

static uint64_t clock_ns(clockid_t id)
{
	struct timespec now;
	clock_gettime(id, &now); /* cannot fail for these ids, so errno stays as it is */
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

uint64_t clock_monotonic_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

static uint64_t measure_hz(void)
{
	uint64_t start_ns = clock_monotonic_ns(), start = arch_ticks(), now_ns;
	do
		now_ns = clock_monotonic_ns();
	while (now_ns - start_ns < CALIBRATION_NS);
	return (uint64_t)((double)(arch_ticks() - start) * 1e9 / (double)(now_ns - start_ns));
}

void clock_start(void)
{
	if (!arch_ticks_usable()) {
		shim_clock =
			(struct shim_clock){.shift = MONOTONIC_SHIFT, .monotonic = true, .tick_hz = NS_PER_S};
		return;
	}
	uint64_t hz = arch_ticks_hz();
	shim_clock.tick_hz = hz ? hz : measure_hz();
	shim_clock.shift = 0;
	while ((NS_PER_S << shim_clock.shift) / shim_clock.tick_hz < UNIT_NS_AT_LEAST &&
	       shim_clock.shift < 16)
		shim_clock.shift++;
}

uint64_t clock_thread_cpu_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

struct clock_mark clock_mark(void)
{
	struct clock_mark mark = {0};
	uint64_t before = clock_now();
	mark.realtime_ns = clock_ns(CLOCK_REALTIME);
	mark.monotonic_ns = clock_ns(CLOCK_MONOTONIC);
	mark.time = before + (clock_now() - before) / 2;
	return mark;
}
