/* What coverage.c (stream, rows) and coverage_walk.c (one moment) share; nobody else includes this. */
#ifndef MTRACE_COVERAGE_INTERNAL_H
#define MTRACE_COVERAGE_INTERNAL_H

#include "analyzer/coverage.h"
#include "analyzer/idmap.h"
#include "analyzer/vmas.h"

struct part_list {
	struct coverage_part *items;
	size_t count, capacity;
};

struct coverage {
	struct trace *trace;
	const struct regions *regions;
	struct pages *pages;
	uint64_t smaps_time; /* of the last reading that was noticed; 0: none */
	struct thpstate *settings;
	struct hugeplaces *places;
	struct vmas *vmas;

	struct coverage_row *rows;
	size_t row_count, row_capacity;
	struct coverage_level *levels;
	size_t level_count, level_capacity;

	/* Of the last moment. */
	struct coverage_sums sums;
	struct part_list owners, sites;
	struct idmap sites_by_stack;
	struct coverage_region *spans;
	size_t span_count, span_capacity;
	uint64_t oldest_look; /* UINT64_MAX: nothing is resident */
	uint64_t steps;	      /* that it took */

	uint64_t credit;	/* steps that the next moment may take */
	uint64_t settings_time; /* of the last reading of the settings; 0: none */
	char enabled[16];	/* as it was then; empty: not known */
	bool disabled;
	size_t rows_before; /* the last snapshot but one: their number then */
	size_t rows_at_snapshot;
	bool changed; /* something has happened since the last moment */
	bool looked;  /* there was a look since then */
	struct coverage_check check;
	struct coverage_faults first_faults, last_faults; /* as the snapshots have them */
	bool faults_known;
	uint64_t rss_bytes; /* at the last snapshot, or SNAPSHOT_UNKNOWN */
};

void coverage_sums_add(struct coverage_sums *sums, const struct coverage_sums *more);

/* Goes through all memory: fills in what is "of the last moment". False when out of memory. */
bool coverage_walk(struct coverage *coverage);

#endif
