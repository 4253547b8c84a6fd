/*
 * The map of memory: address space against time, coloured by what it is backed with.
 *
 * The address space is cut into rows of equal size. Only rows in which memory was resident, or had been given
 * back, at some moment are kept, packed together; what lies between them is left out. Once there are more
 * than PLOT_MAP_ROWS, rows twice as large take over. So the picture holds at most PLOT_MAP_ROWS rows of
 * PLOT_MAP_COLUMNS moments, whatever the process or the length of the trace.
 *
 *     plot_map_create();
 *     at each moment that plot_map_due(): plot_map_begin(); plot_map_add() by rising address, ...
 *     plot_map_write(); plot_map_free();
 */
#ifndef MTRACE_PLOT_MAP_H
#define MTRACE_PLOT_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "analyzer/error.h"
#include "analyzer/pages.h"
#include "analyzer/regions.h"

#define PLOT_MAP_ROWS	 800u
#define PLOT_MAP_COLUMNS 400u

/* What is none of these is not resident. */
enum map_state { MAP_HUGE, MAP_SMALL, MAP_RELEASED, MAP_STATES };

struct plot_map;

/*
 * From `start_time` to `end_time`, in time units, in at most PLOT_MAP_COLUMNS columns, none shorter than
 * `shortest` (the usual distance of two moments). NULL when out of memory.
 */
struct plot_map *plot_map_create(uint64_t start_time, uint64_t end_time, uint64_t shortest);
void plot_map_free(struct plot_map *map); /* NULL is fine */

/* True where the column of `time` has not been filled in yet. */
bool plot_map_due(const struct plot_map *map, uint64_t time);

/* What plot_map_add() tells from now on is as of `time`, which is later than that of the call before. */
void plot_map_begin(struct plot_map *map, uint64_t time);

/* [start, end), of which nothing was told in this column yet. `owner` is copied. False when out of memory. */
bool plot_map_add(struct plot_map *map, uint64_t start, uint64_t end, enum map_state state,
		  const char *owner);

/* A moment from the picture of the pages, where one is due. False when out of memory. */
bool plot_map_take(struct plot_map *map, uint64_t time, const struct regions *regions,
		   const struct pages *pages);

/* False: nothing was ever resident. Only useful maps may be written. */
bool plot_map_useful(const struct plot_map *map);

/* Bytes of a row now; bytes of a state in the row around `address` at `time`, 0 where there is no such row:
 * for tests. */
uint64_t plot_map_row_bytes(const struct plot_map *map);
size_t plot_map_rows(const struct plot_map *map);
uint64_t plot_map_bytes(const struct plot_map *map, uint64_t address, uint64_t time, enum map_state state);

/* The whole script, which draws <name>.png and <name>.svg; both times in seconds since the start of the
 * trace, or of the report. */
void plot_map_write(FILE *script, const char *name, const char *title, const struct plot_map *map,
		    double start_s, double end_s);

/* False with ERROR_USAGE set: the name of `path` ends with neither .png nor .svg. */
bool plot_map_path(const char *path, struct error *error);

/*
 * Draws into `path`, whose name ends with .png or .svg, through a folder of its own below TMPDIR (or /tmp).
 * False with `error` set: another ending or nothing to draw (ERROR_USAGE), no gnuplot, or a file that cannot
 * be written.
 */
bool plot_map_draw(const char *path, const char *title, const struct plot_map *map, double start_s,
		   double end_s, struct error *error);

#endif
