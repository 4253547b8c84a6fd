/*
 * Size steps: the classes that exact counts by size are kept in, the same in every trace, whatever the
 * allocator. Four to each power of two, upper ends included:
 *
 *     step   0      1      ...  7        8        9        10       11       12       ...  63 ...  247 bytes
 * 0..2   3..4   ...  15..16   17..20   21..24   25..28   29..32   33..40   ...  229377..262144    ...
 * ..2^64-1
 */
#ifndef MTRACE_SIZESTEP_H
#define MTRACE_SIZESTEP_H

#include <stdint.h>

#define SIZE_STEPS 248u

/* The step of a size. Few instructions and no table: it stands in malloc's way. */
static inline unsigned size_step(uint64_t bytes)
{
	const uint64_t below = bytes - (bytes != 0);
	const unsigned power = 63u - (unsigned)__builtin_clzll(below | 15);
	return 4 * (power - 3) + (unsigned)(below >> (power - 2));
}

/* The largest size of a step. */
static inline uint64_t size_step_last(unsigned step)
{
	if (step < 8)
		return 2 * (step + 1);
	const unsigned power = step / 4 + 2;
	const uint64_t quarters = step % 4 + 5; /* up to 8 quarters of the power of two */
	return step == SIZE_STEPS - 1 ? UINT64_MAX : quarters << (power - 2);
}

/* The smallest one. */
static inline uint64_t size_step_first(unsigned step)
{
	return step ? size_step_last(step - 1) + 1 : 0;
}

#endif
