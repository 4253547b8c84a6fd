/*
 * Locks as the trace has them (BLOCK_LOCKS): the sums of the threads' tables, once per interval what has
 * changed. By the writer only. Without MTRACE_LOCKS=1 there are no tables and nothing is written.
 */
#ifndef MTRACE_LOCKBLOCK_H
#define MTRACE_LOCKBLOCK_H

#include "shim/thread.h"

/* Writes what has changed since it was told last. */
void lockblock_write(void);

/* The next lockblock_write() tells every open entry. */
void lockblock_want_whole(void);

/* The thread is gone for the kernel: tells its entries for the last time and empties its table. */
void lockblock_take_gone(struct thread *thread);

#endif
