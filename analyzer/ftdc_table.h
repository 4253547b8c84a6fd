/*
 * Samples as rows: csv and ndjson. Numbers are those of ftdc.h; a metric that a sample does not have is an
 * empty field in csv and missing in ndjson.
 *
 *   csv     time_utc,unix_ms,NAME,...   one header line with the names of all schemas
 *   ndjson  {"time_utc":"...","unix_ms":N,"values":{"NAME":N,...}}
 */
#ifndef MTRACE_FTDC_TABLE_H
#define MTRACE_FTDC_TABLE_H

#include <stdio.h>

#include "analyzer/ftdc.h"
#include "analyzer/ftdc_names.h"

/* Zero-initialize, but for `names`, which stays the caller's. */
struct ftdc_table {
	struct ftdc_names *names;
	const int64_t **cells; /* by name: the values of the chunk, NULL where it has none */
	size_t cells_capacity;
	char *row; /* of csv, while it is made */
	size_t row_capacity;
	int64_t minute_ms; /* of the last row; meaningful with the next one */
	char minute[48];   /* as text; empty: none yet, or no clock can have had it */
	char **keys;	   /* by name: as a JSON string and a colon */
	size_t keys_count, keys_capacity;
};

void ftdc_csv_head(FILE *file, const struct ftdc_names *names);

/* A row a sample, of the columns in table->names; other ones are left out. False when out of memory. */
bool ftdc_csv(FILE *file, struct ftdc_table *table, const struct ftdc_chunk *chunk);

/* A line a sample, of all columns; table->names grows. False when out of memory. */
bool ftdc_ndjson(FILE *file, struct ftdc_table *table, const struct ftdc_chunk *chunk);

void ftdc_table_free(struct ftdc_table *table);

/* "2024-05-31T12:00:00.123Z" into `text` of FORMAT_TEXT_BYTES; empty for times that no clock can have had. */
const char *ftdc_utc(char *text, int64_t time_ms);

#endif
