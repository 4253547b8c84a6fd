#include <stdlib.h>
#include <string.h>

#include "analyzer/merge_internal.h"

/* The shim's largest block and what decoding reads beyond it: one size, so that memory serves one block after
 * the other without growing. Pages that a smaller block does not fill are never touched. */
#define MEMORY_BYTES ((512u << 10) + DECODE_SLACK_BYTES)

/* At the start of memory that no buffer uses now. */
struct spare_memory {
	struct spare_memory *next;
};

/* ---- memory -------------------------------------------------------------------------------------------- */

/* Leaves the block without where there is none: block_load() then says so. */
static void memory_take(struct merge *merge, struct block_buffer *block)
{
	struct spare_memory *spare = merge->spare_memory;
	if (spare)
		merge->spare_memory = spare->next;
	block->data = spare ? (uint8_t *)spare : malloc(MEMORY_BYTES);
	block->capacity = block->data ? MEMORY_BYTES : 0;
}

static void memory_give(struct merge *merge, struct piece_buffer *buffer)
{
	struct block_buffer *block = &buffer->block;
	merge->buffered_bytes -= buffer->counted_bytes;
	buffer->counted_bytes = 0;
	if (block->capacity == MEMORY_BYTES) {
		struct spare_memory *spare = (struct spare_memory *)block->data;
		spare->next = merge->spare_memory;
		merge->spare_memory = spare;
	} else {
		free(block->data);
	}
	*block = (struct block_buffer){0};
}

static void memory_count(struct merge *merge, struct piece_buffer *buffer, size_t bytes)
{
	buffer->counted_bytes = bytes;
	merge->buffered_bytes += bytes;
	if (merge->buffered_bytes > merge->stats.peak_buffered_bytes)
		merge->stats.peak_buffered_bytes = merge->buffered_bytes;
}

/* ---- buffers ------------------------------------------------------------------------------------------- */

static struct piece_buffer *buffer_get(struct merge *merge, const char *file, uint64_t offset)
{
	struct piece_buffer *buffer = merge->spare_buffers;
	if (buffer)
		merge->spare_buffers = buffer->next_spare;
	else
		buffer = malloc(sizeof *buffer);
	if (buffer)
		*buffer = (struct piece_buffer){.file = file, .offset = offset};
	return buffer;
}

void buffer_put(struct merge *merge, struct piece_buffer *buffer)
{
	memory_give(merge, buffer);
	buffer->next_spare = merge->spare_buffers;
	merge->spare_buffers = buffer;
}

/* What stands in the file is needed only for a moment: one memory serves all blocks. */
static enum block_status load(struct merge *merge, struct piece_buffer *buffer, struct error *error)
{
	struct block_buffer *block = &buffer->block;
	memory_take(merge, block);
	block->stored = merge->stored;
	block->stored_capacity = merge->stored_capacity;
	enum block_status status = block_load(merge->trace, buffer->entry, block, error);
	merge->stored = block->stored;
	merge->stored_capacity = block->stored_capacity;
	block->stored = NULL;
	block->stored_capacity = 0;
	memory_count(merge, buffer, buffer->entry->raw_bytes);
	return status;
}

struct piece_buffer *buffer_read_block(struct merge *merge, struct block_entry *entry,
				       enum block_status *status, struct error *error)
{
	struct piece_buffer *buffer = buffer_get(merge, merge->trace->path, entry->offset);
	if (!buffer)
		return NULL;
	buffer->entry = entry;
	*status = load(merge, buffer, error);
	return buffer;
}

struct piece_buffer *buffer_read_chunk(struct merge *merge, const struct ring_chunk *chunk, size_t *bytes,
				       enum block_status *status, struct error *error)
{
	struct piece_buffer *buffer = buffer_get(merge, merge->trace->rings_path, chunk->offset);
	if (!buffer)
		return NULL;
	*status = rings_load(merge->trace, chunk, &buffer->block, bytes, error);
	memory_count(merge, buffer, buffer->block.capacity);
	return buffer;
}

void buffer_park(struct merge *merge, struct piece_buffer *buffer)
{
	if (buffer->entry && merge->buffered_bytes > MERGE_PARK_BYTES)
		memory_give(merge, buffer);
}

enum block_status buffer_unpark(struct merge *merge, struct piece_buffer *buffer, struct error *error)
{
	if (buffer->block.data)
		return BLOCK_READ;
	enum block_status status = load(merge, buffer, error);
	if (status != BLOCK_READ)
		memory_give(merge, buffer); /* there is nothing in it for other pieces either */
	return status;
}

void buffers_free(struct merge *merge)
{
	while (merge->spare_buffers) {
		struct piece_buffer *buffer = merge->spare_buffers;
		merge->spare_buffers = buffer->next_spare;
		free(buffer);
	}
	while (merge->spare_memory) {
		struct spare_memory *spare = merge->spare_memory;
		merge->spare_memory = spare->next;
		free(spare);
	}
	free(merge->stored);
}
