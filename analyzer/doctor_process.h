/*
 * What /proc/PID says about a process: which allocator, settings, limits, who owns rseq, and whether
 * libmtrace.so could be loaded into it. It is never stopped and never written to. A process in a container is
 * looked at as it sees itself: its environment, its root folder, its cgroup.
 */
#ifndef MTRACE_DOCTOR_PROCESS_H
#define MTRACE_DOCTOR_PROCESS_H

#include <stdio.h>

#include "analyzer/doctor_elf.h"
#include "analyzer/doctor_facts.h"
#include "analyzer/doctor_files.h"
#include "analyzer/error.h"

/*
 * False with ERROR_INPUT where there is no such process. What cannot be read, for want of privilege or
 * anything else, is unknown, with the reason.
 */
bool doctor_process(const struct doctor_files *files, struct facts *facts, struct error *error);

/* ---- parts --------------------------------------------------------------------------------------------- */

/* Of an environment or command line (strings ended by NUL, `bytes` in all): the value of NAME=VALUE, or NULL.
 */
const char *doctor_setting(const char *block, size_t bytes, const char *name);

/* What a command line gives to `--option VALUE` or `--option=VALUE`; NULL. */
const char *doctor_argument(const char *block, size_t bytes, const char *option);

/* A word as a shell takes it: in single quotes where it holds anything but the plainest characters. */
void doctor_quote(FILE *out, const char *word);

/* glibc.pthread.rseq in a value of GLIBC_TUNABLES; 1, glibc's default, where it is not there. */
int doctor_tunable_rseq(const char *tunables);

/*
 * Of a mongod with this command line: its cache as configured, and from its own diagnostic data, where that
 * is by this very process, what it says of its allocator: doctor_server.c.
 */
void doctor_process_server(const struct doctor_files *files, struct facts *facts, const char *block,
			   size_t bytes);

/* Cgroup limits, own view and effective: doctor_cgroup.c. */
void doctor_process_cgroup(const struct doctor_files *files, struct facts *facts);

/* The files mapped into the process. */
struct doctor_modules {
	struct doctor_module *items;
	size_t count, capacity;
	uint64_t highest; /* end of its highest mapping in user space */
};
struct doctor_module {
	uint64_t start, end; /* of its first mapping */
	char *path;
};

/* False with the reason stored in `facts` for all that is read from them. Free afterwards, in any case. */
bool doctor_modules_read(const struct doctor_files *files, struct doctor_modules *modules, int *error);
void doctor_modules_free(struct doctor_modules *modules);

/* The program, its C library and its loader, found among the modules. */
struct doctor_program {
	struct doctor_modules modules;
	struct doctor_elf exe, libc, loader; /* fd -1: not found, or not readable */
	uint64_t exe_bias, libc_bias, loader_bias;
};

/* Allocator, C library, and what the loader would do with LD_PRELOAD: doctor_program.c. */
void doctor_process_program(const struct doctor_files *files, struct facts *facts,
			    struct doctor_program *program);
void doctor_program_close(struct doctor_program *program);

/*
 * Who registered rseq, as the threads have it: doctor_threads.c. Reads the memory of the process: glibc's
 * list of its threads (by what it tells libthread_db), in each its own rseq area (__rseq_offset,
 * __rseq_size), and TCMalloc's __rseq_abi, a thread-local variable of the program.
 */
void doctor_process_threads(const struct doctor_files *files, struct facts *facts,
			    const struct doctor_program *program);

#endif
