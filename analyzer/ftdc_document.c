#include <string.h>

#include "analyzer/array.h"
#include "analyzer/ftdc_internal.h"

/*
 * Every document begins alike: length (int32), `_id` (a date), `type` (int32).
 *
 *   0 length   4 0x09 "_id" 0   9 date   17 0x10 "type" 0   23 type   27 ...
 */
#define HEAD_BYTES   27u
#define ID_AT	     4u
#define TYPE_AT	     17u
#define WINDOW_BYTES 65536u

static const char id_field[] = "\x09_id", type_field[] = "\x10type"; /* each with its NUL */

static uint32_t get_u32(const uint8_t *at)
{
	return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* The length in bytes that the document at `head` gives itself, 0 where it does not begin like one. */
static uint32_t head_length(const uint8_t head[HEAD_BYTES])
{
	uint32_t length = get_u32(head);
	bool good = length > HEAD_BYTES && length <= FTDC_DOCUMENT_MAX_BYTES &&
		    memcmp(head + ID_AT, id_field, sizeof id_field) == 0 &&
		    memcmp(head + TYPE_AT, type_field, sizeof type_field) == 0;
	return good ? length : 0;
}

static size_t read_at(const struct ftdc_source *source, uint64_t offset_bytes, void *to, size_t bytes)
{
	if (fseeko(source->file, (off_t)offset_bytes, SEEK_SET) != 0)
		return 0;
	return fread(to, 1, bytes, source->file);
}

static void read_field(struct ftdc_document *document, const bson_iter_t *field)
{
	const char *key = bson_iter_key(field);
	bson_subtype_t subtype;
	uint32_t bytes;
	const uint8_t *at;
	if (strcmp(key, "_id") == 0 && BSON_ITER_HOLDS_DATE_TIME(field)) {
		document->id_ms = bson_iter_date_time(field);
	} else if (strcmp(key, "type") == 0 && BSON_ITER_HOLDS_INT32(field)) {
		document->type = bson_iter_int32(field);
	} else if (strcmp(key, "count") == 0 && BSON_ITER_HOLDS_INT32(field)) {
		document->count = bson_iter_int32(field);
	} else if (strcmp(key, "data") == 0 && BSON_ITER_HOLDS_BINARY(field)) {
		bson_iter_binary(field, &subtype, &bytes, &at);
		document->data = subtype == BSON_SUBTYPE_BINARY ? at : NULL;
		document->data_bytes = bytes;
	} else if (strcmp(key, "doc") == 0 && BSON_ITER_HOLDS_DOCUMENT(field)) {
		bson_iter_document(field, &bytes, &at);
		document->inner = at;
		document->inner_bytes = bytes;
	}
}

static const char *read_fields(struct ftdc_document *document, const uint8_t *bytes, size_t length)
{
	bson_t whole;
	bson_iter_t field;
	if (!bson_init_static(&whole, bytes, length) || !bson_iter_init(&field, &whole))
		return "a document without its end";
	while (bson_iter_next(&field))
		read_field(document, &field);
	return field.err_off ? "a document with a field that cannot be read" : NULL;
}

enum ftdc_read ftdc_read_document(struct ftdc_source *source, uint8_t **buffer, size_t *capacity,
				  struct ftdc_document *document, const char **why)
{
	uint8_t head[HEAD_BYTES];
	size_t got = read_at(source, source->offset_bytes, head, sizeof head);
	if (got == 0 && !ferror(source->file))
		return FTDC_READ_END;
	uint32_t length = got == sizeof head ? head_length(head) : 0;
	*why = got < sizeof head ? "the file ends within a document" : "no document begins here";
	if (length == 0)
		return FTDC_READ_DAMAGE;
	*why = ftdc_no_memory;
	if (!array_reserve(buffer, capacity, length, 1))
		return FTDC_READ_DAMAGE;
	*why = "the file ends within a document";
	if (read_at(source, source->offset_bytes, *buffer, length) != length)
		return FTDC_READ_DAMAGE;
	*document = (struct ftdc_document){.offset_bytes = source->offset_bytes, .length_bytes = length};
	*why = read_fields(document, *buffer, length);
	if (*why)
		return FTDC_READ_DAMAGE;
	source->offset_bytes += length;
	return FTDC_READ_DOCUMENT;
}

/* Offset in `window` of the first head that fits into it whole; `bytes` where there is none. */
static size_t find_head(const uint8_t *window, size_t bytes)
{
	for (size_t from = ID_AT; from < bytes;) {
		const uint8_t *found = memmem(window + from, bytes - from, id_field, sizeof id_field);
		if (!found)
			return bytes;
		size_t start = (size_t)(found - window) - ID_AT;
		if (start + HEAD_BYTES <= bytes && head_length(window + start))
			return start;
		from = start + ID_AT + 1;
	}
	return bytes;
}

void ftdc_resync(struct ftdc_source *source, uint64_t offset_bytes)
{
	uint8_t window[WINDOW_BYTES];
	for (uint64_t at = offset_bytes + 1;;) {
		size_t got = read_at(source, at, window, sizeof window);
		size_t start = find_head(window, got);
		if (start < got || got < sizeof window) {
			source->offset_bytes = at + start;
			return;
		}
		at += sizeof window - (HEAD_BYTES - 1);
	}
}
