/* The text of Java properties files: the grammar is in properties.h. */
#include "bench/properties.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The unread rest of a file, and the name or value that is being put together. */
struct reader {
	const char *at;
	const char *end;
	const char *origin;
	unsigned line;
	char *text; /* as long as the whole file: no name or value is longer (an escape only shrinks) */
	size_t length;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\f';
}

static bool is_line_end(char c)
{
	return c == '\n' || c == '\r';
}

static void skip_blanks(struct reader *reader)
{
	while (reader->at < reader->end && is_blank(*reader->at))
		reader->at++;
}

static void skip_line_end(struct reader *reader)
{
	if (reader->at == reader->end)
		return;
	if (*reader->at == '\r' && reader->at + 1 < reader->end && reader->at[1] == '\n')
		reader->at++;
	reader->at++;
	reader->line++;
}

static void put_utf8(struct reader *reader, unsigned long code)
{
	char *out = reader->text + reader->length;

	if (code < 0x80) {
		*out++ = (char)code;
	} else if (code < 0x800) {
		*out++ = (char)(0xC0 | code >> 6);
		*out++ = (char)(0x80 | (code & 0x3F));
	} else if (code < 0x10000) {
		*out++ = (char)(0xE0 | code >> 12);
		*out++ = (char)(0x80 | (code >> 6 & 0x3F));
		*out++ = (char)(0x80 | (code & 0x3F));
	} else {
		*out++ = (char)(0xF0 | code >> 18);
		*out++ = (char)(0x80 | (code >> 12 & 0x3F));
		*out++ = (char)(0x80 | (code >> 6 & 0x3F));
		*out++ = (char)(0x80 | (code & 0x3F));
	}
	reader->length = (size_t)(out - reader->text);
}

/* Four hexadecimal digits at reader->at, or -1. */
static long read_hex4(struct reader *reader)
{
	long code = 0;

	if (reader->end - reader->at < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		char c = *reader->at++;
		const char *digits = "0123456789abcdef";
		const char *digit = c ? strchr(digits, c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c) : NULL;

		if (!digit)
			return -1;
		code = code * 16 + (digit - digits);
	}
	return code;
}

/* The code point of a \u escape; Java writes those above U+FFFF as two. */
static bool read_unicode(struct reader *reader, struct failure *failure)
{
	long code = read_hex4(reader);

	if (code >= 0xD800 && code < 0xDC00 && reader->end - reader->at >= 6 && reader->at[0] == '\\' &&
	    reader->at[1] == 'u') {
		long low;

		reader->at += 2;
		low = read_hex4(reader);
		code = low >= 0xDC00 && low < 0xE000 ? 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00)
						     : -1;
	}
	if (code <= 0)
		return failure_set(failure, EXIT_WRONG_USAGE,
				   "%s:%u: malformed \\u escape: expected \\u and four hexadecimal digits",
				   reader->origin, reader->line);
	put_utf8(reader, (unsigned long)code);
	return true;
}

/* What follows a backslash: a line end (the logical line goes on after the next line's blanks) or an escape.
 */
static bool read_escape(struct reader *reader, struct failure *failure)
{
	static const char letters[] = "tnrf", controls[] = "\t\n\r\f";
	const char *letter;
	char c;

	if (reader->at == reader->end)
		return true;
	if (is_line_end(*reader->at)) {
		skip_line_end(reader);
		skip_blanks(reader);
		return true;
	}
	c = *reader->at++;
	if (c == 'u')
		return read_unicode(reader, failure);
	letter = strchr(letters, c);
	reader->text[reader->length++] = letter ? controls[letter - letters] : c;
	return true;
}

/* Reads a name (up to '=', ':' or a blank) or a value (up to the end of the line) as a new string. */
static char *read_token(struct reader *reader, bool is_name, struct failure *failure)
{
	reader->length = 0;
	while (reader->at < reader->end && !is_line_end(*reader->at)) {
		char c = *reader->at;

		if (is_name && (c == '=' || c == ':' || is_blank(c)))
			break;
		reader->at++;
		if (c != '\\')
			reader->text[reader->length++] = c;
		else if (!read_escape(reader, failure))
			return NULL;
	}
	reader->text[reader->length] = '\0';
	return must_copy(reader->text);
}

static bool read_entry(struct reader *reader, struct properties *properties, struct failure *failure)
{
	char *name = read_token(reader, true, failure), *value;

	if (!name)
		return false;
	skip_blanks(reader);
	if (reader->at < reader->end && (*reader->at == '=' || *reader->at == ':')) {
		reader->at++;
		skip_blanks(reader);
	}
	value = read_token(reader, false, failure);
	if (value)
		properties_set(properties, name, value);
	free(name);
	free(value);
	return value != NULL;
}

static bool read_lines(struct reader *reader, struct properties *properties, struct failure *failure)
{
	while (reader->at < reader->end) {
		skip_blanks(reader);
		if (reader->at == reader->end)
			break;
		if (*reader->at == '#' || *reader->at == '!')
			while (reader->at < reader->end && !is_line_end(*reader->at))
				reader->at++;
		else if (!is_line_end(*reader->at) && !read_entry(reader, properties, failure))
			return false;
		skip_line_end(reader);
	}
	return true;
}

bool properties_parse(struct properties *properties, const char *text, size_t bytes, const char *origin,
		      struct failure *failure)
{
	struct reader reader = {.at = text, .end = text + bytes, .origin = origin, .line = 1};
	bool done;

	if (bytes && memchr(text, '\0', bytes))
		return failure_set(failure, EXIT_WRONG_USAGE,
				   "%s: holds NUL bytes, so it is no properties file", origin);
	reader.text = must_calloc(1, bytes + 1);
	done = read_lines(&reader, properties, failure);
	free(reader.text);
	return done;
}

bool properties_load(struct properties *properties, const char *path, struct failure *failure)
{
	enum { LARGEST_BYTES = 1 << 20 };
	FILE *file = fopen(path, "r");
	char *text;
	size_t bytes;
	bool done;

	if (!file)
		return failure_set(failure, EXIT_WRONG_USAGE, "-P %s: %s", path, strerror(errno));
	text = must_calloc(1, LARGEST_BYTES);
	bytes = fread(text, 1, LARGEST_BYTES, file);
	if (ferror(file))
		done = failure_set(failure, EXIT_WRONG_USAGE, "-P %s: %s", path, strerror(errno));
	else if (bytes == LARGEST_BYTES)
		done = failure_set(failure, EXIT_WRONG_USAGE,
				   "-P %s: larger than 1 MiB, so it is no properties file", path);
	else
		done = properties_parse(properties, text, bytes, path, failure);
	free(text);
	fclose(file);
	return done;
}
