/*
 * Who owns rseq in the traced process: glibc (2.35 and later register each thread at its start), the program
 * (TCMalloc registers an area of its own through syscall()), or nobody. The kernel takes one area a thread,
 * so where glibc has it, an allocator's per-CPU caches do not work.
 */
#ifndef MTRACE_RSEQ_H
#define MTRACE_RSEQ_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "analyzer/idmap.h"
#include "analyzer/reader.h"
#include "trace/event.h"

/* What the events of a pass say. Zero-initialize; memory follows the number of threads that registered. */
struct rseq_watch {
	struct idmap threads; /* to an index into `registered` */
	bool *registered;
	size_t count, capacity;
	uint64_t registrations; /* attempts seen, failed ones included */
	uint64_t failures;
	uint64_t registered_now;     /* threads that registered and did not unregister; ended ones included */
	uint64_t first_success_time; /* meaningful where registrations > failures */
	int first_failure_errno;     /* 0: none failed */
};

/* Any event; those that are not about rseq are passed over. False: out of memory. */
bool rseq_watch_event(struct rseq_watch *watch, const struct trace_event *event);
void rseq_watch_free(struct rseq_watch *watch);

struct rseq_verdict {
	const char *owner; /* "glibc", "application", "none"; NULL: not known */
	double since_s;	   /* seconds after the start of the trace; 0: from the start; NaN: not known, or no
			      owner */
	int first_failure_errno; /* 0: no attempt of the program failed, or not known */
	int possible;		 /* per-CPU caches can work: 1, 0; -1: not known, nobody has tried */
	char text[320];		 /* the same in words, without a full stop */
};

/* `watch`: of a pass over all events; NULL: none was made, and what only events say is not known. */
struct rseq_verdict rseq_judge(const struct trace *trace, const struct rseq_watch *watch);

/* {owner, since_s, registrations, failures, first_failure_errno, per_cpu_caches_possible} */
json_t *rseq_json(const struct trace *trace, const struct rseq_watch *watch);

#endif
