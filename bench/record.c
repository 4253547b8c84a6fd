#include "bench/record.h"

#include <stdlib.h>
#include <string.h>

enum { HEADER_BYTES = 8, FIELD_HEADER_BYTES = 8 };

static const char no_memory[] = "out of memory";

static void put32(char *at, uint32_t value)
{
	unsigned char bytes[4] = {(unsigned char)value, (unsigned char)(value >> 8),
				  (unsigned char)(value >> 16), (unsigned char)(value >> 24)};

	memcpy(at, bytes, 4);
}

static uint32_t get32(const char *at)
{
	unsigned char bytes[4];

	memcpy(bytes, at, 4);
	return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

/* ---- writing ---- */

size_t record_stored_bytes(const struct field_view *fields, uint32_t count)
{
	size_t bytes = HEADER_BYTES;

	for (uint32_t i = 0; i < count; i++)
		bytes += (size_t)FIELD_HEADER_BYTES + fields[i].name_bytes + fields[i].value_bytes;
	return bytes;
}

static char *put_field(char *out, const struct field_view *field)
{
	put32(out, field->name_bytes);
	put32(out + 4, field->value_bytes);
	out += FIELD_HEADER_BYTES;
	memcpy(out, field->name, field->name_bytes);
	out += field->name_bytes;
	memcpy(out, field->value, field->value_bytes);
	return out + field->value_bytes;
}

/* An empty document with room for `bytes`. */
static char *new_document(size_t bytes, uint32_t count)
{
	char *document = bytes <= UINT32_MAX ? malloc(bytes) : NULL;

	if (document) {
		put32(document, (uint32_t)bytes);
		put32(document + 4, count);
	}
	return document;
}

void *record_encode(const struct field_view *fields, uint32_t count, size_t *bytes)
{
	char *document, *out;

	*bytes = record_stored_bytes(fields, count);
	document = new_document(*bytes, count);
	if (!document)
		return NULL;
	out = document + HEADER_BYTES;
	for (uint32_t i = 0; i < count; i++)
		out = put_field(out, &fields[i]);
	return document;
}

/* ---- reading ---- */

struct cursor {
	const char *at;
	const char *end;
	uint32_t count; /* fields as the header says */
	const char *reason;
};

static bool refuse(struct cursor *cursor, const char *reason)
{
	cursor->reason = reason;
	return false;
}

static bool open_document(struct cursor *cursor, const void *data, size_t bytes)
{
	cursor->at = data;
	cursor->end = cursor->at + bytes;
	if (bytes < HEADER_BYTES)
		return refuse(cursor, "document shorter than its header");
	if (get32(cursor->at) != bytes)
		return refuse(cursor, "document length does not match the size of the value");
	cursor->count = get32(cursor->at + 4);
	cursor->at += HEADER_BYTES;
	if (cursor->count > (bytes - HEADER_BYTES) / FIELD_HEADER_BYTES)
		return refuse(cursor, "more fields than the document has room for");
	return true;
}

static bool next_field(struct cursor *cursor, struct field_view *field)
{
	size_t left = (size_t)(cursor->end - cursor->at);

	if (left < FIELD_HEADER_BYTES)
		return refuse(cursor, "document ends inside a field's header");
	field->name_bytes = get32(cursor->at);
	field->value_bytes = get32(cursor->at + 4);
	left -= FIELD_HEADER_BYTES;
	if (field->name_bytes > left || field->value_bytes > left - field->name_bytes)
		return refuse(cursor, "field reaches beyond the end of the document");
	field->name = cursor->at + FIELD_HEADER_BYTES;
	field->value = field->name + field->name_bytes;
	cursor->at = field->value + field->value_bytes;
	return true;
}

static bool close_document(struct cursor *cursor)
{
	return cursor->at == cursor->end || refuse(cursor, "bytes after the last field");
}

bool record_check(const void *data, size_t bytes, const char **reason)
{
	struct cursor cursor;
	struct field_view field;
	bool sound = open_document(&cursor, data, bytes);

	for (uint32_t i = 0; sound && i < cursor.count; i++)
		sound = next_field(&cursor, &field);
	sound = sound && close_document(&cursor);
	if (!sound)
		*reason = cursor.reason;
	return sound;
}

static struct field *copy_field(const struct field_view *view)
{
	struct field *field = malloc(sizeof *field + view->name_bytes + view->value_bytes);

	if (!field)
		return NULL;
	field->name_bytes = view->name_bytes;
	field->value_bytes = view->value_bytes;
	memcpy(field->bytes, view->name, view->name_bytes);
	memcpy(field->bytes + view->name_bytes, view->value, view->value_bytes);
	return field;
}

static bool has_name(const struct field_view *field, const char *name, size_t name_bytes)
{
	return field->name_bytes == name_bytes && !memcmp(field->name, name, name_bytes);
}

static bool decode_fields(struct cursor *cursor, struct record *record, const char *only)
{
	size_t only_bytes = only ? strlen(only) : 0;

	for (uint32_t i = 0; i < cursor->count; i++) {
		struct field_view view;

		if (!next_field(cursor, &view))
			return false;
		if (only && !has_name(&view, only, only_bytes))
			continue;
		record->fields[record->count] = copy_field(&view);
		if (!record->fields[record->count])
			return refuse(cursor, no_memory);
		record->count++;
	}
	return close_document(cursor);
}

struct record *record_decode(const void *data, size_t bytes, const char *only, const char **reason)
{
	struct cursor cursor;
	struct record *record = NULL;

	if (!open_document(&cursor, data, bytes)) {
		*reason = cursor.reason;
		return NULL;
	}
	record = malloc(sizeof *record + cursor.count * sizeof record->fields[0]);
	if (!record) {
		*reason = no_memory;
		return NULL;
	}
	record->count = 0;
	if (decode_fields(&cursor, record, only))
		return record;
	*reason = cursor.reason;
	record_free(record);
	return NULL;
}

void record_free(struct record *record)
{
	if (!record)
		return;
	for (uint32_t i = 0; i < record->count; i++)
		free(record->fields[i]);
	free(record);
}

/* ---- changing ---- */

static const struct field_view *find_change(const struct field_view *changes, uint32_t count,
					    const struct field_view *field)
{
	for (uint32_t i = 0; i < count; i++)
		if (has_name(field, changes[i].name, changes[i].name_bytes))
			return &changes[i];
	return NULL;
}

static bool has_field(struct cursor cursor, const struct field_view *wanted)
{
	struct field_view field;

	for (uint32_t i = 0; i < cursor.count && next_field(&cursor, &field); i++)
		if (has_name(&field, wanted->name, wanted->name_bytes))
			return true;
	return false;
}

/*
 * Goes through the document that will result. With `out` it is written there; without, only *bytes and
 * *fields are filled in. `document` stands behind the header of a document that record_check() has accepted.
 */
static void build_changed(struct cursor document, const struct field_view *changes, uint32_t count, char *out,
			  size_t *bytes, uint32_t *fields)
{
	struct cursor old = document;
	struct field_view field;

	*bytes = HEADER_BYTES;
	*fields = 0;
	for (uint32_t i = 0; i < document.count && next_field(&old, &field); i++, ++*fields) {
		const struct field_view *change = find_change(changes, count, &field);

		if (!change)
			change = &field;
		*bytes += (size_t)FIELD_HEADER_BYTES + change->name_bytes + change->value_bytes;
		if (out)
			out = put_field(out, change);
	}
	for (uint32_t i = 0; i < count; i++) {
		if (has_field(document, &changes[i]))
			continue;
		*bytes += (size_t)FIELD_HEADER_BYTES + changes[i].name_bytes + changes[i].value_bytes;
		++*fields;
		if (out)
			out = put_field(out, &changes[i]);
	}
}

void *record_change(const void *data, size_t bytes, const struct field_view *changes, uint32_t count,
		    size_t *new_bytes, const char **reason)
{
	struct cursor document;
	uint32_t fields;
	char *changed;

	if (!record_check(data, bytes, reason))
		return NULL;
	open_document(&document, data, bytes);
	build_changed(document, changes, count, NULL, new_bytes, &fields);
	changed = new_document(*new_bytes, fields);
	if (changed)
		build_changed(document, changes, count, changed + HEADER_BYTES, new_bytes, &fields);
	else
		*reason = no_memory;
	return changed;
}
