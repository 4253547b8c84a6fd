/*
 * One row an operation: go-ycsb's measurementtype csv and raw, in no order but that of time within an
 * operation and without a summary, and Java's raw, which has one unless it went to a file of its own
 * (measurement.raw.output_file). Counts, means, extremes and percentiles are made here where no summary gives
 * them, and the series from the rows' own time (UTC) where there are no status lines.
 */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/ycsb_parse.h"

#define ROWS_HEADING   "operation,timestamp_us,latency_us"
#define RAW_HEADING    " latency raw data: op, timestamp(ms), latency(us)" /* behind the operation's name */
#define ROWS_KINDS_MAX 32
#define SECONDS_MAX    YCSB_INTERVALS_MAX
#define NS_PER_S       1000000000LL

/* Buckets of a percentile histogram: exact to 2048 us, then 1024 an octave (0.1%), as far as 2^40 us. */
#define EXACT_BUCKETS  2048u
#define OCTAVE_BUCKETS 1024u
#define HIGHEST_BIT    40u
#define BUCKETS	       (EXACT_BUCKETS + (HIGHEST_BIT - 11) * OCTAVE_BUCKETS)

struct row_kind {
	char name[YCSB_NAME_BYTES];
	uint64_t count, sum_us, min_us, max_us;
	uint64_t *buckets; /* [BUCKETS] */
};

/* Operations begun in one second; which of the two counts is known at the end. */
struct second {
	int64_t total; /* rows of TOTAL, less READ_MODIFY_WRITE */
	int64_t parts; /* rows of all others, less READ_MODIFY_WRITE */
};

struct ycsb_rows {
	struct row_kind kinds[ROWS_KINDS_MAX];
	size_t kind_count;
	struct second *seconds; /* ring over the second since 1970, modulo SECONDS_MAX */
	int64_t first_s, last_s;
	bool any;
	bool has_total;
	uint64_t stamp_us; /* unit of the stamps */
	uint64_t first_us; /* start of the first operation, */
	uint64_t last_us;  /* end of the last */
};

/* ---- percentiles ------------------------------------------------------------------------------------- */

static size_t bucket_of(uint64_t us)
{
	if (us < EXACT_BUCKETS)
		return us;
	unsigned bit = 63 - (unsigned)__builtin_clzll(us);
	if (bit >= HIGHEST_BIT)
		return BUCKETS - 1;
	return EXACT_BUCKETS + (bit - 11) * OCTAVE_BUCKETS + ((us >> (bit - 10)) - OCTAVE_BUCKETS);
}

/* The highest value of a bucket. */
static double bucket_us(size_t bucket)
{
	if (bucket < EXACT_BUCKETS)
		return (double)bucket;
	size_t octave = (bucket - EXACT_BUCKETS) / OCTAVE_BUCKETS,
	       step = (bucket - EXACT_BUCKETS) % OCTAVE_BUCKETS;
	return ldexp((double)(OCTAVE_BUCKETS + step + 1), (int)octave + 1) - 1;
}

static double kind_percentile(const struct row_kind *kind, double percentile)
{
	uint64_t wanted = (uint64_t)ceil(percentile / 100 * (double)kind->count), below = 0;
	for (size_t i = 0; i < BUCKETS; i++) {
		below += kind->buckets[i];
		if (below >= wanted)
			return fmin(bucket_us(i), (double)kind->max_us);
	}
	return (double)kind->max_us;
}

/* ---- rows -------------------------------------------------------------------------------------------- */

static struct row_kind *kind_of(struct ycsb_parser *parser, struct ycsb_rows *rows, struct text name)
{
	char cut[YCSB_NAME_BYTES];
	text_copy(name, cut, sizeof cut);
	for (size_t i = 0; i < rows->kind_count; i++)
		if (strcmp(rows->kinds[i].name, cut) == 0)
			return &rows->kinds[i];
	if (rows->kind_count == ROWS_KINDS_MAX)
		return NULL;
	struct row_kind *kind = &rows->kinds[rows->kind_count];
	*kind = (struct row_kind){.min_us = UINT64_MAX, .buckets = calloc(BUCKETS, sizeof *kind->buckets)};
	if (!kind->buckets) {
		parser->out_of_memory = true;
		return NULL;
	}
	memcpy(kind->name, cut, sizeof cut);
	rows->kind_count++;
	return kind;
}

static void count_row(struct row_kind *kind, uint64_t us)
{
	kind->count++;
	kind->sum_us += us;
	kind->min_us = us < kind->min_us ? us : kind->min_us;
	kind->max_us = us > kind->max_us ? us : kind->max_us;
	kind->buckets[bucket_of(us)]++;
}

/* False where the second is too far from the others to keep. */
static bool widen(struct ycsb_rows *rows, int64_t s)
{
	if (!rows->any) {
		rows->any = true;
		rows->first_s = rows->last_s = s;
		return true;
	}
	int64_t first = s < rows->first_s ? s : rows->first_s, last = s > rows->last_s ? s : rows->last_s;
	if (last - first >= (int64_t)SECONDS_MAX)
		return false;
	rows->first_s = first;
	rows->last_s = last;
	return true;
}

static void count_second(struct ycsb_rows *rows, const char *name, int64_t s)
{
	size_t length = strlen(name);
	if (!widen(rows, s))
		return;
	struct second *second = &rows->seconds[s % SECONDS_MAX];
	if (strcmp(name, "TOTAL") == 0) {
		rows->has_total = true;
		second->total++;
	} else if (strcmp(name, "READ_MODIFY_WRITE") == 0 || strcmp(name, "READ-MODIFY-WRITE") == 0) {
		second->total--;
	} else if (strcmp(name, "CLEANUP") != 0 &&
		   (length <= 6 || strcmp(name + length - 6, "_ERROR") != 0)) {
		second->parts++;
	}
}

static bool open_rows(struct ycsb_parser *parser, struct ycsb_stream *stream, bool java)
{
	struct ycsb_rows *rows = calloc(1, sizeof *rows);
	if (rows)
		rows->seconds = calloc(SECONDS_MAX, sizeof *rows->seconds);
	if (!rows || !rows->seconds) {
		free(rows);
		parser->out_of_memory = true;
		return false;
	}
	rows->stamp_us = java ? 1000 : 1;
	rows->first_us = UINT64_MAX;
	stream->rows = rows;
	ycsb_run_need(parser, stream, java ? YCSB_JAVA_TEXT : YCSB_GO_CSV);
	if (!java)
		stream->run.format = YCSB_GO_CSV;
	return true;
}

/* Java heads the rows of every operation, go-ycsb those of a run. */
static enum ycsb_outcome heading(struct ycsb_parser *parser, struct ycsb_stream *stream, bool java)
{
	bool go_before = stream->open && stream->run.format >= YCSB_GO_TEXT;
	if (java && stream->rows && stream->rows->stamp_us == 1000)
		return YCSB_TAKEN;
	if (stream->rows || (java && go_before))
		ycsb_run_begin(parser, stream, java ? YCSB_JAVA_TEXT : YCSB_GO_CSV);
	return open_rows(parser, stream, java) ? YCSB_TAKEN : YCSB_OTHER;
}

/* A whole number in the digits of the client's language. */
static bool take_count(struct text text, uint64_t *value)
{
	unsigned digit;
	if (text_count(text, value))
		return true;
	*value = 0;
	bool any = false;
	for (; text_take_digit(&text, &digit); any = true)
		if (__builtin_mul_overflow(*value, 10, value) || __builtin_add_overflow(*value, digit, value))
			return false;
	return any && text_empty(text);
}

static bool take_row(struct text *line, uint64_t unit_us, uint64_t *stamp_us, uint64_t *us)
{
	struct text stamp;
	return text_take_field(line, ',', &stamp) && take_count(text_trim(stamp), stamp_us) &&
	       take_count(text_trim(*line), us) && *us < (1ULL << 50) &&
	       !__builtin_mul_overflow(*stamp_us, unit_us, stamp_us) &&
	       *stamp_us / 1000000 <= INT64_MAX / NS_PER_S;
}

/* "NAME," in front of digits of any script. */
static bool looks_like_row(struct text line)
{
	struct text name, stamp;
	unsigned digit;
	return text_take_field(&line, ',', &name) && !text_empty(name) &&
	       text_take_field(&line, ',', &stamp) && text_take_digit(&stamp, &digit);
}

enum ycsb_outcome ycsb_rows_line(struct ycsb_parser *parser, struct ycsb_stream *stream, struct text line)
{
	struct text name;
	uint64_t stamp_us, us;
	if (text_equals(line, ROWS_HEADING))
		return heading(parser, stream, false);
	if (text_length(line) > strlen(RAW_HEADING) &&
	    text_equals((struct text){line.end - strlen(RAW_HEADING), line.end}, RAW_HEADING))
		return heading(parser, stream, true);
	if (!stream->rows || !looks_like_row(line))
		return YCSB_OTHER;
	text_take_field(&line, ',', &name);
	/* A latency without a line end may be short of digits. */
	if (!take_row(&line, stream->rows->stamp_us, &stamp_us, &us) || !parser->line.ended)
		return YCSB_UNREAD;
	struct row_kind *kind = kind_of(parser, stream->rows, name);
	if (!kind)
		return YCSB_OTHER;
	count_row(kind, us);
	count_second(stream->rows, kind->name, (int64_t)(stamp_us / 1000000));
	stream->rows->first_us = stamp_us < stream->rows->first_us ? stamp_us : stream->rows->first_us;
	stream->rows->last_us = stamp_us + us > stream->rows->last_us ? stamp_us + us : stream->rows->last_us;
	return YCSB_TAKEN;
}

/* ---- close ------------------------------------------------------------------------------------------- */

static void add_operation(struct ycsb_parser *parser, struct ycsb_run *run, const struct row_kind *kind)
{
	static const double percentiles[] = {50, 90, 95, 99, 99.9, 99.99};
	struct ycsb_operation *operation = ycsb_operation_add(parser, run, text_of(kind->name));
	if (!operation)
		return;
	operation->count = kind->count;
	operation->mean_us = (double)kind->sum_us / (double)kind->count;
	operation->min_us = (double)kind->min_us;
	operation->max_us = (double)kind->max_us;
	for (size_t i = 0; i < sizeof percentiles / sizeof *percentiles; i++)
		ycsb_operation_percentile(parser, operation, percentiles[i],
					  kind_percentile(kind, percentiles[i]));
}

/* Whole seconds; the first and the last are cut by the run's ends and left out where there are others. */
static void add_series(struct ycsb_parser *parser, struct ycsb_stream *stream, const struct ycsb_rows *rows)
{
	struct ycsb_run *run = &stream->run;
	snprintf(run->clock_text, sizeof run->clock_text, "time of each row, UTC");
	if (parser->options && parser->options->have_start)
		run->flags |= YCSB_FLAG_START_IGNORED;
	for (int64_t s = rows->first_s + 1; s < rows->last_s; s++) {
		const struct second *second = &rows->seconds[s % SECONDS_MAX];
		int64_t operations = rows->has_total ? second->total : second->parts;
		struct ycsb_interval interval = {
			.start_ns = s * NS_PER_S,
			.end_ns = (s + 1) * NS_PER_S,
			.start_s = (double)(s - rows->first_s),
			.end_s = (double)(s + 1 - rows->first_s),
			.operations = operations > 0 ? (uint64_t)operations : 0,
			.mean_us = NAN,
			.p99_worst_us = NAN,
		};
		interval.ops_s = (double)interval.operations;
		ycsb_series_append(parser, stream, &interval);
	}
}

static double operations_of(const struct ycsb_rows *rows)
{
	double sum = 0;
	for (int64_t s = rows->first_s; s <= rows->last_s; s++)
		sum += (double)(rows->has_total ? rows->seconds[s % SECONDS_MAX].total
						: rows->seconds[s % SECONDS_MAX].parts);
	return sum;
}

/* Java's rows without a summary: the span of the rows is the run time. */
static void close_raw(struct ycsb_stream *stream, const struct ycsb_rows *rows)
{
	struct ycsb_run *run = &stream->run;
	if (!rows->any || rows->last_us <= rows->first_us)
		return;
	run->runtime_ms = (double)(rows->last_us - rows->first_us) / 1000;
	run->throughput_ops_s = operations_of(rows) / run->runtime_ms * 1000;
	stream->has_runtime = true;
}

static void close_csv(struct ycsb_stream *stream, const struct ycsb_rows *rows)
{
	struct ycsb_run *run = &stream->run;
	if (!rows->any)
		return;
	if (run->runtime_ms > 0)
		run->throughput_ops_s = operations_of(rows) / run->runtime_ms * 1000;
	run->complete = stream->has_runtime;
}

void ycsb_rows_close(struct ycsb_parser *parser, struct ycsb_stream *stream)
{
	struct ycsb_rows *rows = stream->rows;
	struct ycsb_run *run = &stream->run;
	if (!rows)
		return;
	bool java = rows->stamp_us == 1000, summary = java && (stream->has_operation || stream->has_runtime);
	for (size_t i = 0; !summary && i < rows->kind_count; i++)
		add_operation(parser, run, &rows->kinds[i]);
	if (rows->any && !(java && stream->has_series))
		add_series(parser, stream, rows);
	if (java && !summary)
		close_raw(stream, rows);
	else if (!java)
		close_csv(stream, rows);
	ycsb_rows_free(rows);
	stream->rows = NULL;
}

void ycsb_rows_free(struct ycsb_rows *rows)
{
	if (!rows)
		return;
	for (size_t i = 0; i < rows->kind_count; i++)
		free(rows->kinds[i].buckets);
	free(rows->seconds);
	free(rows);
}
