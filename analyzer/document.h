/*
 * Text with headings, lists and tables, for a terminal or as Markdown. What comes from outside is made
 * harmless in both: control characters and bytes that are not UTF-8 become '?', and Markdown's own marks are
 * escaped.
 */
#ifndef MTRACE_DOCUMENT_H
#define MTRACE_DOCUMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct document {
	FILE *file;
	bool markdown;
};

__attribute__((format(printf, 2, 3))) void document_heading(const struct document *document,
							    const char *format, ...);
/* A paragraph; on a terminal wrapped at 110 columns. */
__attribute__((format(printf, 2, 3))) void document_text(const struct document *document, const char *format,
							 ...);
/* An item of a list, wrapped likewise. */
__attribute__((format(printf, 2, 3))) void document_item(const struct document *document, const char *format,
							 ...);

#define TABLE_COLUMNS_MAX 16

/* Zero-initialize. Columns first, then cells from left to right, row by row. */
struct table {
	char *titles[TABLE_COLUMNS_MAX];
	bool right[TABLE_COLUMNS_MAX]; /* figures */
	size_t columns;
	char **cells;
	size_t count, capacity;
	bool out_of_memory; /* the table prints nothing then */
};

void table_column(struct table *table, const char *title, bool right);
__attribute__((format(printf, 2, 3))) void table_cell(struct table *table, const char *format, ...);

/* Prints and frees it. Columns that are empty in all rows are left out. False where memory was short. */
bool table_print(struct table *table, const struct document *document);

#endif
