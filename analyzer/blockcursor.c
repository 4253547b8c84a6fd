#include "analyzer/blockcursor.h"

#include <stdlib.h>

static bool out_of_memory(struct error *error)
{
	return error_set(error, ERROR_INTERNAL, NULL, ERROR_NO_OFFSET, "out of memory");
}

static struct block_entry *next_entry(struct block_cursor *cursor)
{
	struct trace *trace = cursor->trace;
	while (cursor->next < trace->blocks_count && trace->blocks[cursor->next].type != cursor->type)
		cursor->next++;
	return cursor->next < trace->blocks_count ? &trace->blocks[cursor->next] : NULL;
}

uint64_t block_cursor_due(struct block_cursor *cursor)
{
	const struct block_entry *entry = next_entry(cursor);
	return entry ? entry->first_time : UINT64_MAX;
}

/* True where the block is good. */
static bool load(struct block_cursor *cursor, struct block_entry *entry,
		 enum parse_result (*parse)(void *context, const uint8_t *payload, size_t bytes),
		 void *context, struct error *error)
{
	enum block_status status = block_load(cursor->trace, entry, &cursor->buffer, error);
	if (status == BLOCK_FAILED)
		return error->code ? false : out_of_memory(error);
	if (status != BLOCK_READ)
		return false;
	enum parse_result result = parse(context, cursor->buffer.data, entry->raw_bytes);
	if (result == PARSE_BAD)
		damage_add(cursor->trace, cursor->trace->path, entry->offset, entry->stored_bytes, "%s",
			   cursor->damaged);
	return result == PARSE_NO_MEMORY ? out_of_memory(error) : result == PARSE_GOOD;
}

/* Sequence numbers count the blocks that were written. */
static bool none_between(const struct trace *trace, size_t first, size_t last)
{
	return trace->blocks[last].sequence - trace->blocks[first].sequence == last - first;
}

static void note_gap(struct block_cursor *cursor)
{
	const struct trace *trace = cursor->trace;
	size_t now = cursor->next;
	cursor->behind_hole = cursor->skipped || now == 0 || !none_between(trace, now - 1, now);
	cursor->gap = cursor->any_good ? cursor->skipped || !none_between(trace, cursor->last, now)
				       : cursor->behind_hole;
	cursor->last = now;
	cursor->any_good = true;
	cursor->skipped = false;
}

bool block_cursor_next(struct block_cursor *cursor, uint64_t time,
		       enum parse_result (*parse)(void *context, const uint8_t *payload, size_t bytes),
		       void *context, struct error *error)
{
	struct block_entry *entry;
	while ((entry = next_entry(cursor)) && entry->first_time <= time) {
		bool loaded = load(cursor, entry, parse, context, error);
		if (loaded)
			note_gap(cursor);
		cursor->skipped |= !loaded;
		cursor->next++;
		if (loaded || error->code)
			return loaded;
	}
	return false;
}

void block_cursor_close(struct block_cursor *cursor)
{
	free(cursor->buffer.data);
	free(cursor->buffer.stored);
}
