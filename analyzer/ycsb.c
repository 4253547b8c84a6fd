/* Which line goes to which reader, and the runs' accessors. */

#include "analyzer/ycsb.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/ycsb_parse.h"

#define STREAMS_MAX 64

/* ---- what stands around a line ----------------------------------------------------------------------- */

/* Terminal colours: ESC [ parameters letter. */
static bool strip_colours(struct ycsb_parser *parser, struct text *text)
{
	if (text_length(*text) > parser->plain_capacity) {
		char *plain = realloc(parser->plain, text_length(*text));
		if (!plain)
			return false;
		parser->plain = plain;
		parser->plain_capacity = text_length(*text);
	}
	char *out = parser->plain;
	const char *at = text->at;
	while (at < text->end) {
		if (*at != '\x1b') {
			*out++ = *at++;
			continue;
		}
		at++;
		if (at < text->end && *at == '[')
			at++;
		while (at < text->end && (*at == ';' || *at == '?' || (*at >= '0' && *at <= '9')))
			at++;
		if (at < text->end)
			at++;
	}
	*text = (struct text){parser->plain, out};
	return true;
}

static bool is_name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
	       c == '_' || c == '.';
}

/* "ycsb-1     | text" (docker compose). */
static bool take_compose_prefix(struct text *text, struct text *client)
{
	struct text rest = *text;
	while (!text_empty(rest) && is_name_char(*rest.at))
		rest.at++;
	struct text name = {text->at, rest.at};
	while (text_skip(&rest, " "))
		;
	if (text_empty(name) || !text_skip(&rest, "|"))
		return false;
	*client = name;
	*text = text_trim(rest);
	return true;
}

/* "[pod/ycsb-1/client] text" (kubectl logs --prefix). */
static bool take_pod_prefix(struct text *text, struct text *client)
{
	struct text rest = *text;
	if (!text_skip(&rest, "[pod/") || !text_skip_past(&rest, "] ", client))
		return false;
	*text = text_trim(rest);
	return true;
}

/* "2026-05-31T12:00:00.123456789Z text" (docker logs -t). */
static void skip_log_stamp(struct text *text)
{
	struct text rest = *text, stamp;
	int64_t ns;
	char buffer[48];
	if (text_length(rest) < 21 || rest.at[10] != 'T' || !text_take_field(&rest, ' ', &stamp) ||
	    text_length(stamp) >= sizeof buffer)
		return;
	text_copy(stamp, buffer, sizeof buffer);
	if (ycsb_parse_time(buffer, &ns))
		*text = text_trim(rest);
}

static struct text clean(struct ycsb_parser *parser, struct text text, struct text *client)
{
	static const char *const breaks[] = {"<br/>", "<br>", "<br />"};
	if (memchr(text.at, '\x1b', text_length(text)) && !strip_colours(parser, &text))
		parser->out_of_memory = true;
	text = text_trim(text);
	for (size_t i = 0; i < sizeof breaks / sizeof *breaks; i++) {
		size_t length = strlen(breaks[i]);
		if (text_length(text) >= length && memcmp(text.end - length, breaks[i], length) == 0)
			text.end -= length;
	}
	while (text_skip(&text, "> "))
		text = text_trim(text);
	if (!take_compose_prefix(&text, client))
		take_pod_prefix(&text, client);
	skip_log_stamp(&text);
	return text;
}

/* ---- streams ----------------------------------------------------------------------------------------- */

static struct ycsb_stream *stream_of(struct ycsb_parser *parser, struct text client)
{
	char name[YCSB_NAME_BYTES];
	text_copy(client, name, sizeof name);
	for (size_t i = 0; i < parser->stream_count; i++)
		if (strcmp(parser->streams[i].client, name) == 0)
			return &parser->streams[i];
	if (parser->stream_count == STREAMS_MAX)
		return &parser->streams[0];
	struct ycsb_stream *stream = &parser->streams[parser->stream_count++];
	memcpy(stream->client, name, sizeof name);
	return stream;
}

static void free_stream(struct ycsb_stream *stream)
{
	ycsb_operation_free(&stream->go_row);
	ycsb_rows_free(stream->rows);
	ycsb_hdr_free(stream->hdr);
	free(stream->block);
	free(stream->block_takes_s);
	free(stream->arguments);
}

/* ---- lines ------------------------------------------------------------------------------------------- */

static bool is_json_array(struct text line)
{
	text_skip(&line, "[");
	line = text_trim(line);
	return text_empty(line) || text_starts(line, "{");
}

static enum ycsb_outcome read_line(struct ycsb_parser *parser, struct ycsb_stream *stream, struct text line)
{
	unsigned char first = (unsigned char)*line.at;
	enum ycsb_outcome outcome = YCSB_OTHER;
	if (first == '#' || stream->hdr)
		outcome = ycsb_hdr_line(parser, stream, line);
	if (outcome != YCSB_OTHER)
		return outcome;
	if (first == '[' && !is_json_array(line))
		outcome = ycsb_java_bracket(parser, stream, line);
	else if ((first >= '0' && first <= '9') || first == '-' || first >= 0x80)
		outcome = ycsb_java_status(parser, stream, line);
	if (outcome == YCSB_OTHER)
		outcome = ycsb_java_words(parser, stream, line);
	if (outcome == YCSB_OTHER)
		outcome = ycsb_go_line(parser, stream, line);
	if (outcome == YCSB_OTHER)
		outcome = ycsb_rows_line(parser, stream, line);
	if (outcome == YCSB_OTHER && text_contains(line, " sec: "))
		outcome = ycsb_java_status(parser, stream, line);
	if (outcome == YCSB_OTHER && text_contains(line, " count: "))
		ycsb_java_summary(stream, line);
	if (outcome == YCSB_OTHER)
		return ycsb_json_line(parser, stream, line);
	/* A stray brace in a log does not swallow what follows it. */
	stream->json.inside = false;
	return outcome;
}

static void note_unread(struct ycsb_unread *unread, const struct ycsb_line *line)
{
	struct text text = text_trim(line->text);
	unread->line = line->number;
	unread->offset_bytes = line->offset_bytes;
	text_copy(text, unread->excerpt, sizeof unread->excerpt);
	for (char *c = unread->excerpt; *c; c++)
		if (*c < 0x20 || *c > 0x7e)
			*c = '?';
}

static void take_line(struct ycsb_parser *parser, struct ycsb_unread *first)
{
	struct ycsb_file *file = parser->file;
	const struct ycsb_line *line = &parser->line;
	struct text client = {line->text.at, line->text.at};
	struct text text = clean(parser, line->text, &client);
	file->lines = line->number;
	if (text_empty(text))
		return;
	if (first->line == 0)
		note_unread(first, line);
	struct ycsb_stream *stream = stream_of(parser, client);
	enum ycsb_outcome outcome = read_line(parser, stream, text);
	if (outcome == YCSB_UNREAD && file->unread_lines++ == 0)
		note_unread(&file->unread, line);
	/* JSON shows its end by itself. */
	bool json = stream->run.format == YCSB_JAVA_JSON || stream->run.format == YCSB_GO_JSON;
	if (outcome != YCSB_OTHER && !line->ended && stream->open && !json)
		stream->run.flags |= YCSB_FLAG_CUT_OFF;
}

/* Reads all lines; *first is the first that is not blank. */
static bool read_lines(struct ycsb_parser *parser, struct ycsb_lines *lines, struct ycsb_unread *first,
		       struct error *error)
{
	while (!parser->out_of_memory && ycsb_lines_next(lines, &parser->line, error))
		take_line(parser, first);
	for (size_t i = 0; i < parser->stream_count; i++)
		ycsb_run_close(parser, &parser->streams[i]);
	return error->code == ERROR_NONE;
}

/* ---- file -------------------------------------------------------------------------------------------- */

static int compare_runs(const void *a, const void *b)
{
	uint64_t x = ((const struct ycsb_run *)a)->first_line, y = ((const struct ycsb_run *)b)->first_line;
	return (x > y) - (x < y);
}

static bool refuse(const struct ycsb_file *file, const struct ycsb_unread *first, const char *path,
		   struct error *error)
{
	const struct ycsb_unread *unread = file->unread.line ? &file->unread : first;
	if (unread->line == 0)
		return error_set(error, ERROR_INPUT, path, ERROR_NO_OFFSET,
				 "holds nothing to read; give a file with what YCSB or go-ycsb printed");
	return error_set(error, ERROR_INPUT, path, unread->offset_bytes,
			 "no output of YCSB or go-ycsb: cannot read line %llu, \"%s\", and no other line is "
			 "known either; "
			 "give a file with what the client printed",
			 (unsigned long long)unread->line, unread->excerpt);
}

static bool parse(struct ycsb_parser *parser, const char *path, struct error *error)
{
	struct ycsb_file *file = parser->file;
	struct ycsb_unread first = {0};
	struct ycsb_lines *lines = ycsb_lines_open(path, error);
	if (!lines)
		return false;
	bool read = read_lines(parser, lines, &first, error);
	ycsb_lines_close(lines);
	if (parser->out_of_memory)
		return error_set(error, ERROR_INTERNAL, path, ERROR_NO_OFFSET, "out of memory");
	if (!read)
		return false;
	if (file->run_count == 0)
		return refuse(file, &first, path, error);
	qsort(file->runs, file->run_count, sizeof *file->runs, compare_runs);
	ycsb_pair(parser);
	if (parser->out_of_memory)
		return error_set(error, ERROR_INTERNAL, path, ERROR_NO_OFFSET, "out of memory");
	qsort(file->runs, file->run_count, sizeof *file->runs, compare_runs);
	return true;
}

bool ycsb_read(const char *path, const struct ycsb_options *options, struct ycsb_file *out,
	       struct error *error)
{
	struct ycsb_parser parser = {.file = out, .options = options};
	*out = (struct ycsb_file){.path = strdup(path)};
	parser.streams = calloc(STREAMS_MAX, sizeof *parser.streams);
	parser.out_of_memory = !out->path || !parser.streams;
	bool done = parser.out_of_memory
			    ? error_set(error, ERROR_INTERNAL, path, ERROR_NO_OFFSET, "out of memory")
			    : parse(&parser, path, error);
	for (size_t i = 0; i < parser.stream_count; i++)
		free_stream(&parser.streams[i]);
	free(parser.streams);
	free(parser.plain);
	if (!done)
		ycsb_file_free(out);
	return done;
}

void ycsb_file_free(struct ycsb_file *file)
{
	for (size_t i = 0; i < file->run_count; i++)
		ycsb_run_free(&file->runs[i]);
	free(file->runs);
	free(file->path);
	*file = (struct ycsb_file){0};
}

/* ---- accessors --------------------------------------------------------------------------------------- */

const struct ycsb_operation *ycsb_find_operation(const struct ycsb_run *run, const char *name)
{
	for (size_t i = 0; i < run->operation_kinds; i++)
		if (strcmp(run->operations[i].name, name) == 0)
			return &run->operations[i];
	return NULL;
}

double ycsb_percentile_us(const struct ycsb_operation *operation, double percentile)
{
	for (size_t i = 0; i < operation->percentile_count; i++)
		if (fabs(operation->percentiles[i].percentile - percentile) < 1e-6)
			return operation->percentiles[i].us;
	return NAN;
}

uint64_t ycsb_threads(const struct ycsb_run *run)
{
	return run->threads_asked != YCSB_UNKNOWN ? run->threads_asked : run->threads_ended;
}

const char *ycsb_format_name(enum ycsb_format format)
{
	static const char *const names[] = {
		[YCSB_FORMAT_NONE] = "none", [YCSB_JAVA_TEXT] = "java-text", [YCSB_JAVA_JSON] = "java-json",
		[YCSB_GO_TEXT] = "go-text",  [YCSB_GO_TABLE] = "go-table",   [YCSB_GO_JSON] = "go-json",
		[YCSB_GO_CSV] = "go-csv",    [YCSB_HDR_LOG] = "hdr-log",
	};
	return names[format];
}

const char *ycsb_phase_name(enum ycsb_phase phase)
{
	return phase == YCSB_PHASE_LOAD ? "load" : phase == YCSB_PHASE_RUN ? "run" : NULL;
}

const char *ycsb_flag_name(enum ycsb_flag flag)
{
	switch (flag) {
	case YCSB_FLAG_NO_SUMMARY:
		return "no-summary";
	case YCSB_FLAG_LOST_TABLE:
		return "lost-table";
	case YCSB_FLAG_NEGATIVE_TIME:
		return "negative-time";
	case YCSB_FLAG_CLOCK_BACK:
		return "clock-back";
	case YCSB_FLAG_ZONE_CHANGED:
		return "zone-changed";
	case YCSB_FLAG_DUPLICATE_STATUS:
		return "duplicate-status";
	case YCSB_FLAG_ERRORS:
		return "errors";
	case YCSB_FLAG_ERRORS_INVALID:
		return "errors-invalid";
	case YCSB_FLAG_NO_OPERATIONS:
		return "no-operations";
	case YCSB_FLAG_P95_IS_P90:
		return "p95-is-p90";
	case YCSB_FLAG_INTERVALS_MERGED:
		return "intervals-merged";
	case YCSB_FLAG_CUT_OFF:
		return "cut-off";
	case YCSB_FLAG_UNPAIRED:
		return "unpaired";
	case YCSB_FLAG_START_IGNORED:
		return "start-ignored";
	case YCSB_FLAG_UNEVEN:
		return "clients-uneven";
	}
	return "unknown";
}
