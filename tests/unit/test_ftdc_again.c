/* Chunk after chunk of the same metrics: the short way to their values must give what the long one gives. */
#include "analyzer/ftdc_internal.h"
#include "tests/unit/support_ftdc_read.h"

/* What differs from chunk to chunk, and should not keep the reader from going the short way. */
struct kind {
	double fraction;
	int64_t number;
	bool flag;
	const char *text;
	const char *last; /* name of the last metric */
	bool as_double;	  /* its type */
};

static bson_t *make(const struct kind *kind, int64_t ms)
{
	bson_decimal128_t decimal;
	bson_oid_t oid;
	bson_t list = BSON_INITIALIZER;
	bson_oid_init(&oid, NULL);
	cr_assert(bson_decimal128_from_string(kind->flag ? "12500.5" : "-7", &decimal));
	bson_t *doc = BCON_NEW(
		"start", BCON_DATE_TIME(START_MS + ms), "fraction", BCON_DOUBLE(kind->fraction), "flag",
		BCON_BOOL(kind->flag), "host", BCON_UTF8(kind->text), "id", BCON_OID(&oid), "decimal",
		BCON_DECIMAL128(&decimal), "stamp", BCON_TIMESTAMP((int32_t)kind->number, (int32_t)ms));
	for (int i = 0; i < 3; i++) {
		const char name[] = {(char)('0' + i), '\0'};
		bson_append_int32(&list, name, -1, (int32_t)kind->number * i);
	}
	bson_append_array(doc, "list", -1, &list);
	bson_append_null(doc, "nothing", -1);
	if (kind->as_double)
		bson_append_double(doc, kind->last, -1, (double)kind->number);
	else
		bson_append_int64(doc, kind->last, -1, kind->number);
	bson_destroy(&list);
	return doc;
}

static void expect_values(const struct ftdc_chunk *chunk, bson_t *const *samples)
{
	for (size_t i = 0; i < chunk->samples; i++) {
		struct flat flat = {0};
		flatten(samples[i], &flat);
		cr_assert_eq(chunk->metrics, flat.count);
		for (size_t metric = 0; metric < flat.count; metric++) {
			const int64_t *values = column(chunk, flat.names[metric]);
			cr_assert(values, "no column %s", flat.names[metric]);
			cr_assert_eq(values[i], flat.values[metric], "%s", flat.names[metric]);
		}
		flat_free(&flat);
	}
}

static const struct kind kinds[] = {
	{1.5, 10, true, "host-a", "last", false},
	{-2.5, -11, false, "host-b", "last", false},		 /* by values alone */
	{1e15, INT64_MAX, true, "a-longer-host", "last", false}, /* the long way: everything has moved */
	{0, 5, false, "a-longer-tsoh", "last", false},
	{0, 6, false, "a-longer-tsoh", "tsal", false}, /* another name: another schema */
	{0, 7, true, "a-longer-tsoh", "tsal", true},   /* another type of the same name */
	{0, 8, true, "a-longer-tsoh", "tsal", true},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

Test(ftdc_again, values_are_those_of_the_long_way)
{
	struct bytes file = {0};
	struct ftdc_chunk chunk;
	bson_t *samples[KINDS][2];
	for (int i = 0; i < KINDS; i++) {
		samples[i][0] = make(&kinds[i], 2000 * i);
		samples[i][1] = make(&kinds[(i + 1) % 2], 2000 * i + 1000);
		if (i >= 4) { /* of the same metrics */
			bson_destroy(samples[i][1]);
			samples[i][1] = make(&kinds[i], 2000 * i + 1000);
		}
		put_chunk_at(&file, START_MS + 2000 * i, samples[i], 2);
	}
	struct ftdc *ftdc = open_bytes(&file, NULL);
	uint64_t schemas[KINDS];
	for (int i = 0; i < KINDS; i++) {
		expect_chunk(ftdc, &chunk, 2);
		expect_values(&chunk, samples[i]);
		schemas[i] = chunk.schema;
		bson_destroy(samples[i][0]);
		bson_destroy(samples[i][1]);
	}
	expect_end(ftdc, 0);
	cr_assert_eq(schemas[0], schemas[3]);
	cr_assert_neq(schemas[3], schemas[4]);
	cr_assert_eq(schemas[4], schemas[6]);
}

/* The way that is short takes just the documents that it should. */
Test(ftdc_again, which_documents_it_takes)
{
	struct ftdc_schema schema = {0};
	bson_t *first = make(&kinds[0], 0);
	cr_assert_null(ftdc_schema_read(&schema, first));
	static const bool takes[KINDS] = {true, true, false, false, false, false, false};
	for (int i = 0; i < KINDS; i++) {
		bson_t *doc = make(&kinds[i], 1000);
		cr_assert_eq(ftdc_schema_again(&schema, bson_get_data(doc), doc->len), takes[i], "%d", i);
		bson_destroy(doc);
	}
	bson_t *renamed = make(&(struct kind){1.5, 10, true, "host-a", "tsal", false}, 0);
	cr_assert_not(ftdc_schema_again(&schema, bson_get_data(renamed), renamed->len));
	bson_destroy(renamed);
	bson_destroy(first);
	ftdc_schema_free(&schema);
}

/* Any byte of it inverted: refused, or a value that is read as the long way reads it. */
Test(ftdc_again, any_byte_inverted)
{
	struct ftdc_schema schema = {0}, other = {0};
	bson_t *first = make(&kinds[0], 0), sample;
	uint8_t bytes[512];
	const size_t count = first->len;
	cr_assert(count < sizeof bytes);
	memcpy(bytes, bson_get_data(first), count);
	cr_assert_null(ftdc_schema_read(&schema, first));
	for (size_t at = 0; at < count; at++) {
		bytes[at] ^= 0xff;
		if (ftdc_schema_again(&schema, bytes, count)) {
			cr_assert(bson_init_static(&sample, bytes, count), "%zu", at);
			cr_assert_null(ftdc_schema_read(&other, &sample), "%zu", at);
			cr_assert(ftdc_schema_same(&schema, &other), "%zu", at);
			for (size_t i = 0; i < schema.count; i++)
				cr_assert_eq(schema.metrics[i].value, other.metrics[i].value, "%zu", at);
		}
		bytes[at] ^= 0xff;
	}
	bson_destroy(first);
	ftdc_schema_free(&schema);
	ftdc_schema_free(&other);
}

static bool is_it(void *context, const char *name)
{
	return strcmp(context, name) == 0;
}

/* Unwanted values are not added up but counted: runs of zeros that go on into wanted columns, and long
 * deltas. */
Test(ftdc_again, wanted_columns_between_unwanted_ones)
{
	struct bytes file = {0}, again;
	struct ftdc_chunk chunk;
	bson_t *samples[40];
	for (int i = 0; i < 40; i++) {
		bson_t *doc = BCON_NEW("start", BCON_DATE_TIME(START_MS + 1000 * i));
		for (int metric = 0; metric < 60; metric++) {
			char name[8];
			snprintf(name, sizeof name, "m%02d", metric);
			int64_t value = metric % 3 == 0	  ? 5
					: metric % 3 == 1 ? i * (metric - 30)
							  : i / 7 * INT64_C(1) << metric;
			bson_append_int64(doc, name, -1, value);
		}
		samples[i] = doc;
	}
	put_chunk(&file, samples, 40);
	again = (struct bytes){0};
	put_bytes(&again, file.data, file.count);
	struct ftdc *all = open_bytes(&file, NULL);
	expect_chunk(all, &chunk, 40);
	expect_values(&chunk, samples);
	for (size_t metric = 1; metric < chunk.column_count; metric += 7) {
		struct ftdc_chunk one;
		struct bytes copy = {0};
		put_bytes(&copy, again.data, again.count);
		struct ftdc *ftdc = open_bytes(
			&copy, &(struct ftdc_options){.wanted = is_it,
						      .context = (void *)chunk.columns[metric].name});
		expect_chunk(ftdc, &one, 40);
		cr_assert_eq(one.column_count, 1);
		cr_assert_arr_eq(one.columns[0].values, chunk.columns[metric].values, 40 * sizeof(int64_t));
		expect_end(ftdc, 0);
	}
	expect_end(all, 0);
	for (int i = 0; i < 40; i++)
		bson_destroy(samples[i]);
	bytes_free(&again);
}
