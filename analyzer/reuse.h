/*
 * Reuse distances: how much is freed on top of a free block before it is taken again.
 *
 * Each (CPU, size class) is a stack of free blocks without bound: a free pushes, an allocation pops. The
 * distance of an allocation is the largest height, counted in blocks from the one it takes, that the stack
 * had while that block lay in it. A list of C blocks that drops its oldest when it is full serves exactly
 * the allocations of distance <= C (Mattson et al., IBM Systems Journal 9, 1970, for the stack of a
 * last-in-first-out list): no cache of that size does better without fetching ahead. Real caches fetch and
 * release batches and share a budget among classes, so that this is a bound and not their hit ratio.
 */
#ifndef MTRACE_REUSE_H
#define MTRACE_REUSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/cacheclasses.h"

/* A stack remembers so many blocks; what lies deeper counts as never come back. */
#define REUSE_DEPTH_MAX (1u << 16)

/* Distances by power of two: bin b holds those in (2^(b-1), 2^b], bin 0 holds distance 1. */
#define REUSE_BINS 17u

struct reuse_class {
	uint64_t bins[REUSE_BINS];
	uint64_t cold; /* allocations with nothing to take: the first ones, and what others have freed */
};

struct reuse;

struct reuse *reuse_create(void); /* NULL when out of memory */
void reuse_free(struct reuse *reuse);

/* `cache`: a small number, from 0 on. False when out of memory. */
bool reuse_take(struct reuse *reuse, uint32_t cache, unsigned class);
bool reuse_give(struct reuse *reuse, uint32_t cache, unsigned class);

const struct reuse_class *reuse_class(const struct reuse *reuse, unsigned class);

/* Upper end of the bin, in blocks, within which `share` of the class's allocations that took a block lie; 0
 * where none did. */
uint32_t reuse_quantile(const struct reuse_class *class, double share);

#endif
