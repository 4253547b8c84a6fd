#include "analyzer/escape.h"

#include <stdbool.h>
#include <string.h>

#include "analyzer/utf8.h"

/* C0 and C1 control characters, and the marks that turn the direction of text around. */
static bool is_control(const unsigned char *text, size_t length)
{
	if (length == 1)
		return text[0] < 0x20 || text[0] == 0x7f;
	if (length == 2)
		return text[0] == 0xc2 && text[1] < 0xa0;
	return length == 3 && text[0] == 0xe2 &&
	       ((text[1] == 0x80 && text[2] >= 0xa8 && text[2] <= 0xae) ||
		(text[1] == 0x81 && text[2] >= 0xa6 && text[2] <= 0xa9));
}

/* The next character as it may be written; *text moves behind it. */
static const char *next_character(const char **text, size_t *length)
{
	const char *at = *text;
	*length = utf8_sequence(at);
	bool bad = *length == 0 || is_control((const unsigned char *)at, *length);
	*text += *length ? *length : 1;
	if (bad)
		*length = 1;
	return bad ? "?" : at;
}

/* Writes `text`; what `replace` gives for a character stands in its place. */
static void write_replaced(FILE *file, const char *text, const char *(*replace)(char))
{
	size_t length;
	while (*text) {
		const char *character = next_character(&text, &length);
		const char *other = length == 1 ? replace(*character) : NULL;
		if (other)
			fputs(other, file);
		else
			fwrite(character, 1, length, file);
	}
}

static const char *replace_html(char character)
{
	switch (character) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	default:
		return NULL;
	}
}

static const char *replace_csv(char character)
{
	return character == '"' ? "\"\"" : NULL;
}

static const char *replace_gnuplot(char character)
{
	return character == '\'' ? "\u2019" : NULL;
}

void escape_html(FILE *file, const char *text)
{
	write_replaced(file, text, replace_html);
}

void escape_csv(FILE *file, const char *text)
{
	size_t length = strlen(text);
	bool formula = strchr("=+-@", text[0]) && text[0];
	bool quoted =
		formula || strpbrk(text, ",\"") || text[0] == ' ' || (length && text[length - 1] == ' ');
	if (quoted)
		fputs(formula ? "\"'" : "\"", file);
	write_replaced(file, text, replace_csv);
	if (quoted)
		fputc('"', file);
}

void escape_gnuplot(FILE *file, const char *text)
{
	fputc('\'', file);
	write_replaced(file, text, replace_gnuplot);
	fputc('\'', file);
}

static size_t count_characters(const char *text)
{
	size_t count = 0;
	for (size_t length; *text; count++)
		next_character(&text, &length);
	return count;
}

const char *escape_shorten(const char *text, size_t width, char *out, size_t out_bytes)
{
	size_t characters = count_characters(text);
	size_t head = characters, tail = 0;
	if (characters > width && width > 3) {
		head = (width - 3 + 1) / 2;
		tail = width - 3 - head;
	}
	size_t used = 0;
	for (size_t i = 0; *text; i++) {
		size_t length;
		const char *character = next_character(&text, &length);
		if (i == head && characters > width) {
			character = "...";
			length = 3;
		} else if (i > head && i < characters - tail) {
			continue;
		}
		if (used + length + 1 > out_bytes)
			break;
		memcpy(out + used, character, length);
		used += length;
	}
	if (out_bytes)
		out[used] = 0;
	return out;
}
