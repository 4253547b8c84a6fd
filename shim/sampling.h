/*
 * Sample mode: a Poisson process over allocated bytes, and the set of sampled blocks that are alive.
 *
 * Each thread draws an exponentially distributed number of bytes; the allocation that reaches it is sampled.
 * So an allocation of s bytes is sampled with probability 1 - exp(-s / MTRACE_SAMPLE_BYTES), whatever came
 * before it, and the analyzer can weigh it back (trace/FORMAT.md).
 *
 * "Was this block sampled?" is asked at every free: 131,072 counters of four bits (64 KiB) say no in one
 * load, and only for the rest the set itself is searched. Counters, not bits: an allocator hands out the same
 * addresses again and again, and bits that cannot be cleared singly would soon all be set.
 *
 * Operations on one address are ordered by the guest itself (a block is freed before its address is handed
 * out again).
 */
#ifndef MTRACE_SAMPLING_H
#define MTRACE_SAMPLING_H

#include <stdint.h>

#include "shim/thread.h"

#define SAMPLE_FILTER_BITS 17u

/* 16 counters a word; a counter at 15 stays there. */
extern _Atomic uint64_t sample_filter[(1u << SAMPLE_FILTER_BITS) / 16] SHIM_LOCAL;

/* Reserves memory. Returns false where that fails. */
bool sampling_start(uint64_t mean_bytes);
void sampling_forget(void);

/* Bytes to the next sample, at least 1: exponentially distributed with the mean given to sampling_start. */
uint64_t sampling_draw(struct thread *thread);

/* 64 bits by chance, of this thread's own sequence. */
uint64_t sampling_random(struct thread *thread);

/* Adds a block. False: no room, the block is not followed. */
bool sample_set_insert(uint64_t address);

/* Takes a block out. False: it was not in the set. */
bool sample_set_remove(uint64_t address);

/*
 * Blocks that are the shim's own (the unwinder's thread-local storage, which the dynamic linker allocates and
 * libc frees) stand in the same set and filter, so that their free is known, and not counted as the guest's.
 */
bool sample_set_insert_own(uint64_t address);
bool sample_set_remove_own(uint64_t address);

ALWAYS_INLINE uint64_t sample_hash(uint64_t address)
{
	return (address >> 3) * UINT64_C(0x9e3779b97f4a7c15);
}

/* The counter of an address: bits `shift` to `shift` + 3 of word `word`. */
struct sample_place {
	unsigned word, shift;
};

ALWAYS_INLINE struct sample_place sample_place(uint64_t address)
{
	uint64_t index = sample_hash(address) >> (64 - SAMPLE_FILTER_BITS);
	return (struct sample_place){(unsigned)(index / 16), (unsigned)(index % 16 * 4)};
}

/* False: certainly not in the set. */
ALWAYS_INLINE bool sample_set_maybe(uint64_t address)
{
	struct sample_place place = sample_place(address);
	return atomic_load_explicit(&sample_filter[place.word], memory_order_relaxed) >> place.shift & 15;
}

#endif
