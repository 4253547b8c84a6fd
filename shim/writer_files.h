/*
 * The writer's descriptors: the trace, its rings file, and what is looked at once per interval.
 *
 * They live in a table that the writer thread shares with nobody, so that a guest which closes everything
 * does not close the trace, and the guest never sees, inherits or counts them. Where the kernel grants no
 * such table they are moved to high numbers of the guest's, and each use looks first whether the number still
 * is that file (tracefile.c, ring_file.c); between that look and the use a guest can still put a file of its
 * own there.
 */
#ifndef MTRACE_WRITER_FILES_H
#define MTRACE_WRITER_FILES_H

#include <stdbool.h>

/* Gives the calling thread a descriptor table of its own, without the guest's descriptors, and opens the
 * files. Only for a thread of the shim's own. */
void writer_files_own(void);

/* Opens the files in the table that is, and closes them. */
void writer_files_open(void);
void writer_files_close(void);

/* False: what is opened takes the lowest number that the guest has free, and may be the one its next open()
 * would get. */
bool writer_files_table_is_ours(void);

/* The rings file's descriptor; -1: not open. */
int writer_files_rings(void);

/* Removes the rings file of a trace that is whole; where this user may not (any more), it is emptied. */
void writer_files_drop_rings(void);

/* Makes it again, for a trace that goes on after all. Without room for it the trace goes on without. */
void writer_files_remake_rings(void);

#endif
