/*
 * HdrHistogram's logs (hdrhistogram.fileoutput=true): one file an operation, one line a status interval.
 *
 *     #[Logging for: READ]
 *     #[StartTime: 1780228800.123 (seconds since epoch), ...]
 *     "StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"
 *     0.001,9.998,15.119,HISTFAAA...
 *
 * "Tag=NAME," in front of a line names another operation. Starts count from StartTime, or from BaseTime where
 * there is one; without either they are the time since 1970.
 */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/hdr.h"
#include "analyzer/ycsb_audit.h"
#include "analyzer/ycsb_parse.h"

#define KINDS_MAX 32
#define NS_PER_S  1e9
#define MOST_S	  4e9 /* a time beyond the year 2096 is none */

struct hdr_kind {
	char name[YCSB_NAME_BYTES];
	struct hdr_histogram sum;
};

struct ycsb_hdr_log {
	char name[YCSB_NAME_BYTES]; /* of "Logging for" */
	double base_s;		    /* since 1970; NaN: not known */
	bool base_given;	    /* by BaseTime, which goes before StartTime */
	struct hdr_kind kinds[KINDS_MAX];
	size_t kind_count;
	struct hdr_histogram interval; /* the one being read */
	double first_s, last_s;	       /* of all intervals, as stamped */
	bool any;
};

/* ---- lines around the intervals ---------------------------------------------------------------------- */

static bool open_log(struct ycsb_parser *parser, struct ycsb_stream *stream)
{
	if (stream->hdr)
		return true;
	stream->hdr = calloc(1, sizeof *stream->hdr);
	if (!stream->hdr) {
		parser->out_of_memory = true;
		return false;
	}
	stream->hdr->base_s = NAN;
	return true;
}

static void take_time(struct ycsb_hdr_log *log, struct text text, bool base)
{
	double seconds;
	if (log->base_given || !text_take_number(&text, &seconds) || !(seconds >= 0 && seconds < MOST_S))
		return;
	log->base_s = seconds;
	log->base_given = base;
}

static enum ycsb_outcome comment(struct ycsb_parser *parser, struct ycsb_stream *stream, struct text line)
{
	struct text rest = line, name;
	if (!text_skip(&rest, "#[") || !memchr(rest.at, ']', text_length(rest)))
		return YCSB_OTHER;
	bool logging = text_skip(&rest, "Logging for: "), format = text_contains(rest, "istogram log format");
	bool base = text_skip(&rest, "BaseTime: "), start = text_skip(&rest, "StartTime: ");
	if ((!logging && !format && !base && !start) || !open_log(parser, stream))
		return YCSB_OTHER;
	if (logging && text_skip_past(&rest, "]", &name))
		text_copy(name, stream->hdr->name, sizeof stream->hdr->name);
	if (base || start)
		take_time(stream->hdr, rest, base);
	return YCSB_TAKEN;
}

/* ---- intervals --------------------------------------------------------------------------------------- */

static struct hdr_kind *kind_of(struct ycsb_hdr_log *log, const char *name)
{
	for (size_t i = 0; i < log->kind_count; i++)
		if (strcmp(log->kinds[i].name, name) == 0)
			return &log->kinds[i];
	if (log->kind_count == KINDS_MAX)
		return NULL;
	struct hdr_kind *kind = &log->kinds[log->kind_count++];
	*kind = (struct hdr_kind){0};
	snprintf(kind->name, sizeof kind->name, "%s", name);
	return kind;
}

/* Intervals of one operation make the series; of several in one file only those of the first. */
static void add_interval(struct ycsb_parser *parser, struct ycsb_stream *stream, double start_s,
			 double length_s)
{
	struct ycsb_hdr_log *log = stream->hdr;
	struct ycsb_run *run = &stream->run;
	double zero_s = log->first_s, base_s = isnan(log->base_s) ? 0 : log->base_s;
	bool clock = !isnan(log->base_s) || start_s > 1e8;
	struct ycsb_interval interval = {
		.start_s = start_s - zero_s,
		.end_s = start_s + length_s - zero_s,
		.start_ns = clock ? llround((base_s + start_s) * NS_PER_S) : YCSB_NO_TIME,
		.end_ns = clock ? llround((base_s + start_s + length_s) * NS_PER_S) : YCSB_NO_TIME,
		.operations = log->interval.total,
		.ops_s = (double)log->interval.total / length_s,
		.mean_us = hdr_mean(&log->interval),
		.p99_worst_us = hdr_percentile(&log->interval, 99),
	};
	snprintf(run->clock_text, sizeof run->clock_text, "%s",
		 clock ? "time of each interval, UTC" : "no clock in the file");
	/* Intervals out of order are counted and not shown. */
	if (run->interval_count > 0 &&
	    run->intervals[run->interval_count - 1].end_s > interval.start_s + 1e-6)
		run->flags |= YCSB_FLAG_CLOCK_BACK;
	else
		ycsb_series_append(parser, stream, &interval);
}

static enum ycsb_outcome add_histogram(struct ycsb_parser *parser, struct ycsb_stream *stream,
				       const char *name, double start_s, double length_s)
{
	struct ycsb_hdr_log *log = stream->hdr;
	struct hdr_kind *kind = kind_of(log, name);
	if (!kind)
		return YCSB_OTHER;
	enum hdr_result result = hdr_add(&kind->sum, &log->interval);
	parser->out_of_memory |= result == HDR_NO_MEMORY;
	if (result != HDR_DONE)
		return YCSB_UNREAD;
	if (!log->any)
		log->first_s = log->last_s = start_s;
	log->any = true;
	log->first_s = fmin(log->first_s, start_s);
	log->last_s = fmax(log->last_s, start_s + length_s);
	if (length_s > 0 && kind == &log->kinds[0])
		add_interval(parser, stream, start_s, length_s);
	return YCSB_TAKEN;
}

static enum ycsb_outcome interval_line(struct ycsb_parser *parser, struct ycsb_stream *stream,
				       struct text line)
{
	struct ycsb_hdr_log *log = stream->hdr;
	struct text start, length, most, tag;
	double start_s, length_s;
	char name[YCSB_NAME_BYTES];
	snprintf(name, sizeof name, "%s", log->name[0] ? log->name : "HISTOGRAM");
	if (text_skip(&line, "Tag=")) {
		if (!text_take_field(&line, ',', &tag))
			return YCSB_UNREAD;
		text_copy(tag, name, sizeof name);
	}
	if (!text_take_field(&line, ',', &start) || !text_double(text_trim(start), &start_s))
		return YCSB_OTHER;
	if (!text_take_field(&line, ',', &length) || !text_double(text_trim(length), &length_s) ||
	    !text_take_field(&line, ',', &most) || !(fabs(start_s) < MOST_S) ||
	    !(length_s >= 0 && length_s < MOST_S) || !parser->line.ended)
		return YCSB_UNREAD;
	line = text_trim(line);
	enum hdr_result result = hdr_decode(line.at, text_length(line), &log->interval);
	parser->out_of_memory |= result == HDR_NO_MEMORY;
	if (result != HDR_DONE)
		return YCSB_UNREAD;
	ycsb_run_need(parser, stream, YCSB_HDR_LOG);
	stream->run.format = YCSB_HDR_LOG;
	return add_histogram(parser, stream, name, start_s, length_s);
}

enum ycsb_outcome ycsb_hdr_line(struct ycsb_parser *parser, struct ycsb_stream *stream, struct text line)
{
	if (text_starts(line, "#"))
		return comment(parser, stream, line);
	if (text_starts(line, "\"StartTimestamp\""))
		return YCSB_TAKEN;
	return interval_line(parser, stream, line);
}

/* ---- close ------------------------------------------------------------------------------------------- */

static void add_buckets(struct ycsb_parser *parser, struct ycsb_operation *operation,
			const struct hdr_histogram *histogram)
{
	for (size_t i = 0; i < histogram->length; i++) {
		if (histogram->counts[i] == 0)
			continue;
		struct ycsb_bucket *grown = ycsb_grow(parser, operation->buckets, operation->bucket_count,
						      sizeof *operation->buckets);
		if (!grown)
			return;
		operation->buckets = grown;
		grown[operation->bucket_count++] =
			(struct ycsb_bucket){(double)hdr_highest(histogram, i), (double)histogram->counts[i]};
	}
	operation->bucket_kind = YCSB_BUCKETS_US;
}

static void add_operation(struct ycsb_parser *parser, struct ycsb_run *run, const struct hdr_kind *kind)
{
	static const double percentiles[] = {50, 90, 95, 99, 99.9, 99.99};
	struct ycsb_operation *operation = ycsb_operation_add(parser, run, text_of(kind->name));
	if (!operation)
		return;
	operation->count = kind->sum.total;
	operation->mean_us = hdr_mean(&kind->sum);
	operation->min_us = hdr_min(&kind->sum);
	operation->max_us = hdr_max(&kind->sum);
	for (size_t i = 0; i < sizeof percentiles / sizeof *percentiles; i++)
		ycsb_operation_percentile(parser, operation, percentiles[i],
					  hdr_percentile(&kind->sum, percentiles[i]));
	add_buckets(parser, operation, &kind->sum);
}

void ycsb_hdr_close(struct ycsb_parser *parser, struct ycsb_stream *stream)
{
	struct ycsb_hdr_log *log = stream->hdr;
	struct ycsb_run *run = &stream->run;
	if (!log || run->format != YCSB_HDR_LOG)
		return;
	double operations = 0;
	for (size_t i = 0; i < log->kind_count; i++) {
		add_operation(parser, run, &log->kinds[i]);
		if (ycsb_classify(log->kinds[i].name) != YCSB_OP_TWICE)
			operations += (double)log->kinds[i].sum.total;
	}
	if (log->last_s > log->first_s) {
		run->runtime_ms = (log->last_s - log->first_s) * 1000;
		run->throughput_ops_s = operations / (log->last_s - log->first_s);
	}
	run->complete = log->any;
	ycsb_hdr_free(log);
	stream->hdr = NULL;
}

void ycsb_hdr_free(struct ycsb_hdr_log *log)
{
	if (!log)
		return;
	for (size_t i = 0; i < log->kind_count; i++)
		hdr_free(&log->kinds[i].sum);
	hdr_free(&log->interval);
	free(log);
}
