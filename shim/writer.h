/*
 * The writer: the shim's own thread. It takes filled chunks from the rings to the trace file, looks at the
 * process once per interval, and keeps the rings provided with free chunks.
 *
 * Every tick (in time, and in bytes where the guest is fast) it asks threads to hand over chunks that already
 * hold something (limit = NULL); what an idle thread still holds at the next tick is written from where it
 * lies. So at each tick everything older than the tick before is in the file: the watermark.
 */
#ifndef MTRACE_WRITER_H
#define MTRACE_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/layout.h"

/* Starts the thread. False: it could not be created; the rings then keep what they can until writer_finish().
 */
bool writer_start(void);

/* Tells a sleeping writer to look now. Cheap where it is awake. */
void writer_wake(void);

/*
 * Ends the trace: everything recorded so far goes into the file, the end block follows, the rings file is
 * removed. Waits for the writer thread, at most a few seconds; without one it does the work itself. Returns
 * false where time ran out. Called once, with recording already closed.
 */
bool writer_finish(enum end_reason reason, int status);

/* The end did not come (an exec that failed): goes on after writer_finish(). When it returns (after a second
 * at most) the trace says that it is unfinished, and has its rings file again; recording may open. */
void writer_resume(void);

/*
 * The thread ends, the trace goes on without it: for when the guest's last thread is about to end. libc ends
 * the process with its last thread, and the writer would count as one. writer_finish() then does the rest of
 * the work.
 */
void writer_retire(void);

/* After a fork: there is no writer thread in this process. */
void writer_forget(void);

/* True in the writer thread. */
bool writer_is_self(void);

#endif
