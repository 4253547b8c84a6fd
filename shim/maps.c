#include "shim/maps.h"

#include <string.h>

#include "shim/lines.h"
#include "shim/raw.h"
#include "shim/text.h"

static void skip(const char **at, char c)
{
	while (**at == c)
		(*at)++;
}

bool maps_parse(const char *line, struct mapping *mapping)
{
	const char *at = line;
	mapping->start = text_number(&at, 16);
	skip(&at, '-');
	mapping->end = text_number(&at, 16);
	skip(&at, ' ');
	if (strnlen(at, 5) < 5)
		return false;
	mapping->prot = (at[0] == 'r' ? PROT_READ : 0) | (at[1] == 'w' ? PROT_WRITE : 0) |
			(at[2] == 'x' ? PROT_EXEC : 0);
	mapping->shared = at[3] == 's';
	at += 5;
	mapping->offset = text_number(&at, 16);
	skip(&at, ' ');
	mapping->device = text_number(&at, 16) << 32;
	skip(&at, ':');
	mapping->device |= text_number(&at, 16);
	skip(&at, ' ');
	mapping->inode = text_number(&at, 10);
	skip(&at, ' ');
	mapping->name = at;
	return mapping->end > mapping->start;
}

struct visitor {
	bool (*visit)(const struct mapping *mapping, void *argument);
	void *argument;
};

static bool visit_line(char *line, void *argument)
{
	const struct visitor *visitor = argument;
	struct mapping mapping;
	return !maps_parse(line, &mapping) || visitor->visit(&mapping, visitor->argument);
}

bool maps_visit(const char *path, bool (*visit)(const struct mapping *mapping, void *argument),
		void *argument)
{
	return lines_visit(path, visit_line, &(struct visitor){visit, argument});
}
