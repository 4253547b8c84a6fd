/* Regions for machines and for people. */
#ifndef MTRACE_REGIONS_OUTPUT_H
#define MTRACE_REGIONS_OUTPUT_H

#include <stdio.h>

#include "analyzer/json.h"
#include "analyzer/regions.h"

/* "reserved", "committed", "released". */
const char *region_state_name(enum region_state state);

/* An object by owner: bytes in each state now and at most. NULL where nothing is known. */
json_t *regions_owners_json(const struct regions *regions);

/* Appends an object for each span to `array`; `trace` counts from 1. */
void regions_append_json(json_t *array, const struct regions *regions, size_t trace);

/* A table of the owners, largest first; nothing where nothing is known. */
void regions_print(FILE *file, const struct regions *regions);

#endif
