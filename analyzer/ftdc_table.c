#include "analyzer/ftdc_table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/array.h"
#include "analyzer/escape.h"
#include "analyzer/format.h"
#include "analyzer/json.h"

#define NS_PER_MS     1000000
#define MS_PER_MINUTE 60000
#define UTC_TAIL      7u  /* "00.000Z" at the end of a time */
#define NUMBER_BYTES  21u /* a sign, 19 digits, a comma */
#define TIME_BYTES    96u /* of a row before its values, and its end */

/* And a minute before. */
static bool has_text(int64_t time_ms)
{
	return time_ms > INT64_MIN / NS_PER_MS + MS_PER_MINUTE && time_ms < INT64_MAX / NS_PER_MS;
}

const char *ftdc_utc(char *text, int64_t time_ms)
{
	*text = '\0';
	if (has_text(time_ms))
		format_utc(text, time_ms * NS_PER_MS);
	return text;
}

/* "00" to "99". */
static const char pairs[] =
	"00010203040506070809101112131415161718192021222324252627282930313233343536373839404142434445464748"
	"49505152535455565758596061626364656667686970717273747576777879808182838485868788899091929394959697"
	"9899";

/* Most of the work of an export: printf takes five times as long. Returns the end of what it wrote. */
static char *put_number(char *to, int64_t value)
{
	char digits[NUMBER_BYTES], *at = digits + sizeof digits;
	uint64_t rest = value < 0 ? -(uint64_t)value : (uint64_t)value;
	for (; rest >= 100; rest /= 100)
		memcpy(at -= 2, &pairs[2 * (rest % 100)], 2);
	if (rest >= 10)
		memcpy(at -= 2, &pairs[2 * rest], 2);
	else
		*--at = (char)('0' + rest);
	if (value < 0)
		*--at = '-';
	size_t length = (size_t)(digits + sizeof digits - at);
	memcpy(to, at, length);
	return to + length;
}

/* ---- cells --------------------------------------------------------------------------------------------- */

static bool clear_cells(struct ftdc_table *table)
{
	size_t count = table->names->count;
	if (!array_reserve(&table->cells, &table->cells_capacity, count, sizeof *table->cells))
		return false;
	if (count)
		memset(table->cells, 0, count * sizeof *table->cells);
	return true;
}

static void fill_cells(struct ftdc_table *table, const struct ftdc_chunk *chunk)
{
	for (size_t i = 0; i < chunk->column_count; i++) {
		size_t name = ftdc_names_find(table->names, chunk->columns[i].name);
		if (name != FTDC_NO_NAME)
			table->cells[name] = chunk->columns[i].values;
	}
}

void ftdc_table_free(struct ftdc_table *table)
{
	for (size_t i = 0; i < table->keys_count; i++)
		free(table->keys[i]);
	free(table->keys);
	free(table->cells);
	free(table->row);
	*table = (struct ftdc_table){0};
}

/* ---- csv ----------------------------------------------------------------------------------------------- */

void ftdc_csv_head(FILE *file, const struct ftdc_names *names)
{
	fputs("time_utc,unix_ms", file);
	for (size_t i = 0; i < names->count; i++) {
		fputc(',', file);
		escape_csv(file, names->items[i]);
	}
	fputc('\n', file);
}

/* Over the "00.000" at `to`. */
static void put_seconds(char *to, unsigned in_minute_ms)
{
	to[0] = (char)('0' + in_minute_ms / 10000);
	to[1] = (char)('0' + in_minute_ms / 1000 % 10);
	to[3] = (char)('0' + in_minute_ms / 100 % 10);
	to[4] = (char)('0' + in_minute_ms / 10 % 10);
	to[5] = (char)('0' + in_minute_ms % 10);
}

/* The date and the minute are those of the row before, mostly. */
static char *put_utc(char *to, struct ftdc_table *table, int64_t time_ms)
{
	if (!has_text(time_ms))
		return to;
	const unsigned in_minute = (unsigned)((time_ms % MS_PER_MINUTE + MS_PER_MINUTE) % MS_PER_MINUTE);
	if (time_ms - in_minute != table->minute_ms || !table->minute[0]) {
		table->minute_ms = time_ms - in_minute;
		ftdc_utc(table->minute, table->minute_ms);
	}
	const size_t length = strlen(table->minute);
	memcpy(to, table->minute, length);
	if (length >= UTC_TAIL)
		put_seconds(to + length - UTC_TAIL, in_minute);
	return to + length;
}

static char *put_csv_row(char *to, struct ftdc_table *table, size_t sample, int64_t time_ms)
{
	to = put_utc(to, table, time_ms);
	*to++ = ',';
	to = put_number(to, time_ms);
	for (size_t i = 0; i < table->names->count; i++) {
		*to++ = ',';
		if (table->cells[i])
			to = put_number(to, table->cells[i][sample]);
	}
	*to++ = '\n';
	return to;
}

bool ftdc_csv(FILE *file, struct ftdc_table *table, const struct ftdc_chunk *chunk)
{
	size_t row_bytes = TIME_BYTES + table->names->count * NUMBER_BYTES;
	if (!clear_cells(table) || !array_reserve(&table->row, &table->row_capacity, row_bytes, 1))
		return false;
	fill_cells(table, chunk);
	for (size_t sample = 0; sample < chunk->samples; sample++) {
		const char *end = put_csv_row(table->row, table, sample, chunk->time_ms[sample]);
		fwrite_unlocked(table->row, 1, (size_t)(end - table->row), file);
	}
	return true;
}

/* ---- ndjson -------------------------------------------------------------------------------------------- */

static char *json_key(const char *name)
{
	json_t *string = json_safe_string(name);
	char *text = string ? json_dumps(string, JSON_ENCODE_ANY) : NULL, *key = NULL;
	json_decref(string);
	if (text && asprintf(&key, "%s:", text) < 0)
		key = NULL;
	free(text);
	return key;
}

static bool add_names(struct ftdc_table *table, const struct ftdc_chunk *chunk)
{
	bool memory = true;
	for (size_t i = 0; i < chunk->column_count; i++)
		ftdc_names_add(table->names, chunk->columns[i].name, &memory);
	size_t count = table->names->count;
	if (!memory || !array_reserve(&table->keys, &table->keys_capacity, count, sizeof *table->keys))
		return false;
	for (; table->keys_count < count; table->keys_count++) {
		char *key = json_key(table->names->items[table->keys_count]);
		if (!key)
			return false;
		table->keys[table->keys_count] = key;
	}
	return true;
}

static void put_time(FILE *file, int64_t time_ms)
{
	char utc[FORMAT_TEXT_BYTES];
	if (*ftdc_utc(utc, time_ms))
		fprintf(file, "{\"time_utc\":\"%s\",\"unix_ms\":%" PRId64 ",\"values\":{", utc, time_ms);
	else
		fprintf(file, "{\"time_utc\":null,\"unix_ms\":%" PRId64 ",\"values\":{", time_ms);
}

bool ftdc_ndjson(FILE *file, struct ftdc_table *table, const struct ftdc_chunk *chunk)
{
	char number[NUMBER_BYTES];
	if (!add_names(table, chunk) || !clear_cells(table))
		return false;
	fill_cells(table, chunk);
	for (size_t sample = 0; sample < chunk->samples; sample++) {
		bool first = true;
		put_time(file, chunk->time_ms[sample]);
		for (size_t i = 0; i < table->names->count; i++) {
			if (!table->cells[i])
				continue;
			if (!first)
				putc_unlocked(',', file);
			first = false;
			fputs_unlocked(table->keys[i], file);
			const char *end = put_number(number, table->cells[i][sample]);
			fwrite_unlocked(number, 1, (size_t)(end - number), file);
		}
		fputs("}}\n", file);
	}
	return true;
}
