/* The reader of diagnostic data against a writer of it: the samples that go in come out. */
#include "tests/unit/support_ftdc_read.h"

/* ---- values -------------------------------------------------------------------------------------------- */

static bson_t *every_type(int64_t more)
{
	bson_decimal128_t decimal;
	bson_oid_t oid;
	char text[32];
	snprintf(text, sizeof text, "%lld", (long long)(-12 - more));
	bson_decimal128_from_string(text, &decimal);
	bson_oid_init_from_string(&oid, "0123456789abcdef01234567");
	return BCON_NEW("start", BCON_DATE_TIME(START_MS + more), "double", BCON_DOUBLE(-7.9 - (double)more),
			"text", BCON_UTF8("no metric"), "flag", BCON_BOOL(more % 2 == 0), "id",
			BCON_OID(&oid), "nothing", BCON_NULL, "binary",
			BCON_BIN(BSON_SUBTYPE_BINARY, (const uint8_t *)"ab", 2), "stamp",
			BCON_TIMESTAMP((int32_t)(100 + more), (int32_t)(9 + more)), "small",
			BCON_INT32((int32_t)(-5 + more)), "large", BCON_INT64(INT64_MIN + more), "array", "[",
			BCON_INT32(1), "{", "deep", BCON_INT64(INT64_MAX - more), "}", "]", "decimal",
			BCON_DECIMAL128(&decimal), "pattern", BCON_REGEX("a", "i"), "empty", "{", "}");
}

static void expect_every_type(const struct ftdc_chunk *chunk)
{
	static const struct {
		const char *name;
		int64_t first, last;
	} wanted[] = {
		{"start", START_MS, START_MS + 2},
		{"double", -7, -9},
		{"flag", 1, 1},
		{"stamp.t", 100, 102},
		{"stamp.i", 9, 11},
		{"small", -5, -3},
		{"large", INT64_MIN, INT64_MIN + 2},
		{"array.0", 1, 1},
		{"array.1.deep", INT64_MAX, INT64_MAX - 2},
		{"decimal", -12, -14},
	};
	cr_assert_eq(chunk->column_count, sizeof wanted / sizeof *wanted);
	cr_assert_eq(chunk->metrics, chunk->column_count);
	for (size_t i = 0; i < chunk->column_count; i++) {
		cr_assert_str_eq(chunk->columns[i].name, wanted[i].name);
		cr_assert_eq(chunk->columns[i].values[0], wanted[i].first, "%s", wanted[i].name);
		cr_assert_eq(chunk->columns[i].values[2], wanted[i].last, "%s", wanted[i].name);
	}
	cr_assert_eq(column(chunk, "flag")[1], 0);
	cr_assert_eq(chunk->time_ms[0], START_MS);
	cr_assert_eq(chunk->time_ms[2], START_MS + 2);
}

Test(ftdc, every_type_has_its_value_or_is_no_metric)
{
	bson_t *samples[] = {every_type(0), every_type(1), every_type(2)};
	struct bytes file = {0};
	put_chunk(&file, samples, 3);
	struct ftdc *ftdc = open_bytes(&file, NULL);
	struct ftdc_chunk chunk;
	expect_chunk(ftdc, &chunk, 3);
	expect_every_type(&chunk);
	expect_end(ftdc, 0);
	for (int i = 0; i < 3; i++)
		bson_destroy(samples[i]);
}

/* Reads one sample of one field, beside the time. */
static int64_t only_value(bson_t *sample)
{
	struct bytes file = {0};
	struct ftdc_chunk chunk;
	bson_append_date_time(sample, "start", -1, START_MS);
	put_chunk(&file, &sample, 1);
	struct ftdc *ftdc = open_bytes(&file, NULL);
	expect_chunk(ftdc, &chunk, 1);
	int64_t value = column(&chunk, "x")[0];
	expect_end(ftdc, 0);
	bson_destroy(sample);
	return value;
}

static int64_t from_decimal(const char *text)
{
	bson_decimal128_t decimal;
	cr_assert(bson_decimal128_from_string(text, &decimal));
	return only_value(BCON_NEW("x", BCON_DECIMAL128(&decimal)));
}

Test(ftdc, decimals_lose_their_fraction_and_stop_at_the_ends)
{
	cr_assert_eq(from_decimal("12.99"), 12);
	cr_assert_eq(from_decimal("-12.99"), -12);
	cr_assert_eq(from_decimal("1.5E3"), 1500);
	cr_assert_eq(from_decimal("9223372036854775807"), INT64_MAX);
	cr_assert_eq(from_decimal("9223372036854775808"), INT64_MAX);
	cr_assert_eq(from_decimal("-1E400"), INT64_MIN);
	cr_assert_eq(from_decimal("1E-6000"), 0);
	cr_assert_eq(from_decimal("Infinity"), INT64_MAX);
	cr_assert_eq(from_decimal("-Infinity"), INT64_MIN);
	cr_assert_eq(from_decimal("NaN"), 0);
}

Test(ftdc, doubles_beyond_an_integer_stop_at_the_ends)
{
	cr_assert_eq(only_value(BCON_NEW("x", BCON_DOUBLE(1e30))), INT64_MAX);
	cr_assert_eq(only_value(BCON_NEW("x", BCON_DOUBLE(-1e30))), INT64_MIN);
	cr_assert_eq(only_value(BCON_NEW("x", BCON_DOUBLE(0.0 / 0.0))), 0);
	cr_assert_eq(only_value(BCON_NEW("x", BCON_DOUBLE(-0.9))), 0);
}

/* ---- generated schemas --------------------------------------------------------------------------------- */

/* Knuth's MMIX generator. */
static uint32_t next_random(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(*state >> 33);
}

static int64_t random_value(uint64_t *shape, uint64_t *values)
{
	static const int64_t edges[] = {0, 1, -1, 127, 128, -128, INT64_MAX, INT64_MIN, 1 << 20};
	if (next_random(shape) % 4) /* a metric that stands still: runs of zeros go on into its neighbours */
		return 7;
	return edges[next_random(values) % (sizeof edges / sizeof *edges)];
}

/* The same `shape` gives the same metrics, `values` what they hold. */
static void fill(bson_t *to, uint64_t *shape, uint64_t *values, int depth)
{
	bson_t inner;
	char key[16];
	unsigned fields = next_random(shape) % 6;
	for (unsigned i = 0; i < fields; i++) {
		snprintf(key, sizeof key, "k%u", i);
		int64_t value = random_value(shape, values);
		switch (next_random(shape) % 8) {
		case 0:
			bson_append_double(to, key, -1, (double)(value >> 16));
			break;
		case 1:
			bson_append_int32(to, key, -1, (int32_t)value);
			break;
		case 2:
			bson_append_bool(to, key, -1, value & 1);
			break;
		case 3:
			bson_append_timestamp(to, key, -1, (uint32_t)value, (uint32_t)(value >> 32));
			break;
		case 4:
			bson_append_utf8(to, key, -1, value & 1 ? "odd" : "even or longer", -1);
			break;
		case 5:
		case 6:
			if (depth == FTDC_DEPTH_MAX)
				break;
			bson_append_document_begin(to, key, -1, &inner);
			fill(&inner, shape, values, depth + 1);
			bson_append_document_end(to, &inner);
			break;
		default:
			bson_append_int64(to, key, -1, value);
		}
	}
}

static bson_t *random_sample(uint64_t seed, uint64_t *values, int64_t ms)
{
	uint64_t shape = seed;
	bson_t *sample = bson_new(), inner;
	bson_append_date_time(sample, "start", -1, START_MS + ms);
	for (int i = 0; i < 8; i++) {
		char key[16];
		snprintf(key, sizeof key, "section%d", i);
		bson_append_document_begin(sample, key, -1, &inner);
		fill(&inner, &shape, values, 1);
		bson_append_document_end(sample, &inner);
	}
	return sample;
}

static void expect_sample(const struct ftdc_chunk *chunk, size_t index, const bson_t *sample)
{
	struct flat flat = {0};
	flatten(sample, &flat);
	cr_assert_eq(chunk->column_count, flat.count);
	for (size_t i = 0; i < flat.count; i++) {
		cr_assert_str_eq(chunk->columns[i].name, flat.names[i]);
		cr_assert_eq(chunk->columns[i].values[index], flat.values[i], "%s, sample %zu", flat.names[i],
			     index);
	}
	flat_free(&flat);
}

static void round_trip(uint64_t seed, size_t count)
{
	bson_t *samples[300];
	struct bytes file = {0};
	struct ftdc_chunk chunk;
	uint64_t values = seed + 1;
	for (size_t i = 0; i < count; i++)
		samples[i] = random_sample(seed, &values, (int64_t)i * 1000);
	put_chunk(&file, samples, count);
	struct ftdc *ftdc = open_bytes(&file, NULL);
	expect_chunk(ftdc, &chunk, count);
	for (size_t i = 0; i < count; i++)
		expect_sample(&chunk, i, samples[i]);
	expect_end(ftdc, 0);
	for (size_t i = 0; i < count; i++)
		bson_destroy(samples[i]);
}

Test(ftdc, generated_schemas_come_out_as_they_went_in)
{
	for (uint64_t seed = 0; seed < 60; seed++)
		round_trip(seed, seed % 5 == 0 ? 300 : 1 + (size_t)seed % 13);
}

/* ---- choosing ------------------------------------------------------------------------------------------ */

static bool is_value(void *context, const char *name)
{
	(*(unsigned *)context)++;
	return strcmp(name, "serverStatus.value") == 0;
}

Test(ftdc, only_wanted_metrics_come_and_each_schema_is_asked_for_once)
{
	unsigned asked = 0;
	const struct ftdc_options options = {.wanted = is_value, .context = &asked};
	struct bytes file = {0};
	struct ftdc_chunk chunk;
	put_plain_chunk(&file, 0, 10, 5);
	put_plain_chunk(&file, 5000, 15, 5);
	struct ftdc *ftdc = open_bytes(&file, &options);
	for (int64_t i = 0; i < 2; i++) {
		expect_chunk(ftdc, &chunk, 5);
		cr_assert_eq(chunk.metrics, 4);
		cr_assert_eq(chunk.column_count, 1);
		cr_assert_str_eq(chunk.columns[0].name, "serverStatus.value");
		cr_assert_eq(chunk.columns[0].values[4], 14 + 5 * i);
		cr_assert_eq(chunk.time_ms[4], START_MS + 4000 + 5000 * i);
	}
	cr_assert_eq(asked, 4, "asked %u times", asked);
	expect_end(ftdc, 0);
}

Test(ftdc, names_only_gives_the_names_without_values)
{
	const struct ftdc_options options = {.names_only = true};
	struct bytes file = {0};
	struct ftdc_chunk chunk;
	put_plain_chunk(&file, 0, 10, 300);
	struct ftdc *ftdc = open_bytes(&file, &options);
	expect_chunk(ftdc, &chunk, 0);
	cr_assert_eq(chunk.column_count, 4);
	cr_assert_str_eq(chunk.columns[3].name, "serverStatus.uptimeMillis");
	cr_assert_null(chunk.columns[3].values);
	expect_end(ftdc, 0);
}

Test(ftdc, a_schema_has_a_new_number_where_its_names_change)
{
	bson_t *other = BCON_NEW("start", BCON_DATE_TIME(START_MS), "y", BCON_INT32(1));
	struct bytes file = {0};
	struct ftdc_chunk chunk;
	uint64_t schemas[4];
	put_plain_chunk(&file, 0, 1, 2);
	put_plain_chunk(&file, 2000, 1, 2);
	put_chunk(&file, &other, 1);
	put_plain_chunk(&file, 4000, 1, 2);
	struct ftdc *ftdc = open_bytes(&file, NULL);
	for (int i = 0; i < 4; i++) {
		cr_assert(ftdc_next(ftdc, &chunk, &error));
		schemas[i] = chunk.schema;
	}
	cr_assert_eq(schemas[0], schemas[1]);
	cr_assert_neq(schemas[1], schemas[2]);
	cr_assert_neq(schemas[2], schemas[3]);
	expect_end(ftdc, 0);
	bson_destroy(other);
}

Test(ftdc, without_start_the_first_date_tells_the_time)
{
	bson_t *sample = BCON_NEW("n", BCON_INT32(4), "in", "{", "ts", BCON_DATE_TIME(START_MS + 5), "}",
				  "later", BCON_DATE_TIME(9));
	struct bytes file = {0};
	struct ftdc_chunk chunk;
	put_chunk(&file, &sample, 1);
	struct ftdc *ftdc = open_bytes(&file, NULL);
	expect_chunk(ftdc, &chunk, 1);
	cr_assert_eq(chunk.time_ms[0], START_MS + 5);
	expect_end(ftdc, 0);
	bson_destroy(sample);
}
