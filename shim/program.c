#include "shim/program.h"

#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

#include "shim/maps.h"
#include "shim/raw.h"

struct search {
	unsigned long
		headers; /* address of the program headers; glibc sets it right under an explicit loader */
	char *path;
	size_t bytes;
};

static bool look(const struct mapping *mapping, void *argument)
{
	const struct search *search = argument;
	if (search->headers < mapping->start || search->headers >= mapping->end)
		return true;
	if (mapping->name[0] == '/')
		snprintf(search->path, search->bytes, "%s", mapping->name);
	return false;
}

void program_path(char *path, size_t bytes)
{
	struct search search = {getauxval(AT_PHDR), path, bytes};
	path[0] = '\0';
	if (search.headers && maps_visit(MAPS_SELF, look, &search) && path[0])
		return;
	long length = raw4(SYS_readlinkat, AT_FDCWD, (long)"/proc/self/exe", (long)path, (long)bytes - 1);
	path[length > 0 ? length : 0] = '\0';
}
