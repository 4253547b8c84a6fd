/*
 * Threads coming and going. A thread is attached at its first hook, or at its start where pthread_create is
 * ours; it says good-bye in the last round of its thread-specific destructors, and its slot is used again
 * once the kernel has no such thread any more (until then its very last destructors may still count there).
 */
#ifndef MTRACE_REGISTRY_H
#define MTRACE_REGISTRY_H

#include "shim/thread.h"

/* Once a process: the key whose destructor sees threads end. */
void registry_start(void);

/* Gives the calling thread a slot and returns it, NULL where none is free. `counted`:
 * registry_thread_created() was called for it. */
struct thread *registry_attach(bool counted);

/* A thread is about to be created; or it was not, after all. The last one to go takes the writer with it. */
void registry_thread_created(void);
void registry_thread_gone(void);

/* Opens or closes all threads for recording. */
void registry_set_mode(enum thread_mode mode);

/* After all threads were closed: waits, boundedly, until none of them is inside a hook any more. */
void registry_wait_for_hooks(void);

/* Number of live threads of the guest that have been seen. */
unsigned registry_live(void);

/* A thread ends by the bare system call: the kernel gives the process the status of its last thread. */
void registry_note_exit(int status);
int registry_last_exit(void);

/* Writer: no thread but the caller is left in the process (they went past every hook: system call, seccomp).
 */
bool registry_guest_is_gone(void);

/* Writer: takes back the slots of threads that are gone. */
void registry_reap(void);

/* The rseq area of the calling thread's own making, seen at registration; NULL: unregistered. */
void registry_set_rseq(struct thread *thread, const volatile uint32_t *cpu_id);

/* "glibc" or "none"; what the application registers is seen by the syscall hook. */
bool registry_glibc_owns_rseq(void);

#endif
