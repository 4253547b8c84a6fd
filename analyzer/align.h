/*
 * YCSB and traces on one time axis.
 *
 * segment  a stretch under one load: one YCSB run; or several clients that ran at the same time (each
 * overlaps the others for more than half of its length), whose throughput is added up and which count only
 *          while all of them ran.
 * grid     the intervals of a segment at which throughput and all series are compared: the client's status
 *          intervals, or the trace's rows where those are longer (the coarser of the two, so that no point is
 * made up). Values go onto the grid as means weighted by overlap; a grid interval of which less than half is
 * covered is not known (NaN). A level, read at the end of each row, stands for the mean of the readings at
 * both of its ends.
 *
 * Only rows that lie within the run count: one that began before it still shows what was before. The first
 * and the last interval of the grid are left out where such rows do not cover them wholly.
 *
 * Status intervals shorter than half the usual one (the line after the last thread ended) are left out.
 */
#ifndef MTRACE_ALIGN_H
#define MTRACE_ALIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/correlate.h"
#include "analyzer/error.h"
#include "analyzer/model.h"
#include "analyzer/ycsb.h"

/* ---- segments ---------------------------------------------------------------------------------------- */

struct grid_interval {
	int64_t start_ns;
	int64_t end_ns;
};

struct segment {
	char name[160]; /* "run, 16 threads" with a number or file where needed; each once */
	int64_t start_ns;
	int64_t end_ns;
	uint64_t threads;     /* over all clients; YCSB_UNKNOWN where one does not say */
	int64_t run_start_ns; /* while all of its clients ran: the grid and the rows used lie within */
	int64_t run_end_ns;
	size_t clients;
	bool on_rows;	   /* the grid is the trace's rows; else the client's status intervals */
	double interval_s; /* usual length on the grid */
	size_t count;
	struct grid_interval *grid;
	double *throughput;	 /* [count], operations/s */
	double *latency_mean_us; /* weighted by operations; NaN where not printed */
	double *latency_p99_us;	 /* worst of all operations and clients */
};

/* [count] values of SERIES_THROUGHPUT, SERIES_LATENCY_MEAN or SERIES_LATENCY_P99. */
const double *segment_values(const struct segment *segment, enum series_id series);

/* A YCSB run that gave no segment, and why. */
enum unplaced_reason {
	UNPLACED_NO_SERIES,  /* no status lines */
	UNPLACED_NO_CLOCK,   /* no wall clock: --ycsb-start sets it */
	UNPLACED_NO_OVERLAP, /* at another time than any trace */
	UNPLACED_TOO_SHORT,  /* traced, but no interval of trace and client lies within it */
};

struct unplaced {
	size_t file; /* indices into the files and their runs */
	size_t run;
	enum unplaced_reason reason;
};

struct alignment {
	struct segment *segments; /* in order of time */
	size_t segment_count;
	struct unplaced *unplaced;
	size_t unplaced_count;

	/* Where no run overlaps with a trace: range of all runs with a clock; equal where there is none. */
	int64_t client_start_ns;
	int64_t client_end_ns;
	bool have_hint; /* a value for --ycsb-offset that would make runs and traces overlap */
	int64_t hint_offset_s;
};

/*
 * Builds the segments, and fills in the YCSB series of the model's rows. On true `out` is owned by the caller
 * (alignment_free); false where memory is short.
 */
bool align(const struct ycsb_file *files, size_t file_count, struct model *model, struct alignment *out);
void alignment_free(struct alignment *alignment);

/*
 * The smallest shift of the client's time, by quarters of an hour and within 26 hours, that gives the longest
 * overlap with the traces, where that is at least half of the shorter range; 0 where there is none.
 */
int64_t align_zone_shift_s(int64_t client_start_ns, int64_t client_end_ns, int64_t trace_start_ns,
			   int64_t trace_end_ns);

/* The YCSB series of the model's rows, from the grids; align() calls it. False where memory is short. */
bool align_rows(const struct alignment *alignment, struct model *model);

/* ---- correlation ------------------------------------------------------------------------------------- */

/* What was correlated; parallel to correlate()'s series_index. */
struct aligned_series {
	size_t timeline;
	enum series_id series;
	double **values; /* [segment][grid interval] */
};

struct aligned {
	struct aligned_series *series;
	size_t series_count;
	size_t segment_count;
	struct correlate_results results;
};

/*
 * Puts every correlated series of every timeline onto the grids, and correlates. On true `out` is owned by
 * the caller (aligned_free) and must not outlive `alignment`; without segments it is empty. False where
 * memory is short.
 */
bool align_correlate(const struct model *model, const struct alignment *alignment, struct aligned *out);
void aligned_free(struct aligned *aligned);

#endif
