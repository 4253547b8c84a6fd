#include <string.h>
#include <zlib.h>

#include "analyzer/array.h"
#include "analyzer/ftdc_internal.h"

/*
 * A chunk's data: length inflated (u32), one zlib stream (RFC 1950). Inflated: the document of the first
 * sample, number of metrics (u32), number of further samples (u32), then for each metric, and for each
 * further sample, the difference to the sample before: a varint (unsigned LEB128 of the difference modulo
 * 2^64). A zero is followed by a varint with the number of zeros behind it, which goes on into the next
 * metric.
 */
#define LENGTH_BYTES   4u
#define COUNTS_BYTES   8u
#define VARINT_MAX     10u
#define DOCUMENT_BYTES 5u /* an empty document: its length and its end */

const char ftdc_no_memory[] = "out of memory";

static uint32_t get_u32(const uint8_t *at)
{
	return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* ---- inflating ----------------------------------------------------------------------------------------- */

/* Inflates until `bytes` are out; false where the stream is broken or has fewer. */
static bool inflate_to(z_stream *stream, size_t bytes)
{
	stream->avail_out = (uInt)(bytes - stream->total_out);
	while (stream->avail_out > 0) {
		int status = inflate(stream, Z_NO_FLUSH);
		if (status == Z_STREAM_END)
			return stream->avail_out == 0;
		if (status != Z_OK)
			return false;
	}
	return true;
}

/* True where the stream ends here, its checksum holds, and the input ends with it. */
static bool inflate_ends(z_stream *stream)
{
	uint8_t excess;
	stream->next_out = &excess;
	stream->avail_out = 1;
	return inflate(stream, Z_FINISH) == Z_STREAM_END && stream->avail_out == 1 && stream->avail_in == 0;
}

/* Only as much as the names need: the first document and the two counts. */
static bool inflate_head(z_stream *stream, const uint8_t *inflated, size_t bytes)
{
	if (!inflate_to(stream, LENGTH_BYTES))
		return false;
	size_t document = get_u32(inflated);
	return document <= bytes - COUNTS_BYTES && document >= DOCUMENT_BYTES &&
	       inflate_to(stream, document + COUNTS_BYTES);
}

static const char *inflate_data(struct ftdc_chunks *chunks, const uint8_t *data, size_t bytes, bool head_only,
				size_t *inflated_bytes)
{
	if (bytes < LENGTH_BYTES)
		return "a chunk without its length";
	size_t length = get_u32(data);
	if (length < DOCUMENT_BYTES + COUNTS_BYTES || length > FTDC_DOCUMENT_MAX_BYTES)
		return "a chunk of an impossible length";
	if (!array_reserve(&chunks->inflated, &chunks->inflated_capacity, length, 1))
		return ftdc_no_memory;
	z_stream stream = {.next_in = (Bytef *)data + LENGTH_BYTES,
			   .avail_in = (uInt)(bytes - LENGTH_BYTES),
			   .next_out = chunks->inflated};
	if (inflateInit(&stream) != Z_OK)
		return ftdc_no_memory;
	bool good = head_only ? inflate_head(&stream, chunks->inflated, length)
			      : inflate_to(&stream, length) && inflate_ends(&stream);
	*inflated_bytes = head_only ? stream.total_out : length;
	inflateEnd(&stream);
	chunks->inflated_bytes += good ? *inflated_bytes : 0;
	return good ? NULL : "a chunk that cannot be inflated";
}

/* ---- deltas -------------------------------------------------------------------------------------------- */

struct deltas {
	const uint8_t *at, *end;
	uint64_t zeros; /* that are still to come */
};

static bool get_varint(struct deltas *deltas, uint64_t *value)
{
	uint64_t sum = 0;
	for (unsigned i = 0; i < VARINT_MAX && deltas->at < deltas->end; i++) {
		uint8_t byte = *deltas->at++;
		sum |= (uint64_t)(byte & 127) << (7 * i);
		if (byte < 128) {
			*value = sum;
			return true;
		}
	}
	return false;
}

static void repeat(int64_t *values, size_t count, uint64_t value)
{
	for (size_t i = 0; i < count; i++)
		values[i] = (int64_t)value;
}

/* The samples of one metric, of which values[0] is known. */
static bool add_up(struct deltas *deltas, int64_t first, int64_t *values, size_t samples)
{
	uint64_t value = (uint64_t)first, delta;
	values[0] = first;
	for (size_t sample = 1; sample < samples;) {
		if (deltas->zeros) {
			size_t left = samples - sample;
			size_t same = deltas->zeros < left ? (size_t)deltas->zeros : left;
			repeat(values + sample, same, value);
			deltas->zeros -= same;
			sample += same;
			continue;
		}
		if (!get_varint(deltas, &delta))
			return false;
		value += delta;
		values[sample++] = (int64_t)value;
		if (delta == 0 && !get_varint(deltas, &deltas->zeros))
			return false;
	}
	return true;
}

/* Eight deltas of a byte each, none of them zero: no byte has its highest bit, and none would borrow. */
static bool eight_small(const uint8_t *at)
{
	uint64_t word;
	memcpy(&word, at, sizeof word);
	return ((word | (word - 0x0101010101010101u)) & 0x8080808080808080u) == 0;
}

/* Goes past so many values that nobody wants, which need not be added up. */
static bool skip(struct deltas *deltas, uint64_t values)
{
	uint64_t delta;
	for (;;) {
		uint64_t same = deltas->zeros < values ? deltas->zeros : values;
		deltas->zeros -= same;
		values -= same;
		while (values >= 8 && deltas->end - deltas->at >= 8 && eight_small(deltas->at)) {
			deltas->at += 8;
			values -= 8;
		}
		if (values == 0)
			return true;
		if (!get_varint(deltas, &delta))
			return false;
		values--;
		if (delta == 0 && !get_varint(deltas, &deltas->zeros))
			return false;
	}
}

static const char too_early[] = "a chunk whose deltas end too early";

static const char *decode_values(struct ftdc_chunks *chunks, const uint8_t *at, const uint8_t *end,
				 size_t samples)
{
	const struct ftdc_schema *schema = &chunks->schema;
	struct deltas deltas = {.at = at, .end = end};
	uint64_t unwanted = 0;
	for (size_t i = 0; i < schema->count; i++) {
		size_t column = chunks->column_of[i];
		int64_t *values = column != FTDC_NONE ? chunks->values + (column + 1) * samples : NULL;
		int64_t *to = values || i != schema->time_index ? values : chunks->values;
		if (!to) {
			unwanted += samples - 1;
			continue;
		}
		if (!skip(&deltas, unwanted) || !add_up(&deltas, schema->metrics[i].value, to, samples))
			return too_early;
		unwanted = 0;
		if (i == schema->time_index && to != chunks->values)
			memcpy(chunks->values, to, samples * sizeof *to);
	}
	if (!skip(&deltas, unwanted))
		return too_early;
	return deltas.at != end || deltas.zeros ? "a chunk with more deltas than values" : NULL;
}

/* ---- columns ------------------------------------------------------------------------------------------- */

static const char *choose_columns(struct ftdc_chunks *chunks, const struct ftdc_options *options)
{
	const struct ftdc_schema *schema = &chunks->schema;
	if (!array_reserve(&chunks->column_of, &chunks->column_of_capacity, schema->count,
			   sizeof *chunks->column_of) ||
	    !array_reserve(&chunks->columns, &chunks->columns_capacity, schema->count,
			   sizeof *chunks->columns))
		return ftdc_no_memory;
	chunks->column_count = 0;
	for (size_t i = 0; i < schema->count; i++) {
		const char *name = schema->text + schema->metrics[i].name;
		bool wanted = !options->wanted || options->wanted(options->context, name);
		chunks->column_of[i] = wanted ? chunks->column_count : FTDC_NONE;
		if (wanted)
			chunks->columns[chunks->column_count++] = (struct ftdc_column){.name = name};
	}
	return NULL;
}

/* Takes over `next`; where it is the same as before, with the names that the columns have already. */
static const char *change_schema(struct ftdc_chunks *chunks, const struct ftdc_options *options)
{
	bool same = chunks->schema_number && ftdc_schema_same(&chunks->schema, &chunks->next);
	struct ftdc_schema old = chunks->schema;
	chunks->schema = chunks->next;
	chunks->next = old;
	if (same) {
		chunks->next.text = chunks->schema.text;
		chunks->next.text_capacity = chunks->schema.text_capacity;
		chunks->schema.text = old.text;
		chunks->schema.text_capacity = old.text_capacity;
		return NULL;
	}
	chunks->schema_number++;
	return choose_columns(chunks, options);
}

static const char *check_counts(const struct ftdc_schema *schema, uint64_t metrics, uint64_t deltas)
{
	if (metrics != schema->count)
		return "a chunk whose number of metrics is not that of its sample";
	if (deltas >= FTDC_SAMPLES_MAX || metrics * (deltas + 1) > FTDC_VALUES_MAX)
		return "a chunk of more values than this reader takes";
	return schema->time_index == FTDC_NONE ? "a chunk without the time of its samples" : NULL;
}

/* Its metrics are then in chunks->schema. */
static const char *read_schema(struct ftdc_chunks *chunks, const struct ftdc_options *options,
			       const uint8_t *at, size_t length, uint32_t metrics, uint32_t deltas)
{
	bson_t sample;
	if (chunks->schema_number && ftdc_schema_again(&chunks->schema, at, length))
		return check_counts(&chunks->schema, metrics, deltas);
	if (!bson_init_static(&sample, at, length))
		return "a chunk without the document of its first sample";
	const char *why = ftdc_schema_read(&chunks->next, &sample);
	if (!why)
		why = check_counts(&chunks->next, metrics, deltas);
	return why ? why : change_schema(chunks, options);
}

static const char *place_values(struct ftdc_chunks *chunks, size_t samples)
{
	size_t count = (chunks->column_count + 1) * samples;
	if (!array_reserve(&chunks->values, &chunks->values_capacity, count, sizeof *chunks->values))
		return ftdc_no_memory;
	for (size_t i = 0; i < chunks->column_count; i++)
		chunks->columns[i].values = samples ? chunks->values + (i + 1) * samples : NULL;
	return NULL;
}

/* ---- a chunk ------------------------------------------------------------------------------------------- */

static const char *decode_inflated(struct ftdc_chunks *chunks, const struct ftdc_options *options,
				   size_t bytes, struct ftdc_chunk *chunk)
{
	const uint8_t *at = chunks->inflated, *end = at + bytes;
	size_t length = get_u32(at);
	if (length > bytes - COUNTS_BYTES)
		return "a chunk without the document of its first sample";
	uint32_t metrics = get_u32(at + length), deltas = get_u32(at + length + LENGTH_BYTES);
	const char *why = read_schema(chunks, options, at, length, metrics, deltas);
	at += length;
	size_t samples = options->names_only ? 0 : (size_t)deltas + 1;
	if (!why)
		why = place_values(chunks, samples);
	if (!why && !options->names_only)
		why = decode_values(chunks, at + COUNTS_BYTES, end, samples);
	*chunk = (struct ftdc_chunk){.schema = chunks->schema_number,
				     .metrics = chunks->schema.count,
				     .samples = samples,
				     .time_ms = chunks->values,
				     .columns = chunks->columns,
				     .column_count = chunks->column_count};
	return why;
}

const char *ftdc_chunk_decode(struct ftdc_chunks *chunks, const struct ftdc_options *options,
			      const uint8_t *data, size_t bytes, struct ftdc_chunk *chunk)
{
	size_t inflated_bytes;
	const char *why = inflate_data(chunks, data, bytes, options->names_only, &inflated_bytes);
	return why ? why : decode_inflated(chunks, options, inflated_bytes, chunk);
}

void ftdc_chunks_free(struct ftdc_chunks *chunks)
{
	free(chunks->inflated);
	free(chunks->column_of);
	free(chunks->columns);
	free(chunks->values);
	ftdc_schema_free(&chunks->schema);
	ftdc_schema_free(&chunks->next);
	*chunks = (struct ftdc_chunks){0};
}
