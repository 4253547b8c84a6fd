/* Java YCSB's export block, command line and banner. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/ycsb_parse.h"

/* ---- export block ------------------------------------------------------------------------------------ */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* The parts of a run's summary come once each: one that comes again belongs to the next run. */
static void need_run(struct ycsb_parser *parser, struct ycsb_stream *stream, bool had_it)
{
	bool go = stream->open && stream->run.format >= YCSB_GO_TEXT;
	enum ycsb_format format = stream->json.speaking ? YCSB_JAVA_JSON : YCSB_JAVA_TEXT;
	if (had_it || go)
		ycsb_run_begin(parser, stream, format);
	ycsb_run_need(parser, stream, format);
	if (stream->run.summary_line == 0) {
		stream->run.summary_line = parser->line.number;
		stream->run.summary_offset_bytes = parser->line.offset_bytes;
	}
	if (format == YCSB_JAVA_JSON)
		stream->run.format = format;
}

static enum ycsb_outcome overall(struct ycsb_parser *parser, struct ycsb_stream *stream,
				 struct text measurement, struct text value)
{
	double number;
	bool runtime = text_equals(measurement, "RunTime(ms)"),
	     rate = text_equals(measurement, "Throughput(ops/sec)");
	if ((runtime || rate) && !text_double(value, &number))
		return YCSB_UNREAD;
	if (runtime) {
		need_run(parser, stream, stream->has_runtime);
		stream->has_runtime = true;
		stream->run.runtime_ms = number;
	} else if (rate) {
		need_run(parser, stream, !isnan(stream->run.throughput_ops_s) && stream->open);
		stream->run.throughput_ops_s = number;
	}
	return YCSB_TAKEN;
}

/* "95thPercentileLatency(us)", "99.9PercentileLatency(us)", "p99.9"; false where it is none of these. */
static bool percentile_of(struct text measurement, double *percentile)
{
	bool raw = text_skip(&measurement, "p");
	if (text_empty(measurement) || !is_digit(*measurement.at) ||
	    !text_take_number(&measurement, percentile))
		return false;
	if (raw)
		return text_empty(measurement);
	if (!text_skip(&measurement, "th") && !text_skip(&measurement, "st") &&
	    !text_skip(&measurement, "nd"))
		text_skip(&measurement, "rd");
	return text_starts(measurement, "PercentileLatency");
}

/* "17", ">1000": a bucket of a histogram or a point of a time series. */
static bool is_bucket(struct text measurement)
{
	text_skip(&measurement, ">");
	const char *at = measurement.at;
	while (at < measurement.end && is_digit(*at))
		at++;
	return at == measurement.end && at > measurement.at;
}

static bool is_machine(struct text metric)
{
	return text_starts(metric, "TOTAL_GC") || text_starts(metric, "MAX_") || text_starts(metric, "MIN_");
}

/* Where a latency measurement goes; NULL where it is none. */
static double *latency_slot(struct ycsb_operation *operation, struct text measurement)
{
	if (text_starts(measurement, "AverageLatency") || text_equals(measurement, "Average"))
		return &operation->mean_us;
	if (text_starts(measurement, "MinLatency") || text_equals(measurement, "Min"))
		return &operation->min_us;
	if (text_starts(measurement, "MaxLatency") || text_equals(measurement, "Max"))
		return &operation->max_us;
	return NULL;
}

/* HdrHistogram 2.1.4 says this for the minimum of nothing. */
#define NO_MINIMUM 9.2e18

static enum ycsb_outcome set_latency(struct ycsb_operation *operation, struct text measurement,
				     struct text value)
{
	double us, *slot = latency_slot(operation, measurement);
	if (!text_double(value, &us))
		return YCSB_UNREAD;
	if (text_contains(measurement, "(ms)"))
		us *= 1000;
	*slot = us >= NO_MINIMUM ? NAN : us;
	return YCSB_TAKEN;
}

static enum ycsb_outcome set_percentile(struct ycsb_parser *parser, struct ycsb_stream *stream,
					struct ycsb_operation *operation, struct text measurement,
					struct text value)
{
	double us, percentile;
	if (!percentile_of(measurement, &percentile) || !text_double(value, &us))
		return YCSB_UNREAD;
	if (text_contains(measurement, "(ms)")) {
		us *= 1000;
		operation->resolution_us = 1000;
		/* The histogram type prints whole milliseconds; a decimal point is the hdr type of 0.2 and
		 * 0.3. */
		if (percentile == 95 && memchr(value.at, '.', text_length(value)))
			stream->run.flags |= YCSB_FLAG_P95_IS_P90;
	}
	ycsb_operation_percentile(parser, operation, percentile, us);
	return YCSB_TAKEN;
}

static enum ycsb_outcome set_return(struct ycsb_parser *parser, struct ycsb_operation *operation,
				    struct text name, struct text value)
{
	uint64_t count;
	if (!text_count(value, &count))
		return YCSB_UNREAD;
	ycsb_operation_return(parser, operation, name, count);
	return YCSB_TAKEN;
}

static enum ycsb_outcome set_count(struct ycsb_parser *parser, struct ycsb_stream *stream, struct text name,
				   struct text value)
{
	uint64_t count;
	if (!text_count(value, &count))
		return YCSB_UNREAD;
	struct ycsb_operation *operation = stream->open ? ycsb_operation_find(&stream->run, name) : NULL;
	need_run(parser, stream, operation && operation->count != YCSB_UNKNOWN);
	operation = ycsb_operation_find(&stream->run, name);
	if (!operation)
		operation = ycsb_operation_add(parser, &stream->run, name);
	if (!operation)
		return YCSB_OTHER;
	operation->count = count;
	stream->has_operation = true;
	if (text_equals(name, "CLEANUP"))
		stream->run.threads_ended = count;
	return YCSB_TAKEN;
}

static bool is_latency(struct text measurement)
{
	struct ycsb_operation probe;
	double percentile;
	return latency_slot(&probe, measurement) || percentile_of(measurement, &percentile);
}

/* A measurement of an operation other than its count. */
static enum ycsb_outcome detail(struct ycsb_parser *parser, struct ycsb_stream *stream, struct text metric,
				struct text measurement, struct text value)
{
	struct text status = measurement;
	bool is_return = text_skip(&status, "Return="), latency = is_latency(measurement);
	struct ycsb_operation *operation = stream->open ? ycsb_operation_find(&stream->run, metric) : NULL;
	if (!is_return && !latency)
		return operation ? YCSB_TAKEN : YCSB_OTHER; /* LatencyVariance, Retries, what forks add */
	if (!operation) {
		/* An operation that only failed has statuses and no count. */
		need_run(parser, stream, false);
		operation = ycsb_operation_add(parser, &stream->run, metric);
		stream->has_operation = true;
	}
	if (!operation)
		return YCSB_OTHER;
	if (is_return)
		return set_return(parser, operation, status, value);
	if (latency_slot(operation, measurement))
		return set_latency(operation, measurement, value);
	return set_percentile(parser, stream, operation, measurement, value);
}

enum ycsb_outcome ycsb_java_record(struct ycsb_parser *parser, struct ycsb_stream *stream, struct text metric,
				   struct text measurement, struct text value)
{
	if (is_bucket(measurement)) {
		struct ycsb_operation *operation =
			stream->open ? ycsb_operation_find(&stream->run, metric) : NULL;
		return operation ? ycsb_bucket_line(parser, operation, measurement, value) : YCSB_OTHER;
	}
	if (text_equals(metric, "OVERALL"))
		return overall(parser, stream, measurement, value);
	if (is_machine(metric))
		return YCSB_TAKEN;
	if (text_equals(measurement, "Operations") || text_equals(measurement, "Total Operations"))
		return set_count(parser, stream, metric, value);
	return detail(parser, stream, metric, measurement, value);
}

enum ycsb_outcome ycsb_java_bracket(struct ycsb_parser *parser, struct ycsb_stream *stream, struct text line)
{
	struct text rest = line, metric;
	text_skip(&rest, "[");
	const char *close = memchr(rest.at, ']', text_length(rest));
	if (!close)
		return YCSB_OTHER;
	metric = (struct text){rest.at, close};
	rest.at = close + 1;
	if (!text_skip(&rest, ", ")) {
		if (!stream->open || !memchr(metric.at, '=', text_length(metric)))
			return YCSB_OTHER;
		ycsb_java_summary(stream, line);
		return YCSB_TAKEN;
	}
	/* The measurement may hold a comma, the value never does. */
	const char *comma = memrchr(rest.at, ',', text_length(rest));
	if (!comma || comma + 1 >= rest.end)
		return parser->line.ended ? YCSB_OTHER : YCSB_UNREAD;
	return ycsb_java_record(parser, stream, metric, (struct text){rest.at, comma},
				text_trim((struct text){comma + 1, rest.end}));
}

/* ---- command line and banner ------------------------------------------------------------------------- */

/*
 * A client's command line shows up to twice, as echo of its start script and in its own "Command line:", each
 * once a run and in either order around the rest, depending on how the streams were gathered.
 */
static void command(struct ycsb_parser *parser, struct ycsb_stream *stream, struct text arguments, bool echo)
{
	bool has_data = stream->has_series || stream->has_runtime || stream->has_operation;
	bool seen = echo ? stream->seen_echo : stream->seen_argv;
	arguments = text_trim(arguments);
	bool same = stream->arguments && text_equals(arguments, stream->arguments);
	bool go = stream->open && stream->run.format >= YCSB_GO_TEXT;
	if (go || seen || (has_data && !same))
		ycsb_run_begin(parser, stream, YCSB_JAVA_TEXT);
	ycsb_run_need(parser, stream, YCSB_JAVA_TEXT);
	*(echo ? &stream->seen_echo : &stream->seen_argv) = true;
	if (stream->arguments)
		return;
	stream->arguments = strndup(arguments.at, text_length(arguments));
	parser->out_of_memory |= !stream->arguments;
	ycsb_run_arguments(&stream->run, arguments);
}

static void banner(struct ycsb_parser *parser, struct ycsb_stream *stream, struct text version)
{
	bool has_data = stream->has_series || stream->has_runtime || stream->has_operation;
	if (has_data && stream->seen_banner)
		ycsb_run_begin(parser, stream, YCSB_JAVA_TEXT);
	ycsb_run_need(parser, stream, YCSB_JAVA_TEXT);
	stream->seen_banner = true;
	/* Every release up to 0.7.0 calls itself 0.1. */
	if (!text_equals(version, "0.1"))
		text_copy(version, stream->run.version, sizeof stream->run.version);
}

enum ycsb_outcome ycsb_java_words(struct ycsb_parser *parser, struct ycsb_stream *stream, struct text line)
{
	struct text rest = line;
	if (text_skip(&rest, "Command line:"))
		command(parser, stream, rest, false);
	else if (text_skip(&rest, "YCSB Client "))
		banner(parser, stream, text_trim(rest));
	else if (text_skip_past(&rest, ".ycsb.Client ", NULL) && text_contains(line, "java"))
		command(parser, stream, rest, true);
	else
		return YCSB_OTHER;
	return YCSB_TAKEN;
}

/* ---- close ------------------------------------------------------------------------------------------- */

static bool is_success(const char *status)
{
	return strcmp(status, "OK") == 0 || strcmp(status, "BATCHED_OK") == 0 || strcmp(status, "0") == 0;
}

static void count_statuses(const struct ycsb_operation *operation, double *failed, double *all)
{
	for (size_t i = 0; i < operation->return_count; i++) {
		double count = (double)operation->returns[i].count;
		*all += count;
		if (!is_success(operation->returns[i].name))
			*failed += count;
	}
}

/* With two measurements at once each is counted in both. */
static bool is_second_measurement(const char *name)
{
	return strncmp(name, "Bucket", 6) == 0 || strncmp(name, "Raw", 3) == 0 ||
	       strncmp(name, "Intended-", 9) == 0;
}

void ycsb_java_close(struct ycsb_stream *stream)
{
	struct ycsb_run *run = &stream->run;
	if (run->format != YCSB_JAVA_TEXT && run->format != YCSB_JAVA_JSON)
		return;
	run->complete = stream->has_runtime && !isnan(run->throughput_ops_s);
	double failed = 0, all = 0;
	uint64_t operations = 0;
	for (size_t i = 0; i < run->operation_kinds; i++) {
		const struct ycsb_operation *operation = &run->operations[i];
		if (!is_second_measurement(operation->name))
			count_statuses(operation, &failed, &all);
		if (strcmp(operation->name, "CLEANUP") != 0 && operation->count != YCSB_UNKNOWN)
			operations += operation->count;
	}
	if (all > 0)
		run->error_rate = failed / all;
	if (run->complete && operations == 0)
		run->flags |= YCSB_FLAG_NO_OPERATIONS;
}
