#include "analyzer/plot_map.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/plot_map_internal.h"

#define FIRST_ROW_BYTES 4096u

/* ---- columns ------------------------------------------------------------------------------------------- */

static uint32_t columns_for(uint64_t length, uint64_t shortest)
{
	uint64_t columns = shortest ? length / shortest : PLOT_MAP_COLUMNS;
	return columns < 1 ? 1 : columns > PLOT_MAP_COLUMNS ? PLOT_MAP_COLUMNS : (uint32_t)columns;
}

static uint32_t column_of(const struct plot_map *map, uint64_t time)
{
	if (time <= map->start_time)
		return 0;
	double part = (double)(time - map->start_time) / (double)(map->end_time - map->start_time);
	return part >= 1 ? map->columns - 1 : (uint32_t)(part * map->columns);
}

uint32_t plot_map_shown(const struct plot_map *map, uint32_t column)
{
	while (column != UINT32_MAX && !map->filled[column])
		column--;
	return column;
}

struct plot_map *plot_map_create(uint64_t start_time, uint64_t end_time, uint64_t shortest)
{
	struct plot_map *map = calloc(1, sizeof *map);
	if (!map)
		return NULL;
	map->start_time = start_time;
	map->end_time = end_time > start_time ? end_time : start_time + 1;
	map->columns = columns_for(map->end_time - start_time, shortest);
	map->row_bytes = FIRST_ROW_BYTES;
	map->filled = calloc(map->columns, sizeof *map->filled);
	if (!map->filled) {
		plot_map_free(map);
		return NULL;
	}
	return map;
}

void plot_map_free(struct plot_map *map)
{
	if (!map)
		return;
	for (uint32_t i = 0; i < map->row_count; i++)
		free(map->rows[i].cells);
	for (uint32_t i = 0; i < map->owner_count; i++)
		free(map->owners[i]);
	free(map->filled);
	free(map);
}

bool plot_map_due(const struct plot_map *map, uint64_t time)
{
	return !map->filled[column_of(map, time)];
}

void plot_map_begin(struct plot_map *map, uint64_t time)
{
	map->column = column_of(map, time);
	map->filled[map->column] = true;
	map->at = 0;
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

static void row_join(const struct plot_map *map, struct map_row *into, const struct map_row *from)
{
	for (uint32_t i = 0; i < map->columns; i++)
		for (unsigned state = 0; state < MAP_STATES; state++)
			into->cells[i].bytes[state] += from->cells[i].bytes[state];
	if (from->owner_bytes > into->owner_bytes) {
		into->owner = from->owner;
		into->owner_bytes = from->owner_bytes;
	}
	free(from->cells);
}

static void rows_double(struct plot_map *map)
{
	uint32_t kept = 0;
	map->row_bytes *= 2;
	for (uint32_t i = 0; i < map->row_count; i++) {
		struct map_row row = map->rows[i];
		row.index /= 2;
		if (kept && map->rows[kept - 1].index == row.index)
			row_join(map, &map->rows[kept - 1], &row);
		else
			map->rows[kept++] = row;
	}
	map->row_count = kept;
	map->at = 0;
}

/* The first row that is not below `index`. */
static uint32_t row_find(struct plot_map *map, uint64_t index)
{
	uint32_t low = map->at, high = map->row_count;
	if (low < high && map->rows[low].index > index)
		low = 0;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (map->rows[middle].index < index)
			low = middle + 1;
		else
			high = middle;
	}
	map->at = low;
	return low;
}

/* The row of `index`, new where it was not there; NULL when out of memory. There is room. */
static struct map_row *row_place(struct plot_map *map, uint64_t index)
{
	uint32_t at = row_find(map, index);
	if (at < map->row_count && map->rows[at].index == index)
		return &map->rows[at];
	struct map_cell *cells = calloc(map->columns, sizeof *cells);
	if (!cells)
		return NULL;
	memmove(&map->rows[at + 1], &map->rows[at], (map->row_count - at) * sizeof *map->rows);
	map->rows[at] = (struct map_row){.index = index, .cells = cells};
	map->row_count++;
	return &map->rows[at];
}

static uint32_t owner_index(struct plot_map *map, const char *name)
{
	uint32_t i = 0;
	while (i < map->owner_count && strcmp(map->owners[i], name) != 0)
		i++;
	if (i == map->owner_count && i < MAP_OWNERS_MAX) {
		map->owners[i] = strdup(name);
		map->owner_count += map->owners[i] != NULL;
	}
	return i; /* beyond the last one: has no name here */
}

static void row_add(struct map_row *row, uint32_t column, uint64_t bytes, enum map_state state,
		    uint32_t owner)
{
	row->cells[column].bytes[state] += (float)bytes;
	if (bytes > row->owner_bytes) {
		row->owner = owner;
		row->owner_bytes = bytes;
	}
}

bool plot_map_add(struct plot_map *map, uint64_t start, uint64_t end, enum map_state state, const char *owner)
{
	uint32_t owner_at = owner_index(map, owner);
	while ((end - start) / map->row_bytes >= PLOT_MAP_ROWS)
		rows_double(map);
	while (start < end) {
		uint64_t index = start / map->row_bytes;
		uint32_t at = row_find(map, index);
		if ((at == map->row_count || map->rows[at].index != index) &&
		    map->row_count == PLOT_MAP_ROWS) {
			rows_double(map);
			continue;
		}
		struct map_row *row = row_place(map, index);
		if (!row)
			return false;
		uint64_t left = map->row_bytes - start % map->row_bytes;
		uint64_t bytes = left < end - start ? left : end - start;
		row_add(row, map->column, bytes, state, owner_at);
		start += bytes;
	}
	return true;
}

/* ---- answers ------------------------------------------------------------------------------------------- */

bool plot_map_useful(const struct plot_map *map)
{
	return map->row_count > 0;
}

uint64_t plot_map_row_bytes(const struct plot_map *map)
{
	return map->row_bytes;
}

size_t plot_map_rows(const struct plot_map *map)
{
	return map->row_count;
}

uint64_t plot_map_bytes(const struct plot_map *map, uint64_t address, uint64_t time, enum map_state state)
{
	uint32_t column = plot_map_shown(map, column_of(map, time));
	for (uint32_t i = 0; i < map->row_count && column != UINT32_MAX; i++)
		if (map->rows[i].index == address / map->row_bytes)
			return (uint64_t)map->rows[i].cells[column].bytes[state];
	return 0;
}
