#include <string.h>

#include "analyzer/ftdc_internal.h"

static uint64_t get_u64(const uint8_t *at)
{
	uint64_t value = 0;
	for (unsigned i = 8; i-- > 0;)
		value = value << 8 | at[i];
	return value;
}

static uint32_t get_u32(const uint8_t *at)
{
	return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* All but the values. No value is one that the long way would refuse. */
static bool same_but_values(const struct ftdc_schema *schema, const uint8_t *document)
{
	size_t at = 0;
	for (size_t i = 0; i < schema->field_count; i++) {
		const struct ftdc_field *field = &schema->fields[i];
		if (memcmp(schema->document + at, document + at, field->offset_bytes - at) != 0)
			return false;
		if (field->type == BSON_TYPE_BOOL && document[field->offset_bytes] > 1)
			return false;
		at = field->offset_bytes + field->bytes;
	}
	return memcmp(schema->document + at, document + at, schema->document_bytes - at) == 0;
}

static int64_t double_at(const uint8_t *at)
{
	uint64_t bits = get_u64(at);
	double value;
	memcpy(&value, &bits, sizeof value);
	return ftdc_from_double(value);
}

static int64_t value_of(const uint8_t *at, uint32_t type)
{
	switch (type) {
	case BSON_TYPE_BOOL:
		return *at != 0;
	case BSON_TYPE_INT32:
		return (int32_t)get_u32(at);
	case BSON_TYPE_DOUBLE:
		return double_at(at);
	case BSON_TYPE_DECIMAL128:
		return ftdc_from_decimal(&(bson_decimal128_t){.low = get_u64(at), .high = get_u64(at + 8)});
	default:
		return (int64_t)get_u64(at);
	}
}

/* In the file the increment comes first, among the metrics the seconds. */
static void take_timestamp(struct ftdc_metric *metric, const uint8_t *at)
{
	metric[0].value = get_u32(at + 4);
	metric[1].value = get_u32(at);
}

bool ftdc_schema_again(struct ftdc_schema *schema, const uint8_t *document, size_t bytes)
{
	if (bytes != schema->document_bytes || !same_but_values(schema, document))
		return false;
	struct ftdc_metric *metric = schema->metrics;
	for (size_t i = 0; i < schema->field_count; i++) {
		const struct ftdc_field *field = &schema->fields[i];
		const uint8_t *at = document + field->offset_bytes;
		if (field->type == BSON_TYPE_EOD)
			continue;
		if (field->type == BSON_TYPE_TIMESTAMP) {
			take_timestamp(metric, at);
			metric += 2;
		} else {
			(metric++)->value = value_of(at, field->type);
		}
	}
	return true;
}
