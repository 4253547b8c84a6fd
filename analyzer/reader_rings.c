#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "analyzer/array.h"
#include "analyzer/reader_internal.h"

/* ---- header -------------------------------------------------------------------------------------------- */

static bool rings_bad(struct trace *trace, uint64_t offset, const char *text)
{
	damage_add(trace, trace->rings_path, offset, 0, "%s", text);
	return false;
}

static bool header_usable(struct trace *trace, const struct rings_header *header)
{
	if (memcmp(header->magic, RINGS_MAGIC, sizeof header->magic) != 0)
		return rings_bad(trace, 0, "this is no rings file");
	if (header->check != XXH3_64bits(header, offsetof(struct rings_header, check)))
		return rings_bad(trace, 0, "the header's checksum is wrong: the rings file is not used");
	if (header->version != TRACE_FORMAT_VERSION)
		return rings_bad(trace, 8, "the rings file has another format version and is not used");
	if (memcmp(header->nonce, trace->header.nonce, sizeof header->nonce) != 0) {
		note_add(trace, "%s belongs to another trace and is not used", trace->rings_path);
		return false;
	}
	if (header->extents_count > RINGS_EXTENTS_MAX || header->extents_offset < sizeof *header)
		return rings_bad(trace, 12, "the header has impossible values: the rings file is not used");
	return true;
}

/* ---- slots --------------------------------------------------------------------------------------------- */

static void add_counters(struct trace *trace, const _Atomic uint64_t counters[COUNTER_COUNT])
{
	for (unsigned i = 0; i < COUNTER_COUNT; i++)
		trace->info.counters[i] += atomic_load_explicit(&counters[i], memory_order_relaxed);
}

static void add_retired(struct trace *trace, const struct rings_header *header)
{
	uint64_t epoch = atomic_load_explicit(&header->retired_epoch, memory_order_relaxed);
	for (unsigned i = 0; i < COUNTER_COUNT; i++)
		trace->info.counters[i] += header->retired_counters[epoch % 2][i];
}

static bool add_slot(struct trace *trace, const struct ring_slot *slot, uint64_t retired_epoch)
{
	if (!ring_slot_counts(slot, retired_epoch))
		return true;
	add_counters(trace, slot->counters);
	struct thread_record record = {
		.thread = slot->thread,
		.kernel_tid = slot->kernel_tid,
		.start_time = slot->start_time,
		.exit_time = atomic_load_explicit(&slot->exit_time, memory_order_relaxed),
	};
	memcpy(record.name, slot->name, sizeof record.name);
	return defs_thread(trace, &record);
}

static bool add_slots(struct trace *trace, const uint8_t *extent, uint64_t retired_epoch)
{
	for (size_t at = 0; at < RINGS_EXTENT_BYTES; at += SLOT_BYTES) {
		struct ring_slot slot;
		memcpy(&slot, extent + at, sizeof slot);
		if (!add_slot(trace, &slot, retired_epoch))
			return false;
	}
	return true;
}

/* ---- chunks -------------------------------------------------------------------------------------------- */

static bool add_chunk(struct trace *trace, uint64_t offset, const uint8_t *bytes, uint32_t size_bytes)
{
	struct chunk_header chunk;
	memcpy(&chunk, bytes, sizeof chunk);
	uint32_t state = atomic_load_explicit(&chunk.state, memory_order_relaxed);
	if (state == CHUNK_FREE)
		return true;
	if (state > CHUNK_READY || !chunk_header_valid(&chunk, size_bytes - sizeof chunk)) {
		damage_add(trace, trace->rings_path, offset, size_bytes, "a chunk's header cannot be right");
		return true;
	}
	if (!array_reserve(&trace->ring_chunks, &trace->ring_chunks_capacity, trace->ring_chunks_count + 1,
			   sizeof *trace->ring_chunks))
		return false;
	trace->ring_chunks[trace->ring_chunks_count++] =
		(struct ring_chunk){offset, chunk.thread, chunk.sequence, size_bytes};
	return true;
}

static bool add_extent(struct trace *trace, const struct rings_header *header, unsigned kind, uint64_t offset,
		       const uint8_t *extent)
{
	if (kind == EXTENT_SLOTS)
		return add_slots(trace, extent,
				 atomic_load_explicit(&header->retired_epoch, memory_order_relaxed));
	uint32_t step = kind == EXTENT_LARGE ? CHUNK_LARGE_BYTES : CHUNK_SMALL_BYTES;
	for (uint32_t at = 0; at < RINGS_EXTENT_BYTES; at += step)
		if (!add_chunk(trace, offset + at, extent + at, step))
			return false;
	return true;
}

static bool read_extents(struct trace *trace, const struct rings_header *header, struct error *error)
{
	uint8_t *extent = malloc(RINGS_EXTENT_BYTES);
	bool good = extent != NULL;
	for (uint32_t i = 0; good && i < header->extents_count; i++) {
		unsigned kind = atomic_load_explicit(&header->extent_kinds[i], memory_order_relaxed);
		uint64_t offset = header->extents_offset + (uint64_t)i * RINGS_EXTENT_BYTES;
		if (kind == EXTENT_UNUSED)
			continue;
		if (kind > EXTENT_LARGE) {
			damage_add(trace, trace->rings_path, offsetof(struct rings_header, extent_kinds) + i,
				   1, "an extent of unknown kind %u is passed over", kind);
			continue;
		}
		int got = read_at(trace->rings_fd, trace->rings_path, extent, RINGS_EXTENT_BYTES, offset,
				  error);
		if (got == 0)
			damage_add(trace, trace->rings_path, offset, RINGS_EXTENT_BYTES,
				   "the rings file is cut off here");
		good = got == 0 || (got == 1 && add_extent(trace, header, kind, offset, extent));
	}
	free(extent);
	return good || error_set(error, ERROR_INTERNAL, NULL, ERROR_NO_OFFSET, "out of memory");
}

static int by_thread_sequence(const void *a, const void *b)
{
	const struct ring_chunk *left = a, *right = b;
	if (left->thread != right->thread)
		return left->thread > right->thread ? 1 : -1;
	if (left->sequence != right->sequence)
		return left->sequence > right->sequence ? 1 : -1;
	return (left->offset > right->offset) - (left->offset < right->offset);
}

/* ---- the file ------------------------------------------------------------------------------------------ */

#define LIVE_READS_MAX 8

/* While the guest runs, an ended thread's counters may move from its slot into the header's sums between our
 * looks at the two. The epoch tells; then all is read again. */
static bool moved_meanwhile(struct trace *trace, const struct rings_header *header)
{
	uint64_t epoch;
	struct error ignored = {0};
	int got = read_at(trace->rings_fd, trace->rings_path, &epoch, sizeof epoch,
			  offsetof(struct rings_header, retired_epoch), &ignored);
	return got == 1 && epoch != atomic_load_explicit(&header->retired_epoch, memory_order_relaxed);
}

static bool read_once(struct trace *trace, struct rings_header *header, struct error *error)
{
	int got = read_at(trace->rings_fd, trace->rings_path, header, sizeof *header, 0, error);
	if (got == 0)
		rings_bad(trace, 0, "the rings file is cut off in its header");
	if (got != 1 || !header_usable(trace, header))
		return got >= 0;
	trace->info.rings = true;
	trace->info.counters_known = true;
	trace->ring_chunks_count = 0;
	memset(trace->info.counters, 0, sizeof trace->info.counters);
	add_counters(trace, header->shared_counters);
	add_retired(trace, header);
	return read_extents(trace, header, error);
}

static bool rings_read(struct trace *trace, struct error *error)
{
	struct rings_header *header = malloc(sizeof *header);
	if (!header)
		return error_set(error, ERROR_INTERNAL, NULL, ERROR_NO_OFFSET, "out of memory");
	bool good = read_once(trace, header, error);
	for (unsigned reads = 1;
	     good && trace->info.rings && reads < LIVE_READS_MAX && moved_meanwhile(trace, header); reads++)
		good = read_once(trace, header, error);
	if (trace->ring_chunks_count)
		qsort(trace->ring_chunks, trace->ring_chunks_count, sizeof *trace->ring_chunks,
		      by_thread_sequence);
	free(header);
	return good;
}

bool rings_open(struct trace *trace, struct error *error)
{
	trace->rings_fd = open(trace->rings_path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (trace->rings_fd < 0) {
		if (errno != ENOENT)
			damage_add(trace, trace->rings_path, 0, 0, "cannot be opened: %s", strerror(errno));
		return true;
	}
	struct stat status;
	if (fstat(trace->rings_fd, &status) != 0 || !S_ISREG(status.st_mode))
		return rings_bad(trace, 0, "is no regular file") || true;
	return rings_read(trace, error);
}

enum block_status rings_load(struct trace *trace, const struct ring_chunk *chunk, struct block_buffer *buffer,
			     size_t *bytes, struct error *error)
{
	if (!array_reserve(&buffer->data, &buffer->capacity, chunk->size_bytes + DECODE_SLACK_BYTES, 1)) {
		error_set(error, ERROR_INTERNAL, NULL, ERROR_NO_OFFSET, "out of memory");
		return BLOCK_FAILED;
	}
	int got = read_at(trace->rings_fd, trace->rings_path, buffer->data, chunk->size_bytes, chunk->offset,
			  error);
	if (got < 0)
		return BLOCK_FAILED;
	struct chunk_header header;
	memcpy(&header, buffer->data, sizeof header);
	if (got == 0 || header.thread != chunk->thread || header.sequence != chunk->sequence ||
	    !chunk_header_valid(&header, chunk->size_bytes - sizeof header))
		return BLOCK_SKIPPED;
	*bytes = sizeof header + atomic_load_explicit(&header.committed, memory_order_relaxed);
	return BLOCK_READ;
}
