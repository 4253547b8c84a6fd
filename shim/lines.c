#include "shim/lines.h"

#include <string.h>

#include "shim/raw.h"

bool lines_visit(const char *path, bool (*visit)(char *line, void *argument), void *argument)
{
	char text[LINES_BYTES_MAX];
	size_t held = 0;
	long got = 0;
	bool more = true;
	int fd = raw_open(path, O_RDONLY, 0);
	if (fd < 0)
		return false;
	while (more && (got = raw_read(fd, text + held, sizeof text - 1 - held)) > 0) {
		held += (size_t)got;
		text[held] = '\0';
		char *line = text, *stop;
		while (more && (stop = strchr(line, '\n'))) {
			*stop = '\0';
			more = visit(line, argument);
			line = stop + 1;
		}
		held -= (size_t)(line - text);
		memmove(text, line, held);
		if (held == sizeof text - 1)
			held = 0;
	}
	raw_close(fd);
	return !more || got == 0;
}
