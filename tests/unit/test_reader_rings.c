/* Traces that go round and round, and those that were killed: what the rings file adds. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "tests/unit/support_reader.h"
#include "tests/unit/support_trace.h"

/* ---- flight recorder ----------------------------------------------------------------------------------- */

/* Gives the sizes read, which count the events: they must be the newest ones, without a gap. */
static void assert_newest(const char *path, uint64_t written, uint64_t damage)
{
	struct error error = {0};
	struct trace *trace = trace_open(path, &error);
	cr_assert(trace, "%s", error.text);
	cr_assert(trace_info(trace)->flight_recorder);
	struct merge *merge = merge_open(trace, &error);
	struct merge_item item;
	uint64_t last = 0, events = 0;
	while (merge_next(merge, &item, &error)) {
		if (!item.event)
			continue;
		if (last)
			cr_assert_eq(item.event->size_bytes, last + 1, "%lu of %lu", last, written);
		last = item.event->size_bytes;
		events++;
	}
	size_t count;
	const struct trace_damage *items = trace_damage(trace, &count);
	cr_assert_eq(trace_damage_count(trace), damage, "%lu: %s", written, count ? items[0].text : "");
	cr_assert_eq(last, written);
	cr_assert(written < 3000 || events > 1000);
	cr_assert_eq(merge_stats(merge)->missing_chunks, 0);
	merge_close(merge);
	trace_close(trace);
}

static struct support_trace *write_laps(const char *path, uint64_t events, bool compressed)
{
	struct support_options options = {.full = true, .region_bytes = 64 << 10, .compressed = compressed};
	struct support_trace *writer = support_open(path, &options);
	for (uint64_t i = 0; i < events; i++) {
		support_malloc(writer, 1, i * 10, 0x100000 + i % 9973 * 4096, i + 1, 0);
		if (i % (150 + i / 1000 % 7 * 90) == 0)
			support_snapshot(writer, i * 10 + 5, NULL);
	}
	return writer;
}

Test(reader_rings, flight_recorder_gives_the_newest_events_after_any_number_of_laps)
{
	const char *path = support_path("laps.mtr");
	for (uint64_t events = 500; events < 60000; events += 977) {
		support_end(write_laps(path, events, events % 2), events * 10 + 10);
		assert_newest(path, events, 0);
	}
}

Test(reader_rings, flight_recorder_killed_in_any_lap)
{
	const char *path = support_path("killedlaps.mtr");
	for (uint64_t events = 501; events < 40000; events += 1777) {
		support_kill(write_laps(path, events, true));
		assert_newest(path, events, 0);
	}
}

Test(reader_rings, flight_recorder_torn_in_the_newest_block_is_no_damage)
{
	size_t bytes;
	const char *path = support_path("torn.mtr");
	support_kill(write_laps(path, 20000, false));
	uint8_t *file = support_read_file(path, &bytes);
	/* The newest block is the one with the highest sequence number. */
	size_t newest = 0;
	uint64_t highest = 0;
	for (size_t at = TRACE_PAGE_BYTES; at + 64 <= bytes; at += 16) {
		struct block_header header;
		memcpy(&header, file + at, sizeof header);
		if (header.magic == BLOCK_MAGIC && header.sequence > highest) {
			highest = header.sequence;
			newest = at;
		}
	}
	file[newest + 70] ^= 1;
	support_write_file(path, file, bytes);
	free(file);
	struct outcome outcome = read_through(path);
	cr_assert_eq(outcome.damage, 0);
	cr_assert_gt(outcome.events, 1000);
}

Test(reader_rings, flight_recorder_with_a_damaged_block_names_it)
{
	size_t bytes;
	const char *path = support_path("hurt.mtr");
	support_end(write_laps(path, 20000, false), 300000);
	uint8_t *file = support_read_file(path, &bytes);
	for (size_t at = TRACE_PAGE_BYTES + 20000; at + 64 <= bytes; at += 16) {
		struct block_header header;
		memcpy(&header, file + at, sizeof header);
		if (header.magic == BLOCK_MAGIC && header.type == BLOCK_EVENTS) {
			file[at + 100] ^= 1;
			break;
		}
	}
	support_write_file(path, file, bytes);
	free(file);
	cr_assert_eq(read_through(path).damage, 1);
}

/* ---- rings --------------------------------------------------------------------------------------------- */

static void write_killed(const char *path)
{
	struct support_options options = {.full = true};
	struct support_trace *writer = support_open(path, &options);
	for (uint64_t i = 0; i < 1000; i++) {
		support_malloc(writer, (uint32_t)(1 + i % 2), i * 10, 0x1000 + i * 64, 8, 0);
		if (i == 600)
			support_snapshot(writer, i * 10 + 5, NULL);
	}
	support_count(writer, COUNTER_LOST_RING_FULL, 5);
	support_kill(writer);
}

static char *rings_of(const char *path)
{
	static char rings[512];
	snprintf(rings, sizeof rings, "%s" TRACE_RINGS_SUFFIX, path);
	return rings;
}

Test(reader_rings, totals_of_a_killed_trace_come_from_the_rings_file)
{
	const char *path = support_path("sum.mtr");
	write_killed(path);
	struct error error = {0};
	struct trace *trace = trace_open(path, &error);
	cr_assert_eq(trace_info(trace)->counters[COUNTER_MALLOC], 1000);
	cr_assert_eq(trace_info(trace)->lost, 5);
	cr_assert_eq(trace_damage_count(trace), 0);
	trace_close(trace);
	unlink(rings_of(path));
	error = (struct error){0};
	trace = trace_open(path, &error);
	cr_assert_eq(trace_info(trace)->counters[COUNTER_MALLOC], 601);
	cr_assert_eq(trace_damage_count(trace), 1);
	trace_close(trace);
}

Test(reader_rings, a_torn_tail_beside_rings_is_no_damage)
{
	size_t bytes;
	const char *path = support_path("tail.mtr");
	write_killed(path);
	uint8_t *file = support_read_file(path, &bytes);
	/* The tail of a kill: half a block behind the last whole one. */
	uint8_t *torn = calloc(1, bytes + 4096);
	memcpy(torn, file, bytes);
	memcpy(torn + bytes, file + TRACE_PAGE_BYTES, 40);
	support_write_file(path, torn, bytes + 40);
	struct outcome outcome = read_through(path);
	cr_assert_eq(outcome.events, 1000);
	cr_assert_eq(outcome.damage, 0);
	free(torn);
	free(file);
}

Test(reader_rings, a_foreign_rings_file_is_named_and_not_used)
{
	size_t bytes, count;
	const char *path = support_path("foreign.mtr");
	write_killed(path);
	/* Another run's: another nonce, with the checksum to it. */
	uint8_t *rings = support_read_file(rings_of(path), &bytes);
	rings[offsetof(struct rings_header, nonce)] ^= 1;
	uint64_t check = XXH3_64bits(rings, offsetof(struct rings_header, check));
	memcpy(rings + offsetof(struct rings_header, check), &check, sizeof check);
	support_write_file(rings_of(path), rings, bytes);
	free(rings);
	cr_assert_eq(read_through(path).events, 601);
	struct error error = {0};
	struct trace *trace = trace_open(path, &error);
	cr_assert_not(trace_info(trace)->rings);
	cr_assert_eq(trace_info(trace)->counters[COUNTER_MALLOC], 601);
	const char *const *notes = trace_notes(trace, &count);
	cr_assert_eq(count, 1);
	cr_assert(strstr(notes[0], rings_of(path)));
	trace_close(trace);
}

Test(reader_rings, rings_with_any_flipped_byte_never_crash)
{
	size_t bytes;
	const char *path = support_path("ringbits.mtr");
	write_killed(path);
	uint8_t *rings = support_read_file(rings_of(path), &bytes);
	for (size_t at = 0; at < bytes; at += at < 500 ? 1 : at < 34000 ? 501 : 97) {
		rings[at] ^= 0x81;
		support_write_file(rings_of(path), rings, bytes);
		struct error error = {0};
		struct trace *trace = trace_open(path, &error);
		cr_assert(trace, "%s", error.text);
		struct merge *merge = merge_open(trace, &error);
		struct merge_item item;
		while (merge_next(merge, &item, &error))
			;
		cr_assert_geq(merge_stats(merge)->events, 601);
		merge_close(merge);
		trace_close(trace);
		rings[at] ^= 0x81;
	}
	free(rings);
}

/* exec failed after the trace was ended for it. */
Test(reader_rings, an_end_that_other_blocks_follow_is_none)
{
	const char *path = support_path("resumed.mtr");
	struct support_trace *writer = support_open(path, &(struct support_options){.full = true});
	struct end_record end = {.mark = {.time = SUPPORT_START_TIME + 500}, .reason = END_EXEC};
	support_malloc(writer, 1, 10, 0x1000, 100, 0);
	support_flush(writer);
	support_block(writer, BLOCK_END, &end, sizeof end);
	support_mark(writer, 600);
	support_malloc(writer, 1, 700, 0x2000, 100, 0);
	support_kill(writer);
	struct error error = {0};
	struct trace *trace = trace_open(path, &error);
	cr_assert(trace, "%s", error.text);
	cr_assert_not(trace_info(trace)->complete);
	cr_assert(trace_info(trace)->rings);
	cr_assert_eq(trace_info(trace)->counters[COUNTER_MALLOC], 2);
	cr_assert_eq(trace_damage_count(trace), 0);
	trace_close(trace);
}
