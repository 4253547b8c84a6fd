/*
 * What the tests of the shim's modules share: stand-ins for the modules around the one under test, and rings
 * in a temporary folder with threads that write to them as registry.c and capture.c do.
 *
 * Stand-ins: writer_wake() counts, unwind_stack() returns what support_next_stack() was told in this thread.
 */
#ifndef MTRACE_SUPPORT_SHIM_H
#define MTRACE_SUPPORT_SHIM_H

#include <stdint.h>

#include "shim/ring.h"

/* Calls of writer_wake() so far. */
extern _Atomic uint32_t support_wakes;

/* The stack that unwind_stack() finds from now on, in this thread. `frames` stays the caller's; depth 0:
 * none. */
void support_next_stack(const uint64_t *frames, unsigned depth);

/* Marsaglia, "Xorshift RNGs", 2003. `*state` must not be 0. */
uint64_t support_random(uint64_t *state);

/* Rings of at most `bytes` in a new file. Returns a descriptor for rings_provide(). Fails the test where that
 * fails. */
int support_rings(uint64_t bytes);

/* A slot that lives, on the CPU that *cpu names; NULL: there is none. */
struct thread *support_ring_thread(const volatile uint32_t *cpu);

/* Writes one allocation, or loses it. */
bool support_ring_write(struct thread *thread, uint64_t time, uint64_t address, uint64_t size_bytes);

/* A chunk that was handed over, read from its start. Fails the test where its header is wrong. */
void support_chunk_start(struct decoder *decoder, const struct chunk_header *chunk);

/* Decodes and gives back all chunks that wait, as if they had been written. Returns the number of events. */
uint64_t support_drain(void);

/* Sum of a thread's loss counters. */
uint64_t support_lost(const struct thread *thread);

#endif
