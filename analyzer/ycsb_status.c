/* Java YCSB's status lines, in every language that Java prints them in. */

#include <math.h>
#include <string.h>

#include "analyzer/ycsb_parse.h"

struct status {
	struct ycsb_reading reading;
	double current_ops_s; /* as printed; NaN where not */
};

/* ---- stamp ------------------------------------------------------------------------------------------- */

/* The Buddhist calendar of th_TH_TH is 543 years ahead. */
static int64_t common_year(unsigned year)
{
	return year >= 2400 ? (int64_t)year - 543 : (int64_t)year;
}

/* "yyyy-MM-dd HH:mm:ss:SSS " */
static bool take_stamp(struct text *text, int64_t *civil_ns)
{
	struct text t = *text;
	unsigned year, month, day, hour, minute, second, ms;
	bool shape = text_take_digits(&t, 4, &year) && text_skip(&t, "-") &&
		     text_take_digits(&t, 2, &month) && text_skip(&t, "-") && text_take_digits(&t, 2, &day) &&
		     text_skip(&t, " ") && text_take_digits(&t, 2, &hour) && text_skip(&t, ":") &&
		     text_take_digits(&t, 2, &minute) && text_skip(&t, ":") &&
		     text_take_digits(&t, 2, &second) && text_skip(&t, ":") && text_take_digits(&t, 3, &ms) &&
		     text_skip(&t, " ");
	if (!shape || !ycsb_civil_valid(common_year(year), month, day, hour, minute, second))
		return false;
	*civil_ns = ycsb_civil_s(common_year(year), month, day, hour, minute, second) * 1000000000 +
		    ms * 1000000LL;
	*text = t;
	return true;
}

/* Behind an unknown prefix: back from " sec: " over the seconds, then over a stamp in 1, 2 or 3 bytes a
 * digit. */
static bool find_stamp(struct text *text, int64_t *civil_ns)
{
	static const size_t stamp_bytes[] = {24, 41, 58};
	const char *sec = text_find(*text, " sec: ");
	const char *seconds = sec;
	while (sec && seconds > text->at &&
	       (seconds[-1] == '-' || (seconds[-1] >= '0' && seconds[-1] <= '9')))
		seconds--;
	if (!sec || seconds == sec)
		return false;
	for (size_t i = 0; i < sizeof stamp_bytes / sizeof *stamp_bytes; i++) {
		struct text candidate = {seconds - stamp_bytes[i], text->end};
		if ((size_t)(seconds - text->at) >= stamp_bytes[i] && take_stamp(&candidate, civil_ns) &&
		    candidate.at == seconds) {
			*text = candidate;
			return true;
		}
	}
	return false;
}

/* ---- the line up to the latencies -------------------------------------------------------------------- */

static bool take_counter(struct text *text, struct status *status)
{
	struct ycsb_reading *reading = &status->reading;
	const int64_t most_s = 1000000000;
	if (!text_take_i64(text, &reading->printed_s) || reading->printed_s > most_s ||
	    reading->printed_s < -most_s)
		return false;
	return text_skip(text, " sec: ") && text_take_u64(text, &reading->operations) &&
	       text_skip(text, " operations;") && reading->operations < (1ULL << 62);
}

static void take_current(struct text *text, struct status *status)
{
	struct text ahead = *text;
	text_skip(&ahead, " ");
	status->current_ops_s = NAN;
	if (text_take_number(&ahead, &status->current_ops_s) && text_skip(&ahead, " current ops/sec;"))
		*text = ahead;
	else
		status->current_ops_s = NAN;
}

/*
 * Without a stamp only whole seconds are printed; the printed rate is operations over milliseconds with two
 * decimals, and gives the interval back far more exactly.
 */
static double elapsed_without_clock(const struct ycsb_stream *stream, const struct status *status)
{
	double printed = (double)status->reading.printed_s;
	if (!stream->has_series)
		return printed;
	double last = stream->last.elapsed_s;
	double operations = (double)status->reading.operations - (double)stream->last.operations;
	double exact = last + operations / status->current_ops_s;
	if (operations > 0 && status->current_ops_s > 0 && fabs(exact - printed) < 2)
		return exact;
	return last >= printed && last < printed + 1 ? last : printed;
}

/* A status line after a summary, or a counter that starts again, is another run. */
static void need_run(struct ycsb_parser *parser, struct ycsb_stream *stream, uint64_t operations)
{
	bool go = stream->open && stream->run.format >= YCSB_GO_TEXT;
	bool after_summary = stream->has_runtime || stream->has_operation;
	bool restarted = stream->has_series && operations < stream->last.operations;
	if (go || after_summary || restarted)
		ycsb_run_begin(parser, stream, YCSB_JAVA_TEXT);
	ycsb_run_need(parser, stream, YCSB_JAVA_TEXT);
}

enum ycsb_outcome ycsb_java_status(struct ycsb_parser *parser, struct ycsb_stream *stream, struct text line)
{
	struct status status = {0};
	struct text text = line;
	status.reading.has_clock =
		take_stamp(&text, &status.reading.clock_ns) || find_stamp(&text, &status.reading.clock_ns);
	if (!take_counter(&text, &status))
		return status.reading.has_clock && text_contains(line, " sec:") ? YCSB_UNREAD : YCSB_OTHER;
	take_current(&text, &status);
	need_run(parser, stream, status.reading.operations);
	if (!status.reading.has_clock)
		status.reading.elapsed_s = elapsed_without_clock(stream, &status);
	ycsb_series_add(parser, stream, &status.reading);
	ycsb_java_summary(stream, text);
	return YCSB_TAKEN;
}

/* ---- latencies --------------------------------------------------------------------------------------- */

/*
 * Whether an operation counts in the latency of the interval. Names with a dash are made of others
 * (READ-MODIFY-WRITE, READ-FAILED, Intended-READ); with two measurements at once the Hdr one counts; the rest
 * is no operation.
 */
static bool counts(struct text name)
{
	static const char *const others[] = {"CLEANUP",	     "THREAD_COUNT", "USED_MEM_MB",
					     "SYS_LOAD_AVG", "GCS",	     "GCS_TIME"};
	if (memchr(name.at, '-', text_length(name)) || text_starts(name, "Bucket") ||
	    text_starts(name, "Raw"))
		return false;
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (text_equals(name, others[i]))
			return false;
	return true;
}

static void note_kind(struct ycsb_stream *stream, struct text name)
{
	stream->run.series_kinds |= ycsb_kind(name);
}

/* To the next ", " or "]"; a decimal comma has a digit behind it. */
static void skip_value(struct text *text)
{
	while (text->at < text->end && *text->at != ']' && !text_starts(*text, ", "))
		text->at++;
}

/* ", Max=9, Min=1, Avg=2.5, 90=3, 99=8, ..." behind the count. */
static void take_hdr(struct ycsb_stream *stream, struct text name, struct text *text)
{
	uint64_t count;
	double mean_us = NAN, p99_us = NAN;
	if (!text_take_u64(text, &count))
		return;
	while (text_skip(text, ", ")) {
		if (text_skip(text, "Avg="))
			text_take_number(text, &mean_us);
		else if (text_skip(text, "99="))
			text_take_number(text, &p99_us);
		else
			skip_value(text);
	}
	if (counts(name))
		ycsb_series_latency(stream, (double)count, mean_us, p99_us);
}

static struct text take_name(struct text *text)
{
	struct text name = *text;
	while (text->at < text->end && *text->at != ':' && *text->at != ' ' && *text->at != ']')
		text->at++;
	name.end = text->at;
	return name;
}

/* "READ count: 8, average latency(us): 1.88 UPDATE count: ..." of the raw type. */
static void raw_summary(struct ycsb_stream *stream, struct text text)
{
	struct text before;
	while (text_skip_past(&text, " count: ", &before)) {
		const char *blank = memrchr(before.at, ' ', text_length(before));
		struct text name = {blank ? blank + 1 : before.at, before.end};
		uint64_t count;
		double mean_us;
		if (!text_take_u64(&text, &count) || !text_skip(&text, ", average latency(us): ") ||
		    !text_take_number(&text, &mean_us))
			return;
		note_kind(stream, name);
		if (counts(name))
			ycsb_series_latency(stream, (double)count, mean_us, NAN);
	}
}

void ycsb_java_summary(struct ycsb_stream *stream, struct text text)
{
	if (!stream->takes_latencies)
		return;
	if (!memchr(text.at, '[', text_length(text))) {
		raw_summary(stream, text);
		return;
	}
	double mean_us;
	while (text_skip_past(&text, "[", NULL)) {
		struct text name = take_name(&text);
		note_kind(stream, name);
		if (text_skip(&text, ": Count="))
			take_hdr(stream, name, &text);
		else if (text_skip(&text, " AverageLatency(us)=") && text_take_number(&text, &mean_us) &&
			 counts(name))
			ycsb_series_latency(stream, NAN, mean_us, NAN);
	}
}
