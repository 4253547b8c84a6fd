#include "analyzer/regions_output.h"

#include <stdlib.h>

#include "analyzer/command.h"
#include "analyzer/format.h"

#define ROWS_MAX 12u /* of the table; the others are summed up */

static const char *const byte_names[REGION_STATES] = {
	[REGION_RESERVED] = "reserved_bytes",
	[REGION_COMMITTED] = "committed_bytes",
	[REGION_RELEASED] = "released_bytes",
};
static const char *const peak_names[REGION_STATES] = {
	[REGION_RESERVED] = "reserved_bytes_peak",
	[REGION_COMMITTED] = "committed_bytes_peak",
	[REGION_RELEASED] = "released_bytes_peak",
};

const char *region_state_name(enum region_state state)
{
	static const char *const names[REGION_STATES] = {"reserved", "committed", "released"};
	return names[state];
}

/* ---- JSON --------------------------------------------------------------------------------------------- */

static bool was_there(const struct region_owner *owner)
{
	return owner->peak_bytes[0] || owner->peak_bytes[1] || owner->peak_bytes[2];
}

static json_t *bytes_json(const uint64_t bytes[REGION_STATES], const uint64_t peak_bytes[REGION_STATES])
{
	json_t *object = json_object();
	for (size_t i = 0; i < REGION_STATES; i++)
		json_put_count(object, byte_names[i], bytes[i]);
	for (size_t i = 0; i < REGION_STATES; i++)
		json_put_count(object, peak_names[i], peak_bytes[i]);
	return object;
}

/* Functions with the same name in different encodings would share a key; jansson wants UTF-8. */
static void put_owner(json_t *object, const struct region_owner *owner)
{
	json_t *name = json_safe_string(owner->name);
	if (name)
		json_put(object, json_string_value(name), bytes_json(owner->bytes, owner->peak_bytes));
	json_decref(name);
}

json_t *regions_owners_json(const struct regions *regions)
{
	if (!regions || !regions_known(regions))
		return NULL;
	size_t count;
	const struct region_owner *owners = regions_owners(regions, &count);
	json_t *object = json_object();
	for (size_t i = 0; i < count; i++)
		if (was_there(&owners[i]))
			put_owner(object, &owners[i]);
	return object;
}

static const char *state_of(const struct region_span *span)
{
	for (size_t i = 0; i < REGION_STATES; i++)
		if (span->bytes[i] == span->end - span->start)
			return region_state_name((enum region_state)i);
	return "mixed";
}

void regions_append_json(json_t *array, const struct regions *regions, size_t trace)
{
	size_t owner_count, count;
	struct region_span *spans;
	const struct region_owner *owners = regions_owners(regions, &owner_count);
	if (!regions_spans(regions, &spans, &count))
		count = 0;
	for (size_t i = 0; i < count; i++) {
		json_t *object = json_object();
		json_put_count(object, "trace", trace);
		json_put_count(object, "start", spans[i].start);
		json_put_count(object, "end", spans[i].end);
		json_put_string(object, "owner", owners[spans[i].owner].name);
		json_put_string(object, "state", state_of(&spans[i]));
		for (size_t s = 0; s < REGION_STATES; s++)
			json_put_count(object, byte_names[s], spans[i].bytes[s]);
		json_array_append_new(array, object);
	}
	free(spans);
}

/* ---- a table ------------------------------------------------------------------------------------------ */

static int by_committed(const void *left, const void *right)
{
	const struct region_owner *a = *(const struct region_owner *const *)left,
				  *b = *(const struct region_owner *const *)right;
	uint64_t x = a->peak_bytes[REGION_COMMITTED], y = b->peak_bytes[REGION_COMMITTED];
	return (x < y) - (x > y);
}

static void print_row(FILE *file, const char *name, const uint64_t bytes[REGION_STATES], uint64_t peak_bytes)
{
	char a[FORMAT_TEXT_BYTES], b[FORMAT_TEXT_BYTES], c[FORMAT_TEXT_BYTES], d[FORMAT_TEXT_BYTES];
	fprintf(file, "    %12s %12s %12s %12s  ", format_bytes(a, (double)bytes[REGION_COMMITTED]),
		format_bytes(b, (double)peak_bytes), format_bytes(c, (double)bytes[REGION_RELEASED]),
		format_bytes(d, (double)bytes[REGION_RESERVED]));
	print_safe(file, name);
	fputc('\n', file);
}

static void print_rest(FILE *file, const struct region_owner *const *owners, size_t first, size_t count)
{
	uint64_t bytes[REGION_STATES] = {0};
	char name[64];
	if (first >= count)
		return;
	for (size_t i = first; i < count; i++)
		for (size_t s = 0; s < REGION_STATES; s++)
			bytes[s] += owners[i]->bytes[s];
	/* Their peaks were not all at one moment: the sum would be none. */
	char a[FORMAT_TEXT_BYTES], c[FORMAT_TEXT_BYTES], d[FORMAT_TEXT_BYTES];
	snprintf(name, sizeof name, "%zu more owners", count - first);
	fprintf(file, "    %12s %12s %12s %12s  %s\n", format_bytes(a, (double)bytes[REGION_COMMITTED]), "",
		format_bytes(c, (double)bytes[REGION_RELEASED]),
		format_bytes(d, (double)bytes[REGION_RESERVED]), name);
}

void regions_print(FILE *file, const struct regions *regions)
{
	size_t all, count = 0;
	if (!regions || !regions_known(regions))
		return;
	const struct region_owner *owners = regions_owners(regions, &all);
	const struct region_owner **sorted = malloc((all + 1) * sizeof(*sorted));
	if (!sorted)
		return;
	for (size_t i = 0; i < all; i++)
		if (was_there(&owners[i]))
			sorted[count++] = &owners[i];
	qsort(sorted, count, sizeof(*sorted), by_committed);
	const struct region_totals *totals = regions_totals(regions);
	size_t shown = count > ROWS_MAX ? ROWS_MAX - 1 : count;
	fprintf(file, "  %-14s %s\n    %12s %12s %12s %12s  owner\n", "mapped", "at the end", "committed",
		"at most", "released", "reserved");
	for (size_t i = 0; i < shown; i++)
		print_row(file, sorted[i]->name, sorted[i]->bytes, sorted[i]->peak_bytes[REGION_COMMITTED]);
	print_rest(file, sorted, shown, count);
	print_row(file, "all, without mtrace", totals->bytes, totals->peak_bytes[REGION_COMMITTED]);
	free(sorted);
}
