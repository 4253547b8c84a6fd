/*
 * What `mtrace-analyze atomics` can be given, as files with their census: an ELF file, an archive of them
 * (thin ones too, whose members lie outside), a process by its number (every file that it has mapped
 * executable), and a trace (the modules that it lists; a file counts only where its build-id is the traced
 * one).
 *
 * Members of thin archives and modules of traces are named by the input: only regular files are opened.
 */
#ifndef MTRACE_ATOMICS_FILES_H
#define MTRACE_ATOMICS_FILES_H

#include "analyzer/atomics.h"

struct atomics_file {
	char *file;    /* as it is shown: a path, or the name of a member */
	char *problem; /* why it was not counted; NULL where it was */
	struct atomics_census census;
	/* of an archive, whose census then is the sum (without places) */
	bool archive;
	struct atomics_file *members;
	size_t members_count, members_capacity;
};

enum atomics_hwcap {
	ATOMICS_HWCAP_UNKNOWN, /* no process, or one of another machine */
	ATOMICS_HWCAP_ABSENT,  /* helpers take exclusive pairs there */
	ATOMICS_HWCAP_PRESENT, /* helpers take LSE there */
};

struct atomics_files {
	struct atomics_file *items;
	size_t count, capacity;
	/* settings */
	bool list;	       /* keep each instruction */
	const char *sysroot;   /* for modules of traces; NULL: "/" */
	const char *debug_dir; /* NULL: /usr/lib/debug */
	/* of the processes looked at */
	enum atomics_hwcap hwcap;
	uint64_t anonymous_bytes; /* executable memory without a file, not looked at */
};

/*
 * Adds what `operand` names. False with `error` set where nothing of it could be read (ERROR_INPUT); files of
 * it that could not be counted are added with their problem.
 */
bool atomics_files_add(struct atomics_files *files, const char *operand, struct error *error);
void atomics_files_free(struct atomics_files *files);

/* Whether any file, or member of one, has a problem. */
bool atomics_files_problems(const struct atomics_files *files);

/* ---- for the parts ------------------------------------------------------------------------------------- */

/* A new item, shown as `name`; NULL when out of memory. */
struct atomics_file *atomics_files_item(struct atomics_files *files, const char *name);
void atomics_file_problem(struct atomics_file *item, const char *text);

/* The census of an open ELF file; `fd` stays open. What is wrong becomes the item's problem. */
void atomics_file_count(const struct atomics_files *files, struct atomics_file *item, int fd);

bool atomics_archive(const struct atomics_files *files, struct atomics_file *item, int fd, bool thin,
		     struct error *error);
bool atomics_process(struct atomics_files *files, const char *pid, struct error *error);
bool atomics_trace(struct atomics_files *files, const char *path, struct error *error);

#endif
