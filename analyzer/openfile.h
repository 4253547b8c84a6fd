/*
 * Files whose names come from elsewhere: a trace, a process, an archive.
 */
#ifndef MTRACE_OPENFILE_H
#define MTRACE_OPENFILE_H

/*
 * Opens a regular file for reading; any path may be named, and pipes and devices are not for opening. -1 with
 * errno, ENOEXEC where it is no regular file.
 */
int open_regular(const char *path);

#endif
