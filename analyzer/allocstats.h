/*
 * What the traced allocator said of itself: an allocator record of the trace (trace/FORMAT.md), parsed.
 *
 * A figure that the record does not have is ALLOCSTATS_UNKNOWN, never 0.
 */
#ifndef MTRACE_ALLOCSTATS_H
#define MTRACE_ALLOCSTATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/error.h"
#include "trace/layout.h"

struct trace;

#define ALLOCSTATS_UNKNOWN UINT64_MAX

struct allocstats_value {
	const char *name; /* as the allocator has it: "tcmalloc.cpu_free" */
	uint64_t value;
};

/* One CPU's cache. The last three count from the start of the process. */
struct allocstats_cpu {
	uint64_t cpu;
	uint64_t used_bytes;
	uint64_t unallocated_bytes; /* of its capacity, given to no size class */
	uint64_t underflows;	    /* allocations that found it empty */
	uint64_t overflows;	    /* frees that found it full */
	uint64_t reclaims;	    /* times that it was emptied for being idle */
};

struct allocstats {
	struct clock_mark mark;
	uint32_t kind;		 /* enum allocator_kind; 0: there is no record */
	uint64_t values_age_ns;	 /* of `values`, at mark */
	uint64_t per_cpu_age_ns; /* of `cpus`, at mark */
	struct allocstats_value *values;
	size_t value_count;
	struct allocstats_cpu *cpus;
	size_t cpu_count;
	char *text; /* holds the names */
};

/*
 * Parses a block's payload. True: *out is to be freed with allocstats_free(); its kind is 0 where the payload
 * is too short for a record, and lines that are none are passed over. False: out of memory, *out is empty.
 */
bool allocstats_parse(struct allocstats *out, const uint8_t *payload, size_t bytes);
void allocstats_free(struct allocstats *stats); /* leaves it empty; may be empty already */

/* Goes through the records of a trace. Zero-initialize; free `stats` at the end. */
struct allocstats_cursor {
	size_t next_block;
	struct allocstats stats; /* the record found last */
};

/*
 * The newest record up to `time` that has not been given yet, in cursor->stats. False where there is none, or
 * on an error (memory, a read that fails), which sets error->code. A damaged one is listed by trace_damage()
 * and passed over.
 */
bool allocstats_next(struct allocstats_cursor *cursor, struct trace *trace, uint64_t time,
		     struct error *error);

/* The value called `name`; ALLOCSTATS_UNKNOWN. */
uint64_t allocstats_value(const struct allocstats *stats, const char *name);

/* The first of several names that has a value: allocators and versions differ. Ends with NULL. */
uint64_t allocstats_first(const struct allocstats *stats, const char *const *names);

/* Sums over all CPUs, each ALLOCSTATS_UNKNOWN where one of them is, or where there are none. `cpu` counts
 * them. */
struct allocstats_cpu allocstats_sum(const struct allocstats *stats);

/* 1: per-CPU caches are in use; 0: they are not, although the allocator has them; -1: not known. */
int allocstats_active(const struct allocstats *stats);

/* Limit of one CPU's cache, by the function or else by the text; ALLOCSTATS_UNKNOWN. */
uint64_t allocstats_limit_bytes(const struct allocstats *stats);

#endif
