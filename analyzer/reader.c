#include "analyzer/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "analyzer/reader_internal.h"

/* ---- the header page ----------------------------------------------------------------------------------- */

static bool open_file(struct trace *trace, struct error *error)
{
	trace->fd = open(trace->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat status;
	if (trace->fd < 0 || fstat(trace->fd, &status) != 0)
		return error_set(error, ERROR_INPUT, trace->path, ERROR_NO_OFFSET, "cannot be opened: %s",
				 strerror(errno));
	if (!S_ISREG(status.st_mode))
		return error_set(error, ERROR_INPUT, trace->path, ERROR_NO_OFFSET, "is no regular file");
	trace->info.trace_bytes = (uint64_t)status.st_size;
	return true;
}

static bool header_intact(const struct file_header *header)
{
	return memcmp(header->magic, TRACE_MAGIC, sizeof header->magic) == 0 &&
	       header->check == XXH3_64bits(header, offsetof(struct file_header, check));
}

static bool header_plausible(const struct file_header *header)
{
	return header->region_start >= TRACE_PAGE_BYTES &&
	       header->region_start % BLOCK_ALIGNMENT_BYTES == 0 &&
	       (header->region_end == 0 || header->region_end > header->region_start);
}

/* True where the copy is in order and now stands in trace->header. */
static bool take_header_copy(struct trace *trace, struct error *error)
{
	struct file_header copy;
	if (read_at(trace->fd, trace->path, &copy, sizeof copy, TRACE_HEADER_COPY_OFFSET, error) != 1 ||
	    !header_intact(&copy))
		return false;
	trace->header = copy;
	damage_add(trace, trace->path, 0, sizeof copy, "the file header is damaged; its copy is used");
	return true;
}

/* The nonce may still be right: then the blocks' headers fit it, and the rest is found by searching. */
static void search_without_header(struct trace *trace)
{
	damage_add(trace, trace->path, 0, sizeof trace->header, "the file header is damaged");
	trace->header.region_start = TRACE_PAGE_BYTES;
	trace->header.region_end = 0;
	trace->region_unknown = true;
}

static bool read_header(struct trace *trace, struct error *error)
{
	struct file_header *header = &trace->header;
	if (trace->info.trace_bytes == 0)
		return error_set(error, ERROR_INPUT, trace->path, 0, "the file is empty");
	int got = read_at(trace->fd, trace->path, header, sizeof *header, 0, error);
	if (got < 0)
		return false;
	bool intact = got > 0 && (header_intact(header) || take_header_copy(trace, error));
	if (error->code)
		return false;
	if (got == 0 || memcmp(header->magic, TRACE_MAGIC, sizeof header->magic) != 0)
		return error_set(error, ERROR_INPUT, trace->path, 0,
				 "this is no mtrace trace (a trace starts with \"mtrace\\r\\n\")");
	if (intact && header->version != TRACE_FORMAT_VERSION)
		return error_set(
			error, ERROR_INPUT, trace->path, 8,
			"format version %u; this program reads version %u: use the one of that release",
			header->version, TRACE_FORMAT_VERSION);
	if (!intact || !header_plausible(header))
		search_without_header(trace);
	return true;
}

/* ---- definitions --------------------------------------------------------------------------------------- */

static bool add_mark(struct trace *trace, const struct clock_mark *mark)
{
	if (mark->time > trace->info.last_time)
		trace->info.last_time = mark->time;
	return clock_add(trace, mark->time, mark->realtime_ns, mark->monotonic_ns);
}

static bool add_snapshot(struct trace *trace, const struct snapshot *snapshot)
{
	memcpy(trace->info.counters, snapshot->counters, sizeof trace->info.counters);
	trace->info.counters_known = true;
	trace->info.stored_bytes = snapshot->stored_bytes;
	trace->info.raw_bytes = snapshot->raw_bytes;
	return add_mark(trace, &snapshot->mark);
}

bool snapshot_parse(struct snapshot *snapshot, const uint8_t *payload, size_t bytes)
{
	if (bytes < sizeof snapshot->mark)
		return false;
	memset(snapshot, 0xff, offsetof(struct snapshot, counters)); /* SNAPSHOT_UNKNOWN */
	memset(snapshot->counters, 0, sizeof snapshot->counters);
	memcpy(snapshot, payload, bytes < sizeof *snapshot ? bytes : sizeof *snapshot);
	return true;
}

static bool add_end(struct trace *trace, const uint8_t *payload, size_t bytes)
{
	struct end_record end;
	if (bytes < sizeof end)
		return true;
	memcpy(&end, payload, sizeof end);
	trace->info.complete = true;
	trace->info.end_reason = end.reason;
	trace->info.end_status = end.status;
	return add_mark(trace, &end.mark);
}

static bool add_definition(struct trace *trace, const struct block_entry *entry, const uint8_t *payload)
{
	size_t bytes = entry->raw_bytes;
	struct snapshot snapshot;
	struct clock_mark mark;
	switch (entry->type) {
	case BLOCK_MODULES:
		return defs_modules(trace, payload, bytes, entry->offset);
	case BLOCK_THREADS:
		return defs_threads(trace, payload, bytes, entry->offset);
	case BLOCK_SNAPSHOT:
		return !snapshot_parse(&snapshot, payload, bytes) || add_snapshot(trace, &snapshot);
	case BLOCK_MARK:
		memcpy(&mark, payload, bytes < sizeof mark ? 0 : sizeof mark);
		return bytes < sizeof mark || add_mark(trace, &mark);
	case BLOCK_END:
		return add_end(trace, payload, bytes);
	default:
		return true;
	}
}

/* Stacks are many and wait for the merge; events too. */
static bool wanted_at_open(uint16_t type)
{
	return type == BLOCK_MODULES || type == BLOCK_THREADS || type == BLOCK_SNAPSHOT ||
	       type == BLOCK_MARK || type == BLOCK_END;
}

static bool read_definitions(struct trace *trace, struct error *error)
{
	struct block_buffer buffer = {0};
	enum block_status status = BLOCK_SKIPPED;
	for (size_t i = 0; i < trace->blocks_count && status != BLOCK_FAILED; i++) {
		struct block_entry *entry = &trace->blocks[i];
		if (entry->last_time > trace->info.last_time)
			trace->info.last_time = entry->last_time;
		if (!wanted_at_open(entry->type) || (entry->type == BLOCK_END && i + 1 < trace->blocks_count))
			continue; /* an end that others follow was none: an exec that failed */
		status = block_load(trace, entry, &buffer, error);
		if (status == BLOCK_READ && !add_definition(trace, entry, buffer.data))
			status = BLOCK_FAILED;
	}
	free(buffer.data);
	free(buffer.stored);
	return status != BLOCK_FAILED ||
	       error_set(error, ERROR_INTERNAL, NULL, ERROR_NO_OFFSET, "out of memory");
}

/* ---- the process block --------------------------------------------------------------------------------- */

static bool read_process(struct trace *trace, struct error *error)
{
	struct block_buffer buffer = {0};
	struct block_entry entry;
	bool good = true;
	if (!block_at(trace, TRACE_PAGE_BYTES, &entry, error) || entry.type != BLOCK_PROCESS) {
		damage_add(trace, trace->path, TRACE_PAGE_BYTES, 0, "the process block cannot be read");
	} else {
		enum block_status status = block_load(trace, &entry, &buffer, error);
		good = status != BLOCK_FAILED;
		if (status == BLOCK_READ)
			good = process_parse(trace, (const char *)buffer.data, entry.raw_bytes);
	}
	free(buffer.data);
	free(buffer.stored);
	if (error->code || !good)
		return error_set(error, ERROR_INTERNAL, NULL, ERROR_NO_OFFSET, "out of memory");
	return true;
}

static void interpret_mode(struct trace *trace)
{
	const char *mode = trace_key(trace, "mode");
	if (mode && strcmp(mode, "sample") == 0)
		trace->info.mode = TRACE_MODE_SAMPLE;
	else if (mode && strcmp(mode, "full") == 0)
		trace->info.mode = TRACE_MODE_FULL;
	if (trace->info.mode == TRACE_MODE_SAMPLE)
		trace_key_number(trace, "sample_bytes", &trace->info.sample_bytes);
}

static bool interpret_clock(struct trace *trace)
{
	uint64_t hz = 0, shift = 0, realtime_ns, monotonic_ns;
	trace_key_number(trace, "tick_hz", &hz);
	trace_key_number(trace, "time_shift", &shift);
	if (hz && shift < 64)
		trace->nominal_ns = 1e9 * (double)(UINT64_C(1) << shift) / (double)hz;
	if (!trace_key_number(trace, "start_time", &trace->start_time))
		return true;
	trace->info.first_time = trace->start_time;
	if (!trace_key_number(trace, "start_realtime_ns", &realtime_ns) ||
	    !trace_key_number(trace, "start_monotonic_ns", &monotonic_ns))
		return true;
	return clock_add(trace, trace->start_time, realtime_ns, monotonic_ns);
}

/* ---- open and close ------------------------------------------------------------------------------------ */

static void sum_lost(struct trace *trace)
{
	for (unsigned i = COUNTER_LOST_FIRST; i <= COUNTER_LOST_LAST; i++)
		trace->info.lost += trace->info.counters[i];
}

/* The figures of the newest snapshot, or what the file shows where that is more: blocks behind it, or no
 * snapshot. */
static void sum_bytes(struct trace *trace)
{
	uint64_t stored = 0, raw = 0;
	for (size_t i = 0; i < trace->blocks_count; i++) {
		stored += sizeof(struct block_header) + trace->blocks[i].stored_bytes;
		raw += sizeof(struct block_header) + trace->blocks[i].raw_bytes;
	}
	trace->info.stored_bytes = stored > trace->info.stored_bytes ? stored : trace->info.stored_bytes;
	trace->info.raw_bytes = raw > trace->info.raw_bytes ? raw : trace->info.raw_bytes;
}

static void find_start(struct trace *trace)
{
	if (!trace->start_time && trace->clock_count)
		trace->start_time = trace->clock[0].time;
	if (trace->wrapped)
		trace->info.first_time = trace->blocks[0].first_time;
	if (!trace->info.first_time)
		trace->info.first_time = trace->start_time;
	if (trace->info.last_time < trace->info.first_time) /* killed before the first block */
		trace->info.last_time = trace->info.first_time;
}

static bool read_all(struct trace *trace, struct error *error)
{
	if (!open_file(trace, error) || !read_header(trace, error))
		return false;
	trace->info.format_version = trace->header.version;
	trace->info.flight_recorder = trace->header.region_end != 0;
	if (!read_process(trace, error) || !blocks_scan(trace, error))
		return false;
	if (trace->damage.total && !trace->keys_count && !trace->blocks_count)
		return error_set(error, ERROR_INPUT, trace->path, trace->damage.items[0].offset_bytes,
				 "the trace's beginning is damaged, and no block can be read behind it");
	interpret_mode(trace);
	if (!interpret_clock(trace) || !read_definitions(trace, error) ||
	    (!trace->info.complete && !rings_open(trace, error)) || !defs_finish(trace))
		return error_set(error, ERROR_INTERNAL, NULL, ERROR_NO_OFFSET, "out of memory");
	if (!allocator_read_last(trace, error))
		return false;
	clock_finish(trace);
	blocks_judge(trace);
	sum_lost(trace);
	sum_bytes(trace);
	find_start(trace);
	return true;
}

struct trace *trace_open(const char *path, struct error *error)
{
	struct trace *trace = calloc(1, sizeof *trace);
	if (trace) {
		trace->fd = trace->rings_fd = -1;
		trace->path = strdup(path);
		if (asprintf(&trace->rings_path, "%s" TRACE_RINGS_SUFFIX, path) < 0)
			trace->rings_path = NULL;
	}
	if (!trace || !trace->path || !trace->rings_path) {
		error_set(error, ERROR_INTERNAL, NULL, ERROR_NO_OFFSET, "out of memory");
		trace_close(trace);
		return NULL;
	}
	trace->info.path = trace->path;
	if (!read_all(trace, error)) {
		trace_close(trace);
		return NULL;
	}
	return trace;
}

void trace_close(struct trace *trace)
{
	if (!trace)
		return;
	if (trace->fd >= 0)
		close(trace->fd);
	if (trace->rings_fd >= 0)
		close(trace->rings_fd);
	process_free(trace);
	defs_free(trace);
	damage_free(trace);
	allocstats_free(&trace->allocator);
	free(trace->blocks);
	free(trace->holes);
	free(trace->clock);
	free(trace->ring_chunks);
	free(trace->path);
	free(trace->rings_path);
	free(trace);
}

const struct trace_info *trace_info(const struct trace *trace)
{
	return &trace->info;
}

uint64_t trace_start_time(const struct trace *trace)
{
	return trace->start_time;
}
