/* go-ycsb: blocks of lines that count from the start, as plain text, box table or JSON. */

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "analyzer/ycsb_parse.h"

/* ---- rows -------------------------------------------------------------------------------------------- */

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
	if (ycsb_go_block_find(stream, row.name)) {
		if (stream->go_state == GO_FINISHED)
			ycsb_run_begin(parser, stream, format);
		else
			ycsb_go_block_end(parser, stream);
	}
	stream->run.format = format;
	stream->go_row = row;
	stream->go_row_takes_s = takes_s;
	if (!ycsb_go_block_add(parser, stream))
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
	if (!parser->line.ended && stream->go_row.percentile_count == 0)
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
	ycsb_go_block_end(parser, stream);
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
