/*
 * From the first hook to the last: who is traced, when recording starts, and how it ends.
 *
 *   EARLY      the next functions are not known yet; the arena serves
 *   STARTING   they are being looked up (by one thread; its own nested calls are served by the arena)
 *   SILENT     not traced: filtered out, off, or a child; hooks forward and that is all
 *   RECORDING  hooks record
 *   STOPPED    the trace is finished (exit, exec, or it could not be created)
 *
 * A forked child finds its thread structures wiped (thread.h) and becomes SILENT, or RECORDING into a trace
 * of its own when MTRACE_CHILDREN=1 or when it detaches itself from its parent (setsid, daemon).
 */
#ifndef MTRACE_LIFECYCLE_H
#define MTRACE_LIFECYCLE_H

#include <stdbool.h>

#include "shim/thread.h"
#include "trace/layout.h"

enum phase {
	PHASE_EARLY = 0,
	PHASE_STARTING,
	PHASE_SILENT,
	PHASE_RECORDING,
	PHASE_STOPPED,
};

enum phase lifecycle_phase(void);

/* The mode that threads record in: MODE_CLOSED unless RECORDING. */
enum thread_mode lifecycle_mode(void);

/* For a hook that comes before the constructor. True: the next functions can be called now. */
bool lifecycle_start_early(void);

/* Calls of malloc, dlsym's among them, come to our hook. False as well while this object is not relocated. */
bool lifecycle_malloc_is_ours(void);

/* Sets errno, if it can be reached yet. */
void lifecycle_set_errno(int error);

/* In the process that records, while it does. A child of a fork that passed no hook of ours falls silent
 * here. */
bool lifecycle_records_here(void);

/* False in the process that started the trace, and in one that shares its memory and is about to exec
 * (vfork). */
bool lifecycle_is_forked_child(void);

/* In the child, after fork() through a hook. `detaching`: the parent was a detached process with one thread.
 */
void lifecycle_after_fork(bool detaching);

/* Before fork: true where the child goes on with the detachment that this process began. */
bool lifecycle_is_detaching(void);

/* After a successful setsid() or daemon(): a silent child that detaches itself is traced from here on. */
void lifecycle_after_detach(void);

/* Ends the trace of this process, if it has one; false where it has none. lifecycle_resume() takes it back.
 */
bool lifecycle_finish(enum end_reason reason, int status);
void lifecycle_resume(void);

/* True from the end of the trace for an exec until that succeeds or fails: what other threads do meanwhile is
 * lost, and is counted by lifecycle_count_stopped() in case that it fails. The mode is the one that recording
 * was in. */
bool lifecycle_is_suspended(void);
enum thread_mode lifecycle_mode_suspended(void);
void lifecycle_count_stopped(enum counter counter, uint64_t n);

#endif
