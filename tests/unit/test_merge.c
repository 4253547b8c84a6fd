#include <criterion/criterion.h>
#include <stdlib.h>

#include "analyzer/merge.h"
#include "tests/unit/support_trace.h"

static struct trace *open_trace(const char *path)
{
	struct error error = {0};
	struct trace *trace = trace_open(path, &error);
	cr_assert(trace, "%s", error.text);
	return trace;
}

/* Goes through the whole trace; `visit` may be NULL. */
static struct merge_stats go_through(struct trace *trace, void (*visit)(void *, const struct merge_item *),
				     void *context)
{
	struct error error = {0};
	struct merge *merge = merge_open(trace, &error);
	struct merge_item item;
	cr_assert(merge);
	while (merge_next(merge, &item, &error)) {
		cr_assert((item.event != NULL) != (item.snapshot != NULL));
		if (visit)
			visit(context, &item);
	}
	cr_assert_eq(error.code, ERROR_NONE, "%s", error.text);
	struct merge_stats stats = *merge_stats(merge);
	merge_close(merge);
	return stats;
}

/* ---- order --------------------------------------------------------------------------------------------- */

struct order {
	uint64_t last_time;
	uint32_t last_thread;
	uint64_t per_thread[64]; /* the last size of each thread: support events carry a count in it */
	uint64_t events;
};

static void check_order(void *context, const struct merge_item *item)
{
	struct order *order = context;
	if (!item->event)
		return;
	const struct trace_event *event = item->event;
	cr_assert(event->time > order->last_time ||
		  (event->time == order->last_time && event->thread >= order->last_thread));
	cr_assert_eq(event->size_bytes, order->per_thread[event->thread] + 1);
	order->per_thread[event->thread]++;
	order->last_time = event->time;
	order->last_thread = event->thread;
	order->events++;
}

/* Threads that record in bursts, so that their chunks reach the file far from time order; with ties. */
static void write_bursts(const char *path, bool compressed)
{
	struct support_options options = {.full = true, .compressed = compressed};
	struct support_trace *trace = support_open(path, &options);
	uint64_t counts[8] = {0};
	for (uint64_t round = 0; round < 20; round++) {
		for (uint32_t thread = 7; thread > 0; thread--)
			for (uint64_t i = 0; i < 500 + 37 * thread; i++)
				support_malloc(trace, thread, round * 10000 + i * 12,
					       0x1000 + thread * 0x100000 + i * 16, ++counts[thread], 0);
		support_snapshot(trace, round * 10000 + 9999, NULL);
	}
	support_end(trace, 200000);
}

Test(merge, time_order_with_ties_by_thread_and_no_event_missing)
{
	for (int compressed = 0; compressed < 2; compressed++) {
		const char *path = support_path("bursts.mtr");
		write_bursts(path, compressed);
		struct trace *trace = open_trace(path);
		struct order order = {0};
		struct merge_stats stats = go_through(trace, check_order, &order);
		cr_assert_eq(order.events, 20 * (7 * 500 + 37 * 28));
		cr_assert_eq(stats.events, order.events);
		cr_assert_eq(stats.late_events, 0);
		cr_assert_eq(stats.missing_chunks, 0);
		cr_assert_eq(trace_damage_count(trace), 0);
		trace_close(trace);
	}
}

static void check_snapshot(void *context, const struct merge_item *item)
{
	uint64_t *expected = context; /* [0]: time of the next snapshot, [1]: snapshots seen */
	if (item->snapshot) {
		cr_assert_eq(item->snapshot->mark.time, expected[0]);
		expected[0] += 10000;
		expected[1]++;
	} else {
		cr_assert_lt(item->event->time, expected[0]);
		cr_assert_geq(item->event->time + 10000, expected[0]);
	}
}

Test(merge, snapshots_stand_between_the_events)
{
	const char *path = support_path("snapshots.mtr");
	struct support_options options = {.full = true};
	struct support_trace *writer = support_open(path, &options);
	for (uint64_t i = 0; i < 5000; i++) {
		support_malloc(writer, (uint32_t)(1 + i % 3), i * 20, 0x1000 + i * 16, 8, 0);
		if (i % 500 == 499)
			support_snapshot(writer, (i + 1) * 20, NULL);
	}
	support_end(writer, 110000);
	struct trace *trace = open_trace(path);
	uint64_t expected[2] = {SUPPORT_START_TIME + 10000, 0};
	go_through(trace, check_snapshot, expected);
	cr_assert_eq(expected[1], 11); /* the last one by support_end() */
	trace_close(trace);
}

Test(merge, order_within_a_thread_survives_a_clock_that_steps_back)
{
	const char *path = support_path("back.mtr");
	struct support_options options = {.full = true};
	struct support_trace *writer = support_open(path, &options);
	/* Within a chunk the encoder holds the clock still; a new chunk starts at the CPU's own time. */
	uint64_t count = 0;
	for (unsigned i = 0; i < 3000; i++)
		support_malloc(writer, 1, 50000 - i, 0x1000 + i * 16, ++count, 0);
	support_end(writer, 60000);
	struct trace *trace = open_trace(path);
	struct order order = {0};
	struct error error = {0};
	struct merge *merge = merge_open(trace, &error);
	struct merge_item item;
	while (merge_next(merge, &item, &error))
		if (item.event)
			cr_assert_eq(item.event->size_bytes, ++order.events);
	cr_assert_eq(order.events, count);
	cr_assert_gt(merge_stats(merge)->late_events, 0);
	merge_close(merge);
	trace_close(trace);
}

Test(merge, a_trace_can_be_gone_through_twice)
{
	const char *path = support_path("twice.mtr");
	write_bursts(path, true);
	struct trace *trace = open_trace(path);
	struct merge_stats first = go_through(trace, NULL, NULL), second = go_through(trace, NULL, NULL);
	cr_assert_eq(first.events, second.events);
	cr_assert_eq(first.peak_buffered_bytes, second.peak_buffered_bytes);
	trace_close(trace);
}

/* ---- memory -------------------------------------------------------------------------------------------- */

static struct merge_stats stats_of_length(const char *path, uint64_t seconds)
{
	struct support_options options = {.full = true, .compressed = true, .chunk_bytes = CHUNK_LARGE_BYTES};
	struct support_trace *writer = support_open(path, &options);
	for (uint64_t second = 0; second < seconds; second++) {
		for (uint64_t i = 0; i < 20000; i++)
			support_malloc(writer, (uint32_t)(1 + i % 4), second * 1000000 + i * 50,
				       0x1000 + i * 16, i, 0);
		support_snapshot(writer, (second + 1) * 1000000, NULL);
	}
	support_end(writer, (seconds + 1) * 1000000);
	struct trace *trace = open_trace(path);
	struct merge_stats stats = go_through(trace, NULL, NULL);
	trace_close(trace);
	return stats;
}

Test(merge, memory_does_not_grow_with_the_length_of_the_trace)
{
	struct merge_stats once = stats_of_length(support_path("once.mtr"), 10);
	struct merge_stats twice = stats_of_length(support_path("double.mtr"), 20);
	cr_assert_eq(twice.events, 2 * once.events);
	cr_assert_leq((double)twice.peak_buffered_bytes, 1.1 * (double)once.peak_buffered_bytes);
	cr_assert_gt(once.peak_buffered_bytes, 0);
}

/* Much is written before a mark says that it can be handed on: blocks are read twice rather than kept. */
Test(merge, what_waits_for_a_mark_need_not_lie_in_memory)
{
	const char *path = support_path("parked.mtr");
	struct support_options options = {.full = true, .compressed = true, .chunk_bytes = CHUNK_LARGE_BYTES};
	struct support_trace *writer = support_open(path, &options);
	uint64_t counts[4] = {0}, events = 1500000;
	for (uint64_t i = 0; i < events; i++) {
		uint32_t thread = (uint32_t)(1 + i % 3);
		support_malloc(writer, thread, i * 10, 0x1000 + i % 1000 * 4096, ++counts[thread], 0);
		if (i % 50000 == 49999)
			support_flush(writer);
	}
	support_end(writer, events * 10);
	struct trace *trace = open_trace(path);
	struct order order = {0};
	struct merge_stats stats = go_through(trace, check_order, &order);
	cr_assert_eq(order.events, events);
	cr_assert_gt(trace_info(trace)->raw_bytes, 9u << 20);
	cr_assert_lt(stats.peak_buffered_bytes, 6u << 20);
	trace_close(trace);
}

/* ---- pieces of one chunk ------------------------------------------------------------------------------- */

Test(merge, a_chunk_written_in_several_pieces_gives_each_event_once)
{
	const char *path = support_path("pieces.mtr");
	struct support_options options = {.full = true, .chunk_bytes = CHUNK_LARGE_BYTES};
	struct support_trace *writer = support_open(path, &options);
	uint64_t count = 0;
	for (unsigned flush = 0; flush < 50; flush++) {
		for (unsigned i = 0; i < 20; i++, count++)
			support_malloc(writer, 1, count * 10, 0x1000 + count % 40 * 64, count + 1, 0);
		support_mark(writer, count * 10);
	}
	support_end(writer, count * 10);
	struct trace *trace = open_trace(path);
	struct order order = {0};
	go_through(trace, check_order, &order);
	cr_assert_eq(order.events, count);
	trace_close(trace);
}

/* ---- stacks -------------------------------------------------------------------------------------------- */

Test(merge, stacks_are_known_at_the_end)
{
	const char *path = support_path("stacks.mtr");
	struct support_options options = {.full = true};
	struct support_trace *writer = support_open(path, &options);
	for (uint64_t id = 1; id <= 300; id++) {
		uint64_t frames[3] = {id, id * 2, id * 3};
		support_stack(writer, (uint32_t)(id % 5), (uint32_t)(id * 1000003), frames, 3);
	}
	support_end(writer, 10);
	struct trace *trace = open_trace(path);
	struct trace_stack stack;
	cr_assert_not(trace_stack(trace, 1000003, &stack));
	go_through(trace, NULL, NULL);
	cr_assert_eq(trace_stacks_count(trace), 300);
	for (uint64_t id = 1; id <= 300; id++) {
		cr_assert(trace_stack(trace, (uint32_t)(id * 1000003), &stack));
		cr_assert_eq(stack.depth, 3);
		cr_assert_eq(stack.frames[2], id * 3);
	}
	cr_assert_not(trace_stack(trace, 0, &stack));
	cr_assert_not(trace_stack(trace, 5, &stack));
	trace_close(trace);
}

/* ---- the rings file ------------------------------------------------------------------------------------ */

/* Killed after `written` of `events`: the others stand in the rings file only, and the last chunk in both. */
static void write_killed(const char *path, uint64_t events, uint64_t written, uint32_t chunk_bytes)
{
	struct support_options options = {.full = true, .chunk_bytes = chunk_bytes};
	struct support_trace *writer = support_open(path, &options);
	uint64_t counts[3] = {0};
	for (uint64_t i = 0; i < events; i++) {
		uint32_t thread = (uint32_t)(1 + i % 2);
		support_malloc(writer, thread, i * 10, 0x1000 + i % 100 * 64, ++counts[thread], 0);
		if (i + 1 == written)
			support_snapshot(writer, i * 10 + 5, NULL);
	}
	support_kill(writer);
}

Test(merge, what_the_rings_file_holds_comes_once)
{
	const uint64_t writtens[] = {0, 1, 10, 777, 1999, 2000};
	for (unsigned i = 0; i < 6; i++) {
		for (int large = 0; large < 2; large++) {
			const char *path = support_path("killed.mtr");
			write_killed(path, 2000, writtens[i], large ? CHUNK_LARGE_BYTES : CHUNK_SMALL_BYTES);
			struct trace *trace = open_trace(path);
			struct order order = {0};
			struct merge_stats stats = go_through(trace, check_order, &order);
			cr_assert_eq(order.events, 2000);
			cr_assert_eq(stats.recovered_events, 2000 - writtens[i]);
			cr_assert_eq(trace_info(trace)->counters[COUNTER_MALLOC], 2000);
			cr_assert_not(trace_info(trace)->complete);
			cr_assert(trace_info(trace)->rings);
			cr_assert_eq(trace_damage_count(trace), 0);
			trace_close(trace);
		}
	}
}

Test(merge, a_lost_block_shows_as_missing_chunks)
{
	const char *path = support_path("gap.mtr");
	struct support_options options = {.full = true};
	struct support_trace *writer = support_open(path, &options);
	size_t bytes;
	for (uint64_t i = 0; i < 3000; i++) {
		support_malloc(writer, 1, i * 10, 0x100000 + i * 4096, i, 0);
		if (i % 1000 == 999)
			support_mark(writer, i * 10 + 5);
	}
	support_end(writer, 40000);
	uint8_t *file = support_read_file(path, &bytes);
	struct trace *trace = open_trace(path);
	struct merge_stats whole = go_through(trace, NULL, NULL);
	trace_close(trace);
	/* The second events block begins behind the first mark. */
	size_t marks = 0, at = TRACE_PAGE_BYTES;
	for (; at + 64 < bytes && marks < 1; at += 16) {
		struct block_header header;
		memcpy(&header, file + at, sizeof header);
		marks += header.magic == BLOCK_MAGIC && header.type == BLOCK_MARK;
	}
	for (; at + 64 < bytes; at += 16) {
		struct block_header header;
		memcpy(&header, file + at, sizeof header);
		if (header.magic == BLOCK_MAGIC && header.type == BLOCK_EVENTS)
			break;
	}
	file[at + 200] ^= 0x40;
	support_write_file(path, file, bytes);
	free(file);
	trace = open_trace(path);
	struct merge_stats cut = go_through(trace, NULL, NULL);
	cr_assert_lt(cut.events, whole.events);
	cr_assert_gt(cut.events, whole.events / 2);
	cr_assert_gt(cut.missing_chunks, 0);
	cr_assert_eq(trace_damage_count(trace), 1);
	size_t count;
	cr_assert_eq(trace_damage(trace, &count)->offset_bytes, at);
	trace_close(trace);
}
