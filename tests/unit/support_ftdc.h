/*
 * Writes diagnostic data as mongod does, for tests of its reader: from samples to a file, and each step on
 * its own, so that a test can put something wrong in between. Shares no code with the reader.
 */
#ifndef MTRACE_TESTS_SUPPORT_FTDC_H
#define MTRACE_TESTS_SUPPORT_FTDC_H

#include <bson/bson.h>
#include <stddef.h>
#include <stdint.h>

#define START_MS INT64_C(1780228800000) /* 2026-05-31 12:00:00 UTC */

/* Zero-initialize. */
struct bytes {
	uint8_t *data;
	size_t count, capacity;
};

void put_bytes(struct bytes *to, const void *data, size_t count);
void put_u32(struct bytes *to, uint32_t value);
void put_varint(struct bytes *to, uint64_t value);
void bytes_free(struct bytes *bytes);

/* The metrics of a sample as they are to come out. */
struct flat {
	char (*names)[512];
	int64_t *values;
	size_t count, capacity;
};
void flatten(const bson_t *sample, struct flat *flat); /* flat is zero-initialized */
void flat_free(struct flat *flat);

/* What is compressed in a chunk: `samples` must have the same metrics. */
void put_inflated(struct bytes *to, bson_t *const *samples, size_t count);
/* A chunk's data: `length` (the true one: inflated->count) and the compressed bytes. */
void put_deflated(struct bytes *to, const struct bytes *inflated, uint32_t length);

/* Documents of a file. */
void put_description(struct bytes *file, int64_t id_ms, const bson_t *doc);
void put_parameters(struct bytes *file, int64_t id_ms, int32_t count, const bson_t *doc);
void put_data(struct bytes *file, int64_t id_ms, const struct bytes *data);
void put_inflated_chunk(struct bytes *file, int64_t id_ms, const struct bytes *inflated);
void put_chunk(struct bytes *file, bson_t *const *samples, size_t count); /* _id: START_MS */
void put_chunk_at(struct bytes *file, int64_t id_ms, bson_t *const *samples, size_t count);

/* A sample {start, serverStatus: {value, pid, uptimeMillis}} at START_MS + ms. */
bson_t *plain_sample(int64_t ms, int64_t value);
/* A chunk of `count` of those, a second apart, from START_MS + ms on, with values from `value` up. */
void put_plain_chunk(struct bytes *file, int64_t ms, int64_t value, size_t count);

#endif
