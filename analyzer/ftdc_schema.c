#include <math.h>
#include <string.h>

#include "analyzer/array.h"
#include "analyzer/ftdc_internal.h"

struct level {
	bson_iter_t field;
	size_t prefix_bytes; /* of the path: that of the document, with a dot at its end */
	size_t base_bytes;   /* where the document begins in the outermost one */
};

struct walk {
	struct level levels[FTDC_DEPTH_MAX + 1];
	struct ftdc_schema *schema;
	size_t first_date;
	const char *why;
	int depth; /* of the document being walked; -1 after the outermost */
	char path[FTDC_NAME_MAX_BYTES];
};

static bool fail(struct walk *walk, const char *why)
{
	walk->why = why;
	return false;
}

/* ---- values -------------------------------------------------------------------------------------------- */

#define TWO_TO_63 9223372036854775808.0

int64_t ftdc_from_double(double value)
{
	if (isnan(value))
		return 0;
	if (value >= TWO_TO_63)
		return INT64_MAX;
	return value < -TWO_TO_63 ? INT64_MIN : (int64_t)value;
}

/* IEEE 754-2008 decimal128 in its binary encoding: sign, 14 bits of exponent (bias 6176), 113 of coefficient.
 */
int64_t ftdc_from_decimal(const bson_decimal128_t *decimal)
{
	bool negative = decimal->high >> 63;
	if ((decimal->high >> 61 & 3) ==
	    3) /* infinite, not a number, or a coefficient beyond 34 digits: zero */
		return (decimal->high >> 58 & 31) != 30 ? 0 : negative ? INT64_MIN : INT64_MAX;
	int exponent = (int)(decimal->high >> 49 & 0x3fff) - 6176;
	unsigned __int128 value =
		(unsigned __int128)(decimal->high & ((UINT64_C(1) << 49) - 1)) << 64 | decimal->low;
	for (; exponent < 0 && value; exponent++)
		value /= 10;
	for (; exponent > 0 && value && value <= INT64_MAX; exponent--)
		value *= 10;
	if (value > INT64_MAX)
		return negative ? INT64_MIN : INT64_MAX;
	return negative ? -(int64_t)value : (int64_t)value;
}

/* ---- the walk ------------------------------------------------------------------------------------------ */

static bool add(struct walk *walk, size_t path_bytes, int64_t value)
{
	struct ftdc_schema *schema = walk->schema;
	if (schema->count == FTDC_METRICS_MAX)
		return fail(walk, "more metrics than this reader takes");
	if (!array_reserve(&schema->metrics, &schema->capacity, schema->count + 1, sizeof *schema->metrics) ||
	    !array_reserve(&schema->text, &schema->text_capacity, schema->text_bytes + path_bytes + 1, 1))
		return fail(walk, ftdc_no_memory);
	if (schema->text_bytes + path_bytes >= FTDC_DOCUMENT_MAX_BYTES)
		return fail(walk, "names of metrics that are longer than this reader takes");
	schema->metrics[schema->count++] = (struct ftdc_metric){schema->text_bytes, value};
	memcpy(schema->text + schema->text_bytes, walk->path, path_bytes);
	schema->text[schema->text_bytes + path_bytes] = '\0';
	schema->text_bytes += path_bytes + 1;
	return true;
}

static bool add_date(struct walk *walk, size_t path_bytes, int64_t value)
{
	if (walk->first_date == FTDC_NONE)
		walk->first_date = walk->schema->count;
	if (walk->schema->time_index == FTDC_NONE && path_bytes == 5 && memcmp(walk->path, "start", 5) == 0)
		walk->schema->time_index = walk->schema->count;
	return add(walk, path_bytes, value);
}

static bool add_timestamp(struct walk *walk, size_t path_bytes, const bson_iter_t *field)
{
	uint32_t seconds, increment;
	bson_iter_timestamp(field, &seconds, &increment);
	memcpy(walk->path + path_bytes, ".t", 2);
	if (!add(walk, path_bytes + 2, seconds))
		return false;
	walk->path[path_bytes + 1] = 'i';
	return add(walk, path_bytes + 2, increment);
}

/* Behind type, name and its NUL. */
static size_t value_at(const struct level *level)
{
	return level->base_bytes + bson_iter_offset((bson_iter_t *)&level->field) + 1 +
	       bson_iter_key_len(&level->field) + 1;
}

/*
 * Bytes of a value that may change without moving what comes behind it: of a number all, of text those behind
 * the length. 0: none.
 */
static uint32_t value_bytes(const bson_iter_t *field, uint32_t *offset_bytes, uint32_t *type)
{
	uint32_t bytes;
	switch (*type) {
	case BSON_TYPE_BOOL:
		return 1;
	case BSON_TYPE_INT32:
		return 4;
	case BSON_TYPE_DOUBLE:
	case BSON_TYPE_INT64:
	case BSON_TYPE_DATE_TIME:
	case BSON_TYPE_TIMESTAMP:
		return 8;
	case BSON_TYPE_DECIMAL128:
		return 16;
	case BSON_TYPE_OID:
		*type = BSON_TYPE_EOD;
		return 12;
	case BSON_TYPE_UTF8:
		bson_iter_utf8(field, &bytes);
		*type = BSON_TYPE_EOD;
		*offset_bytes += 4;
		return bytes;
	default: /* documents have fields of their own; what is left does not change */
		return 0;
	}
}

static bool enter(struct walk *walk, size_t path_bytes, const bson_iter_t *field)
{
	if (walk->depth == FTDC_DEPTH_MAX)
		return fail(walk, "a sample with documents nested too deep");
	struct level *inner = &walk->levels[++walk->depth];
	if (!bson_iter_recurse(field, &inner->field))
		return fail(walk, "a sample with a field that cannot be read");
	walk->path[path_bytes] = '.';
	inner->prefix_bytes = path_bytes + 1;
	inner->base_bytes = value_at(&walk->levels[walk->depth - 1]);
	return true;
}

/* The value's place, to find it again in the next chunk's document. */
static bool note_place(struct walk *walk, const struct level *level)
{
	struct ftdc_schema *schema = walk->schema;
	struct ftdc_field field = {.offset_bytes = (uint32_t)value_at(level),
				   .type = (uint32_t)bson_iter_type(&level->field)};
	field.bytes = value_bytes(&level->field, &field.offset_bytes, &field.type);
	if (field.bytes == 0)
		return true;
	if (!array_reserve(&schema->fields, &schema->field_capacity, schema->field_count + 1,
			   sizeof *schema->fields))
		return fail(walk, ftdc_no_memory);
	schema->fields[schema->field_count++] = field;
	return true;
}

static bool walk_field(struct walk *walk, size_t path_bytes, const bson_iter_t *field)
{
	bson_decimal128_t decimal;
	switch (bson_iter_type(field)) {
	case BSON_TYPE_DOUBLE:
		return add(walk, path_bytes, ftdc_from_double(bson_iter_double(field)));
	case BSON_TYPE_INT32:
		return add(walk, path_bytes, bson_iter_int32(field));
	case BSON_TYPE_INT64:
		return add(walk, path_bytes, bson_iter_int64(field));
	case BSON_TYPE_DECIMAL128:
		bson_iter_decimal128(field, &decimal);
		return add(walk, path_bytes, ftdc_from_decimal(&decimal));
	case BSON_TYPE_BOOL:
		return add(walk, path_bytes, bson_iter_bool(field));
	case BSON_TYPE_DATE_TIME:
		return add_date(walk, path_bytes, bson_iter_date_time(field));
	case BSON_TYPE_TIMESTAMP:
		return add_timestamp(walk, path_bytes, field);
	case BSON_TYPE_DOCUMENT:
	case BSON_TYPE_ARRAY:
		return enter(walk, path_bytes, field);
	default: /* text and the like are no metrics */
		return true;
	}
}

/* One field of the innermost document, or the end of that. False when something is wrong. */
static bool step(struct walk *walk)
{
	struct level *level = &walk->levels[walk->depth];
	if (!bson_iter_next(&level->field)) {
		walk->depth--;
		return level->field.err_off ? fail(walk, "a sample with a field that cannot be read") : true;
	}
	size_t key_bytes = bson_iter_key_len(&level->field);
	if (level->prefix_bytes + key_bytes + sizeof ".t" > sizeof walk->path)
		return fail(walk, "a metric with a name longer than this reader takes");
	memcpy(walk->path + level->prefix_bytes, bson_iter_key(&level->field), key_bytes);
	return note_place(walk, level) && walk_field(walk, level->prefix_bytes + key_bytes, &level->field);
}

static bool keep_document(struct ftdc_schema *schema, const bson_t *sample)
{
	schema->document_bytes = 0;
	if (!array_reserve(&schema->document, &schema->document_capacity, sample->len, 1))
		return false;
	memcpy(schema->document, bson_get_data(sample), sample->len);
	schema->document_bytes = sample->len;
	return true;
}

const char *ftdc_schema_read(struct ftdc_schema *schema, const bson_t *sample)
{
	struct walk walk = {.schema = schema, .first_date = FTDC_NONE};
	schema->count = schema->field_count = 0;
	schema->text_bytes = 0;
	schema->time_index = FTDC_NONE;
	if (!bson_iter_init(&walk.levels[0].field, sample))
		return "a sample that cannot be read";
	while (walk.depth >= 0 && step(&walk))
		;
	if (schema->time_index == FTDC_NONE)
		schema->time_index = walk.first_date;
	if (!walk.why && !keep_document(schema, sample))
		walk.why = ftdc_no_memory;
	return walk.why;
}

bool ftdc_schema_same(const struct ftdc_schema *a, const struct ftdc_schema *b)
{
	return a->count == b->count && a->text_bytes == b->text_bytes && a->time_index == b->time_index &&
	       (a->text_bytes == 0 || memcmp(a->text, b->text, a->text_bytes) == 0);
}

void ftdc_schema_free(struct ftdc_schema *schema)
{
	free(schema->metrics);
	free(schema->text);
	free(schema->document);
	free(schema->fields);
	*schema = (struct ftdc_schema){0};
}
