#include <stdlib.h>

#include "analyzer/reader_internal.h"

/* Loads a block and parses it. BLOCK_SKIPPED where it is damaged or holds no record. */
static enum block_status load(struct trace *trace, struct block_entry *entry, struct allocstats *out,
			      struct error *error)
{
	struct block_buffer buffer = {0};
	enum block_status status = block_load(trace, entry, &buffer, error);
	if (status == BLOCK_READ && !allocstats_parse(out, buffer.data, entry->raw_bytes)) {
		error_set(error, ERROR_INTERNAL, NULL, ERROR_NO_OFFSET, "out of memory");
		status = BLOCK_FAILED;
	} else if (status == BLOCK_READ && out->kind == 0) {
		allocstats_free(out);
		status = BLOCK_SKIPPED;
	}
	free(buffer.data);
	free(buffer.stored);
	return status;
}

bool allocstats_next(struct allocstats_cursor *cursor, struct trace *trace, uint64_t time,
		     struct error *error)
{
	size_t first = cursor->next_block, end = first;
	while (end < trace->blocks_count && trace->blocks[end].first_time <= time)
		end++;
	cursor->next_block = end;
	for (size_t i = end; i-- > first;) {
		struct allocstats found;
		if (trace->blocks[i].type != BLOCK_ALLOCATOR)
			continue;
		enum block_status status = load(trace, &trace->blocks[i], &found, error);
		if (status == BLOCK_FAILED)
			return false;
		if (status == BLOCK_SKIPPED)
			continue;
		allocstats_free(&cursor->stats);
		cursor->stats = found;
		return true;
	}
	return false;
}

bool allocator_read_last(struct trace *trace, struct error *error)
{
	struct allocstats_cursor cursor = {0};
	if (allocstats_next(&cursor, trace, UINT64_MAX, error))
		trace->allocator = cursor.stats;
	return error->code == ERROR_NONE;
}

const struct allocstats *trace_allocator(const struct trace *trace)
{
	return &trace->allocator;
}
