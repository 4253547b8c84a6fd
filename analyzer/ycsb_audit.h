/*
 * Whether the numbers of a YCSB run can be what they are taken for.
 *
 * YCSB says nothing of a run that went wrong: its exit status is 0, a mistyped thread level is ignored, and
 * failed operations count as throughput. What it prints contradicts itself then, and that can be checked:
 *
 *   identity       throughput * run time = sum of the operations, RMW apart (its parts are counted). Failed
 *                  inserts of a load are no operations done. go-ycsb: TOTAL = sum of the others.
 *   Little's law   sum of count * mean over the run time is the mean number of threads inside an operation
 *                  (J. D. C. Little, "A Proof for the Queuing Formula: L = lambda W", Operations Research
 *                  9(3), 1961). A client without a throttle keeps all its threads there; 10% are allowed.
 *   record count   what the load inserted is what the run asks for.
 *   errors         more than 0.1% failed: flagged; more than 1%: invalid.
 */
#ifndef MTRACE_YCSB_AUDIT_H
#define MTRACE_YCSB_AUDIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/ycsb.h"

enum ycsb_threads_source {
	YCSB_THREADS_UNKNOWN,
	YCSB_THREADS_ASKED, /* command line or property dump */
	YCSB_THREADS_ENDED, /* Java's [CLEANUP], Operations */
	YCSB_THREADS_NAMED, /* the file's name */
};

enum ycsb_severity {
	YCSB_NOTE,    /* about reading the numbers */
	YCSB_WARNING, /* they may not be what they are taken for */
	YCSB_INVALID, /* not to be compared with others */
};

struct ycsb_finding {
	const char *id; /* stable: ycsb_flag_name(), or one of the audit's own: docs/JSON.md lists all */
	enum ycsb_severity severity;
	char text[320]; /* one sentence without a full stop */
};

#define YCSB_FINDINGS_MAX 24

struct ycsb_audit {
	uint64_t threads; /* the level that the run is taken to have; YCSB_UNKNOWN */
	enum ycsb_threads_source threads_source;
	uint64_t threads_named;	   /* in the file's name; YCSB_UNKNOWN */
	double threads_busy;	   /* by Little's law; NaN where a mean or the time is missing */
	double operations_done;	   /* throughput * run time; of a killed client: so far; NaN */
	double operations_counted; /* sum of the summary's counts; NaN where it has operations of a fork */
	double mean_us;		   /* over all operations that are counted in it; NaN */
	enum ycsb_severity worst;
	struct ycsb_finding findings[YCSB_FINDINGS_MAX]; /* in order of severity, worst first */
	size_t finding_count;
};

/*
 * Audits runs[run] of files[file]; its load is the nearest load phase before it, in the order of the files
 * and their runs, or else the first behind it.
 */
void ycsb_audit(const struct ycsb_file *files, size_t file_count, size_t file, size_t run,
		struct ycsb_audit *audit);

/*
 * The thread level in a file's name, folders apart: "thp-threads-16.txt", "lse_threads64.log",
 * "64threads.txt", "threads=8.out". YCSB_UNKNOWN where there is none or it is 0.
 */
uint64_t ycsb_threads_in_name(const char *path);

const char *ycsb_threads_source_name(enum ycsb_threads_source source); /* "command line"; NULL for unknown */
const char *ycsb_severity_name(enum ycsb_severity severity);	       /* "note", "warning", "invalid" */

/* How an operation's count enters sums over a run. */
enum ycsb_operation_class {
	YCSB_OP_DONE,	/* one operation each */
	YCSB_OP_FAILED, /* one failed operation each: READ-FAILED, READ-NOT_FOUND, READ_ERROR */
	YCSB_OP_TWICE,	/* counted elsewhere: READ-MODIFY-WRITE, TOTAL, Intended-READ, BucketREAD */
	YCSB_OP_NONE,	/* no operation on data: CLEANUP, VERIFY, what trackjvm measures */
	YCSB_OP_FOREIGN /* of a fork: may or may not be counted elsewhere */
};
enum ycsb_operation_class ycsb_classify(const char *name);

#endif
