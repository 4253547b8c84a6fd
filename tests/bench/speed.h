/* What the programs that time a part of the analyzer share. */
#ifndef TESTS_BENCH_SPEED_H
#define TESTS_BENCH_SPEED_H

#include <stdint.h>
#include <time.h>

/* Marsaglia, "Xorshift RNGs", 2003. The same numbers in each run. */
static inline uint64_t random_next(void)
{
	static uint64_t state = 88172645463325252u;
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* CPU time of this process. */
static inline double now_s(void)
{
	struct timespec now;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

#endif
