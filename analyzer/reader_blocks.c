#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "analyzer/array.h"
#include "analyzer/reader_internal.h"

#define SEARCH_WINDOW_BYTES (1u << 20)

/* ---- reading ------------------------------------------------------------------------------------------- */

int read_at(int fd, const char *path, void *data, size_t bytes, uint64_t offset, struct error *error)
{
	size_t done = 0;
	while (done < bytes) {
		ssize_t got = pread(fd, (char *)data + done, bytes - done, (off_t)(offset + done));
		if (got == 0)
			return 0;
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0) {
			error_set(error, ERROR_INPUT, path, offset + done, "cannot be read: %s",
				  strerror(errno));
			return -1;
		}
		done += (size_t)got;
	}
	return 1;
}

static uint64_t header_seed(const struct trace *trace)
{
	uint64_t seed;
	memcpy(&seed, trace->header.nonce, sizeof seed);
	return seed;
}

static uint64_t blocks_end(const struct trace *trace)
{
	uint64_t end = trace->header.region_end;
	return end && end < trace->info.trace_bytes ? end : trace->info.trace_bytes;
}

static uint64_t block_bytes(uint32_t stored_bytes)
{
	uint64_t bytes = sizeof(struct block_header) + (uint64_t)stored_bytes;
	return (bytes + BLOCK_ALIGNMENT_BYTES - 1) & ~(uint64_t)(BLOCK_ALIGNMENT_BYTES - 1);
}

static bool header_good(const struct trace *trace, const struct block_header *header)
{
	return header->magic == BLOCK_MAGIC &&
	       header->header_check == XXH3_64bits_withSeed(header,
							    offsetof(struct block_header, header_check),
							    header_seed(trace)) &&
	       header->raw_bytes <= BLOCK_RAW_BYTES_MAX &&
	       header->stored_bytes <= ZSTD_COMPRESSBOUND(BLOCK_RAW_BYTES_MAX) &&
	       (header->encoding == BLOCK_ZSTD ||
		(header->encoding == BLOCK_PLAIN && header->stored_bytes == header->raw_bytes));
}

/* ---- the scan ------------------------------------------------------------------------------------------ */

static struct block_entry entry_of(uint64_t offset, const struct block_header *header)
{
	return (struct block_entry){
		.offset = offset,
		.sequence = header->sequence,
		.first_time = header->first_time,
		.last_time = header->last_time,
		.stored_bytes = header->stored_bytes,
		.raw_bytes = header->raw_bytes,
		.type = header->type,
		.encoding = header->encoding,
	};
}

bool block_at(struct trace *trace, uint64_t offset, struct block_entry *entry, struct error *error)
{
	struct block_header header;
	if (read_at(trace->fd, trace->path, &header, sizeof header, offset, error) != 1 ||
	    !header_good(trace, &header))
		return false;
	*entry = entry_of(offset, &header);
	return true;
}

static bool add_block(struct trace *trace, uint64_t offset, const struct block_header *header)
{
	if (header->sequence == 0) /* the process block: it is read apart */
		return true;
	if (!array_reserve(&trace->blocks, &trace->blocks_capacity, trace->blocks_count + 1,
			   sizeof *trace->blocks))
		return false;
	trace->blocks[trace->blocks_count++] = entry_of(offset, header);
	return true;
}

static bool add_hole(struct trace *trace, uint64_t offset, uint64_t bytes)
{
	if (!bytes)
		return true;
	if (trace->holes_count) {
		struct block_hole *last = &trace->holes[trace->holes_count - 1];
		if (last->offset + last->bytes == offset) {
			last->bytes += bytes;
			return true;
		}
	}
	if (!array_reserve(&trace->holes, &trace->holes_capacity, trace->holes_count + 1,
			   sizeof *trace->holes))
		return false;
	trace->holes[trace->holes_count++] = (struct block_hole){offset, bytes};
	return true;
}

/*
 * In a flight recorder a header may outlive its payload, which the newest block has begun to overwrite, and
 * whole old blocks may stand inside a newest block that was torn: so payloads are checked by the scan, and
 * where one fails, the search goes on right behind its header. A growing file is checked when the payload is
 * used.
 */
static int payload_stands(struct trace *trace, uint64_t offset, const struct block_header *header,
			  uint8_t *scratch, struct error *error)
{
	if (offset + sizeof *header + header->stored_bytes > blocks_end(trace))
		return 0;
	if (!trace->info.flight_recorder)
		return 1;
	int got = read_at(trace->fd, trace->path, scratch, header->stored_bytes, offset + sizeof *header,
			  error);
	return got == 1 ? XXH3_64bits(scratch, header->stored_bytes) == header->payload_check : got;
}

/* The first offset at or after `offset` with a good header, or the end. UINT64_MAX on a read error. */
static uint64_t find_header(const struct trace *trace, uint64_t offset, uint8_t *window, struct error *error)
{
	uint64_t end = blocks_end(trace);
	struct block_header expected;
	if (offset + sizeof expected <= end &&
	    read_at(trace->fd, trace->path, &expected, sizeof expected, offset, error) == 1 &&
	    header_good(trace, &expected))
		return offset;
	while (offset + sizeof(struct block_header) <= end && !error->code) {
		size_t bytes =
			end - offset < SEARCH_WINDOW_BYTES ? (size_t)(end - offset) : SEARCH_WINDOW_BYTES;
		if (read_at(trace->fd, trace->path, window, bytes, offset, error) < 0)
			break;
		size_t at = 0;
		for (; at + sizeof(struct block_header) <= bytes; at += BLOCK_ALIGNMENT_BYTES) {
			struct block_header header;
			memcpy(&header, window + at, sizeof header);
			if (header.magic == BLOCK_MAGIC && header_good(trace, &header))
				return offset + at;
		}
		offset += at;
	}
	return error->code ? UINT64_MAX : end;
}

static bool scan_region(struct trace *trace, uint8_t *scratch, struct error *error)
{
	uint64_t end = blocks_end(trace);
	uint64_t offset = trace->header.region_start;
	while (offset < end) {
		uint64_t found = find_header(trace, offset, scratch, error);
		if (found == UINT64_MAX || !add_hole(trace, offset, found - offset))
			return false;
		if (found == end)
			break;
		struct block_header header;
		int stands = read_at(trace->fd, trace->path, &header, sizeof header, found, error);
		if (stands == 1)
			stands = payload_stands(trace, found, &header, scratch, error);
		uint64_t step = stands == 1 ? block_bytes(header.stored_bytes) : BLOCK_ALIGNMENT_BYTES;
		if (stands < 0 || !(stands ? add_block(trace, found, &header) : add_hole(trace, found, step)))
			return false;
		offset = found + step;
	}
	return true;
}

static int by_sequence(const void *a, const void *b)
{
	const struct block_entry *left = a, *right = b;
	if (left->sequence != right->sequence)
		return left->sequence > right->sequence ? 1 : -1;
	return (left->offset > right->offset) - (left->offset < right->offset);
}

/*
 * Blocks of an earlier lap can survive where a lap ended short of the region's end. In circular file order
 * behind the newest block sequences rise; a survivor is one that does not.
 */
static void drop_survivors(struct trace *trace)
{
	size_t count = trace->blocks_count, newest = 0, kept = 0;
	for (size_t i = 0; i < count; i++)
		if (trace->blocks[i].sequence > trace->blocks[newest].sequence)
			newest = i;
	uint64_t highest = 0;
	for (size_t i = 0; i < count; i++) {
		struct block_entry *block = &trace->blocks[(newest + 1 + i) % count];
		if (block->sequence > highest)
			highest = block->sequence;
		else
			block->sequence = UINT64_MAX;
	}
	for (size_t i = 0; i < count; i++)
		if (trace->blocks[i].sequence != UINT64_MAX)
			trace->blocks[kept++] = trace->blocks[i];
	trace->blocks_count = kept;
}

static void drop_repeated(struct trace *trace)
{
	size_t kept = 0;
	for (size_t i = 0; i < trace->blocks_count; i++) {
		if (kept && trace->blocks[i].sequence == trace->blocks[kept - 1].sequence) {
			damage_add(trace, trace->path, trace->blocks[i].offset, trace->blocks[i].stored_bytes,
				   "block number %" PRIu64 " stands here a second time",
				   trace->blocks[i].sequence);
			continue;
		}
		trace->blocks[kept++] = trace->blocks[i];
	}
	trace->blocks_count = kept;
}

/* Room for the search window, and where the scan checks payloads for the largest of these; no more than there
 * is. */
static size_t scratch_bytes(const struct trace *trace)
{
	size_t wanted =
		trace->info.flight_recorder ? ZSTD_COMPRESSBOUND(BLOCK_RAW_BYTES_MAX) : SEARCH_WINDOW_BYTES;
	uint64_t end = blocks_end(trace), start = trace->header.region_start;
	uint64_t region = end > start ? end - start : 0;
	return region < wanted ? (size_t)region : wanted;
}

bool blocks_scan(struct trace *trace, struct error *error)
{
	uint8_t *scratch = malloc(scratch_bytes(trace) + 1);
	bool good = scratch && scan_region(trace, scratch, error);
	free(scratch);
	if (!good)
		return error_set(error, ERROR_INTERNAL, NULL, ERROR_NO_OFFSET, "out of memory");
	if (trace->info.flight_recorder && trace->blocks_count)
		drop_survivors(trace);
	if (trace->blocks_count)
		qsort(trace->blocks, trace->blocks_count, sizeof *trace->blocks, by_sequence);
	drop_repeated(trace);
	trace->info.blocks = trace->blocks_count;
	trace->wrapped = trace->info.flight_recorder && trace->blocks_count && trace->blocks[0].sequence > 1;
	return true;
}

/* ---- what is missing ----------------------------------------------------------------------------------- */

static uint64_t hole_bytes_at(const struct trace *trace, uint64_t offset)
{
	for (size_t i = 0; i < trace->holes_count; i++)
		if (trace->holes[i].offset == offset)
			return trace->holes[i].bytes;
	return 0;
}

static void judge_sequence(struct trace *trace, uint64_t expected, uint64_t offset,
			   const struct block_entry *next)
{
	if (next->sequence == expected)
		return;
	damage_add(trace, trace->path, offset, hole_bytes_at(trace, offset),
		   "%" PRIu64 " block(s) cannot be read here; reading goes on at offset %" PRIu64,
		   next->sequence - expected, next->offset);
}

/* The bytes behind the newest block; in a flight recorder what is left of the oldest ones stands there. */
static void judge_tail(struct trace *trace, uint64_t offset)
{
	uint64_t bytes = hole_bytes_at(trace, offset);
	if (trace->info.complete && bytes && !trace->info.flight_recorder)
		damage_add(trace, trace->path, offset, bytes, "bytes behind the end record");
	else if (!trace->info.complete && !trace->info.rings)
		damage_add(trace, trace->path, offset, bytes,
			   "no end record, and no rings file beside: cut off here, or the rings file was not "
			   "kept");
}

/*
 * Holes before this are none: the shim leaves room behind the process block, which only the header tells from
 * blocks that are lost.
 */
static uint64_t holes_begin(const struct trace *trace)
{
	bool all = trace->region_unknown && trace->blocks_count && trace->blocks[0].sequence == 1;
	return all ? trace->blocks[0].offset : 0;
}

void blocks_judge(struct trace *trace)
{
	uint64_t expected = trace->wrapped ? trace->blocks[0].sequence : 1;
	uint64_t offset = trace->header.region_start;
	for (size_t i = 0; i < trace->blocks_count; i++) {
		const struct block_entry *block = &trace->blocks[i];
		judge_sequence(trace, expected, offset, block);
		expected = block->sequence + 1;
		offset = block->offset + block_bytes(block->stored_bytes);
	}
	if (!trace->info.flight_recorder) {
		for (size_t i = 0; i < trace->holes_count; i++)
			if (trace->holes[i].offset >= holes_begin(trace) && trace->holes[i].offset < offset)
				damage_add(trace, trace->path, trace->holes[i].offset, trace->holes[i].bytes,
					   "no block can be read here");
	}
	judge_tail(trace, offset);
}

/* ---- payloads ------------------------------------------------------------------------------------------ */

static enum block_status skip_block(struct trace *trace, struct block_entry *entry, const char *why)
{
	bool newest = trace->blocks_count && entry == &trace->blocks[trace->blocks_count - 1];
	bool torn = newest && !trace->info.complete && trace->info.rings;
	if (!torn)
		damage_add(trace, trace->path, entry->offset, block_bytes(entry->stored_bytes), "%s", why);
	entry->type = 0;
	return BLOCK_SKIPPED;
}

static enum block_status no_memory(struct error *error)
{
	error_set(error, ERROR_INTERNAL, NULL, ERROR_NO_OFFSET, "out of memory");
	return BLOCK_FAILED;
}

static bool decompress(struct block_buffer *buffer, const uint8_t *stored, const struct block_entry *entry)
{
	size_t bytes = ZSTD_decompress(buffer->data, entry->raw_bytes, stored, entry->stored_bytes);
	return !ZSTD_isError(bytes) && bytes == entry->raw_bytes;
}

enum block_status block_load(struct trace *trace, struct block_entry *entry, struct block_buffer *buffer,
			     struct error *error)
{
	size_t whole = sizeof(struct block_header) + entry->stored_bytes;
	if (!array_reserve(&buffer->stored, &buffer->stored_capacity, whole, 1) ||
	    !array_reserve(&buffer->data, &buffer->capacity, (size_t)entry->raw_bytes + DECODE_SLACK_BYTES,
			   1))
		return no_memory(error);
	int got = read_at(trace->fd, trace->path, buffer->stored, whole, entry->offset, error);
	if (got < 0)
		return BLOCK_FAILED;
	struct block_header header;
	memcpy(&header, buffer->stored, sizeof header);
	const uint8_t *stored = buffer->stored + sizeof header;
	if (got == 0 || !header_good(trace, &header) || header.sequence != entry->sequence ||
	    header.stored_bytes != entry->stored_bytes || header.raw_bytes != entry->raw_bytes)
		return skip_block(trace, entry, "the file changed while it was read");
	if (XXH3_64bits(stored, entry->stored_bytes) != header.payload_check)
		return skip_block(trace, entry, "the block's checksum is wrong");
	if (entry->encoding == BLOCK_PLAIN)
		memcpy(buffer->data, stored, entry->raw_bytes);
	else if (!decompress(buffer, stored, entry))
		return skip_block(trace, entry, "the block cannot be decompressed");
	return BLOCK_READ;
}
