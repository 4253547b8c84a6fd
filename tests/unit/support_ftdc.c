#include "tests/unit/support_ftdc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "tests/unit/support_trace_internal.h"

/* ---- bytes --------------------------------------------------------------------------------------------- */

void put_bytes(struct bytes *to, const void *data, size_t count)
{
	while (to->count + count > to->capacity) {
		to->capacity = to->capacity ? 2 * to->capacity : 4096;
		SUPPORT_CHECK(to->data = realloc(to->data, to->capacity));
	}
	if (count)
		memcpy(to->data + to->count, data, count);
	to->count += count;
}

void put_u32(struct bytes *to, uint32_t value)
{
	uint8_t bytes[4] = {(uint8_t)value, (uint8_t)(value >> 8), (uint8_t)(value >> 16),
			    (uint8_t)(value >> 24)};
	put_bytes(to, bytes, sizeof bytes);
}

void put_varint(struct bytes *to, uint64_t value)
{
	do {
		uint8_t byte = (uint8_t)(value & 127);
		value >>= 7;
		byte |= value ? 128 : 0;
		put_bytes(to, &byte, 1);
	} while (value);
}

void bytes_free(struct bytes *bytes)
{
	free(bytes->data);
	*bytes = (struct bytes){0};
}

/* ---- metrics of a sample ------------------------------------------------------------------------------- */

struct visit {
	struct flat *flat;
	char prefix[512];
};

static void add(const struct visit *visit, const char *key, const char *suffix, int64_t value)
{
	struct flat *flat = visit->flat;
	if (flat->count == flat->capacity) {
		flat->capacity = flat->capacity ? 2 * flat->capacity : 64;
		SUPPORT_CHECK(flat->names = realloc(flat->names, flat->capacity * sizeof *flat->names));
		SUPPORT_CHECK(flat->values = realloc(flat->values, flat->capacity * sizeof *flat->values));
	}
	int length =
		snprintf(flat->names[flat->count], sizeof *flat->names, "%s%s%s", visit->prefix, key, suffix);
	SUPPORT_CHECK(length < (int)sizeof *flat->names);
	flat->values[flat->count++] = value;
}

static bool on_double(const bson_iter_t *iter, const char *key, double value, void *visit)
{
	(void)iter;
	add(visit, key, "", (int64_t)value);
	return false;
}

static bool on_int32(const bson_iter_t *iter, const char *key, int32_t value, void *visit)
{
	(void)iter;
	add(visit, key, "", value);
	return false;
}

static bool on_int64(const bson_iter_t *iter, const char *key, int64_t value, void *visit)
{
	(void)iter;
	add(visit, key, "", value);
	return false;
}

/* Tests use whole numbers of few digits. */
static bool on_decimal(const bson_iter_t *iter, const char *key, const bson_decimal128_t *value, void *visit)
{
	char text[BSON_DECIMAL128_STRING];
	(void)iter;
	bson_decimal128_to_string(value, text);
	add(visit, key, "", strtoll(text, NULL, 10));
	return false;
}

static bool on_bool(const bson_iter_t *iter, const char *key, bool value, void *visit)
{
	(void)iter;
	add(visit, key, "", value);
	return false;
}

static bool on_timestamp(const bson_iter_t *iter, const char *key, uint32_t seconds, uint32_t increment,
			 void *visit)
{
	(void)iter;
	add(visit, key, ".t", seconds);
	add(visit, key, ".i", increment);
	return false;
}

static bool on_document(const bson_iter_t *iter, const char *key, const bson_t *inner, void *data);

static const bson_visitor_t visitor = {
	.visit_double = on_double,
	.visit_document = on_document,
	.visit_array = on_document,
	.visit_bool = on_bool,
	.visit_date_time = on_int64,
	.visit_timestamp = on_timestamp,
	.visit_int32 = on_int32,
	.visit_int64 = on_int64,
	.visit_decimal128 = on_decimal,
};

static bool on_document(const bson_iter_t *iter, const char *key, const bson_t *inner, void *data)
{
	const struct visit *outer = data;
	struct visit visit = {.flat = outer->flat};
	bson_iter_t fields;
	(void)iter;
	int length = snprintf(visit.prefix, sizeof visit.prefix, "%s%s.", outer->prefix, key);
	SUPPORT_CHECK(length < (int)sizeof visit.prefix && bson_iter_init(&fields, inner));
	bson_iter_visit_all(&fields, &visitor, &visit);
	return false;
}

void flatten(const bson_t *sample, struct flat *flat)
{
	struct visit visit = {.flat = flat};
	bson_iter_t fields;
	flat->count = 0;
	SUPPORT_CHECK(bson_iter_init(&fields, sample));
	bson_iter_visit_all(&fields, &visitor, &visit);
}

void flat_free(struct flat *flat)
{
	free(flat->names);
	free(flat->values);
	*flat = (struct flat){0};
}

/* ---- chunks -------------------------------------------------------------------------------------------- */

static void put_delta(struct bytes *to, uint64_t *zeros, uint64_t delta)
{
	if (delta == 0) {
		(*zeros)++;
		return;
	}
	if (*zeros) {
		put_varint(to, 0);
		put_varint(to, *zeros - 1);
		*zeros = 0;
	}
	put_varint(to, delta);
}

void put_inflated(struct bytes *to, bson_t *const *samples, size_t count)
{
	struct flat *flats = calloc(count, sizeof *flats);
	SUPPORT_CHECK(flats);
	for (size_t i = 0; i < count; i++) {
		flatten(samples[i], &flats[i]);
		SUPPORT_CHECK(flats[i].count == flats[0].count);
	}
	put_bytes(to, bson_get_data(samples[0]), samples[0]->len);
	put_u32(to, (uint32_t)flats[0].count);
	put_u32(to, (uint32_t)count - 1);
	uint64_t zeros = 0;
	for (size_t metric = 0; metric < flats[0].count; metric++)
		for (size_t i = 1; i < count; i++)
			put_delta(to, &zeros,
				  (uint64_t)flats[i].values[metric] - (uint64_t)flats[i - 1].values[metric]);
	if (zeros) {
		put_varint(to, 0);
		put_varint(to, zeros - 1);
	}
	for (size_t i = 0; i < count; i++)
		flat_free(&flats[i]);
	free(flats);
}

void put_deflated(struct bytes *to, const struct bytes *inflated, uint32_t length)
{
	uLongf bytes = compressBound(inflated->count);
	uint8_t *deflated = malloc(bytes);
	SUPPORT_CHECK(deflated && compress(deflated, &bytes, inflated->data, inflated->count) == Z_OK);
	put_u32(to, length);
	put_bytes(to, deflated, bytes);
	free(deflated);
}

/* ---- documents ----------------------------------------------------------------------------------------- */

static void put_document(struct bytes *file, bson_t *document)
{
	put_bytes(file, bson_get_data(document), document->len);
	bson_destroy(document);
}

static bson_t *new_document(int64_t id_ms, int32_t type)
{
	bson_t *document = bson_new();
	bson_append_date_time(document, "_id", -1, id_ms);
	bson_append_int32(document, "type", -1, type);
	return document;
}

void put_description(struct bytes *file, int64_t id_ms, const bson_t *doc)
{
	bson_t *document = new_document(id_ms, 0);
	bson_append_document(document, "doc", -1, doc);
	put_document(file, document);
}

void put_parameters(struct bytes *file, int64_t id_ms, int32_t count, const bson_t *doc)
{
	bson_t *document = new_document(id_ms, 2);
	bson_append_int32(document, "count", -1, count);
	bson_append_document(document, "doc", -1, doc);
	put_document(file, document);
}

void put_data(struct bytes *file, int64_t id_ms, const struct bytes *data)
{
	bson_t *document = new_document(id_ms, 1);
	bson_append_binary(document, "data", -1, BSON_SUBTYPE_BINARY, data->data, (uint32_t)data->count);
	put_document(file, document);
}

void put_inflated_chunk(struct bytes *file, int64_t id_ms, const struct bytes *inflated)
{
	struct bytes data = {0};
	put_deflated(&data, inflated, (uint32_t)inflated->count);
	put_data(file, id_ms, &data);
	bytes_free(&data);
}

void put_chunk_at(struct bytes *file, int64_t id_ms, bson_t *const *samples, size_t count)
{
	struct bytes inflated = {0};
	put_inflated(&inflated, samples, count);
	put_inflated_chunk(file, id_ms, &inflated);
	bytes_free(&inflated);
}

void put_chunk(struct bytes *file, bson_t *const *samples, size_t count)
{
	put_chunk_at(file, START_MS, samples, count);
}

/* ---- samples ------------------------------------------------------------------------------------------- */

bson_t *plain_sample(int64_t ms, int64_t value)
{
	return BCON_NEW("start", BCON_DATE_TIME(START_MS + ms), "serverStatus", "{", "value",
			BCON_INT64(value), "pid", BCON_INT64(77), "uptimeMillis", BCON_INT64(1000000 + ms),
			"}");
}

void put_plain_chunk(struct bytes *file, int64_t ms, int64_t value, size_t count)
{
	bson_t **samples = calloc(count, sizeof *samples);
	SUPPORT_CHECK(samples);
	for (size_t i = 0; i < count; i++)
		samples[i] = plain_sample(ms + 1000 * (int64_t)i, value + (int64_t)i);
	put_chunk_at(file, START_MS + ms, samples, count);
	for (size_t i = 0; i < count; i++)
		bson_destroy(samples[i]);
	free(samples);
}
