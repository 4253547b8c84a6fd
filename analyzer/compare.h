/*
 * Two or more arms over repeated runs: what `compare` works on, and what comes out.
 *
 * run        one start of the workload: the unit of all statistics. Status lines within a run are no
 *            repetitions.
 * arm        what is compared: a label and its runs; the first one is the base.
 * block      runs that were made right after each other, each arm in them (docs/campaign.md); they are
 *            compared within the block. A run outside of a campaign has none.
 * cell       one workload at one level of threads.
 * row        one cell, operation and metric of one arm against the base.
 * used       entering the rows. A run that is not used stays in the list, with the reason.
 *
 * The steps, in this order, each in a module of its own:
 *
 *     compare_inputs.h   files, campaigns and CSV into runs
 *     compare_series.h   energy and other series of the user's, aligned with the runs
 *     compare_config.h   which settings differ between the arms
 *     compare_inside.h   what the traces say happened inside
 *     compare_rows.h     rows, the ratio over all levels, Holm, verdicts
 *     compare_knee.h     peak, sweet spot, price
 *     compare_{text,json,csv,plot}.h
 *
 * Unknown numbers are NaN, unknown counts YCSB_UNKNOWN. Never 0.
 */
#ifndef MTRACE_COMPARE_H
#define MTRACE_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/json.h"
#include "analyzer/ratio.h"
#include "analyzer/ycsb.h"
#include "analyzer/ycsb_audit.h"

#define COMPARE_ARMS_MAX    16
#define COMPARE_LABEL_BYTES 48
#define COMPARE_NO_BLOCK    UINT64_MAX
#define COMPARE_OVERALL	    "OVERALL" /* the operation's name in rows over all operations */

enum compare_metric {
	METRIC_THROUGHPUT,
	METRIC_MEAN,
	METRIC_P50,
	METRIC_P95,
	METRIC_P99,
	METRIC_P999,
	METRIC_RUNTIME,	  /* of a fixed number of operations */
	METRIC_PER_JOULE, /* operations per joule; only with a series of power or energy */
	METRICS,
};

struct metric_info {
	const char *name;  /* stable: in JSON and CSV, and as unit */
	const char *given; /* in --metrics */
	const char *title;
	const char *unit; /* of scale.h */
	bool lower_is_better;
	bool latency;
	double percentile; /* NaN for others */
};

extern const struct metric_info metric_infos[METRICS];

/* ---- what was asked for ------------------------------------------------------------------------------ */

enum compare_center { CENTER_MEDIAN, CENTER_MEAN, CENTER_SECOND_BEST, CENTERS };
extern const char *const compare_center_names[CENTERS];

struct compare_settings {
	enum compare_center center;
	bool exclude_first; /* of each arm in each cell */
	bool trim_warmup;   /* by change point on the status lines */
	bool paired;	    /* runs without blocks are paired in their order */
	bool metrics[METRICS];
	double equivalence;    /* 0.02: an interval within 2% of no change is "no difference" */
	const char *treatment; /* from --treatment; NULL: what the campaign says */
};

/* ---- runs -------------------------------------------------------------------------------------------- */

enum run_use {
	RUN_USED,
	RUN_WARMUP,   /* the campaign's own, at the start of a block */
	RUN_FIRST,    /* --exclude-first */
	RUN_INVALID,  /* the audit says that its numbers are none */
	RUN_NOT_DONE, /* the campaign says that it failed */
	RUN_LOAD,     /* a load phase, while there are runs */
	RUN_COPY,     /* the very numbers of another run of its arm: a file given twice, or copied */
	RUN_USES,
};

const char *
run_use_name(enum run_use use); /* "used", "warm-up", "first", "invalid", "failed", "load", "copy" */

struct run_value {
	char operation[YCSB_NAME_BYTES];
	enum compare_metric metric;
	double value;	   /* > 0 or 0; never NaN */
	double resolution; /* what it is rounded to; 0 where that is not known to matter */
};

/* What the trace of a run says about it; compare_inside.h names them. */
struct run_inside {
	bool known;
	size_t count;
	double *values;		  /* by quantity; NaN */
	double lock_share_per_ns; /* compare_locks.h; NaN: no locks were recorded */
};

struct compare_run {
	size_t arm;
	char *source;	/* path, with the run's number where the file has several */
	char *workload; /* "" where nobody says */
	uint64_t threads;
	uint64_t block;
	uint64_t order;	  /* in which it was given */
	int64_t start_ns; /* of what was measured, UTC; YCSB_NO_TIME */
	int64_t end_ns;
	enum run_use use;
	double operations; /* done */
	double mean_us;	   /* over all operations */
	double error_rate;
	double threads_busy; /* Little's law */
	double trimmed_s;    /* cut from its start by --trim-warmup; 0: nothing */
	bool no_steady_state;
	struct run_value *values;
	size_t value_count, value_capacity;
	struct ycsb_finding *findings; /* warnings and worse, of the audit and of the campaign */
	size_t finding_count;
	json_t *settings; /* flat: key to text; what it ran under */
	char *trace;	  /* path; NULL */
	struct run_inside inside;
};

/* The value of a run; NaN where it has none. `resolution` may be NULL. */
double run_value(const struct compare_run *run, const char *operation, enum compare_metric metric,
		 double *resolution);

/* ---- rows -------------------------------------------------------------------------------------------- */

enum verdict { VERDICT_FASTER, VERDICT_SLOWER, VERDICT_EQUIVALENT, VERDICT_UNDECIDED, VERDICT_INVALID };
const char *verdict_name(enum verdict verdict); /* "faster", ... */

struct compare_side {
	size_t arm;
	size_t n; /* used runs */
	double center, min, max;
	double error_rate;   /* over its used runs, the largest; NaN */
	double threads_busy; /* median */
	double *values;	     /* [n], in the order of their blocks or of time */
};

#define COMPARE_EFFECTS 3
extern const double compare_effects[COMPARE_EFFECTS]; /* 0.01, 0.02, 0.05 */

/* What a campaign like this one can show, at the level that Holm's first step leaves to each comparison. */
struct compare_reach {
	struct noise noise; /* per run, pooled over the levels of threads */
	double detectable;  /* fraction; found with a chance of 80% */
	double power[COMPARE_EFFECTS];
	size_t runs[COMPARE_EFFECTS]; /* needed an arm for 80%; 0: unknown, or more than RATIO_RUNS_MAX */
};

#define ROW_FLAGS_MAX 24

struct compare_row {
	const char *workload; /* of a run */
	uint64_t threads;
	char operation[YCSB_NAME_BYTES];
	enum compare_metric metric;
	struct compare_side base, arm;
	struct ratio ratio;
	double center_ratio; /* of the two centres, without an interval */
	double p_adjusted;
	struct noise noise; /* of this row alone */
	struct compare_reach reach;
	enum verdict verdict;
	const char *flags[ROW_FLAGS_MAX]; /* stable ids, the worst first; docs/compare.md */
	size_t flag_count;
	double resolution; /* the coarsest of its values; 0 */
	bool speaks;	   /* first of its cell and arm: its text holds what was found in their runs */
	char text[1024];   /* the verdict in words */
	double *log_ratio; /* [ratio.base_n] where paired, with their blocks; else NULL */
	uint64_t *blocks;
};

/* The mean over all levels of threads of one arm against the base. */
struct compare_overall {
	const char *workload;
	char operation[YCSB_NAME_BYTES];
	enum compare_metric metric;
	size_t base, arm;
	size_t levels;
	bool by_block; /* the unit is a block over all levels */
	bool by_level; /* one run an arm at each level: the unit is a level. Neither: noise of the levels
			  apart */
	struct ratio ratio;
	double p_adjusted;
	struct compare_reach reach;
	enum verdict verdict;
	char text[512];
};

/* ---- levels of threads, and money -------------------------------------------------------------------- */

struct knee_latency {
	char operation[YCSB_NAME_BYTES];
	double from_us, to_us; /* p95 */
};

#define KNEE_OPERATIONS_MAX 8

struct knee_step {
	uint64_t from, to; /* threads */
	double from_ops_s, to_ops_s;
	double from_mean_us, to_mean_us; /* over all operations */
	struct knee_latency p95[KNEE_OPERATIONS_MAX];
	size_t p95_count;
};

struct compare_knee {
	const char *workload;
	size_t arm;
	uint64_t peak_threads;
	double peak_ops_s;
	bool peak_is_last; /* no knee within the levels that were run */
	uint64_t sweet_threads;
	double sweet_ops_s;
	struct ratio sweet_ratio; /* sweet spot against peak, with interval */
	struct knee_step *steps;
	size_t step_count;
};

struct compare_price {
	const char *workload;
	uint64_t threads;
	size_t arm;
	double usd_per_hour;
	double ops_per_usd;
	double relative; /* to the best arm of the cell: 1 = 100% */
	bool best;
	struct ratio
		ratio; /* the same by geometric means, with interval; that of the best is 1 without one */
};

/* ---- differences of the arms ------------------------------------------------------------------------- */

struct compare_difference {
	char *key;
	char *values[COMPARE_ARMS_MAX]; /* all that the arm's used runs had, joined with " | "; NULL: unknown
					 */
	bool treatment;
	bool differs[COMPARE_ARMS_MAX]; /* from the base */
	bool within[COMPARE_ARMS_MAX];	/* takes several values within the arm */
};

/* ---- what happened inside ---------------------------------------------------------------------------- */

struct inside_change {
	size_t quantity;
	size_t base, arm;
	double base_center, arm_center; /* medians over the used runs */
	size_t up, down, pairs;		/* pairs of runs in which it rose and fell from base to arm */
	bool within_blocks; /* a pair a block; else every run of the base with every one of the arm */
	double consistency; /* larger share of the two; 0.5..1 */
	struct ratio ratio; /* over all levels; NaN where a value is 0 */
};

struct inside_regression {
	bool known;
	size_t runs, groups;
	double slope; /* change of ln(throughput) for 1 of coverage */
	double low, high;
	double p;
};

/* ---- all of it --------------------------------------------------------------------------------------- */

/* A time series of the user's; compare_series.h. */
enum series_meaning {
	MEANS_POWER,   /* watts */
	MEANS_ENERGY,  /* joules, counted up */
	MEANS_COUNTER, /* events, counted up */
	MEANS_LEVEL,
};

struct series_sample {
	int64_t time_ns; /* since 1970, UTC */
	double value;
};

#define COMPARE_SERIES_MAX 8

struct compare_series {
	char name[COMPARE_LABEL_BYTES];
	enum series_meaning meaning;
	struct series_sample *samples; /* in order of time, in the meaning's unit */
	size_t count, capacity;
	size_t runs_covered; /* of the used runs */
};

struct compare_arm {
	char label[COMPARE_LABEL_BYTES];
	double usd_per_hour; /* NaN */
};

struct compare {
	struct compare_settings settings;
	struct compare_arm arms[COMPARE_ARMS_MAX];
	size_t arm_count;

	struct compare_run *runs;
	size_t run_count, run_capacity;
	char *treatment; /* comma-separated keys that may differ; NULL: nobody says */
	char *axis;	 /* of the campaign; NULL */
	char *order;	 /* of the campaign's runs; NULL */

	struct compare_row *rows; /* by workload, threads, operation, metric, arm */
	size_t row_count, row_capacity;
	size_t family; /* comparisons that Holm's adjustment is over */
	struct compare_overall *overall;
	size_t overall_count, overall_capacity;
	struct compare_knee *knees;
	size_t knee_count, knee_capacity;
	struct compare_price *prices;
	size_t price_count, price_capacity;

	struct compare_difference *differences;
	size_t difference_count, difference_capacity;

	struct compare_series series[COMPARE_SERIES_MAX];
	size_t series_count;

	struct inside_change *changes; /* most consistent first */
	size_t change_count, change_capacity;
	struct inside_regression regression;
	char *traces_missing; /* why there is no explanation; NULL where there is one */

	struct ycsb_finding *remarks; /* that hold for the whole comparison */
	size_t remark_count, remark_capacity;
	bool inputs_left_out; /* one or more could not be read */
};

/* Frees everything; `compare` is then empty. */
void compare_free(struct compare *compare);

/* The arm of that label, added where it is new. False where there are too many or it is no label. */
bool compare_arm(struct compare *compare, const char *label, size_t *arm, struct error *error);

/* Appends an empty run of the arm (numbers unknown); NULL where memory is short. The pointer holds until the
 * next one. */
struct compare_run *compare_add_run(struct compare *compare, size_t arm);

bool run_add_value(struct compare_run *run, const char *operation, enum compare_metric metric, double value,
		   double resolution);
__attribute__((format(printf, 4, 5))) bool run_add_finding(struct compare_run *run, const char *id,
							   enum ycsb_severity severity, const char *format,
							   ...);
__attribute__((format(printf, 3, 4))) bool compare_remark(struct compare *compare, const char *id,
							  const char *format, ...);

/* Centre of n values as --center asks for it; NaN for none, and for the second best of one. */
double compare_center(enum compare_center center, enum compare_metric metric, const double *values, size_t n);

bool compare_out_of_memory(struct error *error);

#endif
