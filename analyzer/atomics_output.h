/* The census for people and for machines (docs/JSON.md). */
#ifndef MTRACE_ATOMICS_OUTPUT_H
#define MTRACE_ATOMICS_OUTPUT_H

#include <stdio.h>

#include "analyzer/atomics_files.h"
#include "analyzer/json.h"

struct atomics_view {
	size_t top; /* functions a file; 0: all */
	bool functions;
	bool instructions;
};

/* NULL when out of memory. Owned by the caller. */
json_t *atomics_json(const struct atomics_files *files, const struct atomics_view *view);

void atomics_print(FILE *file, const struct atomics_files *files, const struct atomics_view *view);

/* The functions of a census in the order of their counts, the most first. NULL when out of memory; free(). */
const struct atomics_place **atomics_by_count(const struct atomics_census *census);

/* A name as people know it: C++ names demangled. Owned by the caller; NULL where there is none. */
char *atomics_readable(const char *name);

#endif
