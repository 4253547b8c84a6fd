#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "tests/unit/support_reader.h"
#include "tests/unit/support_trace.h"

static void write_small(const char *path, const struct support_options *options, uint64_t events,
			uint64_t per_snapshot)
{
	struct support_trace *writer = support_open(path, options);
	uint64_t frames[2] = {0x401000, 0x402000};
	support_stack(writer, 1, 9, frames, 2);
	for (uint64_t i = 0; i < events; i++) {
		support_malloc(writer, (uint32_t)(1 + i % 3), i * 10, 0x10000 + i * 32, i % 200,
			       i % 2 ? 9 : 0);
		if (i % per_snapshot == per_snapshot - 1)
			support_snapshot(writer, (i + 1) * 10, NULL);
	}
	support_module(writer, 0x400000, 0x500000, 0x1000, "/usr/bin/guest", (const uint8_t *)"\x01\x02\xfe",
		       3);
	support_thread(writer, 2, "a long thread name");
	support_end(writer, events * 10 + 10);
}

/* ---- what a good trace says ---------------------------------------------------------------------------- */

Test(reader, definitions_keys_and_counters)
{
	const char *path = support_path("good.mtr");
	struct support_options options = {
		.full = true, .compressed = true, .extra_keys = "note=a\\\\b\\nc=d\nempty=\nnothing\n"};
	write_small(path, &options, 1000, 100);
	struct error error = {0};
	struct trace *trace = trace_open(path, &error);
	cr_assert(trace);
	const struct trace_info *info = trace_info(trace);
	cr_assert_eq(info->mode, TRACE_MODE_FULL);
	cr_assert(info->complete);
	cr_assert_eq(info->end_reason, END_EXIT);
	cr_assert(info->counters_known);
	cr_assert_eq(info->counters[COUNTER_MALLOC], 1000);
	cr_assert_eq(info->counters[COUNTER_EVENTS], 1000);
	cr_assert_eq(info->lost, 0);
	cr_assert_str_eq(trace_key(trace, "note"), "a\\b\nc=d");
	cr_assert_str_eq(trace_key(trace, "empty"), "");
	cr_assert_null(trace_key(trace, "nothing"));
	cr_assert_str_eq(trace_key(trace, "argv"), "guest\nwith two lines");
	uint64_t number;
	cr_assert(trace_key_number(trace, "pid", &number));
	cr_assert_eq(number, 4242);
	cr_assert_not(trace_key_number(trace, "exe", &number));
	size_t count;
	const struct trace_module *modules = trace_modules(trace, &count);
	cr_assert_eq(count, 1);
	cr_assert_str_eq(modules[0].path, "/usr/bin/guest");
	cr_assert_eq(modules[0].build_id_bytes, 3);
	cr_assert_eq(modules[0].build_id[2], 0xfe);
	cr_assert_eq(modules[0].bias, 0x1000);
	trace_threads(trace, &count);
	cr_assert_eq(count, 3);
	cr_assert_str_eq(trace_thread(trace, 2)->name, "a long thread n");
	cr_assert_eq(trace_thread(trace, 3)->kernel_tid, 5003);
	cr_assert_null(trace_thread(trace, 4));
	trace_close(trace);
}

Test(reader, lost_is_the_sum_over_the_causes)
{
	const char *path = support_path("lost.mtr");
	struct support_options options = {.full = true};
	struct support_trace *writer = support_open(path, &options);
	for (unsigned i = COUNTER_LOST_FIRST; i <= COUNTER_LOST_LAST; i++)
		support_count(writer, (enum counter)i, UINT64_C(1) << (i - COUNTER_LOST_FIRST));
	support_end(writer, 10);
	struct error error = {0};
	struct trace *trace = trace_open(path, &error);
	cr_assert_eq(trace_info(trace)->lost, 63);
	trace_close(trace);
}

Test(reader, clock_is_interpolated_between_marks_and_extrapolated_beyond)
{
	const char *path = support_path("clock.mtr");
	struct support_options options = {.full = true};
	struct support_trace *writer = support_open(path, &options);
	/* The wall clock runs twice as fast as the trace's from 1000 on, and is stepped back by 500 in the
	 * end. */
	struct clock_mark marks[] = {
		{SUPPORT_START_TIME + 1000, SUPPORT_START_REALTIME_NS + 1000,
		 SUPPORT_START_MONOTONIC_NS + 1000, 0},
		{SUPPORT_START_TIME + 2000, SUPPORT_START_REALTIME_NS + 3000,
		 SUPPORT_START_MONOTONIC_NS + 2000, 0},
		{SUPPORT_START_TIME + 3000, SUPPORT_START_REALTIME_NS + 2500,
		 SUPPORT_START_MONOTONIC_NS + 3000, 0},
	};
	for (int i = 2; i >= 0; i--)
		support_block(writer, BLOCK_MARK, &marks[i], sizeof marks[i]);
	support_kill(writer);
	struct error error = {0};
	struct trace *trace = trace_open(path, &error);
	const int64_t start = (int64_t)SUPPORT_START_REALTIME_NS;
	cr_assert_eq(trace_realtime_ns(trace, SUPPORT_START_TIME + 500), start + 500);
	cr_assert_eq(trace_realtime_ns(trace, SUPPORT_START_TIME + 1500), start + 2000);
	cr_assert_eq(trace_realtime_ns(trace, SUPPORT_START_TIME + 2500), start + 2750);
	cr_assert_eq(trace_realtime_ns(trace, SUPPORT_START_TIME + 4000), start + 2000);
	cr_assert_eq(trace_realtime_ns(trace, SUPPORT_START_TIME - 100), start - 100);
	cr_assert_eq(trace_monotonic_ns(trace, SUPPORT_START_TIME + 4000),
		     (int64_t)SUPPORT_START_MONOTONIC_NS + 4000);
	cr_assert_float_eq(trace_seconds(trace, SUPPORT_START_TIME + 2000000000), 2.0, 1e-9);
	trace_close(trace);
}

Test(reader, one_mark_goes_by_the_nominal_rate)
{
	const char *path = support_path("rate.mtr");
	struct support_options options = {.full = true};
	struct support_trace *writer = support_open(path, &options);
	support_kill(writer);
	struct error error = {0};
	struct trace *trace = trace_open(path, &error);
	cr_assert_eq(trace_realtime_ns(trace, SUPPORT_START_TIME + 12345),
		     (int64_t)SUPPORT_START_REALTIME_NS + 12345);
	cr_assert_eq(trace_units_to_ns(trace, 777), 777);
	trace_close(trace);
}

/* ---- unreadable ---------------------------------------------------------------------------------------- */

static void assert_refused(const char *path, uint64_t offset, const char *part)
{
	struct error error = {0};
	cr_assert_null(trace_open(path, &error));
	cr_assert_eq(error.code, ERROR_INPUT);
	cr_assert_eq(error.offset_bytes, offset);
	cr_assert_str_eq(error.file, path);
	cr_assert(strstr(error.text, part), "'%s' lacks '%s'", error.text, part);
}

Test(reader, missing_empty_foreign_and_newer_files_are_refused)
{
	size_t bytes;
	assert_refused(support_path("absent.mtr"), ERROR_NO_OFFSET, "No such file");
	assert_refused("/dev/null", ERROR_NO_OFFSET, "no regular file");
	const char *path = support_path("odd.mtr");
	support_write_file(path, "", 0);
	assert_refused(path, 0, "empty");
	support_write_file(path, "MTR", 3);
	assert_refused(path, 0, "no mtrace trace");
	support_write_file(
		path, "#!/bin/sh\nexit 0\n# more than sixty-four bytes, so that a header could be read\n",
		80);
	assert_refused(path, 0, "no mtrace trace");
	struct support_options options = {.full = true};
	write_small(path, &options, 10, 10);
	uint8_t *file = support_read_file(path, &bytes);
	file[0] = file[TRACE_HEADER_COPY_OFFSET] = 'M';
	support_write_file(path, file, bytes);
	assert_refused(path, 0, "no mtrace trace");
	free(file);
}

Test(reader, a_header_alone_is_refused)
{
	size_t bytes;
	const char *path = support_path("head.mtr");
	struct support_options options = {.full = true};
	write_small(path, &options, 10, 10);
	uint8_t *file = support_read_file(path, &bytes);
	support_write_file(path, file, 64);
	assert_refused(path, TRACE_PAGE_BYTES, "damaged");
	free(file);
}

/* ---- damage -------------------------------------------------------------------------------------------- */

Test(reader, cut_off_anywhere_it_gives_the_whole_blocks_and_says_so)
{
	size_t bytes;
	const char *path = support_path("whole.mtr"), *cut_path = support_path("cut.mtr");
	struct support_options options = {.full = true, .compressed = true};
	write_small(path, &options, 600, 60);
	uint8_t *file = support_read_file(path, &bytes);
	uint64_t most = 0;
	for (size_t cut = TRACE_PAGE_BYTES + 1; cut < bytes; cut += 11) {
		support_write_file(cut_path, file, cut);
		struct outcome outcome = read_through(cut_path);
		if (outcome.events == UINT64_MAX) {
			cr_assert_lt(cut, TRACE_PAGE_BYTES + 1024);
			continue;
		}
		cr_assert_geq(outcome.events, most, "cut at %zu", cut);
		if (cut + BLOCK_ALIGNMENT_BYTES <= bytes) {
			cr_assert_gt(outcome.damage, 0, "cut at %zu", cut);
			cr_assert_not(outcome.complete);
		}
		most = outcome.events;
	}
	cr_assert_eq(most, 600);
	struct outcome whole = read_through(path);
	cr_assert_eq(whole.damage, 0);
	cr_assert_eq(whole.events, 600);
	free(file);
}

Test(reader, any_flipped_bit_costs_at_most_one_block_of_events)
{
	size_t bytes;
	const char *path = support_path("bits.mtr"), *bad_path = support_path("bad.mtr");
	struct support_options options = {.full = true, .compressed = true};
	write_small(path, &options, 600, 60);
	uint8_t *file = support_read_file(path, &bytes);
	unsigned damaged = 0;
	for (size_t at = 0; at < bytes; at += at < 64 ? 1 : 5) {
		file[at] ^= (uint8_t)(1u << at % 8);
		support_write_file(bad_path, file, bytes);
		struct outcome outcome = read_through(bad_path);
		cr_assert_neq(outcome.events, UINT64_MAX, "byte %zu: %s", at, outcome.error.text);
		cr_assert_geq(outcome.events, 600 - 60, "byte %zu", at);
		damaged += outcome.damage > 0;
		file[at] ^= (uint8_t)(1u << at % 8);
	}
	cr_assert_gt(damaged, (bytes - TRACE_PAGE_BYTES) / 5 / 2);
	free(file);
}

/* Flips a bit of the header's byte `at`, and of its copy's where `both`; every event must still be read, with
 * one line of damage. */
static void assert_header_bit_is_harmless(const char *path, size_t at, bool both)
{
	size_t bytes;
	const char *bad_path = support_path("header.mtr");
	uint8_t *file = support_read_file(path, &bytes);
	file[at] ^= 0x10;
	if (both)
		file[TRACE_HEADER_COPY_OFFSET + at] ^= 0x10;
	support_write_file(bad_path, file, bytes);
	struct outcome outcome = read_through(bad_path);
	cr_assert_eq(outcome.events, 600, "byte %zu: %s", at, outcome.error.text);
	cr_assert_eq(outcome.damage, 1, "byte %zu: %lu", at, outcome.damage);
	cr_assert(outcome.complete);
	free(file);
}

Test(reader, a_damaged_header_costs_nothing_where_its_copy_is_whole)
{
	const char *path = support_path("copy.mtr");
	struct support_options options = {.full = true, .gap_bytes = 4096};
	write_small(path, &options, 600, 60);
	for (size_t at = 0; at < sizeof(struct file_header); at++)
		assert_header_bit_is_harmless(path, at, false);
}

Test(reader, room_behind_the_process_block_is_no_damage_without_a_header)
{
	const char *path = support_path("room.mtr");
	struct support_options options = {.full = true, .gap_bytes = 4096};
	write_small(path, &options, 600, 60);
	assert_header_bit_is_harmless(path, offsetof(struct file_header, region_start) + 1, true);
	assert_header_bit_is_harmless(path, offsetof(struct file_header, check), true);
}

Test(reader, foreign_bytes_between_blocks_are_passed_over)
{
	size_t bytes;
	const char *path = support_path("mid.mtr");
	struct support_options options = {.full = true};
	write_small(path, &options, 600, 60);
	uint8_t *file = support_read_file(path, &bytes);
	size_t at = bytes / 2 / 16 * 16;
	memset(file + at, 'x', 4096);
	support_write_file(path, file, bytes);
	struct outcome outcome = read_through(path);
	cr_assert_gt(outcome.events, 300);
	cr_assert_lt(outcome.events, 600);
	cr_assert_gt(outcome.damage, 0);
	cr_assert(outcome.complete);
	free(file);
}

Test(reader, unknown_blocks_and_longer_snapshots_are_no_damage)
{
	const char *path = support_path("future.mtr");
	struct support_options options = {.full = true};
	struct support_trace *writer = support_open(path, &options);
	uint8_t payload[2 * sizeof(struct snapshot)] = {0};
	struct clock_mark mark = {SUPPORT_START_TIME + 5, SUPPORT_START_REALTIME_NS + 5,
				  SUPPORT_START_MONOTONIC_NS + 5, SUPPORT_START_TIME + 5};
	support_malloc(writer, 1, 1, 0x1000, 8, 0);
	support_flush(writer);
	support_block(writer, 999, "whatever", 8);
	memcpy(payload, &mark, sizeof mark);
	support_block(writer, BLOCK_SNAPSHOT, payload, sizeof payload);
	support_block(writer, BLOCK_SNAPSHOT, payload, sizeof mark); /* older: nothing but the mark */
	support_end(writer, 10);
	struct outcome outcome = read_through(path);
	cr_assert_eq(outcome.events, 1);
	cr_assert_eq(outcome.damage, 0);
}

Test(reader, malformed_definitions_are_damage_and_nothing_worse)
{
	const char *path = support_path("malformed.mtr");
	struct support_options options = {.full = true};
	struct support_trace *writer = support_open(path, &options);
	struct module_record module = {.start = 1, .end = 2, .build_id_bytes = 60000, .path_bytes = 60000};
	uint8_t bytes[32] = {0};
	support_block(writer, BLOCK_MODULES, &module, sizeof module);
	support_block(writer, BLOCK_THREADS, bytes, 17);
	support_block(writer, BLOCK_STACKS, bytes, 32);
	support_block(writer, BLOCK_EVENTS, bytes, 32);
	support_malloc(writer, 1, 1, 0x1000, 8, 0);
	support_end(writer, 10);
	struct outcome outcome = read_through(path);
	cr_assert_eq(outcome.events, 1);
	cr_assert_eq(outcome.damage, 4);
}

/* Killed before the shim had written its first block: that took no time, not the machine's uptime backwards.
 */
Test(reader, a_trace_without_blocks_has_no_length)
{
	const char *path = support_path("none.mtr");
	struct error error = {0};
	struct support_trace *writer = support_open(path, &(struct support_options){0});
	support_kill(writer);
	struct trace *trace = trace_open(path, &error);
	cr_assert(trace, "%s", error.text);
	const struct trace_info *info = trace_info(trace);
	cr_expect_eq(info->first_time, SUPPORT_START_TIME);
	cr_expect_eq(info->last_time, SUPPORT_START_TIME);
	cr_expect_eq(trace_seconds(trace, info->last_time), 0);
	trace_close(trace);
}
