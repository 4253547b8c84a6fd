/*
 * The machine's CPUs for the process block, out of /sys: which there are, what kind each is and where it
 * sits. Values by CPU are written as runs, "0-3:439,4-7:1024", so that many CPUs take little room.
 */
#ifndef MTRACE_CPUTOPOLOGY_H
#define MTRACE_CPUTOPOLOGY_H

/* Calls `put` with each key of FORMAT.md, section 5, that this machine has; what it has not is left out. */
void cputopology_write(void (*put)(const char *key, const char *value));

#endif
