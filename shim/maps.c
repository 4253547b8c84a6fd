#include "shim/maps.h"

#include <string.h>

#include "shim/raw.h"

#define LINE_BYTES_MAX 5120u /* 100 of numbers, PATH_MAX, and escapes */

static uint64_t take_number(const char **at, unsigned base)
{
	uint64_t number = 0;
	for (;; (*at)++) {
		char c = **at;
		unsigned digit = c >= '0' && c <= '9'	? (unsigned)(c - '0')
				 : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
							: base;
		if (digit >= base)
			return number;
		number = number * base + digit;
	}
}

static void skip(const char **at, char c)
{
	while (**at == c)
		(*at)++;
}

/* start-end rwxp offset major:minor inode   name */
static bool parse(const char *line, struct mapping *mapping)
{
	const char *at = line;
	mapping->start = take_number(&at, 16);
	skip(&at, '-');
	mapping->end = take_number(&at, 16);
	skip(&at, ' ');
	if (strnlen(at, 5) < 5)
		return false;
	mapping->prot = (at[0] == 'r' ? PROT_READ : 0) | (at[1] == 'w' ? PROT_WRITE : 0) |
			(at[2] == 'x' ? PROT_EXEC : 0);
	mapping->shared = at[3] == 's';
	at += 5;
	mapping->offset = take_number(&at, 16);
	skip(&at, ' ');
	mapping->device = take_number(&at, 16) << 32;
	skip(&at, ':');
	mapping->device |= take_number(&at, 16);
	skip(&at, ' ');
	mapping->inode = take_number(&at, 10);
	skip(&at, ' ');
	mapping->name = at;
	return mapping->end > mapping->start;
}

bool maps_visit(const char *path, bool (*visit)(const struct mapping *mapping, void *argument),
		void *argument)
{
	char text[LINE_BYTES_MAX];
	size_t held = 0;
	long got;
	bool more = true;
	int fd = raw_open(path, O_RDONLY, 0);
	if (fd < 0)
		return false;
	while (more && (got = raw_read(fd, text + held, sizeof text - 1 - held)) > 0) {
		held += (size_t)got;
		text[held] = '\0';
		char *line = text, *stop;
		while (more && (stop = strchr(line, '\n'))) {
			struct mapping mapping;
			*stop = '\0';
			more = !parse(line, &mapping) || visit(&mapping, argument);
			line = stop + 1;
		}
		held -= (size_t)(line - text);
		memmove(text, line, held);
		if (held == sizeof text - 1)
			held = 0; /* no line is so long */
	}
	raw_close(fd);
	return !more || got == 0;
}
