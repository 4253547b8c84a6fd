#include "shim/gather.h"

#include <string.h>

#include "shim/clock.h"
#include "shim/keyframe.h"
#include "shim/raw.h"
#include "shim/ring.h"
#include "shim/tracefile.h"

#define BUFFER_BYTES (GATHER_BLOCK_BYTES + CHUNK_LARGE_BYTES + DECODE_SLACK_BYTES)
#define PENDING_MAX  (BUFFER_BYTES / sizeof(struct chunk_header))

static struct {
	uint8_t *buffer;
	size_t used;
	uint64_t first_time;
	struct chunk_header *pending[PENDING_MAX]; /* to be released once the block is written */
	unsigned pending_count;
	uint64_t written; /* blocks */
} block;

bool gather_start(void)
{
	if (!block.buffer)
		block.buffer = raw_reserve(BUFFER_BYTES);
	block.used = block.pending_count = 0;
	return block.buffer != NULL;
}

uint64_t gather_blocks(void)
{
	return block.written;
}

/* The disk refused a block: say exactly what that cost. */
static uint64_t events_in(const struct chunk_header *piece, const uint8_t *records, uint32_t bytes)
{
	static struct decoder decoder;
	struct trace_event event;
	uint64_t count = 0;
	decoder_start(&decoder, piece, records, bytes);
	for (;;) {
		bool skipped = decoder.position < decoder.start + piece->skip;
		enum decode_result result = decode_next(&decoder, &event);
		if (result == DECODE_END || result == DECODE_DAMAGED)
			return count;
		count += result == DECODE_EVENT && !skipped;
	}
}

static void count_block_lost(void)
{
	uint64_t lost = 0;
	for (size_t at = 0; at < block.used;) {
		struct chunk_header piece;
		memcpy(&piece, block.buffer + at, sizeof piece);
		uint32_t bytes = atomic_load_explicit(&piece.committed, memory_order_relaxed);
		lost += events_in(&piece, block.buffer + at + sizeof piece, bytes);
		at += sizeof piece + bytes;
	}
	rings_count_shared(COUNTER_LOST_DISK, lost);
}

/* zstd's fast levels when the guest produces faster than we write: bytes on disk for time. */
static int level_now(void)
{
	unsigned backlog = rings_backlog_percent();
	return backlog < 10 ? 1 : backlog < 30 ? -3 : -8;
}

void gather_write(void)
{
	if (block.used > 0) {
		struct block_times times = {block.first_time, clock_now()};
		if (!tracefile_append(BLOCK_EVENTS, block.buffer, block.used, times, level_now()))
			count_block_lost();
		block.used = 0;
		block.written++;
	}
	for (unsigned i = 0; i < block.pending_count; i++)
		rings_release(block.pending[i]);
	block.pending_count = 0;
	if (tracefile_keyframe_due())
		keyframe_write_all();
}

/* Copies what is new of a chunk behind the others. Where its start was written before, all of it is repeated:
 * a piece must decode by itself. */
void gather_chunk(struct chunk_header *chunk)
{
	/* Acquire: the bytes below `committed` are there. */
	uint32_t committed = atomic_load_explicit(&chunk->committed, memory_order_acquire);
	uint32_t *flushed = rings_flushed(chunk);
	if (committed <= *flushed)
		return;
	size_t bytes = sizeof *chunk + committed;
	if (block.used + bytes > BUFFER_BYTES)
		gather_write();
	struct chunk_header piece;
	memcpy(&piece, chunk, sizeof piece);
	atomic_store_explicit(&piece.committed, committed, memory_order_relaxed);
	atomic_store_explicit(&piece.state, CHUNK_READY, memory_order_relaxed);
	piece.skip = *flushed;
	memcpy(block.buffer + block.used, &piece, sizeof piece);
	memcpy(block.buffer + block.used + sizeof piece, chunk + 1, committed);
	*flushed = committed;
	if (block.used == 0 || piece.base_time < block.first_time)
		block.first_time = piece.base_time;
	block.used += bytes;
}

static void release_later(struct chunk_header *chunk)
{
	if (block.pending_count == PENDING_MAX)
		gather_write();
	block.pending[block.pending_count++] = chunk;
}

#define ENQUEUE_WAIT_NS 50000
#define ENQUEUE_WAITS	200

/* A chunk that was announced may be a moment from standing in the queue: its thread was interrupted between
 * the two. Those behind it cannot be reached either, and must not be overtaken by what this thread records
 * next. */
static struct chunk_header *next_announced(void)
{
	struct timespec pause = {0, ENQUEUE_WAIT_NS};
	struct chunk_header *chunk = rings_next_ready();
	for (int waits = 0; !chunk && waits < ENQUEUE_WAITS; waits++) {
		raw2(SYS_nanosleep, (long)&pause, 0);
		chunk = rings_next_ready();
	}
	return chunk;
}

bool gather_ready(void)
{
	for (uint32_t left = rings_ready(); left; left--) {
		struct chunk_header *chunk = next_announced();
		if (!chunk)
			return false;
		gather_chunk(chunk);
		release_later(chunk);
		if (block.used >= GATHER_BLOCK_BYTES)
			gather_write();
	}
	return true;
}
