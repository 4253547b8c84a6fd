#include "analyzer/csv.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/array.h"

static bool put(struct csv *csv, char c)
{
	if (!array_reserve(&csv->text, &csv->text_capacity, csv->text_bytes + 1, 1))
		return false;
	csv->text[csv->text_bytes++] = c;
	return true;
}

/* One record's bytes into text, without its line end; quotes stay. False at the end of the file. */
static bool read_record(struct csv *csv, bool *out_of_memory)
{
	bool quoted = false, any = false;
	csv->text_bytes = 0;
	csv->line = csv->lines_read + 1;
	csv->offset_bytes = (uint64_t)ftello(csv->file);
	for (int c; (c = getc(csv->file)) != EOF;) {
		any = true;
		csv->lines_read += c == '\n';
		if (c == '\n' && !quoted)
			break;
		quoted ^= c == '"';
		if (!put(csv, (char)c)) {
			*out_of_memory = true;
			return false;
		}
	}
	csv->cut_off |= quoted;
	while (!quoted && csv->text_bytes > 0 && csv->text[csv->text_bytes - 1] == '\r')
		csv->text_bytes--;
	if (!put(csv, 0)) {
		*out_of_memory = true;
		return false;
	}
	return any;
}

static size_t count_of(const char *text, char c)
{
	size_t count = 0;
	for (; *text; text++)
		count += *text == c;
	return count;
}

static void start(struct csv *csv)
{
	csv->started = true;
	if (strncmp(csv->text, "\xef\xbb\xbf", 3) == 0)
		memmove(csv->text, csv->text + 3, csv->text_bytes - 3);
	size_t commas = count_of(csv->text, ','), semicolons = count_of(csv->text, ';');
	size_t tabs = count_of(csv->text, '\t');
	csv->separator = semicolons > commas && semicolons >= tabs ? ';' : tabs > commas ? '\t' : ',';
}

/* Takes the quotes off one field in place, and returns where the next one begins; NULL behind the last. */
static char *split_field(char *at, char separator)
{
	char *out = at;
	bool quoted = false;
	for (; *at && (quoted || *at != separator); at++) {
		if (*at != '"')
			*out++ = *at;
		else if (quoted && at[1] == '"')
			*out++ = *++at;
		else
			quoted = !quoted;
	}
	char *next = *at ? at + 1 : NULL;
	*out = 0;
	return next;
}

static bool split(struct csv *csv)
{
	csv->field_count = 0;
	for (char *at = csv->text; at;) {
		if (!array_reserve(&csv->fields, &csv->field_capacity, csv->field_count + 1,
				   sizeof *csv->fields))
			return false;
		csv->fields[csv->field_count++] = at;
		at = split_field(at, csv->separator);
	}
	return true;
}

bool csv_next(struct csv *csv, bool *out_of_memory)
{
	*out_of_memory = false;
	do {
		if (!read_record(csv, out_of_memory))
			return false;
	} while (csv->text[0] == 0);
	if (!csv->started)
		start(csv);
	*out_of_memory = !split(csv);
	return !*out_of_memory;
}

void csv_free(struct csv *csv)
{
	free(csv->fields);
	free(csv->text);
	csv->fields = NULL;
	csv->text = NULL;
}
