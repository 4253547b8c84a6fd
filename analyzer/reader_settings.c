#include "analyzer/reader_settings.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/array.h"
#include "analyzer/blockcursor.h"

struct settings_reader {
	struct block_cursor cursor;
	char *text;
	size_t text_capacity;
	struct setting_line *lines;
	size_t count, capacity;
	struct settings_header header; /* of the block parsed last */
};

struct settings_reader *settings_reader_open(struct trace *trace)
{
	struct settings_reader *reader = calloc(1, sizeof *reader);
	if (reader)
		reader->cursor = (struct block_cursor){.trace = trace,
						       .type = BLOCK_SETTINGS,
						       .damaged = "huge page settings cannot be read"};
	return reader;
}

void settings_reader_close(struct settings_reader *reader)
{
	if (!reader)
		return;
	block_cursor_close(&reader->cursor);
	free(reader->text);
	free(reader->lines);
	free(reader);
}

/* A line without its newline, which `end` stands at and which becomes a NUL. */
static bool take_line(struct settings_reader *reader, char *line, char *end)
{
	*end = '\0';
	char *equals = memchr(line, '=', (size_t)(end - line));
	if (!equals || equals == line)
		return true;
	if (!array_reserve(&reader->lines, &reader->capacity, reader->count + 1, sizeof *reader->lines))
		return false;
	*equals = '\0';
	reader->lines[reader->count++] = (struct setting_line){line, equals + 1};
	return true;
}

static enum parse_result parse(void *context, const uint8_t *payload, size_t bytes)
{
	struct settings_reader *reader = context;
	struct settings_header *header = &reader->header;
	if (bytes < sizeof *header)
		return PARSE_BAD;
	memcpy(header, payload, sizeof *header);
	if (header->bytes > bytes - sizeof *header)
		return PARSE_BAD;
	if (!array_reserve(&reader->text, &reader->text_capacity, header->bytes + 1u, 1))
		return PARSE_NO_MEMORY;
	memcpy(reader->text, payload + sizeof *header, header->bytes);
	reader->count = 0;
	char *end = reader->text + header->bytes;
	for (char *line = reader->text, *stop; line < end; line = stop + 1) {
		stop = memchr(line, '\n', (size_t)(end - line));
		if (!stop)
			return PARSE_BAD;
		if (!take_line(reader, line, stop))
			return PARSE_NO_MEMORY;
	}
	return PARSE_GOOD;
}

uint64_t settings_reader_due(struct settings_reader *reader)
{
	return block_cursor_due(&reader->cursor);
}

bool settings_reader_next(struct settings_reader *reader, uint64_t time, struct trace_settings *settings,
			  struct error *error)
{
	bool good = block_cursor_next(&reader->cursor, time, parse, reader, error);
	if (good)
		*settings = (struct trace_settings){.time = reader->header.time,
						    .whole = reader->header.flags & SETTINGS_WHOLE,
						    .lines = reader->lines,
						    .count = reader->count};
	return good;
}
