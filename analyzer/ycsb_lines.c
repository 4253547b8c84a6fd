#include "analyzer/ycsb_lines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHUNK_BYTES (256u << 10)

enum encoding { BYTES, UTF16_LE, UTF16_BE };

struct ycsb_lines {
	char *path;
	int fd;
	enum encoding encoding;
	bool at_end;

	/* Bytes of the file: [begin, filled) are not consumed yet. */
	unsigned char *chunk;
	size_t begin, filled, capacity;
	uint64_t chunk_offset_bytes; /* of chunk[0] in the file */
	size_t searched;	     /* no line end in [begin, searched) */

	char *utf8; /* a converted line */
	size_t utf8_capacity;
	uint64_t number;
};

/* ---- filling ----------------------------------------------------------------------------------------- */

static bool grow(struct ycsb_lines *lines, struct error *error)
{
	size_t capacity = lines->capacity * 2;
	unsigned char *chunk = realloc(lines->chunk, capacity);
	if (!chunk)
		return error_set(error, ERROR_INTERNAL, lines->path, ERROR_NO_OFFSET, "out of memory");
	lines->chunk = chunk;
	lines->capacity = capacity;
	return true;
}

static void move_to_front(struct ycsb_lines *lines)
{
	memmove(lines->chunk, lines->chunk + lines->begin, lines->filled - lines->begin);
	lines->chunk_offset_bytes += lines->begin;
	lines->filled -= lines->begin;
	lines->searched -= lines->begin;
	lines->begin = 0;
}

/* Reads on; what is unread stays. False with `error` set on failure; at the end of the file `at_end` becomes
 * true. */
static bool fill(struct ycsb_lines *lines, struct error *error)
{
	if (lines->begin > 0)
		move_to_front(lines);
	if (lines->filled == lines->capacity && !grow(lines, error))
		return false;
	ssize_t got;
	do
		got = read(lines->fd, lines->chunk + lines->filled, lines->capacity - lines->filled);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return error_set(error, ERROR_INPUT, lines->path, lines->chunk_offset_bytes + lines->filled,
				 "cannot be read: %s", strerror(errno));
	lines->filled += (size_t)got;
	lines->at_end = got == 0;
	return true;
}

static bool starts_with(const struct ycsb_lines *lines, const char *bytes, size_t count)
{
	return lines->filled >= count && memcmp(lines->chunk, bytes, count) == 0;
}

static void detect_encoding(struct ycsb_lines *lines)
{
	const unsigned char *c = lines->chunk;
	if (starts_with(lines, "\xef\xbb\xbf", 3)) {
		lines->begin = 3;
	} else if (starts_with(lines, "\xff\xfe", 2)) {
		lines->encoding = UTF16_LE;
		lines->begin = 2;
	} else if (starts_with(lines, "\xfe\xff", 2)) {
		lines->encoding = UTF16_BE;
		lines->begin = 2;
	} else if (lines->filled >= 4 && c[0] && !c[1] && c[2] && !c[3]) {
		lines->encoding = UTF16_LE;
	} else if (lines->filled >= 4 && !c[0] && c[1] && !c[2] && c[3]) {
		lines->encoding = UTF16_BE;
	}
	lines->searched = lines->begin;
}

struct ycsb_lines *ycsb_lines_open(const char *path, struct error *error)
{
	struct ycsb_lines *lines = calloc(1, sizeof *lines);
	if (!lines || !(lines->path = strdup(path)) || !(lines->chunk = malloc(CHUNK_BYTES))) {
		error_set(error, ERROR_INTERNAL, path, ERROR_NO_OFFSET, "out of memory");
		if (lines)
			free(lines->path);
		free(lines);
		return NULL;
	}
	lines->capacity = CHUNK_BYTES;
	lines->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (lines->fd < 0) {
		error_set(error, ERROR_INPUT, path, ERROR_NO_OFFSET, "cannot be opened: %s", strerror(errno));
		ycsb_lines_close(lines);
		return NULL;
	}
	/* A pipe may give less than an encoding needs to show itself. */
	while (!lines->at_end && lines->filled < 4) {
		if (!fill(lines, error)) {
			ycsb_lines_close(lines);
			return NULL;
		}
	}
	detect_encoding(lines);
	return lines;
}

void ycsb_lines_close(struct ycsb_lines *lines)
{
	if (lines->fd >= 0)
		close(lines->fd);
	free(lines->path);
	free(lines->chunk);
	free(lines->utf8);
	free(lines);
}

/* ---- UTF-16 ------------------------------------------------------------------------------------------ */

static unsigned unit_at(const struct ycsb_lines *lines, size_t at)
{
	unsigned first = lines->chunk[at], second = lines->chunk[at + 1];
	return lines->encoding == UTF16_LE ? first | second << 8 : first << 8 | second;
}

static size_t put_utf8(char *out, uint32_t code)
{
	if (code < 0x80) {
		out[0] = (char)code;
		return 1;
	}
	if (code < 0x800) {
		out[0] = (char)(0xc0 | code >> 6);
		out[1] = (char)(0x80 | (code & 0x3f));
		return 2;
	}
	if (code < 0x10000) {
		out[0] = (char)(0xe0 | code >> 12);
		out[1] = (char)(0x80 | (code >> 6 & 0x3f));
		out[2] = (char)(0x80 | (code & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | code >> 18);
	out[1] = (char)(0x80 | (code >> 12 & 0x3f));
	out[2] = (char)(0x80 | (code >> 6 & 0x3f));
	out[3] = (char)(0x80 | (code & 0x3f));
	return 4;
}

static bool is_high(uint32_t code)
{
	return code >= 0xd800 && code < 0xdc00;
}

static bool is_low(uint32_t code)
{
	return code >= 0xdc00 && code < 0xe000;
}

/* Half a surrogate pair becomes U+FFFD. */
static uint32_t code_at(const struct ycsb_lines *lines, size_t *at, size_t end)
{
	uint32_t code = unit_at(lines, *at);
	*at += 2;
	if (is_high(code) && *at + 1 < end && is_low(unit_at(lines, *at))) {
		code = 0x10000 + ((code - 0xd800) << 10) + (unit_at(lines, *at) - 0xdc00);
		*at += 2;
	}
	return is_high(code) || is_low(code) ? 0xfffd : code;
}

/* Two bytes become at most three, four at most four. */
static bool to_utf8(struct ycsb_lines *lines, size_t begin, size_t end, struct text *text,
		    struct error *error)
{
	size_t needed = (end - begin) / 2 * 3 + 4;
	if (needed > lines->utf8_capacity) {
		char *utf8 = realloc(lines->utf8, needed);
		if (!utf8)
			return error_set(error, ERROR_INTERNAL, lines->path, ERROR_NO_OFFSET,
					 "out of memory");
		lines->utf8 = utf8;
		lines->utf8_capacity = needed;
	}
	char *out = lines->utf8;
	while (begin + 1 < end)
		out += put_utf8(out, code_at(lines, &begin, end));
	*text = (struct text){lines->utf8, out};
	return true;
}

/* ---- lines ------------------------------------------------------------------------------------------- */

/* Index of the next line feed in [searched, filled), SIZE_MAX where there is none yet. */
static size_t find_end(struct ycsb_lines *lines)
{
	if (lines->encoding == BYTES) {
		unsigned char *found =
			memchr(lines->chunk + lines->searched, '\n', lines->filled - lines->searched);
		lines->searched = lines->filled;
		return found ? (size_t)(found - lines->chunk) : SIZE_MAX;
	}
	for (; lines->searched + 1 < lines->filled; lines->searched += 2)
		if (unit_at(lines, lines->searched) == '\n')
			return lines->searched;
	return SIZE_MAX;
}

/* Drops what came of an overlong line so far, except its first YCSB_LINE_MAX bytes and half a character at
 * the end. */
static void drop_tail(struct ycsb_lines *lines)
{
	size_t kept_end = lines->begin + YCSB_LINE_MAX;
	size_t odd = (lines->filled - kept_end) % 2;
	lines->chunk[kept_end] = lines->chunk[lines->filled - 1];
	lines->chunk_offset_bytes += lines->filled - kept_end - odd;
	lines->filled = kept_end + odd;
	lines->searched = kept_end;
}

static bool emit(struct ycsb_lines *lines, size_t end, struct ycsb_line *line, struct error *error)
{
	size_t last = end - lines->begin > YCSB_LINE_MAX ? lines->begin + YCSB_LINE_MAX : end;
	line->text = (struct text){(char *)lines->chunk + lines->begin, (char *)lines->chunk + last};
	if (lines->encoding != BYTES && !to_utf8(lines, lines->begin, last, &line->text, error))
		return false;
	if (!text_empty(line->text) && line->text.end[-1] == '\r')
		line->text.end--;
	line->number = ++lines->number;
	return true;
}

bool ycsb_lines_next(struct ycsb_lines *lines, struct ycsb_line *line, struct error *error)
{
	line->offset_bytes = lines->chunk_offset_bytes + lines->begin;
	size_t end;
	while ((end = find_end(lines)) == SIZE_MAX && !lines->at_end) {
		if (lines->filled - lines->begin > 2 * YCSB_LINE_MAX)
			drop_tail(lines);
		if (!fill(lines, error))
			return false;
	}
	line->ended = end != SIZE_MAX;
	if (!line->ended && lines->begin == lines->filled)
		return false;
	if (!emit(lines, line->ended ? end : lines->filled, line, error))
		return false;
	size_t unit = lines->encoding == BYTES ? 1 : 2;
	lines->begin = line->ended ? end + unit : lines->filled;
	lines->searched = lines->begin;
	return true;
}
