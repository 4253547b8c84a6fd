/* Why a process runs untraced: the one line that says so, with a setting that would work. */
#ifndef MTRACE_REFUSAL_H
#define MTRACE_REFUSAL_H

#include <stdint.h>

/*
 * 0, or -ENOMEM where a limit on the address space (ulimit -v) leaves less than twice what the recorder
 * takes, the rings' `ring_bytes` among it: the guest would find none later on.
 */
int refusal_for_limits(uint64_t ring_bytes);

/* `path`: the trace or its rings file; `error`: what creating it returned, a negative errno. */
void refusal_say(const char *path, int error);

#endif
