/*
 * A trace of any blocks, and any rings file beside it, is read to its end or refused with a reason; no more
 * events come out than the bytes can hold, in order unless they are counted as late.
 *
 * Random bytes would fail at the first checksum. So the input is a plan: it says which blocks there are and
 * what is in them, and the checksums of most are made to fit.
 */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "analyzer/allocstats.h"
#include "analyzer/allocstats_json.h"
#include "analyzer/coverage.h"
#include "analyzer/locks_json.h"
#include "analyzer/merge.h"
#include "analyzer/reader.h"
#include "analyzer/regions.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/payloads.h"
#include "trace/codec.h"

enum plan_flag {
	PLAN_OWN_PROCESS = 1, /* the process block's text comes from the input */
	PLAN_REGION = 2,      /* a flight recorder */
	PLAN_RINGS = 4,	      /* a rings file beside it */
	PLAN_FOREIGN = 8,     /* the input is the file, as it is */
};

enum { FILE_BYTES_MAX = 1 << 18, RINGS_EXTENTS = 3 };

static const char process_text[] = "mode=full\nsample_bytes=524288\ntick_hz=1000000000\ntime_shift=0\n"
				   "start_time=1000\nstart_realtime_ns=1700000000000000000\n"
				   "start_monotonic_ns=5000\npid=1\nexe=/bin/true\n";

static uint8_t file[FILE_BYTES_MAX];
static size_t file_bytes;
static uint8_t nonce[16] = {1, 2, 3};

static void add_block(uint16_t type, uint64_t sequence, struct input *times, const void *payload,
		      size_t bytes, bool whole)
{
	size_t room = (bytes + BLOCK_ALIGNMENT_BYTES - 1) / BLOCK_ALIGNMENT_BYTES * BLOCK_ALIGNMENT_BYTES;
	uint64_t seed;
	memcpy(&seed, nonce, sizeof seed);
	if (file_bytes + sizeof(struct block_header) + room > FILE_BYTES_MAX)
		return;
	struct block_header header = {.magic = BLOCK_MAGIC,
				      .type = type,
				      .encoding = BLOCK_PLAIN,
				      .sequence = sequence,
				      .stored_bytes = (uint32_t)bytes,
				      .raw_bytes = (uint32_t)bytes};
	header.first_time = input_byte(times) * UINT64_C(100);
	header.last_time = header.first_time + input_byte(times) * UINT64_C(100);
	header.payload_check = XXH3_64bits(payload, bytes) ^ !whole;
	header.header_check =
		XXH3_64bits_withSeed(&header, offsetof(struct block_header, header_check), seed);
	memcpy(file + file_bytes, &header, sizeof header);
	memcpy(file + file_bytes + sizeof header, payload, bytes);
	memset(file + file_bytes + sizeof header + bytes, 0, room - bytes);
	file_bytes += sizeof header + room;
}

/* Pieces with headers that are valid but for what the input says of them. */
static size_t make_pieces(struct input *input, uint8_t *to, size_t room)
{
	size_t bytes = 0;
	for (unsigned pieces = input_byte(input) % 4; pieces > 0; pieces--) {
		size_t records = input_length(input);
		struct chunk_header chunk = {.magic = CHUNK_MAGIC, .state = CHUNK_READY};
		chunk.thread = input_byte(input) % 4;
		chunk.sequence = input_byte(input) % 8;
		chunk.base_time = input_byte(input) * UINT64_C(100);
		chunk.skip = input_byte(input) % 16;
		if (bytes + sizeof chunk + records > room)
			break;
		chunk.capacity = (uint32_t)records;
		chunk.committed = (uint32_t)records - (input_byte(input) & 1 & (records > 0));
		memcpy(to + bytes, &chunk, sizeof chunk);
		input_take(input, to + bytes + sizeof chunk, records);
		bytes += sizeof chunk + records;
	}
	return bytes;
}

static void add_planned_block(struct input *input, uint64_t sequence)
{
	static uint8_t payload[1 << 16];
	uint16_t type = 1 + input_byte(input) % 14;
	uint8_t flags = input_byte(input);
	size_t bytes;
	if (type == BLOCK_EVENTS && flags & 1) {
		bytes = make_pieces(input, payload, sizeof payload);
	} else if (type == BLOCK_MAPS && flags & 1) {
		bytes = make_maps(input, payload);
	} else if (type == BLOCK_PAGES && flags & 1) {
		bytes = make_pages(input, payload);
	} else if (type == BLOCK_SMAPS && flags & 1) {
		bytes = make_smaps(input, payload);
	} else if (type == BLOCK_LOCKS && flags & 1) {
		bytes = make_locks(input, payload);
	} else {
		bytes = input_length(input);
		input_take(input, payload, bytes);
	}
	struct input times = *input;
	input_take(input, &(uint16_t){0}, sizeof(uint16_t));
	add_block(type, flags & 2 ? sequence / 2 : sequence, &times, payload, bytes, !(flags & 4));
	if (flags & 8 && file_bytes + 5 <= FILE_BYTES_MAX) { /* what follows is out of step */
		input_take(input, file + file_bytes, 5);
		file_bytes += 5;
	}
}

static void make_file(struct input *input, uint8_t flags)
{
	file_bytes = TRACE_PAGE_BYTES;
	memset(file, 0, TRACE_PAGE_BYTES);
	if (flags & PLAN_OWN_PROCESS) {
		static uint8_t text[1 << 16];
		size_t bytes = input_length(input);
		input_take(input, text, bytes);
		add_block(BLOCK_PROCESS, 0, &(struct input){0}, text, bytes, true);
	} else {
		add_block(BLOCK_PROCESS, 0, &(struct input){0}, process_text, sizeof process_text - 1, true);
	}
	struct file_header header = {.version = TRACE_FORMAT_VERSION, .header_bytes = sizeof header};
	memcpy(header.magic, TRACE_MAGIC, sizeof header.magic);
	memcpy(header.nonce, nonce, sizeof nonce);
	header.region_start = file_bytes;
	header.region_end = flags & PLAN_REGION ? file_bytes + (1 << 16) : 0;
	header.check = XXH3_64bits(&header, offsetof(struct file_header, check));
	memcpy(file, &header, sizeof header);
	for (uint64_t sequence = 1; input->left > 0 && sequence < 64; sequence++)
		add_planned_block(input, sequence);
}

static void make_rings(struct input *input, const char *path)
{
	static uint8_t rings[(1 << 16) + RINGS_EXTENTS * RINGS_EXTENT_BYTES];
	static struct rings_header header;
	memset(rings, 0, sizeof rings);
	header = (struct rings_header){.version = TRACE_FORMAT_VERSION, .extents_offset = 1 << 16};
	memcpy(header.magic, RINGS_MAGIC, sizeof header.magic);
	memcpy(header.nonce, nonce, sizeof nonce);
	header.extents_count = RINGS_EXTENTS;
	header.check = XXH3_64bits(&header, offsetof(struct rings_header, check));
	for (unsigned i = 0; i < RINGS_EXTENTS; i++)
		header.extent_kinds[i] = input_byte(input) % 5;
	memcpy(rings, &header, sizeof header);
	for (unsigned i = 0; i < RINGS_EXTENTS; i++) {
		uint8_t *extent = rings + (1 << 16) + (size_t)i * RINGS_EXTENT_BYTES;
		if (header.extent_kinds[i] == EXTENT_SLOTS)
			input_take(input, extent, input_length(input) % (2 * SLOT_BYTES));
		else
			make_pieces(input, extent, CHUNK_SMALL_BYTES);
	}
	scratch_write(path, rings, sizeof rings);
}

static void read_definitions(const struct trace *trace)
{
	size_t count;
	const struct trace_info *info = trace_info(trace);
	const struct trace_module *modules = trace_modules(trace, &count);
	for (size_t i = 0; i < count; i++)
		require(modules[i].path && (i == 0 || modules[i - 1].start <= modules[i].start));
	const struct trace_thread *threads = trace_threads(trace, &count);
	for (size_t i = 0; i < count; i++)
		require(memchr(threads[i].name, 0, sizeof threads[i].name));
	trace_damage(trace, &count);
	require(count <= TRACE_DAMAGE_MAX && count <= trace_damage_count(trace));
	char text[200];
	require(allocstats_text(trace, text, sizeof text) == (trace_allocator(trace)->kind != 0));
	json_decref(allocstats_json(trace));
	trace_realtime_ns(trace, info->first_time);
	trace_monotonic_ns(trace, info->last_time);
}

/* What lies in the map is what the owners have, and the map is in order. */
static void check_regions(const struct regions *regions)
{
	size_t count, spans_count;
	struct region_span *spans;
	const struct region_owner *owners = regions_owners(regions, &count);
	uint64_t owned = 0, mapped = 0;
	require(regionmap_check(regions_map(regions)) == NULL);
	require(regions_spans(regions, &spans, &spans_count));
	for (size_t i = 0; i < count; i++)
		for (size_t s = 0; s < REGION_STATES; s++) {
			owned += owners[i].bytes[s];
			require(owners[i].bytes[s] <= owners[i].peak_bytes[s]);
		}
	for (size_t i = 0; i < spans_count; i++)
		mapped += spans[i].end - spans[i].start;
	require(owned == mapped);
	free(spans);
}

/* Every byte of every moment has its sum and its cause. */
static void check_coverage(const struct pages *pages, const struct coverage *coverage)
{
	size_t count;
	const struct coverage_row *rows = coverage_rows(coverage, &count);
	require(pages_check(pages) == NULL);
	for (size_t i = 0; i < count; i++)
		require(coverage_sums_check(&rows[i].sums, rows[i].looked) == NULL);
}

/* Rows, threads and readings have the same sums; nothing is there twice. */
static void check_locks(struct trace *trace, bool each)
{
	struct error error = {0};
	struct symbol_options nowhere = {"/nonexistent", "/nonexistent"};
	struct regions *regions;
	struct locks *locks = locks_read(trace, each, &nowhere, &regions, &error);
	require(locks);
	size_t count;
	uint64_t rows_wait = 0, threads_wait = 0, readings_wait = 0;
	const struct lock_row *rows = locks_rows(locks, &count);
	for (size_t i = 0; i < count; i++) {
		rows_wait += rows[i].sums.wait;
		require(rows[i].threads_waited <= rows[i].threads && (!each || rows[i].locks <= 1));
	}
	const struct lock_thread *threads = locks_threads(locks, &count);
	for (size_t i = 0; i < count; i++)
		threads_wait += lock_thread_sums(&threads[i]).wait;
	const struct lock_reading *readings = locks_readings(locks, &count);
	for (size_t i = 0; i < count; i++)
		readings_wait += readings[i].wait;
	require(rows_wait == locks_totals(locks, 0)->wait && threads_wait == rows_wait &&
		readings_wait == locks_totals_held(locks, true).wait);
	struct locks_view view = {
		.locks = locks, .regions = regions, .symbols = symbols_create(trace, &nowhere)};
	require(view.symbols);
	json_decref(locks_json(&view));
	symbols_free(view.symbols);
	locks_close(locks);
	regions_close(regions);
}

static bool read_item(struct regions *regions, struct pages *pages, struct coverage *coverage,
		      const struct merge_item *item, struct error *error)
{
	if (item->event)
		return regions_event(regions, item->event, error) &&
		       pages_until(pages, item->event->time, error) &&
		       coverage_event(coverage, item->event, error);
	uint64_t time = item->snapshot->mark.time;
	return regions_until(regions, time, error) && pages_until(pages, time, error) &&
	       coverage_snapshot(coverage, item->snapshot, error);
}

/* Each record takes a byte at least, and none is handed on twice. */
static void read_events(struct trace *trace, uint64_t bytes)
{
	struct error error = {0};
	struct merge_item item;
	struct merge *merge = merge_open(trace, &error);
	struct symbol_options nowhere = {"/nonexistent", "/nonexistent"};
	struct regions *regions = regions_open(trace, &nowhere);
	struct pages *pages = pages_open(trace);
	struct coverage *coverage = coverage_open(trace, regions, pages);
	require(merge && regions && pages && coverage);
	uint64_t events = 0, last_time = 0, backwards = 0;
	while (merge_next(merge, &item, &error)) {
		require(!item.event != !item.snapshot);
		require(read_item(regions, pages, coverage, &item, &error));
		if (!item.event)
			continue;
		backwards += item.event->time < last_time;
		last_time = item.event->time > last_time ? item.event->time : last_time;
		require(++events <= bytes);
	}
	require(error.code == ERROR_NONE);
	require(regions_until(regions, UINT64_MAX, &error) && pages_until(pages, UINT64_MAX, &error) &&
		coverage_finish(coverage, &error));
	check_regions(regions);
	check_coverage(pages, coverage);
	coverage_close(coverage);
	pages_close(pages);
	regions_close(regions);
	require(merge_stats(merge)->events == events);
	require(backwards <= merge_stats(merge)->late_events);
	merge_close(merge);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static char path[64], rings_path[64 + sizeof TRACE_RINGS_SUFFIX];
	if (!path[0]) {
		scratch_path(path, sizeof path, "trace.mtr");
		snprintf(rings_path, sizeof rings_path, "%s%s", path, TRACE_RINGS_SUFFIX);
	}
	struct input input = {data, bytes};
	uint8_t flags = input_byte(&input);
	if (flags & PLAN_RINGS)
		make_rings(&input, rings_path);
	if (flags & PLAN_FOREIGN)
		scratch_write(path, input.at, input.left);
	else
		make_file(&input, flags), scratch_write(path, file, file_bytes);

	struct error error = {0};
	struct trace *trace = trace_open(path, &error);
	if (trace) {
		read_definitions(trace);
		read_events(trace, file_bytes + (1 << 16) + RINGS_EXTENTS * RINGS_EXTENT_BYTES);
		read_definitions(trace);
		check_locks(trace, file_bytes % 2);
		trace_close(trace);
	} else {
		require(error.code == ERROR_INPUT && error.text[0]);
	}
	unlink(path);
	unlink(rings_path);
	return 0;
}
