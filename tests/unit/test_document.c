/* Text and Markdown, and the CSV that is read: what is special in them is made harmless, or understood. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/csv.h"
#include "analyzer/document.h"

/* ---- documents --------------------------------------------------------------------------------------- */

static char *written;
static size_t written_bytes;

static struct document start(bool markdown)
{
	free(written);
	written = NULL;
	return (struct document){open_memstream(&written, &written_bytes), markdown};
}

static void is(const struct document *document, const char *wanted)
{
	fclose(document->file);
	cr_assert_str_eq(written, wanted);
}

static bool small_table(const struct document *document)
{
	struct table table = {0};
	table_column(&table, "name", false);
	table_column(&table, "nothing", false);
	table_column(&table, "n", true);
	table_cell(&table, "a|b");
	table_cell(&table, "%s", "");
	table_cell(&table, "%d", 7);
	table_cell(&table, "\xc3\xa9t\xc3\xa9");
	table_cell(&table, "%s", "");
	table_cell(&table, "%d", 1234);
	return table_print(&table, document);
}

Test(document, columns_are_as_wide_as_their_widest_cell)
{
	struct document document = start(false);
	cr_assert(small_table(&document));
	is(&document, "name     n\na|b      7\n\xc3\xa9t\xc3\xa9   1234\n");
}

Test(document, markdown_escapes_what_it_would_read)
{
	struct document document = start(true);
	cr_assert(small_table(&document));
	is(&document,
	   "| name |    n |\n| --- | ---: |\n| a\\|b  |    7 |\n| \xc3\xa9t\xc3\xa9  | 1234 |\n\n");
	document = start(true);
	document_item(&document, "%s", "x_y *z* <b> `c`");
	is(&document, "- x\\_y \\*z\\* \\<b> \\`c\\`\n");
}

Test(document, what_could_drive_a_terminal_does_not)
{
	struct document document = start(false);
	document_text(&document, "%s", "a\x1b[31m\x7f\xc2\x9b\xff");
	is(&document, "a?[31m????\n");
}

Test(document, long_text_is_wrapped_behind_its_indent)
{
	struct document document = start(false);
	char word[61];
	memset(word, 'w', 60);
	word[60] = 0;
	document_item(&document, "%s %s", word, word);
	char wanted[200];
	snprintf(wanted, sizeof wanted, "  %s\n  %s\n", word, word);
	is(&document, wanted);
}

/* ---- CSV --------------------------------------------------------------------------------------------- */

static struct csv csv;

static void open_csv(const char *text, size_t bytes)
{
	static char copy[512];
	cr_assert(bytes > 0 && bytes < sizeof copy);
	memcpy(copy, text, bytes);
	csv = (struct csv){.file = fmemopen(copy, bytes, "r")};
	cr_assert_not_null(csv.file);
}

static void next(size_t count, const char *const *fields)
{
	bool out_of_memory;
	cr_assert(csv_next(&csv, &out_of_memory));
	cr_assert_eq(csv.field_count, count, "%zu fields", csv.field_count);
	for (size_t i = 0; i < count; i++)
		cr_assert_str_eq(csv.fields[i], fields[i]);
}

Test(csv, quotes_separators_and_line_ends)
{
	const char *text = "\xef\xbb\xbf"
			   "a,\"b,c\",\"d\"\"e\"\r\n\r\n\"two\nlines\",,x\nlast";
	bool out_of_memory;
	open_csv(text, strlen(text));
	next(3, (const char *const[]){"a", "b,c", "d\"e"});
	cr_assert_eq(csv.line, 1);
	next(3, (const char *const[]){"two\nlines", "", "x"});
	cr_assert_eq(csv.line, 3);
	next(1, (const char *const[]){"last"});
	cr_assert_eq(csv.line, 5);
	cr_assert_not(csv_next(&csv, &out_of_memory));
	cr_assert_not(out_of_memory || csv.cut_off);
	csv_free(&csv);
}

Test(csv, separator_is_the_most_frequent_in_the_first_line)
{
	open_csv("a;b,c;d\n", 8);
	next(3, (const char *const[]){"a", "b,c", "d"});
	csv_free(&csv);
	open_csv("a\tb,c\td\n", 8);
	next(3, (const char *const[]){"a", "b,c", "d"});
	csv_free(&csv);
}

Test(csv, an_end_within_quotes_is_told)
{
	bool out_of_memory;
	open_csv("a,\"b\nc", 6);
	next(2, (const char *const[]){"a", "b\nc"});
	cr_assert(csv.cut_off);
	cr_assert_not(csv_next(&csv, &out_of_memory));
	csv_free(&csv);
}
