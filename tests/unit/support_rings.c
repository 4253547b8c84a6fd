#define XXH_INLINE_ALL
#include <xxhash.h>

#include "tests/unit/support_trace_internal.h"

static void put_slot(const struct support_thread *thread, uint32_t number, uint8_t *extent)
{
	struct ring_slot slot = {
		.state = SLOT_LIVE,
		.thread = number,
		.kernel_tid = 5000 + number,
		.start_time = SUPPORT_START_TIME,
	};
	memcpy(slot.name, thread->name, sizeof slot.name);
	for (unsigned i = 0; i < COUNTER_COUNT; i++)
		slot.counters[i] = thread->counters[i];
	memcpy(extent + number * SLOT_BYTES, &slot, sizeof slot);
}

/* The thread's open chunk in an extent of its own. */
static void put_chunk(const struct support_thread *thread, uint8_t *extent)
{
	struct chunk_header chunk = thread->chunk;
	chunk.committed = (uint32_t)(thread->at - thread->records);
	memcpy(extent, &chunk, sizeof chunk);
	memcpy(extent + sizeof chunk, thread->records, chunk.committed);
}

/* Full chunks that wait for a flush are ready chunks of the rings file. */
static size_t put_waiting(struct support_trace *trace, uint8_t *extents, uint8_t *kinds, size_t next)
{
	for (size_t at = 0; at < trace->pieces_bytes; next++) {
		struct chunk_header chunk;
		memcpy(&chunk, trace->pieces + at, sizeof chunk);
		size_t bytes = sizeof chunk + chunk.committed;
		SUPPORT_CHECK(next < 64);
		chunk.skip = 0;
		memcpy(extents + next * RINGS_EXTENT_BYTES, &chunk, sizeof chunk);
		memcpy(extents + next * RINGS_EXTENT_BYTES + sizeof chunk, trace->pieces + at + sizeof chunk,
		       chunk.committed);
		kinds[next] = trace->options.chunk_bytes > CHUNK_SMALL_BYTES ? EXTENT_LARGE : EXTENT_SMALL;
		at += bytes;
	}
	return next;
}

static void write_rings(struct support_trace *trace, const uint8_t *extents, const uint8_t *kinds,
			size_t extents_count)
{
	static struct rings_header header;
	char path[4096];
	memset(&header, 0, sizeof header);
	memcpy(header.magic, RINGS_MAGIC, sizeof header.magic);
	header.version = TRACE_FORMAT_VERSION;
	header.extents_offset = (sizeof header + TRACE_PAGE_BYTES - 1) / TRACE_PAGE_BYTES * TRACE_PAGE_BYTES;
	memcpy(header.nonce, trace->header.nonce, sizeof header.nonce);
	header.extents_count = (uint32_t)extents_count;
	header.check = XXH3_64bits(&header, offsetof(struct rings_header, check));
	for (unsigned i = 0; i < COUNTER_COUNT; i++)
		header.shared_counters[i] = trace->shared[i];
	for (size_t i = 0; i < extents_count; i++)
		header.extent_kinds[i] = kinds[i];
	snprintf(path, sizeof path, "%s" TRACE_RINGS_SUFFIX, trace->path);
	FILE *file = fopen(path, "w");
	SUPPORT_CHECK(file && fwrite(&header, sizeof header, 1, file) == 1);
	SUPPORT_CHECK(fseek(file, (long)header.extents_offset, SEEK_SET) == 0);
	SUPPORT_CHECK(fwrite(extents, RINGS_EXTENT_BYTES, extents_count, file) == extents_count);
	SUPPORT_CHECK(fclose(file) == 0);
}

void support_kill(struct support_trace *trace)
{
	_Static_assert(SUPPORT_THREADS_MAX <= RINGS_EXTENT_BYTES / SLOT_BYTES, "all slots fit one extent");
	uint8_t *extents = calloc(64, RINGS_EXTENT_BYTES);
	uint8_t kinds[64] = {EXTENT_SLOTS};
	SUPPORT_CHECK(extents);
	size_t next = put_waiting(trace, extents, kinds, 1);
	for (uint32_t i = 0; i < SUPPORT_THREADS_MAX; i++) {
		const struct support_thread *thread = &trace->threads[i];
		if (thread->used)
			put_slot(thread, i, extents);
		if (!thread->at)
			continue;
		SUPPORT_CHECK(next < 64);
		put_chunk(thread, extents + next * RINGS_EXTENT_BYTES);
		kinds[next++] = trace->options.chunk_bytes > CHUNK_SMALL_BYTES ? EXTENT_LARGE : EXTENT_SMALL;
	}
	write_rings(trace, extents, kinds, next);
	free(extents);
	support_release(trace);
}
