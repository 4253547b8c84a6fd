/*
 * The model of a report: what each traced process did in each interval.
 *
 * row       one interval of a process, between two snapshots. Its values are described by series.h.
 * stage     one trace: a process from its start, or from an exec, to its end or the next exec.
 * timeline  the rows of one process, in order of time. Traces of the same process id on the same host that do
 * not overlap in time are stages of one process (a shell that became mongod) and share a timeline; traces
 * that do overlap are different processes (members of a replica set), each with its own. site      a distinct
 * allocating stack; in names and plots, all stacks that share their two innermost frames outside of the C++
 * library.
 *
 * Memory grows with the number of rows (one per MTRACE_INTERVAL_MS), of distinct stacks and of live blocks,
 * never with the number of events. Times in ns are since 1970, UTC, by the clock marks of the trace.
 *
 * Invariants, checked by model_check():
 *   start_ns < end_ns in every row, and rows[i].end_ns <= rows[i + 1].start_ns
 *   the sites of a row are in order, largest first, and are at most MODEL_ROW_SITES
 */
#ifndef MTRACE_MODEL_H
#define MTRACE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/command.h"
#include "analyzer/coverage.h"
#include "analyzer/error.h"
#include "analyzer/hugeblocks.h"
#include "analyzer/json.h"
#include "analyzer/livemap.h"
#include "analyzer/locksums.h"
#include "analyzer/merge.h"
#include "analyzer/pages.h"
#include "analyzer/plot_map.h"
#include "analyzer/reader.h"
#include "analyzer/regions.h"
#include "analyzer/rseq.h"
#include "analyzer/series.h"
#include "analyzer/sizeclass.h"
#include "analyzer/symbols.h"

/*
 * The largest sites kept with each row. A site that is not among them counts as "other" in that row: its
 * share is then below that of the smallest one kept, and the sum of all stays exact.
 */
#define MODEL_ROW_SITES 24

struct site_level {
	uint32_t site; /* index into timeline.sites */
	double live_bytes;
	double huge_bytes; /* of them, on huge pages; NaN: not looked at in this row */
};

struct model_row {
	int64_t start_ns;
	int64_t end_ns;
	bool brief; /* shorter than a quarter of the usual interval: rates are true but jump; not plotted */
	uint32_t site_count;
	double values[SERIES_COUNT];
	struct site_level sites[MODEL_ROW_SITES];
};

/* One trace. */
struct stage {
	struct trace *trace; /* open */
	int64_t start_ns;    /* of what can be read: later than the trace's start where a recorder wrapped */
	int64_t end_ns;
	size_t timeline; /* index into model.timelines */
	uint64_t pid;	 /* UINT64_MAX where unknown */
	struct livemap_totals totals;
	struct merge_stats stats;
	struct rseq_watch rseq;
	struct regions *regions; /* as they were at the end */
	struct pages *pages;	 /* likewise */
	struct hugeblocks *blocks;
	struct coverage *coverage;
	json_t *hugepages;     /* coverage_json() and coverage_print(): made while the symbols are there */
	char *hugepages_text;  /* NULL where the trace knows nothing of pages */
	struct locks *locks;   /* NULL where none were recorded */
	json_t *locks_json;    /* locks_json() and locks_print_summary(), likewise */
	char *locks_text;      /* NULL where none could be read */
	struct plot_map *map;  /* NULL where the trace holds no look at pages */
	bool wrapped;	       /* a flight recorder that has lost its beginning: live bytes are not known */
	double max_huge_age_s; /* oldest AnonHugePages figure; NaN where there is none */
	double clock_step_s;   /* largest change of the wall clock against CLOCK_MONOTONIC within one row */
	char **unmatched;      /* modules without names: "PATH: reason" */
	size_t unmatched_count;
};

struct timeline {
	char label[96]; /* "mongod, pid 4711"; "[2] mongod, pid 4711" where there are several */
	bool server;	/* not a trace's: what mongod recorded of itself (model_ftdc.h) */
	bool estimated; /* sample mode: live bytes and size classes are estimates */
	bool stacks;	/* at least one allocation has a stack */
	struct model_row *rows;
	size_t row_count;
	size_t row_capacity;
	double usual_interval_s; /* median; NaN without rows */
	char **sites;		 /* names, each once */
	size_t site_count;
	struct size_classes classes;
};

struct model {
	struct stage *stages; /* in order of their start */
	size_t stage_count;
	struct timeline *timelines;
	size_t timeline_count;
	struct error *unread; /* traces that could not be opened, while others could */
	size_t unread_count;
	int64_t start_ns; /* where tracing first started: zero of every time axis */
	int64_t end_ns;
};

/*
 * Reads the traces at `paths`. True: `out` is filled in and owned by the caller (model_free). False: `error`
 * says why (none of them is a trace, or one is given twice; memory), and `out` is empty. A trace that cannot
 * be opened beside others that can is no error, and is listed in out->unread; nor is damage inside of a
 * trace, which stays with stage.trace. Progress goes to a terminal.
 */
bool model_read(const char *const *paths, size_t count, const struct symbol_options *options,
		struct model *out, struct error *error);
void model_free(struct model *model);

/* The first invariant that does not hold, in words; NULL where all do. */
const char *model_check(const struct model *model);

/* ---- parts, for model_read() and tests --------------------------------------------------------------- */

/*
 * Appends the interval between two snapshots (`before` NULL: since start_ns). Returns the row, with
 * site_count 0; NULL where memory is short. A row that would not come after the last one is left out:
 * *skipped is set.
 */
struct model_row *timeline_append(struct timeline *timeline, int64_t start_ns, const struct snapshot *before,
				  const struct snapshot *after, bool *skipped);

/* Appends an interval of which nothing is known yet: all values NaN. NULL where memory is short. */
struct model_row *timeline_append_interval(struct timeline *timeline, int64_t start_ns, int64_t end_ns);

/* The largest sites of `sites` into the row; indices are those of `sites`. */
void row_take_sites(struct model_row *row, const struct live_site *sites, size_t count);

/* After the last row: usual interval and brief rows. False where memory is short. */
bool timeline_finish(struct timeline *timeline);

/* The name of a site, e.g. "__wt_calloc < __wt_page_alloc"; owned by the caller. NULL where memory is short.
 */
char *site_name(struct symbols *symbols, const struct trace *trace, uint32_t stack_id);

/* Once a trace has been read: the sites of its rows, from `first_row` on, go by the live map's index until
 * now, and by that of timeline->sites from here on. Stacks of one name become one site. False where memory is
 * short. */
bool timeline_name_sites(struct timeline *timeline, size_t first_row, const struct livemap *map,
			 const struct trace *trace, struct symbols *symbols);

#endif
