#include <stdlib.h>
#include <string.h>

#include "analyzer/array.h"
#include "analyzer/merge_internal.h"

/* ---- pieces -------------------------------------------------------------------------------------------- */

void pieces_release(struct merge *merge, struct piece *piece)
{
	struct piece_buffer *buffer = piece->buffer;
	piece->next = merge->spare_pieces;
	merge->spare_pieces = piece;
	if (--buffer->pieces == 0)
		buffer_put(merge, buffer);
}

static struct piece *piece_get(struct merge *merge)
{
	struct piece *piece = merge->spare_pieces;
	if (piece)
		merge->spare_pieces = piece->next;
	else
		piece = malloc(sizeof *piece);
	return piece;
}

void piece_damaged(struct merge *merge, const struct piece *piece, const uint8_t *position)
{
	const struct piece_buffer *buffer = piece->buffer;
	damage_add(merge->trace, buffer->file, buffer->offset, 0,
		   "thread %u, chunk %u: the record at byte %zu cannot be decoded; the rest of the chunk is "
		   "lost",
		   piece->chunk.thread, piece->chunk.sequence,
		   (size_t)(position - (buffer->block.data + piece->records)));
}

enum block_status piece_load(struct merge *merge, struct piece *piece, struct error *error)
{
	return buffer_unpark(merge, piece->buffer, error);
}

void pieces_free(struct merge *merge)
{
	while (merge->spare_pieces) {
		struct piece *piece = merge->spare_pieces;
		merge->spare_pieces = piece->next;
		free(piece);
	}
	buffers_free(merge);
}

/* ---- threads ------------------------------------------------------------------------------------------- */

static struct merge_thread *thread_get(struct merge *merge, uint32_t number, uint32_t *index)
{
	*index = idmap_get(&merge->threads_by_number, number);
	if (*index == IDMAP_NONE) {
		if (!array_reserve(&merge->threads, &merge->threads_capacity, merge->threads_count + 1,
				   sizeof *merge->threads) ||
		    !array_reserve(&merge->woken, &merge->woken_capacity, merge->threads_count + 1,
				   sizeof *merge->woken) ||
		    !idmap_add(&merge->threads_by_number, number, (uint32_t)merge->threads_count))
			return NULL;
		*index = (uint32_t)merge->threads_count++;
		merge->threads[*index] = (struct merge_thread){.thread = number};
	}
	return &merge->threads[*index];
}

/*
 * Takes note of a chunk's number and of how much of it came. Returns false for what came already: a chunk
 * stands in several pieces when it was written before it was full, and in the rings file besides.
 */
static bool thread_takes(struct merge *merge, struct merge_thread *thread, const struct chunk_header *chunk,
			 uint32_t bytes, uint32_t *skip)
{
	if (thread->seen && chunk->sequence < thread->sequence)
		return false;
	if (!thread->seen || chunk->sequence > thread->sequence) {
		uint32_t expected = thread->seen	    ? thread->sequence + 1
				    : merge->trace->wrapped ? chunk->sequence
							    : 0;
		merge->stats.missing_chunks += chunk->sequence - expected;
		thread->seen = true;
		thread->sequence = chunk->sequence;
		thread->taken = 0;
	}
	if (*skip < thread->taken)
		*skip = thread->taken;
	if (bytes > thread->taken)
		thread->taken = bytes;
	return *skip < bytes;
}

/* Queues the piece at `at`, of which `available` bytes are there. Its bytes; 0: no valid header; -1: no
 * memory. */
static int64_t piece_add(struct merge *merge, struct piece_buffer *buffer, const uint8_t *at,
			 size_t available, bool recovered)
{
	struct chunk_header chunk;
	if (available < sizeof chunk)
		return 0;
	memcpy(&chunk, at, sizeof chunk);
	if (!chunk_header_valid(&chunk, available - sizeof chunk))
		return 0;
	uint32_t bytes = atomic_load_explicit(&chunk.committed, memory_order_relaxed);
	uint32_t skip = recovered ? 0 : chunk.skip, index;
	int64_t whole = (int64_t)sizeof chunk + bytes;
	merge->stats.pieces++;
	struct merge_thread *thread = thread_get(merge, chunk.thread, &index);
	if (!thread)
		return -1;
	if (!thread_takes(merge, thread, &chunk, bytes, &skip))
		return whole;
	struct piece *piece = piece_get(merge);
	if (!piece)
		return -1;
	*piece = (struct piece){
		.buffer = buffer,
		.chunk = chunk,
		.records = (size_t)(at - buffer->block.data) + sizeof chunk,
		.bytes = bytes,
		.skip = skip,
		.recovered = recovered,
	};
	buffer->pieces++;
	if (thread->last)
		thread->last->next = piece;
	else
		merge->woken[merge->woken_count++] = index;
	thread->first = thread->first ? thread->first : piece;
	thread->last = piece;
	return whole;
}

/* ---- blocks -------------------------------------------------------------------------------------------- */

static bool add_events(struct merge *merge, struct piece_buffer *buffer, size_t bytes)
{
	const uint8_t *payload = buffer->block.data;
	size_t at = 0;
	while (at < bytes) {
		int64_t whole = piece_add(merge, buffer, payload + at, bytes - at, false);
		if (whole < 0)
			return false;
		if (whole == 0) {
			damage_add(merge->trace, buffer->file, buffer->offset, bytes - at,
				   "at byte %zu of the payload stands no valid chunk header", at);
			return true;
		}
		at += (size_t)whole;
	}
	return true;
}

static bool add_snapshot(struct merge *merge, const struct snapshot *snapshot)
{
	size_t first = merge->snapshots_first, count = merge->snapshots_count;
	if (first && first + count == merge->snapshots_capacity) {
		memmove(merge->snapshots, merge->snapshots + first, count * sizeof *merge->snapshots);
		merge->snapshots_first = first = 0;
	}
	if (!array_reserve(&merge->snapshots, &merge->snapshots_capacity, first + count + 1,
			   sizeof *merge->snapshots))
		return false;
	merge->snapshots[first + count] = *snapshot;
	merge->snapshots_count++;
	return true;
}

static void raise_limit(struct merge *merge, uint64_t watermark)
{
	if (watermark > merge->limit && watermark != UINT64_MAX)
		merge->limit = watermark;
}

static bool add_block(struct merge *merge, const struct block_entry *entry, struct piece_buffer *buffer)
{
	const uint8_t *payload = buffer->block.data;
	size_t bytes = entry->raw_bytes;
	struct snapshot snapshot;
	struct clock_mark mark;
	switch (entry->type) {
	case BLOCK_EVENTS:
		return add_events(merge, buffer, bytes);
	case BLOCK_STACKS:
		return defs_stacks(merge->trace, payload, bytes, entry->offset);
	case BLOCK_SNAPSHOT:
		if (!snapshot_parse(&snapshot, payload, bytes))
			return true;
		raise_limit(merge, snapshot.mark.watermark);
		return add_snapshot(merge, &snapshot);
	case BLOCK_MARK:
		if (bytes < sizeof mark)
			return true;
		memcpy(&mark, payload, sizeof mark);
		raise_limit(merge, mark.watermark);
		return true;
	default:
		return true;
	}
}

static bool read_block(struct merge *merge, struct block_entry *entry, struct error *error)
{
	enum block_status status;
	size_t woken = merge->woken_count;
	struct piece_buffer *buffer = buffer_read_block(merge, entry, &status, error);
	if (!buffer)
		return error_set(error, ERROR_INTERNAL, NULL, ERROR_NO_OFFSET, "out of memory");
	merge->stats.read_bytes += sizeof(struct block_header) + entry->stored_bytes;
	bool good = status == BLOCK_SKIPPED || (status == BLOCK_READ && add_block(merge, entry, buffer));
	if (!buffer->pieces)
		buffer_put(merge, buffer);
	else if (merge->woken_count == woken)
		buffer_park(merge, buffer); /* all of its threads have something before it */
	return good || error_set(error, ERROR_INTERNAL, NULL, ERROR_NO_OFFSET, "out of memory");
}

/* ---- the rings file ------------------------------------------------------------------------------------ */

static bool read_chunk(struct merge *merge, const struct ring_chunk *chunk, struct error *error)
{
	enum block_status status;
	size_t bytes = 0;
	struct piece_buffer *buffer = buffer_read_chunk(merge, chunk, &bytes, &status, error);
	if (!buffer)
		return error_set(error, ERROR_INTERNAL, NULL, ERROR_NO_OFFSET, "out of memory");
	bool good = status != BLOCK_FAILED;
	if (status == BLOCK_READ)
		good = piece_add(merge, buffer, buffer->block.data, bytes, true) >= 0;
	if (!buffer->pieces)
		buffer_put(merge, buffer);
	return good || error_set(error, ERROR_INTERNAL, NULL, ERROR_NO_OFFSET, "out of memory");
}

/* ---- reading on ---------------------------------------------------------------------------------------- */

static bool wanted(uint16_t type)
{
	return type == BLOCK_EVENTS || type == BLOCK_STACKS || type == BLOCK_SNAPSHOT || type == BLOCK_MARK;
}

bool merge_fill(struct merge *merge, struct error *error)
{
	struct trace *trace = merge->trace;
	uint64_t before = merge->limit;
	while (merge->next_block < trace->blocks_count) {
		struct block_entry *entry = &trace->blocks[merge->next_block++];
		if (wanted(entry->type) && !read_block(merge, entry, error))
			return false;
		if (merge->limit > before || merge->buffered_bytes > MERGE_BUFFERED_BYTES_MAX)
			return true;
	}
	while (merge->next_chunk < trace->ring_chunks_count)
		if (!read_chunk(merge, &trace->ring_chunks[merge->next_chunk++], error))
			return false;
	merge->ended = true;
	return true;
}
