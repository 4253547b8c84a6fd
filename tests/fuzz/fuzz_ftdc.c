/*
 * Any bytes are read as diagnostic data, with values and for the names alone: what comes out is within its
 * bounds, and the places of damage lie in the file, in order, without meeting.
 */
#include "analyzer/ftdc.h"
#include "analyzer/ftdc_summary.h"
#include "tests/fuzz/fuzz.h"

#include <bson/bson.h>
#include <zlib.h>

#define KEPT_MAX 64u /* columns, so that an input cannot spend its time on copying */

/* ---- inputs -------------------------------------------------------------------------------------------- */

/*
 * A fuzzer finds no checksum of zlib. So the input is read as a list of documents: a byte says which kind,
 * two give a length, and as many bytes are what is inside, wrapped up as the kind has it. Kind 0: bytes as
 * they are.
 */
static void put(uint8_t **to, const void *data, size_t bytes)
{
	memcpy(*to, data, bytes);
	*to += bytes;
}

static void put_chunk(uint8_t **to, const uint8_t *inflated, size_t bytes)
{
	static uint8_t data[4 + 131072];
	uLongf deflated_bytes = sizeof data - 4;
	uint32_t length = (uint32_t)bytes;
	bson_t document = BSON_INITIALIZER;
	memcpy(data, &length, 4);
	require(compress2(data + 4, &deflated_bytes, inflated, bytes, 1) == Z_OK);
	bson_append_date_time(&document, "_id", -1, 1000);
	bson_append_int32(&document, "type", -1, 1);
	bson_append_binary(&document, "data", -1, BSON_SUBTYPE_BINARY, data, (uint32_t)deflated_bytes + 4);
	put(to, bson_get_data(&document), document.len);
	bson_destroy(&document);
}

/* A document of type 0 or 2, whose field "doc" is made of the bytes as they are. */
static void put_metadata(uint8_t **to, uint8_t type, const uint8_t *inner, size_t bytes)
{
	static const uint8_t head[] = "\0\0\0\0\x09_id\0\0\0\0\0\0\0\0\0\x10type\0\0\0\0\0\x10"
				      "count\0\0\0\0\0\x03"
				      "doc";
	uint8_t *start = *to;
	uint32_t length = (uint32_t)(sizeof head + bytes + 1);
	put(to, head, sizeof head);
	put(to, inner, bytes);
	put(to, "", 1);
	memcpy(start, &length, 4);
	start[23] = type;
	start[34] = type && bytes % 2 == 0; /* changes, or the whole */
}

static size_t build(const uint8_t *data, size_t bytes, uint8_t *file, size_t capacity)
{
	struct input input = {data, bytes};
	uint8_t *to = file;
	while (input.left) {
		uint8_t kind = input_byte(&input);
		size_t length = input_length(&input);
		if ((size_t)(to - file) + 2 * length + 4096 > capacity)
			break;
		if (kind % 4 == 0)
			put(&to, input.at, length);
		else if (kind % 4 == 3)
			put_chunk(&to, input.at, length);
		else
			put_metadata(&to, kind % 4 == 1 ? 0 : 2, input.at, length);
		input.at += length;
		input.left -= length;
	}
	return (size_t)(to - file);
}

/* ---- properties ---------------------------------------------------------------------------------------- */

struct reading {
	struct ftdc_summary summary;
	unsigned kept;
};

static bool wanted(void *context, const char *name)
{
	struct reading *reading = context;
	return ftdc_summary_wants(&reading->summary, name) || reading->kept++ < KEPT_MAX;
}

static void check_chunk(const struct ftdc_chunk *chunk, bool names_only)
{
	require(chunk->metrics <= FTDC_METRICS_MAX && chunk->column_count <= chunk->metrics);
	require(names_only ? chunk->samples == 0 : chunk->samples + chunk->repeated >= 1);
	require(chunk->samples < FTDC_SAMPLES_MAX + 1);
	int64_t sum = 0;
	for (size_t i = 0; i < chunk->samples; i++)
		sum ^= chunk->time_ms[i];
	for (size_t i = 0; i < chunk->column_count; i++) {
		require(strlen(chunk->columns[i].name) < FTDC_NAME_MAX_BYTES);
		for (size_t sample = 0; sample < chunk->samples; sample++)
			sum ^= chunk->columns[i].values[sample];
	}
	volatile int64_t read = sum;
	(void)read;
}

static void check_damage(const struct ftdc *ftdc, size_t bytes)
{
	size_t count;
	uint64_t end = 0;
	const struct ftdc_damage *damage = ftdc_damage(ftdc, &count);
	require(count <= ftdc_damage_count(ftdc));
	for (size_t i = 0; i < count; i++) {
		require(damage[i].offset_bytes >= end && damage[i].bytes > 0 && damage[i].text[0]);
		end = damage[i].offset_bytes + damage[i].bytes;
		require(end <= bytes);
	}
}

static void read_all(const char *path, size_t bytes, bool names_only)
{
	struct reading reading = {0};
	const struct ftdc_options options = {.wanted = wanted, .context = &reading, .names_only = names_only};
	struct ftdc_chunk chunk;
	struct error error = {0};
	char text[64];
	struct ftdc *ftdc = ftdc_open(path, &options, &error);
	require(ftdc);
	while (ftdc_next(ftdc, &chunk, &error)) {
		check_chunk(&chunk, names_only);
		ftdc_summary_add(&reading.summary, ftdc, &chunk);
		ftdc_text(ftdc, "getParameter.a", text, sizeof text);
	}
	require(error.code == ERROR_NONE);
	check_damage(ftdc, bytes);
	json_t *object = ftdc_summary_json(&reading.summary, ftdc);
	require(object);
	json_decref(object);
	ftdc_summary_free(&reading.summary);
	ftdc_close(ftdc);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static char path[64];
	static uint8_t file[1 << 20];
	if (!path[0])
		scratch_path(path, sizeof path, "ftdc");
	size_t file_bytes = build(data, bytes, file, sizeof file);
	scratch_write(path, file, file_bytes);
	read_all(path, file_bytes, false);
	read_all(path, file_bytes, true);
	unlink(path);
	return 0;
}
