/* go-ycsb: blocks of lines that count from the start, as plain text, box table or JSON. */

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "analyzer/ycsb_parse.h"

#define READ_MODIFY_WRITE "READ_MODIFY_WRITE"
#define MOST_S		  1e9 /* beyond this a time is a slip of the pen */

/* ---- blocks ------------------------------------------------------------------------------------------ */

static bool ends_in_error(const char *name)
{
	size_t length = strlen(name);
	return length > 6 && strcmp(name + length - 6, "_ERROR") == 0;
}

static const struct ycsb_operation *block_find(const struct ycsb_stream *stream, const char *name)
{
	for (size_t i = 0; i < stream->block_count; i++)
		if (strcmp(stream->block[i].name, name) == 0)
			return &stream->block[i];
	return NULL;
}

/* Operations as the client was asked for: TOTAL holds the parts of a READ_MODIFY_WRITE and the whole as well.
 */
static uint64_t block_operations(const struct ycsb_stream *stream)
{
	const struct ycsb_operation *total = block_find(stream, "TOTAL");
	const struct ycsb_operation *rmw = block_find(stream, READ_MODIFY_WRITE);
	uint64_t sum = 0;
	for (size_t i = 0; i < stream->block_count; i++)
		if (!ends_in_error(stream->block[i].name) && &stream->block[i] != rmw)
			sum += stream->block[i].count;
	if (!total)
		return sum;
	uint64_t twice = rmw ? rmw->count : 0;
	return total->count > twice ? total->count - twice : 0;
}

/* The row that was counted longest: its clock started with the run. */
static size_t leading_row(const struct ycsb_stream *stream)
{
	size_t leading = 0;
	for (size_t i = 0; i < stream->block_count; i++) {
		if (strcmp(stream->block[i].name, "TOTAL") == 0)
			return i;
		if (stream->block[i].count > stream->block[leading].count)
			leading = i;
	}
	return leading;
}

/* Takes(s) has one decimal. The rate has one too, but of a large number: count over rate is the finer time.
 */
static double block_takes_s(const struct ycsb_stream *stream)
{
	size_t leading = leading_row(stream);
	const struct ycsb_operation *row = &stream->block[leading];
	double printed = stream->block_takes_s[leading];
	double finer = (double)row->count / row->ops_s;
	return row->ops_s >= 10 && fabs(finer - printed) < 0.06 ? finer : printed;
}

static void clear_block(struct ycsb_stream *stream)
{
	for (size_t i = 0; i < stream->block_count; i++)
		ycsb_operation_free(&stream->block[i]);
	stream->block_count = 0;
}

/* Everything counts from the first operation on, so the series starts there with nothing done. */
static void block_reading(struct ycsb_parser *parser, struct ycsb_stream *stream)
{
	struct ycsb_reading start = {0};
	struct ycsb_reading reading = {.elapsed_s = block_takes_s(stream),
				       .operations = block_operations(stream)};
	if (!(reading.elapsed_s >= 0 && reading.elapsed_s < MOST_S))
		return;
	reading.printed_s = (int64_t)reading.elapsed_s;
	if (!stream->has_series)
		ycsb_series_add(parser, stream, &start);
	/* A finer time may run ahead of a coarser one by a hair. */
	if (reading.elapsed_s > stream->last.elapsed_s)
		ycsb_series_add(parser, stream, &reading);
}

/* A block ends: it becomes a point of the series, and the summary so far. */
static void end_block(struct ycsb_parser *parser, struct ycsb_stream *stream)
{
	struct ycsb_run *run = &stream->run;
	if (stream->block_count == 0)
		return;
	block_reading(parser, stream);
	for (size_t i = 0; i < run->operation_kinds; i++)
		ycsb_operation_free(&run->operations[i]);
	free(run->operations);
	run->operations = stream->block;
	run->operation_kinds = stream->block_count;
	double takes_s = block_takes_s(stream);
	run->throughput_ops_s = takes_s > 0 ? (double)block_operations(stream) / takes_s : NAN;
	stream->block = NULL;
	free(stream->block_takes_s);
	stream->block_takes_s = NULL;
	stream->block_count = 0;
}

/* ---- rows -------------------------------------------------------------------------------------------- */

static bool append_row(struct ycsb_parser *parser, struct ycsb_stream *stream)
{
	if (stream->block_count >= YCSB_KINDS_MAX)
		return false;
	struct ycsb_operation *block =
		ycsb_grow(parser, stream->block, stream->block_count, sizeof *stream->block);
	if (!block)
		return false;
	stream->block = block;
	double *takes = ycsb_grow(parser, stream->block_takes_s, stream->block_count, sizeof *takes);
	if (!takes)
		return false;
	stream->block_takes_s = takes;
	stream->block[stream->block_count] = stream->go_row;
	stream->block_takes_s[stream->block_count++] = stream->go_row_takes_s;
	return true;
}

static bool has_data(const struct ycsb_stream *stream)
{
	return stream->has_series || stream->block_count > 0 || stream->has_runtime || stream->has_operation;
}

/* A row of a name that the block has already starts the next block, or after the last one the next run. */
static void place_row(struct ycsb_parser *parser, struct ycsb_stream *stream, enum ycsb_format format)
{
	struct ycsb_operation row = stream->go_row;
	double takes_s = stream->go_row_takes_s;
	bool java = stream->open && stream->run.format < YCSB_GO_TEXT && has_data(stream);
	if (java)
		ycsb_run_begin(parser, stream, format);
	ycsb_run_need(parser, stream, format);
	if (block_find(stream, row.name)) {
		if (stream->go_state == GO_FINISHED)
			ycsb_run_begin(parser, stream, format);
		else
			end_block(parser, stream);
	}
	stream->run.format = format;
	stream->go_row = row;
	stream->go_row_takes_s = takes_s;
	if (!append_row(parser, stream))
		ycsb_operation_free(&row);
	memset(&stream->go_row, 0, sizeof stream->go_row);
}

static bool same_word(struct text text, const char *word)
{
	return text_length(text) == strlen(word) && strncasecmp(text.at, word, text_length(text)) == 0;
}

/* "99.9th(us)" or "99.9TH(US)". */
static bool percentile_of(struct text key, double *percentile)
{
	return !text_empty(key) && *key.at >= '0' && *key.at <= '9' && text_take_number(&key, percentile) &&
	       same_word(key, "th(us)");
}

static void open_row(struct ycsb_stream *stream)
{
	ycsb_operation_free(&stream->go_row);
	ycsb_operation_init(&stream->go_row, text_of(""));
	stream->go_row_takes_s = NAN;
	stream->go_row_open = true;
	stream->go_row_bad = false;
}

static double *double_slot(struct ycsb_stream *stream, struct text key)
{
	struct ycsb_operation *row = &stream->go_row;
	if (same_word(key, "Takes(s)"))
		return &stream->go_row_takes_s;
	if (same_word(key, "OPS") || same_word(key, "QPS"))
		return &row->ops_s;
	if (same_word(key, "Avg(us)"))
		return &row->mean_us;
	if (same_word(key, "Min(us)"))
		return &row->min_us;
	if (same_word(key, "Max(us)"))
		return &row->max_us;
	return NULL;
}

static void set_pair(struct ycsb_parser *parser, struct ycsb_stream *stream, struct text key,
		     struct text value)
{
	double percentile, us, *slot = double_slot(stream, key);
	if (same_word(key, "Operation"))
		text_copy(value, stream->go_row.name, sizeof stream->go_row.name);
	else if (same_word(key, "Count"))
		stream->go_row_bad |= !text_count(value, &stream->go_row.count);
	else if (slot)
		stream->go_row_bad |= !text_double(value, slot);
	else if (percentile_of(key, &percentile) && text_double(value, &us))
		ycsb_operation_percentile(parser, &stream->go_row, percentile, us);
}

void ycsb_go_pair(struct ycsb_parser *parser, struct ycsb_stream *stream, struct text key, struct text value)
{
	if (!stream->go_row_open)
		open_row(stream);
	set_pair(parser, stream, key, value);
}

enum ycsb_outcome ycsb_go_row_end(struct ycsb_parser *parser, struct ycsb_stream *stream,
				  enum ycsb_format format)
{
	const struct ycsb_operation *row = &stream->go_row;
	bool is_row = stream->go_row_open && row->name[0] && !isnan(stream->go_row_takes_s);
	bool is_good =
		is_row && row->count != YCSB_UNKNOWN && row->count < (1ULL << 62) && !stream->go_row_bad;
	stream->go_row_open = false;
	if (is_good)
		place_row(parser, stream, format);
	else
		ycsb_operation_free(&stream->go_row);
	return is_good ? YCSB_TAKEN : is_row ? YCSB_UNREAD : YCSB_OTHER;
}

/* ---- kinds of rows ----------------------------------------------------------------------------------- */

/* "READ   - Takes(s): 1.0, Count: 2472, OPS: 2466.2, ..." */
static enum ycsb_outcome plain_row(struct ycsb_parser *parser, struct ycsb_stream *stream, struct text line)
{
	struct text name, rest = line, pair, key;
	if (!text_skip_past(&rest, " - Takes(s): ", &name))
		return YCSB_OTHER;
	rest.at -= strlen("Takes(s): ");
	open_row(stream);
	name = text_trim(name);
	/* A prefix of words may stand before the name. */
	const char *blank = memrchr(name.at, ' ', text_length(name));
	set_pair(parser, stream, text_of("Operation"), (struct text){blank ? blank + 1 : name.at, name.end});
	while (text_take_field(&rest, ',', &pair))
		if (text_skip_past(&pair, ": ", &key))
			set_pair(parser, stream, text_trim(key), text_trim(pair));
	/* Cut off this early, the last number may be the count and short of digits. */
	if (!parser->line->ended && stream->go_row.percentile_count == 0)
		stream->go_row_bad = true;
	enum ycsb_outcome outcome = ycsb_go_row_end(parser, stream, YCSB_GO_TEXT);
	return outcome == YCSB_OTHER ? YCSB_UNREAD : outcome;
}

static void take_columns(struct ycsb_stream *stream, struct text line)
{
	struct text cell;
	stream->column_count = 0;
	while (text_take_field(&line, '|', &cell) && stream->column_count < YCSB_GO_COLUMNS)
		if (!text_empty(text_trim(cell)))
			text_copy(text_trim(cell), stream->columns[stream->column_count++],
				  YCSB_GO_COLUMN_NAME);
}

/* "| READ | 1.8 | 4212 | ..." below a line of headings. */
static enum ycsb_outcome table_row(struct ycsb_parser *parser, struct ycsb_stream *stream, struct text line)
{
	struct text cell;
	text_skip(&line, "|");
	if (text_contains(line, "OPERATION") && text_contains(line, "TAKES(S)")) {
		take_columns(stream, line);
		return YCSB_TAKEN;
	}
	if (stream->column_count == 0)
		return YCSB_OTHER;
	open_row(stream);
	for (size_t i = 0; i < stream->column_count && text_take_field(&line, '|', &cell); i++)
		set_pair(parser, stream, text_of(stream->columns[i]), text_trim(cell));
	return ycsb_go_row_end(parser, stream, YCSB_GO_TABLE);
}

/* ---- words around the rows --------------------------------------------------------------------------- */

/* Go's durations: "1h11m7.673834377s", "130.084969ms", "532.1µs". */
static bool take_duration_ms(struct text text, double *ms)
{
	static const struct {
		const char *name;
		double ms;
	} units[] = {{"h", 3600e3},	  {"ms", 1},	{"m", 60e3}, {"s", 1e3},
		     {"\xc2\xb5s", 1e-3}, {"us", 1e-3}, {"ns", 1e-6}};
	const size_t unit_count = sizeof units / sizeof *units;
	double sum = 0, number;
	while (!text_empty(text)) {
		size_t unit = 0;
		if (!text_take_number(&text, &number))
			return false;
		while (unit < unit_count && !text_skip(&text, units[unit].name))
			unit++;
		if (unit == unit_count)
			return false;
		sum += number * units[unit].ms;
	}
	*ms = sum;
	return true;
}

static enum ycsb_outcome run_finished(struct ycsb_parser *parser, struct ycsb_stream *stream,
				      struct text duration)
{
	double ms;
	if (!take_duration_ms(text_trim(duration), &ms))
		return YCSB_UNREAD;
	if (stream->open && stream->go_state == GO_FINISHED)
		ycsb_run_begin(parser, stream, YCSB_GO_TEXT);
	ycsb_run_need(parser, stream, YCSB_GO_TEXT);
	end_block(parser, stream);
	stream->go_state = GO_FINISHED;
	stream->has_runtime = true;
	stream->run.runtime_ms = ms;
	return YCSB_TAKEN;
}

/* Harnesses around go-ycsb say so behind the rows of the load. */
static enum ycsb_outcome load_finished(struct ycsb_parser *parser, struct ycsb_stream *stream,
				       struct text duration)
{
	double ms;
	if (!stream->open || !take_duration_ms(text_trim(duration), &ms))
		return YCSB_OTHER;
	stream->run.phase = YCSB_PHASE_LOAD;
	stream->run.runtime_ms = ms;
	stream->has_runtime = true;
	stream->go_state = GO_FINISHED;
	ycsb_run_begin(parser, stream, YCSB_GO_TEXT);
	return YCSB_TAKEN;
}

/* "key"="value" between two lines of asterisks. */
static enum ycsb_outcome property(struct ycsb_stream *stream, struct text line)
{
	struct text name, value;
	text_skip(&line, "\"");
	if (!text_skip_past(&line, "\"=\"", &name) || !text_skip_past(&line, "\"", &value))
		return YCSB_OTHER;
	ycsb_run_property(&stream->run, name, value);
	if (text_equals(name, "command"))
		stream->run.phase = text_equals(value, "load") ? YCSB_PHASE_LOAD : YCSB_PHASE_RUN;
	else if (text_equals(name, "dotransactions") && stream->run.phase == YCSB_PHASE_UNKNOWN)
		stream->run.phase = text_equals(value, "false") ? YCSB_PHASE_LOAD : YCSB_PHASE_RUN;
	return YCSB_TAKEN;
}

static enum ycsb_outcome asterisks(struct ycsb_parser *parser, struct ycsb_stream *stream, struct text line)
{
	if (text_contains(line, "* properties *")) {
		if (stream->open)
			ycsb_run_begin(parser, stream, YCSB_GO_TEXT);
		ycsb_run_need(parser, stream, YCSB_GO_TEXT);
		stream->in_properties = true;
		return YCSB_TAKEN;
	}
	stream->in_properties = false;
	return YCSB_OTHER;
}

enum ycsb_outcome ycsb_go_line(struct ycsb_parser *parser, struct ycsb_stream *stream, struct text line)
{
	struct text rest = line;
	switch (*line.at) {
	case '*':
		return asterisks(parser, stream, line);
	case '"':
		return stream->in_properties ? property(stream, line) : YCSB_OTHER;
	case '|':
		return table_row(parser, stream, line);
	default:
		break;
	}
	if (text_skip(&rest, "Run finished, takes "))
		return run_finished(parser, stream, rest);
	if (text_skip(&rest, "Load finished, takes "))
		return load_finished(parser, stream, rest);
	return plain_row(parser, stream, line);
}

/* ---- close ------------------------------------------------------------------------------------------- */

static double failed_share(const struct ycsb_run *run)
{
	double failed = 0, all = 0;
	for (size_t i = 0; i < run->operation_kinds; i++) {
		const struct ycsb_operation *operation = &run->operations[i];
		if (strcmp(operation->name, "TOTAL") == 0 || strcmp(operation->name, READ_MODIFY_WRITE) == 0)
			continue;
		all += (double)operation->count;
		if (ends_in_error(operation->name))
			failed += (double)operation->count;
	}
	return all > 0 ? failed / all : NAN;
}

void ycsb_go_close(struct ycsb_parser *parser, struct ycsb_stream *stream)
{
	struct ycsb_run *run = &stream->run;
	if (run->format < YCSB_GO_TEXT) {
		clear_block(stream);
		return;
	}
	if (run->format != YCSB_GO_CSV) {
		bool has_final = stream->block_count > 0, finished = stream->go_state == GO_FINISHED;
		end_block(parser, stream);
		run->complete = finished && has_final;
		if (finished && !has_final)
			run->flags |= YCSB_FLAG_LOST_TABLE;
	}
	run->error_rate = failed_share(run);
}
