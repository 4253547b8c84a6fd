/*
 * JSON of Java's exporters (objects of metric, measurement and value, one after the other or in an array) and
 * of go-ycsb (an array of flat objects a line). Read character by character, since neither promises line
 * breaks anywhere and the first is not valid JSON as a whole. Only strings and plain values inside objects
 * matter.
 */

#include <string.h>

#include "analyzer/ycsb_parse.h"

enum { SEEN_METRIC = 1, SEEN_MEASUREMENT = 2, SEEN_VALUE = 4, SEEN_ALL = 7 };

static struct text word(const char *buffer)
{
	return text_trim(text_of(buffer));
}

static void begin_token(struct ycsb_json_state *json, bool value)
{
	json->in_value = value;
	json->length = 0;
	(value ? json->value : json->key)[0] = 0;
}

static void put(struct ycsb_json_state *json, char c)
{
	char *buffer = json->in_value ? json->value : json->key;
	size_t size = json->in_value ? sizeof json->value : sizeof json->key;
	if (json->length + 1 >= size)
		return;
	buffer[json->length++] = c;
	buffer[json->length] = 0;
}

static void end_pair(struct ycsb_parser *parser, struct ycsb_stream *stream)
{
	struct ycsb_json_state *json = &stream->json;
	if (json->depth != 1 || !json->in_value)
		return;
	char *slot = NULL;
	unsigned seen = 0;
	if (strcmp(json->key, "metric") == 0) {
		slot = json->metric;
		seen = SEEN_METRIC;
	} else if (strcmp(json->key, "measurement") == 0) {
		slot = json->measurement;
		seen = SEEN_MEASUREMENT;
	} else if (strcmp(json->key, "value") == 0) {
		slot = json->metric_value;
		seen = SEEN_VALUE;
	}
	if (slot)
		memcpy(slot, json->value, sizeof json->value);
	else
		ycsb_go_pair(parser, stream, word(json->key), word(json->value));
	json->seen |= seen;
	begin_token(json, false);
}

static enum ycsb_outcome end_object(struct ycsb_parser *parser, struct ycsb_stream *stream)
{
	struct ycsb_json_state *json = &stream->json;
	unsigned seen = json->seen;
	json->seen = 0;
	enum ycsb_outcome row = ycsb_go_row_end(parser, stream, YCSB_GO_JSON);
	if (seen != SEEN_ALL)
		return row;
	json->speaking = true;
	enum ycsb_outcome outcome = ycsb_java_record(parser, stream, word(json->metric),
						     word(json->measurement), word(json->metric_value));
	json->speaking = false;
	return outcome;
}

static void in_string(struct ycsb_json_state *json, char c)
{
	if (json->escaped)
		json->escaped = false;
	else if (c == '\\') {
		json->escaped = true;
		return;
	} else if (c == '"') {
		json->in_string = false;
		return;
	}
	put(json, c);
}

static enum ycsb_outcome outside_string(struct ycsb_parser *parser, struct ycsb_stream *stream, char c)
{
	struct ycsb_json_state *json = &stream->json;
	switch (c) {
	case '"':
		json->in_string = true;
		if (!json->in_value)
			begin_token(json, false);
		break;
	case ':':
		begin_token(json, true);
		break;
	case ',':
		end_pair(parser, stream);
		break;
	case '{':
		json->depth++;
		json->seen = 0;
		begin_token(json, false);
		break;
	case '}':
		end_pair(parser, stream);
		if (json->depth > 0 && --json->depth == 0)
			return end_object(parser, stream);
		break;
	default:
		if (json->in_value)
			put(json, c);
	}
	return YCSB_OTHER;
}

static bool begins(struct text line)
{
	bool array = text_skip(&line, "[");
	line = text_trim(line);
	/* Java's array breaks the line behind the brace, go-ycsb goes on with a quote. */
	return text_skip(&line, "{") || (array && text_empty(line));
}

enum ycsb_outcome ycsb_json_line(struct ycsb_parser *parser, struct ycsb_stream *stream, struct text line)
{
	struct ycsb_json_state *json = &stream->json;
	enum ycsb_outcome result = YCSB_OTHER;
	if (!json->inside) {
		if (!begins(line))
			return YCSB_OTHER;
		*json = (struct ycsb_json_state){0};
	}
	json->inside = true;
	for (; line.at < line.end; line.at++) {
		if (json->in_string) {
			in_string(json, *line.at);
			continue;
		}
		enum ycsb_outcome outcome = outside_string(parser, stream, *line.at);
		if (outcome > result)
			result = outcome;
	}
	/* No value of these exporters holds a line end. */
	json->in_string = false;
	json->inside = json->depth > 0;
	return result;
}
