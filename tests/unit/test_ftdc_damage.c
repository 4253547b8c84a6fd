/* Diagnostic data that is cut off, altered, or lies: what is left is read, and what is wrong is said. */
#include <criterion/criterion.h>
#include <string.h>
#include <sys/stat.h>

#include "analyzer/ftdc.h"
#include "tests/unit/support_ftdc.h"
#include "tests/unit/support_trace.h"

#define SAMPLES 4u

static struct error error;

static struct ftdc *open_bytes(const void *data, size_t bytes)
{
	const char *path = support_path("metrics.one");
	support_write_file(path, data, bytes);
	struct ftdc *ftdc = ftdc_open(path, NULL, &error);
	cr_assert(ftdc, "%s", error.text);
	return ftdc;
}

/* ---- a file with a description and three chunks -------------------------------------------------------- */

struct fixture {
	struct bytes file;
	size_t starts[5]; /* of its documents, and its end */
};

static void make(struct fixture *fixture)
{
	bson_t *doc = BCON_NEW("buildInfo", "{", "version", BCON_UTF8("8.0.3"), "}");
	*fixture = (struct fixture){0};
	put_description(&fixture->file, START_MS, doc);
	for (int64_t i = 0; i < 3; i++) {
		fixture->starts[i + 1] = fixture->file.count;
		put_plain_chunk(&fixture->file, i * 1000 * SAMPLES, i * SAMPLES, SAMPLES);
	}
	fixture->starts[4] = fixture->file.count;
	bson_destroy(doc);
}

/* Which of the three chunks come, as bits; each must be whole and right. */
static unsigned read_chunks(struct ftdc *ftdc)
{
	unsigned seen = 0;
	for (struct ftdc_chunk chunk; ftdc_next(ftdc, &chunk, &error);) {
		int64_t first = (chunk.time_ms[0] - START_MS) / 1000;
		cr_assert(chunk.samples == SAMPLES && chunk.column_count == 4);
		cr_assert(first == 0 || first == SAMPLES || first == 2 * SAMPLES);
		for (int64_t i = 0; i < SAMPLES; i++)
			cr_assert_eq(chunk.columns[1].values[i], first + i);
		seen |= 1u << (first / SAMPLES);
	}
	cr_assert_eq(error.code, ERROR_NONE, "%s", error.text);
	return seen;
}

Test(ftdc_damage, a_file_cut_off_anywhere_is_read_up_to_there)
{
	struct fixture fixture;
	make(&fixture);
	for (size_t length = 0; length <= fixture.file.count; length++) {
		size_t count, whole = 0;
		while (whole < 4 && fixture.starts[whole + 1] <= length)
			whole++;
		struct ftdc *ftdc = open_bytes(fixture.file.data, length);
		unsigned wanted = whole ? (1u << (whole - 1)) - 1 : 0;
		cr_assert_eq(read_chunks(ftdc), wanted, "cut at %zu", length);
		const struct ftdc_damage *damage = ftdc_damage(ftdc, &count);
		cr_assert_eq(count, fixture.starts[whole] < length, "cut at %zu", length);
		if (count)
			cr_assert(damage[0].offset_bytes == fixture.starts[whole] &&
				  damage[0].bytes == length - fixture.starts[whole]);
		ftdc_close(ftdc);
	}
	bytes_free(&fixture.file);
}

Test(ftdc_damage, an_altered_bit_costs_at_most_the_document_that_it_is_in)
{
	struct fixture fixture;
	make(&fixture);
	for (size_t bit = 0; bit < 8 * fixture.file.count; bit++) {
		size_t at = bit / 8, document = 0;
		while (fixture.starts[document + 1] <= at)
			document++;
		fixture.file.data[at] ^= (uint8_t)(1u << bit % 8);
		struct ftdc *ftdc = open_bytes(fixture.file.data, fixture.file.count);
		unsigned others = 7u & ~(document ? 1u << (document - 1) : 0);
		cr_assert_eq(read_chunks(ftdc) & others, others, "bit %zu of byte %zu", bit % 8, at);
		ftdc_close(ftdc);
		fixture.file.data[at] ^= (uint8_t)(1u << bit % 8);
	}
	bytes_free(&fixture.file);
}

Test(ftdc_damage, what_lies_between_documents_is_passed_over)
{
	struct fixture fixture;
	make(&fixture);
	static const uint8_t zeros[200000];
	struct bytes file = {0};
	put_bytes(&file, fixture.file.data, fixture.starts[2]);
	put_bytes(&file, zeros, sizeof zeros); /* more than one window of the search */
	put_bytes(&file, fixture.file.data + fixture.starts[2], fixture.starts[4] - fixture.starts[2]);
	put_bytes(&file, "end", 3);
	struct ftdc *ftdc = open_bytes(file.data, file.count);
	size_t count;
	cr_assert_eq(read_chunks(ftdc), 7);
	const struct ftdc_damage *damage = ftdc_damage(ftdc, &count);
	cr_assert_eq(count, 2);
	cr_assert(damage[0].offset_bytes == fixture.starts[2] && damage[0].bytes == sizeof zeros);
	cr_assert(damage[1].offset_bytes == file.count - 3 && damage[1].bytes == 3);
	ftdc_close(ftdc);
	bytes_free(&file);
	bytes_free(&fixture.file);
}

Test(ftdc_damage, a_document_is_found_wherever_the_windows_of_the_search_meet)
{
	struct bytes chunk = {0};
	put_plain_chunk(&chunk, 0, 0, SAMPLES);
	for (size_t gap = 65536 - 64; gap < 65536 + 64; gap++) {
		uint8_t *data = calloc(1, gap + chunk.count);
		memcpy(data + gap, chunk.data, chunk.count);
		struct ftdc *ftdc = open_bytes(data, gap + chunk.count);
		cr_assert_eq(read_chunks(ftdc), 1, "after %zu bytes", gap);
		cr_assert_eq(ftdc_damage_count(ftdc), 1);
		ftdc_close(ftdc);
		free(data);
	}
	bytes_free(&chunk);
}

/* ---- chunks that lie ----------------------------------------------------------------------------------- */

/* A file of one broken chunk between two good ones: they come, and the damage says `why`. */
static void expect_refused(const struct bytes *data, const char *why)
{
	struct bytes file = {0};
	size_t count;
	put_plain_chunk(&file, 0, 0, SAMPLES);
	size_t offset = file.count;
	put_data(&file, START_MS, data);
	put_plain_chunk(&file, 1000 * SAMPLES, SAMPLES, SAMPLES);
	struct ftdc *ftdc = open_bytes(file.data, file.count);
	cr_assert_eq(read_chunks(ftdc), 3, "%s", why);
	const struct ftdc_damage *damage = ftdc_damage(ftdc, &count);
	cr_assert_eq(count, 1, "%s", why);
	cr_assert_eq(damage[0].offset_bytes, offset);
	cr_assert(strstr(damage[0].text, why), "'%s' instead of '%s'", damage[0].text, why);
	ftdc_close(ftdc);
	bytes_free(&file);
}

/* Takes over `sample`. `deltas` may be NULL. */
static void expect_inflated_refused(bson_t *sample, uint32_t metrics, uint32_t samples,
				    const struct bytes *deltas, const char *why)
{
	struct bytes inflated = {0}, data = {0};
	put_bytes(&inflated, bson_get_data(sample), sample->len);
	put_u32(&inflated, metrics);
	put_u32(&inflated, samples);
	if (deltas)
		put_bytes(&inflated, deltas->data, deltas->count);
	put_deflated(&data, &inflated, (uint32_t)inflated.count);
	expect_refused(&data, why);
	bytes_free(&inflated);
	bytes_free(&data);
	bson_destroy(sample);
}

Test(ftdc_damage, numbers_of_metrics_and_samples_must_be_true)
{
	expect_inflated_refused(plain_sample(0, 0), 3, 0, NULL, "number of metrics");
	expect_inflated_refused(plain_sample(0, 0), 5, 0, NULL, "number of metrics");
	expect_inflated_refused(plain_sample(0, 0), 4, UINT32_MAX, NULL, "more values");
	expect_inflated_refused(plain_sample(0, 0), 4, FTDC_SAMPLES_MAX, NULL, "more values");
}

Test(ftdc_damage, deltas_must_be_as_many_as_values)
{
	struct bytes deltas = {0};
	for (int i = 0; i < 7; i++)
		put_varint(&deltas, 5);
	expect_inflated_refused(plain_sample(0, 0), 4, 2, &deltas, "end too early");
	put_varint(&deltas, 5);
	put_varint(&deltas, 5);
	expect_inflated_refused(plain_sample(0, 0), 4, 2, &deltas, "more deltas than values");
	expect_inflated_refused(plain_sample(0, 0), 4, 0, &deltas, "more deltas than values");
	bytes_free(&deltas);
	put_varint(&deltas, 0);
	put_varint(&deltas, 8); /* nine zeros for eight values */
	expect_inflated_refused(plain_sample(0, 0), 4, 2, &deltas, "more deltas than values");
	bytes_free(&deltas);
	put_varint(&deltas, 0);
	put_varint(&deltas, UINT64_MAX);
	expect_inflated_refused(plain_sample(0, 0), 4, 2, &deltas, "more deltas than values");
	bytes_free(&deltas);
	put_varint(&deltas, 0); /* without its number of zeros */
	expect_inflated_refused(plain_sample(0, 0), 4, 2, &deltas, "end too early");
	bytes_free(&deltas);
	put_bytes(&deltas, "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01\0\0\0\0\0\0\0", 18);
	expect_inflated_refused(plain_sample(0, 0), 4, 2, &deltas, "end too early");
	bytes_free(&deltas);
}

Test(ftdc_damage, a_sample_needs_a_time)
{
	expect_inflated_refused(BCON_NEW("start", BCON_INT64(START_MS)), 1, 0, NULL, "time");
	expect_inflated_refused(bson_new(), 0, 3, NULL, "time");
}

static bson_t *nested(int depth)
{
	bson_t *sample = BCON_NEW("n", BCON_INT32(1));
	for (int i = 0; i < depth; i++) {
		bson_t *outer = bson_new();
		bson_append_document(outer, "d", -1, sample);
		bson_destroy(sample);
		sample = outer;
	}
	bson_append_date_time(sample, "start", -1, START_MS);
	return sample;
}

Test(ftdc_damage, documents_nest_ten_deep_and_no_deeper)
{
	struct bytes file = {0};
	struct ftdc_chunk chunk;
	bson_t *sample = nested(FTDC_DEPTH_MAX);
	put_chunk(&file, &sample, 1);
	struct ftdc *ftdc = open_bytes(file.data, file.count);
	cr_assert(ftdc_next(ftdc, &chunk, &error));
	cr_assert_str_eq(chunk.columns[0].name, "d.d.d.d.d.d.d.d.d.d.n");
	ftdc_close(ftdc);
	bytes_free(&file);
	bson_destroy(sample);
	expect_inflated_refused(nested(FTDC_DEPTH_MAX + 1), 2, 0, NULL, "too deep");
	expect_inflated_refused(nested(100000), 2, 0, NULL, "too deep");
}

static bson_t *long_name(size_t bytes)
{
	char *name = malloc(bytes + 1);
	memset(name, 'n', bytes);
	name[bytes] = '\0';
	bson_t *sample = BCON_NEW("start", BCON_DATE_TIME(START_MS), name, BCON_INT32(1));
	free(name);
	return sample;
}

Test(ftdc_damage, names_and_their_number_are_bounded)
{
	expect_inflated_refused(long_name(FTDC_NAME_MAX_BYTES), 2, 0, NULL, "name longer");
	bson_t *many = BCON_NEW("start", BCON_DATE_TIME(START_MS));
	for (uint32_t i = 0; i < FTDC_METRICS_MAX; i++)
		bson_append_bool(many, "b", 1, true);
	expect_inflated_refused(many, FTDC_METRICS_MAX + 1, 0, NULL, "more metrics");
	bson_t *wide = BCON_NEW("start", BCON_DATE_TIME(START_MS)), inner;
	char name[1000] = {0};
	memset(name, 'n', sizeof name - 1);
	bson_append_document_begin(wide, name, -1, &inner);
	for (int i = 0; i < 20000; i++)
		bson_append_bool(&inner, "b", 1, true);
	bson_append_document_end(wide, &inner);
	expect_inflated_refused(wide, 20001, 0, NULL, "names of metrics");
}

Test(ftdc_damage, values_are_bounded_before_memory_is_taken)
{
	bson_t *sample = BCON_NEW("start", BCON_DATE_TIME(START_MS));
	char key[16];
	for (int i = 0; i < 999; i++) {
		snprintf(key, sizeof key, "m%d", i);
		bson_append_int32(sample, key, -1, 1);
	}
	struct bytes deltas = {0};
	put_varint(&deltas, 0);
	put_varint(&deltas, UINT64_C(1000) * 60000 - 1); /* 480 MB of values in some 8 KB */
	expect_inflated_refused(sample, 1000, 60000, &deltas, "more values");
	bytes_free(&deltas);
}

Test(ftdc_damage, a_sample_with_a_broken_field_is_refused)
{
	bson_t *sample = plain_sample(0, 0);
	uint8_t *data = (uint8_t *)bson_get_data(sample); /* allocated by libbson, as large as it is */
	data[4] = 0x42;					  /* no type of BSON */
	expect_inflated_refused(sample, 4, 0, NULL, "cannot be read");
	sample = BCON_NEW("start", BCON_DATE_TIME(START_MS), "d", "{", "n", BCON_INT32(1), "}");
	data = (uint8_t *)bson_get_data(sample);
	data[4 + 15 + 3] = 200; /* length of d */
	expect_inflated_refused(sample, 2, 0, NULL, "cannot be read");
}

Test(ftdc_damage, the_inflated_length_must_be_true)
{
	struct bytes inflated = {0}, data = {0};
	bson_t *sample = plain_sample(0, 0);
	put_inflated(&inflated, &sample, 1);
	const struct {
		uint32_t length;
		const char *why;
	} cases[] = {
		{(uint32_t)inflated.count - 1, "cannot be inflated"},
		{(uint32_t)inflated.count + 1, "cannot be inflated"},
		{0, "impossible length"},
		{FTDC_DOCUMENT_MAX_BYTES + 1, "impossible length"},
		{UINT32_MAX, "impossible length"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		data.count = 0;
		put_deflated(&data, &inflated, cases[i].length);
		expect_refused(&data, cases[i].why);
	}
	data.count = 3;
	expect_refused(&data, "without its length");
	data.count = 0;
	put_deflated(&data, &inflated, (uint32_t)inflated.count);
	put_bytes(&data, "x", 1);
	expect_refused(&data, "cannot be inflated");
	bytes_free(&inflated);
	bytes_free(&data);
	bson_destroy(sample);
}

Test(ftdc_damage, the_first_document_of_a_chunk_must_fit)
{
	struct bytes inflated = {0}, data = {0};
	put_u32(&inflated, 1000); /* its length */
	put_u32(&inflated, 0);
	put_u32(&inflated, 0);
	put_u32(&inflated, 0);
	put_deflated(&data, &inflated, (uint32_t)inflated.count);
	expect_refused(&data, "without the document");
	bytes_free(&inflated);
	bytes_free(&data);
}

/* ---- documents ----------------------------------------------------------------------------------------- */

/* Takes over `document`. */
static void expect_document_refused(bson_t *document, const char *why)
{
	size_t count;
	struct ftdc_chunk chunk;
	struct ftdc *ftdc = open_bytes(bson_get_data(document), document->len);
	cr_assert_not(ftdc_next(ftdc, &chunk, &error));
	const struct ftdc_damage *damage = ftdc_damage(ftdc, &count);
	cr_assert_eq(count, 1, "%s", why);
	cr_assert(strstr(damage[0].text, why), "'%s' instead of '%s'", damage[0].text, why);
	ftdc_close(ftdc);
	bson_destroy(document);
}

Test(ftdc_damage, documents_need_their_content)
{
	expect_document_refused(BCON_NEW("_id", BCON_DATE_TIME(1), "type", BCON_INT32(0)),
				"without its document");
	expect_document_refused(
		BCON_NEW("_id", BCON_DATE_TIME(1), "type", BCON_INT32(2), "doc", BCON_UTF8("x")),
		"without its document");
	expect_document_refused(
		BCON_NEW("_id", BCON_DATE_TIME(1), "type", BCON_INT32(1), "data", BCON_INT32(1)),
		"without its data");
	expect_document_refused(
		BCON_NEW("_id", BCON_DATE_TIME(1), "type", BCON_INT32(1), "data",
			 BCON_BIN(BSON_SUBTYPE_UUID, (const uint8_t *)"0123456789abcdef", 16)),
		"without its data");
	expect_document_refused(BCON_NEW("_id", BCON_DATE_TIME(1), "type", BCON_INT32(2), "count",
					 BCON_INT32(1), "doc", "{", "getParameter", "{", "}", "}"),
				"were not read");
}

Test(ftdc_damage, parameters_are_bounded_also_as_changes_add_up)
{
	struct bytes file = {0};
	char key[32];
	struct ftdc_chunk chunk;
	for (int round = 0; round < 4; round++) {
		bson_t *doc = bson_new(), inner;
		bson_append_document_begin(doc, "getParameter", -1, &inner);
		for (int i = 0; i < 3000; i++) {
			snprintf(key, sizeof key, "p%d.%d", round, i);
			bson_append_bool(&inner, key, -1, true);
		}
		bson_append_document_end(doc, &inner);
		put_parameters(&file, START_MS + round, round, doc);
		bson_destroy(doc);
	}
	struct ftdc *ftdc = open_bytes(file.data, file.count);
	cr_assert_not(ftdc_next(ftdc, &chunk, &error));
	cr_assert_eq(ftdc_damage_count(ftdc), 2); /* 3,000 and 6,000 were taken, 9,000 and what follows not */
	ftdc_close(ftdc);
	bytes_free(&file);
}

Test(ftdc_damage, more_damage_than_is_kept_is_still_counted)
{
	struct bytes file = {0};
	for (int i = 0; i < FTDC_DAMAGE_MAX + 10; i++) {
		bson_t *document = BCON_NEW("_id", BCON_DATE_TIME(1), "type", BCON_INT32(1));
		put_bytes(&file, bson_get_data(document), document->len);
		bson_destroy(document);
	}
	struct ftdc *ftdc = open_bytes(file.data, file.count);
	size_t count;
	cr_assert_eq(read_chunks(ftdc), 0);
	ftdc_damage(ftdc, &count);
	cr_assert_eq(count, FTDC_DAMAGE_MAX);
	cr_assert_eq(ftdc_damage_count(ftdc), FTDC_DAMAGE_MAX + 10);
	ftdc_close(ftdc);
	bytes_free(&file);
}

/* ---- files --------------------------------------------------------------------------------------------- */

Test(ftdc_damage, a_file_that_cannot_be_read_does_not_hide_the_others)
{
	char path[512];
	struct bytes file = {0};
	struct ftdc_chunk chunk;
	size_t count;
	const char *directory = support_path("d");
	cr_assert_eq(mkdir(directory, 0700), 0);
	put_plain_chunk(&file, 0, 0, SAMPLES);
	snprintf(path, sizeof path, "%s/metrics.2", directory);
	support_write_file(path, file.data, file.count);
	snprintf(path, sizeof path, "%s/metrics.1", directory);
	cr_assert_eq(mkfifo(path, 0600), 0); /* opening one for reading would wait for a writer */
	struct ftdc *ftdc = ftdc_open(directory, NULL, &error);
	cr_assert(ftdc);
	cr_assert(ftdc_next(ftdc, &chunk, &error) && chunk.samples == SAMPLES);
	const struct ftdc_damage *damage = ftdc_damage(ftdc, &count);
	cr_assert(count == 1 && strcmp(damage[0].file, path) == 0);
	ftdc_close(ftdc);
	bytes_free(&file);
}

Test(ftdc_damage, nothing_to_read_is_an_error)
{
	const char *empty = support_path("empty");
	cr_assert_eq(mkdir(empty, 0700), 0);
	cr_assert_null(ftdc_open(empty, NULL, &error));
	cr_assert(error.code == ERROR_INPUT && strcmp(error.file, empty) == 0 &&
		  strstr(error.text, "diagnostic.data"));
	error = (struct error){0};
	cr_assert_null(ftdc_open(support_path("missing"), NULL, &error));
	cr_assert_eq(error.code, ERROR_INPUT);
}
