/*
 * Interned stacks: a number for each distinct one, defined once in the stream of the thread that met it
 * first.
 *
 * A definition is committed to that thread's ring before the number is published, so whatever event carries a
 * number, its definition is in the rings or in the trace. A copy stays here for the keyframes of a flight
 * recorder.
 */
#ifndef MTRACE_STACKS_H
#define MTRACE_STACKS_H

#include <stdint.h>

#include "shim/thread.h"

/* Reserves memory (not yet used). Returns false where that fails: no stacks then. */
bool stacks_start(void);

/*
 * The number of the calling thread's present stack, down to `depth` frames; 0: none could be recorded
 * (counted as stackless by the caller). `time` is the event's time. Must not run under an allocator's lock
 * unless the thread is warm.
 */
uint32_t stacks_current(struct thread *thread, uint64_t time, unsigned depth);

/* For keyframes: numbers go from 1 to stacks_last(); false for one that is not complete. */
uint32_t stacks_last(void);
bool stacks_get(uint32_t id, const uint64_t **frames, unsigned *depth);

/* After a fork into a trace of its own: numbers start anew. */
void stacks_forget(void);

#endif
