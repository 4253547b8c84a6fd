#include "tests/unit/support_trace_internal.h"

#include <zstd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define PIECES_BYTES (256u << 10)

static void *grow(void *data, size_t bytes)
{
	void *grown = realloc(data, bytes);
	SUPPORT_CHECK(grown);
	return grown;
}

/* ---- blocks -------------------------------------------------------------------------------------------- */

static void write_at(struct support_trace *trace, uint64_t offset, const void *data, size_t bytes)
{
	SUPPORT_CHECK(fseek(trace->file, (long)offset, SEEK_SET) == 0);
	SUPPORT_CHECK(bytes == 0 || fwrite(data, bytes, 1, trace->file) == 1);
}

static uint64_t block_put(struct support_trace *trace, uint16_t type, const void *payload, uint32_t bytes)
{
	static uint8_t stored[ZSTD_COMPRESSBOUND(BLOCK_RAW_BYTES_MAX)];
	uint64_t seed;
	struct block_header header = {.magic = BLOCK_MAGIC, .type = type, .raw_bytes = bytes};
	header.sequence = trace->sequence++;
	header.first_time = trace->first_time ? trace->first_time : SUPPORT_START_TIME;
	header.last_time = trace->watermark;
	size_t stored_bytes = bytes;
	if (trace->options.compressed) {
		stored_bytes = ZSTD_compress(stored, sizeof stored, payload, bytes, 1);
		SUPPORT_CHECK(!ZSTD_isError(stored_bytes));
		header.encoding = BLOCK_ZSTD;
	} else if (bytes) {
		memcpy(stored, payload, bytes);
	}
	header.stored_bytes = (uint32_t)stored_bytes;
	header.payload_check = XXH3_64bits(stored, stored_bytes);
	memcpy(&seed, trace->header.nonce, sizeof seed);
	header.header_check =
		XXH3_64bits_withSeed(&header, offsetof(struct block_header, header_check), seed);
	size_t whole = (sizeof header + stored_bytes + BLOCK_ALIGNMENT_BYTES - 1) &
		       ~(size_t)(BLOCK_ALIGNMENT_BYTES - 1);
	if (trace->header.region_end && trace->offset + whole > trace->header.region_end)
		trace->offset = trace->header.region_start;
	uint64_t offset = trace->offset;
	static const uint8_t zeros[BLOCK_ALIGNMENT_BYTES];
	write_at(trace, offset, &header, sizeof header);
	write_at(trace, offset + sizeof header, stored, stored_bytes);
	write_at(trace, offset + sizeof header + stored_bytes, zeros, whole - sizeof header - stored_bytes);
	trace->offset = offset + whole;
	trace->stored_bytes += sizeof header + stored_bytes;
	trace->raw_bytes += sizeof header + bytes;
	return offset;
}

uint64_t support_block(struct support_trace *trace, uint16_t type, const void *payload, uint32_t bytes)
{
	return block_put(trace, type, payload, bytes);
}

uint64_t support_block_from(struct support_trace *trace, uint64_t time, uint16_t type, const void *payload,
			    uint32_t bytes)
{
	trace->first_time = SUPPORT_START_TIME + time;
	uint64_t offset = block_put(trace, type, payload, bytes);
	trace->first_time = 0;
	return offset;
}

/* ---- open ---------------------------------------------------------------------------------------------- */

static void put_process_block(struct support_trace *trace)
{
	char text[4096];
	int bytes = snprintf(
		text, sizeof text,
		"version_shim=1\nmode=%s\npid=4242\nppid=1\nuid=1000\nexe=/usr/bin/guest\nargv=guest\\nwith "
		"two lines\n"
		"host=unit\nkernel=6.1.0\narch=x86_64\npage_size=4096\ncpus=2\nsample_bytes=%llu\nstack_"
		"depth=32\n"
		"interval_ms=1000\ntick_hz=1000000000\ntime_shift=0\nstart_time=%llu\nstart_realtime_ns=%"
		"llu\n"
		"start_monotonic_ns=%llu\nmalloc_source=interposed\nrseq_owner=%s\n%s",
		trace->options.full ? "full" : "sample", (unsigned long long)trace->options.sample_bytes,
		(unsigned long long)SUPPORT_START_TIME, (unsigned long long)SUPPORT_START_REALTIME_NS,
		(unsigned long long)SUPPORT_START_MONOTONIC_NS,
		trace->options.rseq_owner ? trace->options.rseq_owner : "glibc",
		trace->options.extra_keys ? trace->options.extra_keys : "");
	SUPPORT_CHECK(bytes > 0 && (size_t)bytes < sizeof text);
	bool compressed = trace->options.compressed;
	trace->options.compressed = false;
	block_put(trace, BLOCK_PROCESS, text, (uint32_t)bytes);
	trace->options.compressed = compressed;
}

struct support_trace *support_open(const char *path, const struct support_options *options)
{
	struct support_trace *trace = calloc(1, sizeof *trace);
	SUPPORT_CHECK(trace);
	trace->path = strdup(path);
	trace->options = *options;
	if (!trace->options.chunk_bytes)
		trace->options.chunk_bytes = CHUNK_SMALL_BYTES;
	if (!trace->options.sample_bytes)
		trace->options.sample_bytes = 512 << 10;
	trace->file = fopen(path, "w+");
	SUPPORT_CHECK(trace->file && trace->path);
	struct file_header *header = &trace->header;
	memcpy(header->magic, TRACE_MAGIC, sizeof header->magic);
	header->version = TRACE_FORMAT_VERSION;
	header->header_bytes = sizeof *header;
	for (unsigned i = 0; i < sizeof header->nonce; i++)
		header->nonce[i] = (uint8_t)(17 * i + 5);
	trace->watermark = SUPPORT_START_TIME;
	trace->offset = TRACE_PAGE_BYTES;
	put_process_block(trace);
	trace->offset += options->gap_bytes;
	header->region_start = trace->offset;
	header->region_end = options->region_bytes ? trace->offset + options->region_bytes : 0;
	header->check = XXH3_64bits(header, offsetof(struct file_header, check));
	write_at(trace, 0, header, sizeof *header);
	write_at(trace, TRACE_HEADER_COPY_OFFSET, header, sizeof *header);
	return trace;
}

/* ---- chunks -------------------------------------------------------------------------------------------- */

static struct support_thread *thread_of(struct support_trace *trace, uint32_t number)
{
	SUPPORT_CHECK(number < SUPPORT_THREADS_MAX);
	struct support_thread *thread = &trace->threads[number];
	if (!thread->used) {
		thread->used = true;
		snprintf(thread->name, sizeof thread->name, "thread-%u", number);
	}
	return thread;
}

static void chunk_open(struct support_trace *trace, uint32_t number, uint64_t time, uint32_t cpu)
{
	struct support_thread *thread = thread_of(trace, number);
	uint32_t capacity = trace->options.chunk_bytes - (uint32_t)sizeof(struct chunk_header);
	if (!thread->records)
		thread->records = grow(NULL, capacity);
	thread->at = thread->records;
	thread->written = 0;
	thread->chunk = (struct chunk_header){
		.magic = CHUNK_MAGIC,
		.thread = number,
		.kernel_tid = 5000 + number,
		.sequence = thread->sequence++,
		.base_time = time,
		.capacity = capacity,
		.cpu = cpu,
		.state = CHUNK_ACTIVE,
	};
	codec_reset(&thread->state, time, cpu);
}

static void piece_queue(struct support_trace *trace, struct support_thread *thread)
{
	uint32_t committed = (uint32_t)(thread->at - thread->records);
	if (committed == thread->written)
		return;
	struct chunk_header chunk = thread->chunk;
	chunk.committed = committed;
	chunk.skip = thread->written;
	chunk.state = CHUNK_READY;
	size_t bytes = sizeof chunk + committed;
	if (trace->pieces_bytes + bytes > trace->pieces_capacity) {
		trace->pieces_capacity = 2 * (trace->pieces_bytes + bytes);
		trace->pieces = grow(trace->pieces, trace->pieces_capacity);
	}
	memcpy(trace->pieces + trace->pieces_bytes, &chunk, sizeof chunk);
	memcpy(trace->pieces + trace->pieces_bytes + sizeof chunk, thread->records, committed);
	trace->pieces_bytes += bytes;
	thread->written = committed;
}

/* Room for a record of `bytes`; a chunk without it is handed over and the next one opened. */
static struct support_thread *thread_room(struct support_trace *trace, uint32_t number, uint64_t time,
					  uint32_t cpu, size_t bytes)
{
	struct support_thread *thread = thread_of(trace, number);
	if (!thread->at)
		chunk_open(trace, number, time, cpu);
	if ((size_t)(thread->at - thread->records) + bytes > thread->chunk.capacity) {
		piece_queue(trace, thread);
		chunk_open(trace, number, time, cpu);
		SUPPORT_CHECK(bytes <= thread->chunk.capacity);
	}
	return thread;
}

/* ---- events -------------------------------------------------------------------------------------------- */

static void count(uint64_t *counters, const struct trace_event *event)
{
	static const uint8_t plain[64] = {
		[EVENT_MALLOC] = COUNTER_MALLOC + 1,
		[EVENT_CALLOC] = COUNTER_CALLOC + 1,
		[EVENT_NEW] = COUNTER_NEW + 1,
		[EVENT_ALIGNED] = COUNTER_ALIGNED + 1,
		[EVENT_REALLOC] = COUNTER_REALLOC + 1,
		[EVENT_FREE] = COUNTER_FREE + 1,
		[EVENT_DELETE] = COUNTER_DELETE + 1,
		[EVENT_MMAP] = COUNTER_MMAP + 1,
		[EVENT_MUNMAP] = COUNTER_MUNMAP + 1,
		[EVENT_MREMAP] = COUNTER_MREMAP + 1,
		[EVENT_MPROTECT] = COUNTER_MPROTECT + 1,
		[EVENT_MADVISE] = COUNTER_MADVISE + 1,
		[EVENT_BRK] = COUNTER_BRK + 1,
		[EVENT_FAILED] = COUNTER_FAILED + 1,
		[EVENT_THREAD_START] = COUNTER_THREAD_START + 1,
	};
	counters[COUNTER_EVENTS]++;
	if (event->kind < 64 && plain[event->kind])
		counters[plain[event->kind] - 1]++;
	if (event_is_allocation(event->kind))
		counters[COUNTER_ALLOC_BYTES] += event->size_bytes;
	if (event->kind == EVENT_REALLOC)
		counters[COUNTER_REALLOC_BYTES] += event->size_bytes;
}

static bool hot(const struct trace_event *event)
{
	bool plain = event->kind >= EVENT_MALLOC && event->kind <= EVENT_DELETE && !event->alignment_bytes &&
		     !event->sampled_old && !event->sampled_new && event->address &&
		     codec_address_fits(event->address);
	return plain && (event->kind != EVENT_REALLOC ||
			 (event->old_address && codec_address_fits(event->old_address)));
}

static uint8_t *encode_hot(struct codec_state *state, uint8_t *at, const struct trace_event *event)
{
	if (event_is_free(event->kind))
		return encode_free(state, at, (enum event_kind)event->kind, event->time, event->address);
	if (event->kind == EVENT_REALLOC)
		return encode_realloc(state, at, event->time, event->end_time, event->old_address,
				      event->address, event->size_bytes, event->stack_id);
	return encode_allocation(state, at, (enum event_kind)event->kind, event->time, event->address,
				 event->size_bytes, event->stack_id);
}

void support_event(struct support_trace *trace, const struct trace_event *event)
{
	struct support_thread *thread =
		thread_room(trace, event->thread, event->time, event->cpu, RECORD_BYTES_MAX + 16);
	if (thread->state.cpu != event->cpu)
		thread->at = encode_cpu(&thread->state, thread->at, event->cpu);
	thread->at = hot(event) ? encode_hot(&thread->state, thread->at, event)
				: encode_extended(&thread->state, thread->at, event);
	count(thread->counters, event);
}

void support_malloc(struct support_trace *trace, uint32_t thread, uint64_t time, uint64_t address,
		    uint64_t size_bytes, uint32_t stack_id)
{
	time += SUPPORT_START_TIME;
	support_event(trace, &(struct trace_event){.kind = EVENT_MALLOC,
						   .thread = thread,
						   .time = time,
						   .end_time = time,
						   .address = address,
						   .size_bytes = size_bytes,
						   .stack_id = stack_id});
}

void support_free_block(struct support_trace *trace, uint32_t thread, uint64_t time, uint64_t address)
{
	time += SUPPORT_START_TIME;
	support_event(trace, &(struct trace_event){.kind = EVENT_FREE,
						   .thread = thread,
						   .time = time,
						   .end_time = time,
						   .address = address});
}

void support_stack(struct support_trace *trace, uint32_t number, uint32_t stack_id, const uint64_t *frames,
		   unsigned depth)
{
	struct support_thread *thread = thread_of(trace, number);
	uint64_t time = thread->at ? thread->state.time : trace->watermark;
	thread = thread_room(trace, number, time, thread->state.cpu, STACK_RECORD_BYTES_MAX);
	thread->at = encode_stack(thread->at, stack_id, frames, depth);
}

void support_count(struct support_trace *trace, enum counter counter, uint64_t amount)
{
	trace->shared[counter] += amount;
}

/* ---- definitions --------------------------------------------------------------------------------------- */

void support_module(struct support_trace *trace, uint64_t start, uint64_t end, uint64_t bias,
		    const char *path, const uint8_t *build_id, uint16_t build_id_bytes)
{
	struct module_record record = {
		.start = start,
		.end = end,
		.bias = bias,
		.loaded_time = SUPPORT_START_TIME,
		.build_id_bytes = build_id_bytes,
		.path_bytes = (uint16_t)strlen(path),
	};
	size_t bytes = (sizeof record + build_id_bytes + record.path_bytes + 7) & ~(size_t)7;
	trace->modules = grow(trace->modules, trace->modules_bytes + bytes);
	uint8_t *at = trace->modules + trace->modules_bytes;
	memset(at, 0, bytes);
	memcpy(at, &record, sizeof record);
	if (build_id_bytes)
		memcpy(at + sizeof record, build_id, build_id_bytes);
	memcpy(at + sizeof record + build_id_bytes, path, record.path_bytes);
	trace->modules_bytes += bytes;
}

void support_thread(struct support_trace *trace, uint32_t thread, const char *name)
{
	snprintf(thread_of(trace, thread)->name, sizeof trace->threads->name, "%s", name);
	trace->threads[thread].announced = false;
}

static void flush_definitions(struct support_trace *trace)
{
	struct thread_record records[SUPPORT_THREADS_MAX];
	uint32_t records_count = 0;
	for (uint32_t i = 0; i < SUPPORT_THREADS_MAX; i++) {
		struct support_thread *thread = &trace->threads[i];
		if (!thread->used || thread->announced)
			continue;
		thread->announced = true;
		struct thread_record *record = &records[records_count++];
		*record = (struct thread_record){
			.thread = i, .kernel_tid = 5000 + i, .start_time = SUPPORT_START_TIME};
		memcpy(record->name, thread->name, sizeof record->name);
	}
	if (records_count)
		block_put(trace, BLOCK_THREADS, records, records_count * (uint32_t)sizeof *records);
	if (trace->modules_bytes)
		block_put(trace, BLOCK_MODULES, trace->modules, (uint32_t)trace->modules_bytes);
	trace->modules_bytes = 0;
}

/* ---- flush, snapshots, end ----------------------------------------------------------------------------- */

/* Events blocks of whole pieces, up to PIECES_BYTES each. */
static void flush_pieces(struct support_trace *trace)
{
	size_t from = 0, at = 0;
	while (at < trace->pieces_bytes) {
		struct chunk_header chunk;
		memcpy(&chunk, trace->pieces + at, sizeof chunk);
		size_t next = at + sizeof chunk + chunk.committed;
		if (next - from > PIECES_BYTES && at > from) {
			block_put(trace, BLOCK_EVENTS, trace->pieces + from, (uint32_t)(at - from));
			from = at;
		}
		at = next;
	}
	if (at > from)
		block_put(trace, BLOCK_EVENTS, trace->pieces + from, (uint32_t)(at - from));
	trace->pieces_bytes = 0;
}

void support_flush(struct support_trace *trace)
{
	for (unsigned i = 0; i < SUPPORT_THREADS_MAX; i++)
		if (trace->threads[i].at)
			piece_queue(trace, &trace->threads[i]);
	flush_definitions(trace);
	flush_pieces(trace);
}

static struct clock_mark mark_at(struct support_trace *trace, uint64_t time)
{
	trace->watermark = SUPPORT_START_TIME + time;
	return (struct clock_mark){
		.time = trace->watermark,
		.realtime_ns = SUPPORT_START_REALTIME_NS + time,
		.monotonic_ns = SUPPORT_START_MONOTONIC_NS + time,
		.watermark = trace->watermark,
	};
}

void support_snapshot(struct support_trace *trace, uint64_t time, const struct snapshot *fields)
{
	struct snapshot snapshot = {0};
	if (fields)
		snapshot = *fields;
	support_flush(trace);
	snapshot.mark = mark_at(trace, time);
	snapshot.stored_bytes = trace->stored_bytes;
	snapshot.raw_bytes = trace->raw_bytes;
	memcpy(snapshot.counters, trace->shared, sizeof snapshot.counters);
	for (unsigned i = 0; i < SUPPORT_THREADS_MAX; i++)
		for (unsigned j = 0; j < COUNTER_COUNT; j++)
			snapshot.counters[j] += trace->threads[i].counters[j];
	block_put(trace, BLOCK_SNAPSHOT, &snapshot, sizeof snapshot);
}

void support_mark(struct support_trace *trace, uint64_t time)
{
	support_flush(trace);
	struct clock_mark mark = mark_at(trace, time);
	block_put(trace, BLOCK_MARK, &mark, sizeof mark);
}

void support_release(struct support_trace *trace)
{
	SUPPORT_CHECK(fclose(trace->file) == 0);
	for (unsigned i = 0; i < SUPPORT_THREADS_MAX; i++)
		free(trace->threads[i].records);
	free(trace->pieces);
	free(trace->modules);
	free(trace->path);
	free(trace);
}

void support_end(struct support_trace *trace, uint64_t time)
{
	support_snapshot(trace, time, NULL);
	struct end_record end = {.mark = mark_at(trace, time), .reason = END_EXIT, .status = 0};
	block_put(trace, BLOCK_END, &end, sizeof end);
	support_release(trace);
}
