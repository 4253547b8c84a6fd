/*
 * Inside the parser of YCSB's output: what its files share. The interface for others is ycsb.h.
 *
 *     ycsb_lines  ->  ycsb.c  ->  ycsb_java, ycsb_go, ycsb_json, ycsb_rows  ->  ycsb_build, ycsb_series,
 * ycsb_pair lines           which kind     what the line says                          what becomes of it
 *
 * A stream is the output of one client; a file holds one, or several behind "name | " prefixes. Each stream
 * builds one run at a time: ycsb_run_begin() opens the next and closes the one before it.
 */
#ifndef MTRACE_YCSB_PARSE_H
#define MTRACE_YCSB_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/ycsb.h"
#include "analyzer/ycsb_lines.h"
#include "analyzer/ycsb_text.h"

/* More than any client prints; beyond them a hostile file would only cost memory. */
#define YCSB_KINDS_MAX	    256 /* operations of a run */
#define YCSB_ENTRIES_MAX    256 /* percentiles or statuses of an operation */

#define YCSB_GO_COLUMNS	    20
#define YCSB_GO_COLUMN_NAME 16

/* What one reading of a client's counter says. */
struct ycsb_reading {
	bool has_clock;
	int64_t clock_ns;    /* civil time taken as if it were UTC */
	double elapsed_s;    /* without a clock */
	uint64_t operations; /* so far */
	int64_t printed_s;   /* whole seconds since the start, as printed */
};

/* The latencies of the newest interval, as they come in word by word. */
struct ycsb_weights {
	double sum_us; /* of mean * count */
	double count;
	double unweighted_us; /* a mean without a count */
	unsigned unweighted;
	double p99_worst_us;
};

struct ycsb_json_state {
	bool speaking; /* ycsb_java_record() is called for an object */
	bool inside;   /* the next line goes on with JSON */
	bool in_string;
	bool escaped;
	bool in_value;	/* behind the colon */
	unsigned depth; /* of open objects */
	char key[64], value[64];
	size_t length; /* of the one being read */
	char metric[64], measurement[64], metric_value[64];
	unsigned seen; /* which of the three */
};

struct ycsb_rows;    /* rows of single operations, ycsb_rows.c */
struct ycsb_hdr_log; /* histograms of intervals, ycsb_hdrlog.c */

/* How far a go-ycsb run has come. */
enum ycsb_go_state { GO_RUNNING, GO_FINISHED };

struct ycsb_stream {
	char client[YCSB_NAME_BYTES];

	struct ycsb_run run; /* being built; valid while `open` */
	bool open;
	bool has_series; /* at least one status line or block */
	bool has_operation;
	bool has_runtime;
	bool seen_echo, seen_argv, seen_banner; /* the ways in which the command line shows */
	char *arguments;
	bool p95_as_double_ms;
	bool has_buckets;

	/* ycsb_series.c */
	struct ycsb_reading last;
	int64_t first_ns;     /* civil */
	bool takes_latencies; /* the newest reading made an interval */
	size_t interval_capacity;
	struct ycsb_weights weights;

	/* ycsb_go.c */
	enum ycsb_go_state go_state;
	bool in_properties;
	struct ycsb_operation *block; /* the block being read */
	double *block_takes_s;
	size_t block_count;
	char columns[YCSB_GO_COLUMNS][YCSB_GO_COLUMN_NAME];
	size_t column_count;
	struct ycsb_operation go_row; /* an object of JSON being read */
	double go_row_takes_s;
	bool go_row_open, go_row_bad;

	struct ycsb_json_state json;
	struct ycsb_rows *rows;
	struct ycsb_hdr_log *hdr;
};

struct ycsb_parser {
	struct ycsb_file *file;
	const struct ycsb_options *options;
	struct ycsb_stream *streams;
	size_t stream_count;
	struct ycsb_line line; /* the current one */
	bool start_used;       /* options->start_ns was given to a run */
	bool out_of_memory;
	char *plain; /* room for a line without its colours */
	size_t plain_capacity;
};

/* What a reader made of a line. */
enum ycsb_outcome {
	YCSB_OTHER,  /* not its kind */
	YCSB_TAKEN,  /* read */
	YCSB_UNREAD, /* its kind, and a value in it makes no sense */
};

/* ---- ycsb_status.c ----------------------------------------------------------------------------------- */

/* "2026-05-31 12:00:00:123 10 sec: ..." anywhere in the line, or "10 sec: ..." at its start (up to 0.1.4). */
enum ycsb_outcome ycsb_java_status(struct ycsb_parser *parser, struct ycsb_stream *stream, struct text line);

/* Latencies of the operations, at the end of a status line or in a line that it went on in. */
void ycsb_java_summary(struct ycsb_stream *stream, struct text text);

/* ---- ycsb_java.c ------------------------------------------------------------------------------------- */

/* "[OP], MEASUREMENT, VALUE", or "[OP: Count=..." where a status line went on in the next one. */
enum ycsb_outcome ycsb_java_bracket(struct ycsb_parser *parser, struct ycsb_stream *stream, struct text line);

/* Banner, command line and the other words of the Java client. */
enum ycsb_outcome ycsb_java_words(struct ycsb_parser *parser, struct ycsb_stream *stream, struct text line);

/* One line of the export block, or one object of its JSON. */
enum ycsb_outcome ycsb_java_record(struct ycsb_parser *parser, struct ycsb_stream *stream, struct text metric,
				   struct text measurement, struct text value);

/* What needs all of a run: marks on its operations and flags. */
void ycsb_java_close(struct ycsb_stream *stream);

/* ---- ycsb_go.c and ycsb_goblock.c -------------------------------------------------------------------- */

enum ycsb_outcome ycsb_go_line(struct ycsb_parser *parser, struct ycsb_stream *stream, struct text line);

/* One key and value of a JSON row, and its end: YCSB_OTHER where it was no row of go-ycsb. */
void ycsb_go_pair(struct ycsb_parser *parser, struct ycsb_stream *stream, struct text key, struct text value);
enum ycsb_outcome ycsb_go_row_end(struct ycsb_parser *parser, struct ycsb_stream *stream,
				  enum ycsb_format format);

/* The block's row of that name; NULL where there is none. */
const struct ycsb_operation *ycsb_go_block_find(const struct ycsb_stream *stream, const char *name);

/* Appends the stream's go_row, whose percentiles the block then owns. False where it has no room. */
bool ycsb_go_block_add(struct ycsb_parser *parser, struct ycsb_stream *stream);

/* A block ends: it becomes a point of the series, and the summary so far. */
void ycsb_go_block_end(struct ycsb_parser *parser, struct ycsb_stream *stream);

void ycsb_go_close(struct ycsb_parser *parser, struct ycsb_stream *stream);

/* ---- ycsb_json.c ------------------------------------------------------------------------------------- */

/* Lines of JSON, Java's or go-ycsb's, however broken over lines; YCSB_OTHER where the line neither begins nor
 * goes on. */
enum ycsb_outcome ycsb_json_line(struct ycsb_parser *parser, struct ycsb_stream *stream, struct text line);

/* ---- ycsb_rows.c ------------------------------------------------------------------------------------- */

/* "READ,1796047800245291,3339": one operation, its start since 1970, its latency in us. The heading says
 * whose they are: go-ycsb's stamps are microseconds, Java's (measurementtype raw) milliseconds. */
enum ycsb_outcome ycsb_rows_line(struct ycsb_parser *parser, struct ycsb_stream *stream, struct text line);
void ycsb_rows_close(struct ycsb_parser *parser, struct ycsb_stream *stream);
void ycsb_rows_free(struct ycsb_rows *rows);

/* ---- ycsb_buckets.c ---------------------------------------------------------------------------------- */

/* "17, 5", ">1000, 0": a line of a histogram or of a time series below an operation. */
enum ycsb_outcome ycsb_bucket_line(struct ycsb_parser *parser, struct ycsb_operation *operation,
				   struct text measurement, struct text value);

/* Finds out which of the three they are, and the percentiles that were not printed. */
void ycsb_buckets_close(struct ycsb_parser *parser, struct ycsb_operation *operation);

/* The percentile of a histogram as the client would print it; NaN where it has none or it lies beyond the
 * last bucket. */
double ycsb_bucket_percentile_us(const struct ycsb_operation *operation, double percentile);

/* ---- ycsb_hdrlog.c ----------------------------------------------------------------------------------- */

/* HdrHistogram's log: "#[...]" lines, a legend, and one line an interval with a histogram in it. */
enum ycsb_outcome ycsb_hdr_line(struct ycsb_parser *parser, struct ycsb_stream *stream, struct text line);
void ycsb_hdr_close(struct ycsb_parser *parser, struct ycsb_stream *stream);
void ycsb_hdr_free(struct ycsb_hdr_log *log);

/* ---- ycsb_series.c ----------------------------------------------------------------------------------- */

/* Takes a reading of the counter: makes an interval of it, or the base of the series, or (a duplicate)
 * nothing. */
void ycsb_series_add(struct ycsb_parser *parser, struct ycsb_stream *stream,
		     const struct ycsb_reading *reading);

/* Appends an interval as it is. */
void ycsb_series_append(struct ycsb_parser *parser, struct ycsb_stream *stream,
			const struct ycsb_interval *interval);

/* Latencies of one operation, printed with the newest reading; `count` NaN where it was not printed. Dropped
 * where that reading made no interval. */
void ycsb_series_latency(struct ycsb_stream *stream, double count, double mean_us, double p99_us);

/* Length of the usual interval, partial ones. */
void ycsb_series_close(struct ycsb_stream *stream);

/* Median length; NaN without intervals. */
double ycsb_series_usual_s(const struct ycsb_interval *intervals, size_t count);

/* ---- ycsb_pair.c ------------------------------------------------------------------------------------- */

/* A bit for each of YCSB's own operations; 0 for every other name. */
unsigned ycsb_kind(struct text name);

/* Gives the file's summaries the status lines that are theirs; call it when all runs are closed and in order.
 */
void ycsb_pair(struct ycsb_parser *parser);

/* The halves of a run: status lines, and a summary; whether two may be of one run; and putting them together,
 * after which `series` is empty. */
bool ycsb_has_series(const struct ycsb_run *run);
bool ycsb_has_summary(const struct ycsb_run *run);
bool ycsb_halves_fit(const struct ycsb_run *series, const struct ycsb_run *summary);
void ycsb_join(struct ycsb_run *summary, struct ycsb_run *series);

/* ---- ycsb_time.c ------------------------------------------------------------------------------------- */

/* Seconds since 1970 of a civil date and time, read as UTC. Months and days from 1. */
int64_t ycsb_civil_s(int64_t year, unsigned month, unsigned day, unsigned hour, unsigned minute,
		     unsigned second);

/* Whether these are a date and a time of day whose nanoseconds since 1970 fit 64 bits. */
bool ycsb_civil_valid(int64_t year, unsigned month, unsigned day, unsigned hour, unsigned minute,
		      unsigned second);

/* This machine's zone at a civil time given by ycsb_civil_s(), in seconds east of UTC. */
int64_t ycsb_local_zone_s(int64_t civil_s);

/* ---- ycsb_build.c ------------------------------------------------------------------------------------ */

/* Closes the run of the stream, if any, and opens the next at the current line. */
void ycsb_run_begin(struct ycsb_parser *parser, struct ycsb_stream *stream, enum ycsb_format format);

/* Opens a run where none is open; gives it the format where it has none yet. */
void ycsb_run_need(struct ycsb_parser *parser, struct ycsb_stream *stream, enum ycsb_format format);

/* Closes the run and hands it to the file; does nothing without one. */
void ycsb_run_close(struct ycsb_parser *parser, struct ycsb_stream *stream);

/* "-threads 16 -p recordcount=1000 -load": what a command line says about the run. */
void ycsb_run_arguments(struct ycsb_run *run, struct text arguments);

/* One property of the run: threadcount, recordcount, operationcount. */
void ycsb_run_property(struct ycsb_run *run, struct text name, struct text value);

/* The operation of that name, NULL where there is none; appends one, NULL where memory is short. */
struct ycsb_operation *ycsb_operation_find(struct ycsb_run *run, struct text name);
struct ycsb_operation *ycsb_operation_add(struct ycsb_parser *parser, struct ycsb_run *run, struct text name);

void ycsb_operation_init(struct ycsb_operation *operation, struct text name);
void ycsb_operation_free(struct ycsb_operation *operation);
void ycsb_operation_percentile(struct ycsb_parser *parser, struct ycsb_operation *operation,
			       double percentile, double us);
void ycsb_operation_return(struct ycsb_parser *parser, struct ycsb_operation *operation, struct text name,
			   uint64_t count);

void ycsb_run_free(struct ycsb_run *run);

/* Grows an array by one zeroed element; NULL where memory is short, which the parser then knows. */
void *ycsb_grow(struct ycsb_parser *parser, void *array, size_t count, size_t size);

#endif
