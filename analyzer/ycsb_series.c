/* From readings of a client's counter to intervals with a rate. */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyzer/stats.h"
#include "analyzer/ycsb_parse.h"

#define NS_PER_S 1000000000LL

/* ---- clock ------------------------------------------------------------------------------------------- */

static int64_t floor_s(int64_t ns)
{
	return ns / NS_PER_S - (ns % NS_PER_S < 0);
}

static void say_zone(struct ycsb_run *run, const char *source)
{
	snprintf(run->clock_text, sizeof run->clock_text, "client clock, %lld s %s of UTC (%s)",
		 llabs((long long)run->zone_offset_s), run->zone_offset_s < 0 ? "west" : "east", source);
}

static void choose_zone(struct ycsb_parser *parser, struct ycsb_run *run, int64_t civil_ns)
{
	bool given = parser->options && parser->options->have_offset;
	run->zone_offset_s = given ? parser->options->offset_s : ycsb_local_zone_s(floor_s(civil_ns));
	run->zone_first_s = run->zone_offset_s;
	run->zone_assumed = !given;
	say_zone(run, given ? "as given" : "this machine's zone; --ycsb-offset sets another");
	if (parser->options && parser->options->have_start)
		run->flags |= YCSB_FLAG_START_IGNORED;
}

void ycsb_assume_zone(struct ycsb_file *file, int64_t offset_s)
{
	for (size_t r = 0; r < file->run_count; r++) {
		struct ycsb_run *run = &file->runs[r];
		if (!run->zone_assumed)
			continue;
		int64_t east_s = offset_s - run->zone_first_s;
		run->zone_first_s += east_s;
		run->zone_offset_s += east_s;
		for (size_t i = 0; i < run->interval_count; i++) {
			run->intervals[i].start_ns -= east_s * NS_PER_S;
			run->intervals[i].end_ns -= east_s * NS_PER_S;
		}
		say_zone(run, "the traced machine's zone; --ycsb-offset sets another");
	}
}

/* Without a clock the given start serves the first run only: where the next one began is not known. */
static void choose_start(struct ycsb_parser *parser, struct ycsb_stream *stream)
{
	struct ycsb_run *run = &stream->run;
	if (parser->options && parser->options->have_start && !parser->start_used) {
		parser->start_used = true;
		stream->first_ns = parser->options->start_ns;
		snprintf(run->clock_text, sizeof run->clock_text,
			 "no clock in the file, start %.3f s since 1970 as given",
			 (double)stream->first_ns / NS_PER_S);
	} else {
		stream->first_ns = YCSB_NO_TIME;
		snprintf(run->clock_text, sizeof run->clock_text,
			 "no clock in the file; --ycsb-start sets the start of %s",
			 parser->start_used ? "the first run only" : "the run");
	}
}

/*
 * A jump of local time against the printed seconds, by a whole number of quarter hours, is a change of the
 * zone (daylight saving ended) and not of the clock: Java counts the seconds from the same clock, in UTC.
 */
static void follow_zone(struct ycsb_stream *stream, const struct ycsb_reading *reading)
{
	double clock_s = (double)(reading->clock_ns - stream->last.clock_ns) / NS_PER_S;
	double jump_s = clock_s - (double)(reading->printed_s - stream->last.printed_s);
	double quarters = round(jump_s / 900);
	if (fabs(quarters) < 2 || fabs(quarters) > 8 || fabs(jump_s - 900 * quarters) > 1.5)
		return;
	stream->run.flags |= YCSB_FLAG_ZONE_CHANGED;
	stream->run.zone_offset_s += (int64_t)(900 * quarters);
	stream->last.clock_ns += (int64_t)(900 * quarters) * NS_PER_S;
	stream->first_ns += (int64_t)(900 * quarters) * NS_PER_S;
}

/* ---- intervals --------------------------------------------------------------------------------------- */

static double weighted(double a, double weight_a, double b, double weight_b)
{
	if (isnan(a) || isnan(b))
		return isnan(a) ? b : a;
	return weight_a + weight_b > 0 ? (a * weight_a + b * weight_b) / (weight_a + weight_b) : a;
}

static struct ycsb_interval merge_pair(const struct ycsb_interval *a, const struct ycsb_interval *b)
{
	struct ycsb_interval both = *a;
	both.end_ns = b->end_ns;
	both.end_s = b->end_s;
	both.operations += b->operations;
	both.ops_s = (double)both.operations / (both.end_s - both.start_s);
	both.mean_us = weighted(a->mean_us, (double)a->operations, b->mean_us, (double)b->operations);
	both.p99_worst_us = fmax(a->p99_worst_us, b->p99_worst_us);
	return both;
}

static void merge_pairs(struct ycsb_run *run)
{
	for (size_t i = 0; i + 1 < run->interval_count; i += 2)
		run->intervals[i / 2] = merge_pair(&run->intervals[i], &run->intervals[i + 1]);
	run->interval_count /= 2;
	run->flags |= YCSB_FLAG_INTERVALS_MERGED;
}

static bool make_room(struct ycsb_parser *parser, struct ycsb_stream *stream)
{
	struct ycsb_run *run = &stream->run;
	if (run->interval_count == YCSB_INTERVALS_MAX)
		merge_pairs(run);
	if (run->interval_count < stream->interval_capacity)
		return true;
	size_t capacity = stream->interval_capacity ? 2 * stream->interval_capacity : 64;
	struct ycsb_interval *grown = realloc(run->intervals, capacity * sizeof *grown);
	if (!grown) {
		parser->out_of_memory = true;
		return false;
	}
	run->intervals = grown;
	stream->interval_capacity = capacity;
	return true;
}

void ycsb_series_append(struct ycsb_parser *parser, struct ycsb_stream *stream,
			const struct ycsb_interval *interval)
{
	if (!make_room(parser, stream))
		return;
	stream->run.intervals[stream->run.interval_count++] = *interval;
	stream->weights = (struct ycsb_weights){.p99_worst_us = NAN};
	stream->takes_latencies = true;
}

static int64_t utc_ns(const struct ycsb_stream *stream, const struct ycsb_reading *reading)
{
	if (reading->has_clock)
		return reading->clock_ns - stream->run.zone_offset_s * NS_PER_S;
	if (stream->first_ns == YCSB_NO_TIME)
		return YCSB_NO_TIME;
	return stream->first_ns + llround(reading->elapsed_s * 1e9);
}

static double series_s(const struct ycsb_stream *stream, const struct ycsb_reading *reading)
{
	if (reading->has_clock)
		return (double)(reading->clock_ns - stream->first_ns) / NS_PER_S;
	return reading->elapsed_s;
}

static void append_between(struct ycsb_parser *parser, struct ycsb_stream *stream,
			   const struct ycsb_reading *from, const struct ycsb_reading *to)
{
	struct ycsb_interval interval = {
		.start_ns = utc_ns(stream, from),
		.end_ns = utc_ns(stream, to),
		.start_s = series_s(stream, from),
		.end_s = series_s(stream, to),
		.operations = to->operations - from->operations,
		.mean_us = NAN,
		.p99_worst_us = NAN,
	};
	interval.ops_s = (double)interval.operations / (interval.end_s - interval.start_s);
	ycsb_series_append(parser, stream, &interval);
}

/* The first reading is the base; a source without a clock counts from the start of its run. */
static void take_base(struct ycsb_parser *parser, struct ycsb_stream *stream,
		      const struct ycsb_reading *reading)
{
	stream->has_series = true;
	stream->last = *reading;
	if (reading->has_clock) {
		stream->first_ns = reading->clock_ns;
		choose_zone(parser, &stream->run, reading->clock_ns);
	} else {
		choose_start(parser, stream);
	}
}

void ycsb_series_add(struct ycsb_parser *parser, struct ycsb_stream *stream,
		     const struct ycsb_reading *reading)
{
	stream->takes_latencies = false;
	if (!stream->has_series) {
		take_base(parser, stream, reading);
		return;
	}
	if (reading->has_clock != stream->last.has_clock)
		return;
	if (reading->has_clock)
		follow_zone(stream, reading);
	const struct ycsb_reading *last = &stream->last;
	double length_s = series_s(stream, reading) - series_s(stream, last);
	if (length_s == 0) {
		/* Printed twice, or two lines within a millisecond: the next line covers both. */
		if (reading->operations == last->operations)
			stream->run.flags |= YCSB_FLAG_DUPLICATE_STATUS;
		return;
	}
	if (length_s < 0)
		stream->run.flags |= YCSB_FLAG_CLOCK_BACK;
	else if (reading->operations >= last->operations)
		append_between(parser, stream, last, reading);
	stream->last = *reading;
}

/* ---- latencies --------------------------------------------------------------------------------------- */

void ycsb_series_latency(struct ycsb_stream *stream, double count, double mean_us, double p99_us)
{
	struct ycsb_weights *weights = &stream->weights;
	if (!stream->takes_latencies)
		return;
	struct ycsb_interval *newest = &stream->run.intervals[stream->run.interval_count - 1];
	if (isnan(count)) {
		weights->unweighted++;
		weights->unweighted_us = mean_us;
	} else if (count > 0 && !isnan(mean_us)) {
		weights->sum_us += mean_us * count;
		weights->count += count;
		weights->p99_worst_us = fmax(weights->p99_worst_us, p99_us);
	}
	if (weights->count > 0)
		newest->mean_us = weights->sum_us / weights->count;
	else
		newest->mean_us = weights->unweighted == 1 ? weights->unweighted_us : NAN;
	newest->p99_worst_us = weights->p99_worst_us;
}

/* ---- close ------------------------------------------------------------------------------------------- */

double ycsb_series_usual_s(const struct ycsb_interval *intervals, size_t count)
{
	double *lengths = malloc((count ? count : 1) * sizeof *lengths);
	if (!lengths)
		return NAN;
	for (size_t i = 0; i < count; i++)
		lengths[i] = intervals[i].end_s - intervals[i].start_s;
	stats_sort(lengths, count);
	double usual = stats_quantile_sorted(lengths, count, 0.5);
	free(lengths);
	return usual;
}

/* The last interval ends with the last thread and not with the clock: it does not say what is usual. */
void ycsb_series_close(struct ycsb_stream *stream)
{
	struct ycsb_run *run = &stream->run;
	size_t count = run->interval_count;
	run->usual_interval_s = ycsb_series_usual_s(run->intervals, count > 1 ? count - 1 : count);
	if (count > 1) {
		struct ycsb_interval *last = &run->intervals[count - 1];
		last->partial = last->end_s - last->start_s < run->usual_interval_s / 2;
	}
	if (stream->has_series) {
		run->last_operations = stream->last.operations;
		run->last_printed_s = (double)stream->last.printed_s;
	}
}
