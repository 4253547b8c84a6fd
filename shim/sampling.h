/*
 * Sample mode: a Poisson process over allocated bytes, and the set of sampled blocks that are alive.
 *
 * Each thread counts down an exponentially distributed number of bytes; the allocation that crosses zero is sampled. So an
 * allocation of s bytes is sampled with probability 1 - exp(-s / MTRACE_SAMPLE_BYTES), whatever came before it, and the
 * analyzer can weigh it back (trace/FORMAT.md).
 *
 * "Was this block sampled?" is asked at every free: a bitmap of 64 KiB answers no in one load, and only for the rest the
 * set itself is searched. Bits cannot be cleared one by one; sample_set_rebuild() makes the bitmap anew now and then.
 *
 * Operations on one address are ordered by the guest itself (a block is freed before its address is handed out again).
 */
#ifndef MTRACE_SAMPLING_H
#define MTRACE_SAMPLING_H

#include <stdint.h>

#include "shim/thread.h"

#define SAMPLE_BITMAP_BITS 19u

extern _Atomic(_Atomic uint64_t *) sample_bitmap SHIM_LOCAL; /* NULL until sampling_start */

/* Reserves memory. Returns false where that fails. */
bool sampling_start(uint64_t mean_bytes);
void sampling_forget(void);

/* Bytes to the next sample: exponentially distributed with the mean given to sampling_start. */
int64_t sampling_draw(struct thread *thread);

/* Adds a block. False: no room, the block is not followed. */
bool sample_set_insert(uint64_t address);

/* Takes a block out. False: it was not in the set. */
bool sample_set_remove(uint64_t address);

/* The writer thread, now and then: clears the bits of blocks that are gone. */
void sample_set_rebuild(void);

ALWAYS_INLINE uint64_t sample_hash(uint64_t address)
{
	return (address >> 3) * UINT64_C(0x9e3779b97f4a7c15);
}

/* False: certainly not in the set. */
ALWAYS_INLINE bool sample_set_maybe(uint64_t address)
{
	uint64_t bit = sample_hash(address) >> (64 - SAMPLE_BITMAP_BITS);
	_Atomic uint64_t *bitmap = atomic_load_explicit(&sample_bitmap, memory_order_relaxed);
	return atomic_load_explicit(&bitmap[bit / 64], memory_order_relaxed) >> (bit % 64) & 1;
}

#endif
