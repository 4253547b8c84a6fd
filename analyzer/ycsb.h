/*
 * What YCSB and go-ycsb printed.
 *
 * file      one output file, of any kind (enum ycsb_format says which one was met first); may hold several
 * runs. run       one start of a client: at most one summary and one series. summary   Java's export block
 * ([OVERALL], ...), go-ycsb's lines after "Run finished". A client that was killed prints none: `complete` is
 * false and only the series survives. interval  the time between two status lines (Java) or two blocks of
 * lines (go-ycsb). Its rate comes from the difference of the operation counts over that of the clock
 * readings, never from the printed rate or seconds. unknown   NaN for doubles, YCSB_UNKNOWN for counts,
 * YCSB_NO_TIME for times. Never 0.
 *
 * Time. Java's status lines carry the client's local time without a zone: the zone of the client (seconds
 * east of UTC) is subtracted, given by the caller or taken from this machine's zone rules at the first status
 * line of the run (ycsb_assume_zone() puts the traced machine's in its place). go-ycsb and Java up to 0.1.4
 * carry no clock: their points have seconds since the start of the run, and times only where the caller gives
 * the start. `clock_text` of a run says in words what was used.
 *
 * Where two clients write into one file through a tool that puts "name | " before each line (docker compose),
 * each name is read as a stream of its own.
 */
#ifndef MTRACE_YCSB_H
#define MTRACE_YCSB_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/error.h"

#define YCSB_UNKNOWN	UINT64_MAX
#define YCSB_NO_TIME	INT64_MIN

#define YCSB_NAME_BYTES 48 /* names of operations and statuses are cut to fit */

/* The intervals of a run are merged pairwise when they reach this number, which bounds memory; 36 hours at 1
 * s. */
#define YCSB_INTERVALS_MAX 131072u
#define YCSB_RUNS_MAX	   20000u

enum ycsb_format {
	YCSB_FORMAT_NONE,
	YCSB_JAVA_TEXT,
	YCSB_JAVA_JSON, /* objects one after the other, or an array of them */
	YCSB_GO_TEXT,
	YCSB_GO_TABLE,
	YCSB_GO_JSON,
	YCSB_GO_CSV,  /* one row an operation, no summary */
	YCSB_HDR_LOG, /* hdrhistogram.fileoutput: a histogram an interval, no summary */
};

enum ycsb_phase { YCSB_PHASE_UNKNOWN, YCSB_PHASE_LOAD, YCSB_PHASE_RUN };

enum ycsb_flag {
	YCSB_FLAG_NO_SUMMARY = 1u << 0,	   /* killed, or failed before the end */
	YCSB_FLAG_LOST_TABLE = 1u << 1,	   /* go-ycsb said "Run finished" and its final lines are missing */
	YCSB_FLAG_NEGATIVE_TIME = 1u << 2, /* run time below zero: the client's clock was stepped */
	YCSB_FLAG_CLOCK_BACK = 1u << 3,	   /* a status line is stamped before its predecessor */
	YCSB_FLAG_ZONE_CHANGED =
		1u << 4, /* local time jumped against the printed seconds (daylight saving); followed */
	YCSB_FLAG_DUPLICATE_STATUS = 1u << 5, /* status lines printed twice; counted once */
	YCSB_FLAG_ERRORS = 1u << 6,	      /* more than 0.1% of the operations failed */
	YCSB_FLAG_ERRORS_INVALID = 1u << 7,   /* more than 1% failed: throughput is that of failures */
	YCSB_FLAG_NO_OPERATIONS = 1u << 8,    /* the summary counts no operation */
	YCSB_FLAG_P95_IS_P90 = 1u << 9, /* Java 0.2 to 0.3: what is printed as 95th is the 90th percentile */
	YCSB_FLAG_INTERVALS_MERGED = 1u << 10, /* see YCSB_INTERVALS_MAX */
	YCSB_FLAG_CUT_OFF = 1u << 11,	       /* the last line has no end: its last number may be cut */
	YCSB_FLAG_UNPAIRED =
		1u << 12, /* stands beside status lines or a summary of another run; kept apart */
	YCSB_FLAG_START_IGNORED = 1u << 13, /* a start was given, and the file has a clock of its own */
	YCSB_FLAG_UNEVEN = 1u << 14,	    /* clients together: their run times differ by more than 5% */
};

struct ycsb_return {
	char name[YCSB_NAME_BYTES]; /* OK, NOT_FOUND, ...; integers up to Java 0.4, where 0 is OK */
	uint64_t count;
};

struct ycsb_percentile {
	double percentile; /* 0..100 */
	double us;
};

/* What a client printed below an operation, one line each. */
enum ycsb_bucket_kind {
	YCSB_BUCKETS_NONE,
	YCSB_BUCKETS_MS,    /* `histogram`: at: lower end in us, a whole ms wide; value: count */
	YCSB_BUCKETS_US,    /* hdr: at: in us, to its precision (0.1%); value: count */
	YCSB_BUCKETS_MEANS, /* `timeseries`: at: seconds since the start; value: mean in us, or NaN */
};

struct ycsb_bucket {
	double at;
	double value;
};

struct ycsb_operation {
	char name[YCSB_NAME_BYTES]; /* as printed: READ, READ-MODIFY-WRITE, READ-FAILED, Intended-READ,
				       READ_ERROR, TOTAL */
	uint64_t count;
	double ops_s; /* as printed by go-ycsb, counted from the operation's first event; NaN from Java */
	double mean_us;
	double min_us;
	double max_us;
	double resolution_us; /* of percentiles, where the kind is known to round to it (1000: whole ms); else
				 0 */
	struct ycsb_percentile *percentiles; /* in printed order; then those that only buckets gave */
	size_t percentile_count;
	struct ycsb_return *returns;
	size_t return_count;

	enum ycsb_bucket_kind bucket_kind;
	struct ycsb_bucket *buckets; /* ascending; of a histogram those that count something */
	size_t bucket_count;
	uint64_t over_count; /* operations beyond the last bucket, which ends at over_us */
	double over_us;	     /* 0: there is no such line */
};

struct ycsb_interval {
	int64_t start_ns; /* since 1970, UTC; YCSB_NO_TIME without a clock */
	int64_t end_ns;
	double start_s; /* since the first point of the series */
	double end_s;
	uint64_t operations; /* within the interval */
	double ops_s;
	double mean_us;	     /* over successful operations, weighted by count; NaN where not printed or not
				weightable */
	double p99_worst_us; /* largest p99 among the operations: no more than 1% of all were above. NaN as
				above */
	bool partial; /* the last one, shorter than half the usual: printed when the last thread ended */
};

struct ycsb_run {
	enum ycsb_format format;
	enum ycsb_phase phase;
	char client[YCSB_NAME_BYTES];  /* the "name | " prefix; empty without one */
	char version[YCSB_NAME_BYTES]; /* as the client said and where it is true (Java 0.8.0 on); else empty
					*/
	unsigned clients;	       /* ycsb_clients.h: put together from so many; else 0 */
	bool complete;		       /* the summary is there */
	/* Of the summary. go-ycsb: operations without READ_MODIFY_WRITE over Takes(s); after a kill, of the
	 * last block. */
	double throughput_ops_s;
	double runtime_ms;
	uint64_t threads_asked;	  /* command line or property dump */
	uint64_t threads_ended;	  /* [CLEANUP], Operations */
	uint64_t record_count;	  /* recordcount, as asked */
	uint64_t operation_count; /* operationcount, as asked */
	uint64_t insert_count;	  /* insertcount, as asked: a load shared by clients */
	/* go-ycsb: a number under a name that was meant for threadcount and is none ("treadcount",
	 * "threads"): the client ran with its default. */
	uint64_t threads_misnamed;
	double target_ops_s; /* throttled to this rate; NaN where not asked */
	double most_s;	     /* maxexecutiontime; NaN where not asked */
	double error_rate;   /* failed / all; NaN where nothing was counted */
	unsigned flags;	     /* enum ycsb_flag */

	struct ycsb_operation *operations; /* in printed order; of a killed go-ycsb: of its last block */
	size_t operation_kinds;

	struct ycsb_interval *intervals; /* in order of time */
	size_t interval_count;
	double usual_interval_s;  /* median length without the last; NaN without intervals */
	uint64_t last_operations; /* counted so far by the last status line or block; all that a killed client
				     leaves */
	double last_printed_s;	  /* whole seconds printed there; NaN without a series */

	unsigned series_kinds; /* of the status lines, for ycsb_pair.c */

	int64_t zone_offset_s; /* subtracted from local time; 0 without a clock */
	char clock_text[160];  /* e.g. "client clock, 7200 s east of UTC (this machine's zone)" */

	bool zone_assumed;    /* nobody gave it: see ycsb_assume_zone() */
	int64_t zone_first_s; /* what was subtracted at the first status line */

	uint64_t first_line; /* where the run starts in the file */
	uint64_t offset_bytes;
	uint64_t summary_line; /* where its summary starts; 0 without one of Java's */
	uint64_t summary_offset_bytes;
};

/* The first line that looked like YCSB's and could not be read, or (for a foreign file) the first line at
 * all. */
struct ycsb_unread {
	uint64_t line; /* from 1; 0: none */
	uint64_t offset_bytes;
	char excerpt[72]; /* printable ASCII, '?' for the rest */
};

struct ycsb_file {
	char *path;
	enum ycsb_format format; /* of the first run */
	struct ycsb_run *runs;
	size_t run_count;
	uint64_t runs_dropped; /* beyond YCSB_RUNS_MAX */
	uint64_t lines;
	uint64_t unread_lines; /* lines in YCSB's shape with a value that could not be read */
	struct ycsb_unread unread;
};

struct ycsb_options {
	bool have_offset;
	int64_t offset_s; /* --ycsb-offset: seconds east of UTC of the client's local time */
	bool have_start;
	int64_t start_ns; /* --ycsb-start: start of the first run without a clock */
};

/*
 * Reads one file. `options` may be NULL: this machine's zone, no start. True: `out` is filled in and owned by
 * the caller (ycsb_file_free). False: `error` says why (not readable; empty; no line of YCSB's, with number,
 * offset and excerpt of the first line), and `out` is empty. Memory follows the number of runs, operations
 * and intervals (bounded above), never the length of the file.
 */
bool ycsb_read(const char *path, const struct ycsb_options *options, struct ycsb_file *out,
	       struct error *error);

void ycsb_file_free(struct ycsb_file *file);

/*
 * Puts together files that hold the two halves of one client's output: status lines only (a.err) and
 * summaries only (a.out), as many of each, whose totals and times agree; of the same name but for the ending,
 * or without another file that they would fit. The file of the summaries is freed and taken out of `files`;
 * *count follows.
 */
void ycsb_pair_files(struct ycsb_file *files, size_t *count);

/*
 * Reads the argument of --ycsb-start: seconds since 1970 ("1780000000.25"), or ISO 8601
 * ("2026-05-31T12:00:00.5Z", "2026-05-31 12:00:00+02:00"); without a zone it is this machine's local time.
 * False where it is neither.
 */
bool ycsb_parse_time(const char *text, int64_t *unix_ns);

/*
 * Takes offset_s as the zone of the client's clock in every run for which none was given, in place of this
 * machine's: the traced machine's, where the client is presumed to have run there.
 */
void ycsb_assume_zone(struct ycsb_file *file, int64_t offset_s);

/* By name; NULL where absent. */
const struct ycsb_operation *ycsb_find_operation(const struct ycsb_run *run, const char *name);

/* A printed percentile (e.g. 99), exactly this one; NaN where absent. Absent is not zero: Java's `histogram`
 * type leaves out the line where more than the missing share took longer than its last bucket. */
double ycsb_percentile_us(const struct ycsb_operation *operation, double percentile);

/* The thread level: as asked, else as ended, else YCSB_UNKNOWN. */
uint64_t ycsb_threads(const struct ycsb_run *run);

/* Stable ids for JSON: "java-text", "load", "no-summary". An unknown phase is NULL. */
const char *ycsb_format_name(enum ycsb_format format);
const char *ycsb_phase_name(enum ycsb_phase phase);
const char *ycsb_flag_name(enum ycsb_flag flag);

#endif
