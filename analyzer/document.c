#include "analyzer/document.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/array.h"
#include "analyzer/utf8.h"

#define WIDTH	   110
#define TEXT_BYTES 4096

/* ---- harmless text ----------------------------------------------------------------------------------- */

static size_t width_of(const char *text)
{
	size_t width = 0;
	for (; *text; text++)
		width += ((unsigned char)*text & 0xc0) != 0x80;
	return width;
}

static void make_safe(char *text)
{
	utf8_repair(text);
	for (; *text; text++) {
		unsigned char first = (unsigned char)text[0], second = (unsigned char)text[1];
		if (first < 0x20 || first == 0x7f)
			*text = '?';
		if (first == 0xc2 && second < 0xa0) /* U+0080 to U+009F: controls, too */
			text[0] = text[1] = '?';
	}
}

static void put(const struct document *document, const char *text)
{
	for (; *text; text++) {
		if (document->markdown && strchr("\\|*_<`", *text))
			fputc('\\', document->file);
		fputc(*text, document->file);
	}
}

/* Words of `text`, the first line behind `first`, further ones behind as many blanks. */
static void put_wrapped(const struct document *document, const char *first, const char *text)
{
	size_t indent = strlen(first), column = indent;
	char word[TEXT_BYTES];
	fputs(first, document->file);
	while (*(text += strspn(text, " "))) {
		size_t length = strcspn(text, " ");
		snprintf(word, sizeof word, "%.*s", (int)length, text);
		if (column > indent && column + 1 + width_of(word) > WIDTH && !document->markdown) {
			fprintf(document->file, "\n%*s", (int)indent, "");
			column = indent;
		} else if (column > indent) {
			fputc(' ', document->file);
			column++;
		}
		put(document, word);
		column += width_of(word);
		text += length;
	}
	fputc('\n', document->file);
}

#define FORMATTED(text, format)                                                                              \
	char text[TEXT_BYTES];                                                                               \
	va_list arguments;                                                                                   \
	va_start(arguments, format);                                                                         \
	vsnprintf(text, sizeof text, format, arguments);                                                     \
	va_end(arguments);                                                                                   \
	make_safe(text)

void document_heading(const struct document *document, const char *format, ...)
{
	FORMATTED(text, format);
	fputs(document->markdown ? "\n## " : "\n", document->file);
	put(document, text);
	fputs("\n\n", document->file);
}

void document_text(const struct document *document, const char *format, ...)
{
	FORMATTED(text, format);
	put_wrapped(document, "", text);
	if (document->markdown)
		fputc('\n', document->file);
}

void document_item(const struct document *document, const char *format, ...)
{
	FORMATTED(text, format);
	put_wrapped(document, document->markdown ? "- " : "  ", text);
}

/* ---- tables ------------------------------------------------------------------------------------------ */

void table_column(struct table *table, const char *title, bool right)
{
	if (table->columns == TABLE_COLUMNS_MAX)
		return;
	char *copy = strdup(title);
	table->out_of_memory |= !copy;
	if (copy)
		make_safe(copy);
	table->right[table->columns] = right;
	table->titles[table->columns++] = copy;
}

void table_cell(struct table *table, const char *format, ...)
{
	FORMATTED(text, format);
	char *copy = strdup(text);
	if (!copy ||
	    !array_reserve(&table->cells, &table->capacity, table->count + 1, sizeof *table->cells)) {
		free(copy);
		table->out_of_memory = true;
		return;
	}
	table->cells[table->count++] = copy;
}

static bool is_empty(const struct table *table, size_t column)
{
	for (size_t i = column; i < table->count; i += table->columns)
		if (table->cells[i][0])
			return false;
	return true;
}

static size_t widest(const struct table *table, size_t column)
{
	size_t width = width_of(table->titles[column]);
	for (size_t i = column; i < table->count; i += table->columns)
		width = width_of(table->cells[i]) > width ? width_of(table->cells[i]) : width;
	return width;
}

static void put_row(const struct table *table, const struct document *document, char *const *cells)
{
	bool first = true;
	for (size_t c = 0; c < table->columns; c++) {
		if (is_empty(table, c))
			continue;
		int room = (int)widest(table, c) - (int)width_of(cells[c]);
		fputs(document->markdown ? (first ? "| " : " | ") : (first ? "" : "  "), document->file);
		if (table->right[c])
			fprintf(document->file, "%*s", room, "");
		put(document, cells[c]);
		if (!table->right[c] && (document->markdown || c + 1 < table->columns))
			fprintf(document->file, "%*s", room, "");
		first = false;
	}
	fputs(document->markdown ? " |\n" : "\n", document->file);
}

static void put_ruler(const struct table *table, const struct document *document)
{
	if (!document->markdown)
		return;
	for (size_t c = 0; c < table->columns; c++)
		if (!is_empty(table, c))
			fputs(table->right[c] ? "| ---: " : "| --- ", document->file);
	fputs("|\n", document->file);
}

bool table_print(struct table *table, const struct document *document)
{
	bool fine = !table->out_of_memory;
	if (fine && table->columns > 0) {
		put_row(table, document, table->titles);
		put_ruler(table, document);
		for (size_t i = 0; i + table->columns <= table->count; i += table->columns)
			put_row(table, document, &table->cells[i]);
		if (document->markdown)
			fputc('\n', document->file);
	}
	for (size_t c = 0; c < table->columns; c++)
		free(table->titles[c]);
	for (size_t i = 0; i < table->count; i++)
		free(table->cells[i]);
	free(table->cells);
	*table = (struct table){0};
	return fine;
}
