/* Reading CSV (RFC 4180): fields in quotes, doubled quotes, line ends of either kind, a byte order mark. */
#ifndef MTRACE_CSV_H
#define MTRACE_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Zero-initialize, with `file` set; csv_free() at the end. The separator is found in the first record: a
 * comma, or a semicolon or tab where there are more of them. */
struct csv {
	FILE *file;
	uint64_t line;	       /* where the record began, from 1 */
	uint64_t offset_bytes; /* of it */
	char **fields;	       /* of the record; valid until the next csv_next() */
	size_t field_count;
	bool cut_off; /* the file ended within quotes */

	char separator;
	char *text;
	size_t text_bytes, text_capacity;
	size_t field_capacity;
	uint64_t lines_read;
	bool started;
};

/* The next record that is not empty. False at the end, and where memory is short (out_of_memory). */
bool csv_next(struct csv *csv, bool *out_of_memory);
void csv_free(struct csv *csv);

#endif
