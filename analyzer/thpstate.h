/*
 * The machine's huge page settings and counters as a trace has them (BLOCK_SETTINGS), moment by moment:
 * what they were at the start, what they are now, and what has changed.
 */
#ifndef MTRACE_THPSTATE_H
#define MTRACE_THPSTATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/error.h"
#include "analyzer/reader.h"

struct thpstate;

/* `trace` must outlive it. NULL when out of memory. */
struct thpstate *thpstate_open(struct trace *trace);
void thpstate_close(struct thpstate *state); /* NULL is fine */

/* Reads what was read up to `time`; UINT64_MAX: all. False on an error, which is set. */
bool thpstate_until(struct thpstate *state, uint64_t time, struct error *error);
uint64_t thpstate_due(const struct thpstate *state);

/* The value now, or NULL where it is not known. Valid until the next thpstate_until(). */
const char *thpstate_value(const struct thpstate *state, const char *name);

/* One name of trace/FORMAT.md. */
struct thp_value {
	char *name;
	char *first; /* as it was first read */
	char *now;   /* NULL: known no more */
	uint64_t first_time;
	uint64_t time;		     /* since when it is as it is now */
	bool counter;		     /* a sum since the machine's start, not a setting */
	uint64_t first_count, count; /* of a counter; saturated at UINT64_MAX */
};
const struct thp_value *thpstate_values(const struct thpstate *state, size_t *count);
const struct thp_value *thpstate_find(const struct thpstate *state, const char *name);

/* A setting that became another; counters do not stand here. */
struct thp_change {
	uint64_t time;
	size_t value; /* index into thpstate_values() */
	char *before; /* NULL: was not known */
	char *after;  /* NULL: known no more */
};
#define THP_CHANGES_MAX 1000 /* kept; thpstate_changes_count() counts on */
const struct thp_change *thpstate_changes(const struct thpstate *state, size_t *count);
uint64_t thpstate_changes_count(const struct thpstate *state);

/* How far a counter has risen since it was first read. False where it is not known. */
bool thpstate_rise(const struct thpstate *state, const char *name, uint64_t *rise);

/*
 * The two readings between which `vmstat.thp_fault_fallback` last rose: a fault in the time between found no
 * huge page, in whatever process of the machine. Both 0 where it has not.
 */
void thpstate_fallback(const struct thpstate *state, uint64_t *after_time, uint64_t *until_time);

/*
 * What decides on huge pages of `huge_bytes` in private anonymous memory: the setting of that folio size
 * where the kernel has one and it is not "inherit" (Documentation/admin-guide/mm/transhuge.rst, "Multi-size
 * THP"), else thp.enabled. "always", "madvise", "never", or NULL where it is not known.
 */
const char *thpstate_enabled(const struct thpstate *state, uint64_t huge_bytes);

/* process.thp_disable: the process has turned them off. False also where it is not known. */
bool thpstate_disabled(const struct thpstate *state);

#endif
