/* What plot_map.c (collecting) and plot_map_write.c (drawing) share; nobody else includes this. */
#ifndef MTRACE_PLOT_MAP_INTERNAL_H
#define MTRACE_PLOT_MAP_INTERNAL_H

#include "analyzer/plot_map.h"

#define MAP_OWNERS_MAX 64u

/* Bytes by state: floats, since a row may be larger than 4 GiB, and a pixel does not need more. */
struct map_cell {
	float bytes[MAP_STATES];
};

struct map_row {
	uint64_t index; /* address / row_bytes */
	uint32_t owner; /* of the longest run seen in it */
	uint64_t owner_bytes;
	struct map_cell *cells; /* a column each */
};

struct plot_map {
	uint64_t start_time, end_time;
	uint32_t columns;
	uint32_t column;    /* being filled in */
	bool *filled;	    /* a column each */
	uint64_t row_bytes; /* a power of 2 */
	struct map_row rows[PLOT_MAP_ROWS];
	uint32_t row_count; /* by rising index */
	uint32_t at;	    /* where the last one was found: runs come by rising address */
	char *owners[MAP_OWNERS_MAX];
	uint32_t owner_count;
};

/* The column whose contents are to be shown in `column`: it, or the last one before it that was filled in.
 * UINT32_MAX: none. */
uint32_t plot_map_shown(const struct plot_map *map, uint32_t column);

#endif
