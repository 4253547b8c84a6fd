/*
 * Messages to the guest's stderr: few, one line each, "mtrace: ...", written with one system call. They go
 * nowhere when descriptor 2 is no longer the file that it was at start (a daemon closed it, and may have
 * opened its own data there).
 */
#ifndef MTRACE_DIAG_H
#define MTRACE_DIAG_H

void diag_start(void);
void diag(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
