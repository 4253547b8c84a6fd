/* Reading what support_ftdc.h wrote, chunk after chunk. */
#ifndef MTRACE_TESTS_SUPPORT_FTDC_READ_H
#define MTRACE_TESTS_SUPPORT_FTDC_READ_H

#include <criterion/criterion.h>
#include <string.h>

#include "analyzer/ftdc.h"
#include "tests/unit/support_ftdc.h"
#include "tests/unit/support_trace.h"

static struct error error;

static inline struct ftdc *open_path(const char *path, const struct ftdc_options *options)
{
	struct ftdc *ftdc = ftdc_open(path, options, &error);
	cr_assert(ftdc, "%s", error.text);
	return ftdc;
}

/* Writes `file`, empties it, and opens what was written. */
static inline struct ftdc *open_bytes(struct bytes *file, const struct ftdc_options *options)
{
	const char *path = support_path("metrics.one");
	support_write_file(path, file->data, file->count);
	bytes_free(file);
	return open_path(path, options);
}

static inline const int64_t *column(const struct ftdc_chunk *chunk, const char *name)
{
	for (size_t i = 0; i < chunk->column_count; i++)
		if (strcmp(chunk->columns[i].name, name) == 0)
			return chunk->columns[i].values;
	return NULL;
}

static inline void expect_chunk(struct ftdc *ftdc, struct ftdc_chunk *chunk, size_t samples)
{
	cr_assert(ftdc_next(ftdc, chunk, &error), "a chunk is missing; %s", error.text);
	cr_assert_eq(chunk->samples, samples, "%zu samples instead of %zu", chunk->samples, samples);
}

static inline void expect_end(struct ftdc *ftdc, size_t damage)
{
	struct ftdc_chunk chunk;
	size_t count;
	cr_assert(!ftdc_next(ftdc, &chunk, &error));
	cr_assert_eq(error.code, ERROR_NONE, "%s", error.text);
	const struct ftdc_damage *list = ftdc_damage(ftdc, &count);
	cr_assert_eq(count, damage, "%zu damaged places; %s", count, count ? list[0].text : "");
	ftdc_close(ftdc);
}

#endif
