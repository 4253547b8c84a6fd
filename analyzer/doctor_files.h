/*
 * Small files of /proc and /sys, of the machine, of a folder that stands for one (--root), or of the root
 * folder of a process in a container. Nothing is written, and no file can make the reader wait.
 */
#ifndef MTRACE_DOCTOR_FILES_H
#define MTRACE_DOCTOR_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "analyzer/doctor_facts.h"

#define FILES_TEXT_MAX_BYTES (16u << 20) /* a mongod with 60,000 threads has maps of 10 MB */

struct doctor_files {
	const char *root; /* as it was given; "" for the machine itself */
	int root_fd;
	pid_t pid;    /* 0: there is no process */
	int guest_fd; /* root folder of the process; -1: not to be had */
	int guest_error;
};

/* False with errno where `root` cannot be opened. pid may be 0. Close it all the same. */
bool files_open(struct doctor_files *files, const char *root, pid_t pid);
void files_close(struct doctor_files *files);

/* The process has the reader's own root folder: what is said of its files holds here. */
bool files_shares_root(const struct doctor_files *files);

/*
 * A descriptor for reading, or -1 with errno. `path` is below the root, without a slash at its beginning; the
 * second form counts from the root of the process, and links inside of it lead to nowhere else.
 */
int files_fd(const struct doctor_files *files, const char *path);
int files_guest_fd(const struct doctor_files *files, const char *path);

/*
 * Whole files, NUL-terminated, to be freed by the caller; NULL with errno. `bytes` may be NULL: a file of
 * /proc may hold NULs.
 */
char *files_text(const struct doctor_files *files, const char *path, size_t *bytes);
char *files_guest_text(const struct doctor_files *files, const char *path, size_t *bytes);
/* The same of proc/PID/NAME. */
char *files_process_text(const struct doctor_files *files, const char *name, size_t *bytes);

/* A decimal number, and nothing else but a newline behind it; surrounding blanks are fine. */
bool files_parse_number(const char *text, int64_t *number);

/*
 * One file, one fact. Without the file the fact is unknown, with the path and the error as the reason.
 * files_choice() takes the word in brackets of "always [madvise] never".
 */
void files_number(const struct doctor_files *files, struct facts *facts, enum fact_id id, const char *path);
void files_choice(const struct doctor_files *files, struct facts *facts, enum fact_id id, const char *path);

/* The word in brackets, in `text` itself; NULL where there is none. */
char *files_chosen(char *text);

/* What can be done about an error of a file of the process: "Permission denied: run doctor as root ...". */
const char *files_error_text(int error);

#endif
