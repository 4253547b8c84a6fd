#include "analyzer/merge.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/array.h"
#include "analyzer/merge_internal.h"

/* ---- the heap of threads, smallest next event first ---------------------------------------------------- */

static inline bool earlier(const struct heap_entry *a, const struct heap_entry *b)
{
	return a->time < b->time || (a->time == b->time && a->thread < b->thread);
}

static void sift_down(struct merge *merge, size_t at)
{
	struct heap_entry *heap = merge->heap;
	struct heap_entry moving = heap[at];
	for (;;) {
		size_t child = 2 * at + 1;
		if (child >= merge->heap_count)
			break;
		if (child + 1 < merge->heap_count && earlier(&heap[child + 1], &heap[child]))
			child++;
		if (!earlier(&heap[child], &moving))
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = moving;
}

static bool heap_push(struct merge *merge, struct heap_entry entry)
{
	if (!array_reserve(&merge->heap, &merge->heap_capacity, merge->heap_count + 1, sizeof *merge->heap))
		return false;
	size_t at = merge->heap_count++;
	while (at && earlier(&entry, &merge->heap[(at - 1) / 2])) {
		merge->heap[at] = merge->heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	merge->heap[at] = entry;
	return true;
}

static void heap_pop(struct merge *merge)
{
	merge->heap[0] = merge->heap[--merge->heap_count];
	if (merge->heap_count)
		sift_down(merge, 0);
}

/* ---- cursors: where reading a thread's pieces stands --------------------------------------------------- */

/* False: the first piece cannot be read, or the merge failed. */
static bool cursor_begin(struct merge *merge, struct merge_thread *thread)
{
	struct piece *piece = thread->first;
	enum block_status status = piece_load(merge, piece, &merge->failure);
	merge->failed = status == BLOCK_FAILED;
	if (status != BLOCK_READ)
		return false;
	if (!thread->cursor) {
		thread->cursor = merge->spare_cursors;
		if (thread->cursor)
			merge->spare_cursors = thread->cursor->next_spare;
		else
			thread->cursor = malloc(sizeof *thread->cursor);
	}
	if (!thread->cursor) {
		merge->failed = true;
		return false;
	}
	decoder_start(&thread->cursor->decoder, &piece->chunk, piece->buffer->block.data + piece->records,
		      piece->bytes);
	return true;
}

static void cursor_end(struct merge *merge, struct merge_thread *thread)
{
	if (!thread->cursor)
		return;
	thread->cursor->next_spare = merge->spare_cursors;
	merge->spare_cursors = thread->cursor;
	thread->cursor = NULL;
}

static void piece_end(struct merge *merge, struct merge_thread *thread)
{
	struct piece *piece = thread->first;
	thread->first = piece->next;
	if (!thread->first)
		thread->last = NULL;
	pieces_release(merge, piece);
}

/* Decodes to the next event of the current piece that is to be handed on. */
static enum decode_result piece_next(struct merge *merge, struct merge_thread *thread,
				     struct trace_event *event)
{
	struct decoder *decoder = &thread->cursor->decoder;
	const uint8_t *fresh = decoder->start + thread->first->skip;
	for (;;) {
		const uint8_t *record = decoder->position;
		enum decode_result result = decode_next(decoder, event);
		if (result == DECODE_EVENT && record < fresh)
			continue;
		if (result != DECODE_STACK)
			return result;
		if (!defs_stack(merge->trace, decoder->stack_id, decoder->stack_frames,
				decoder->stack_depth)) {
			merge->failed = true;
			return DECODE_END;
		}
	}
}

/* Decodes a few events of the current piece at once. False where it has no more. */
static bool cursor_refill(struct merge *merge, struct merge_thread *thread)
{
	struct merge_cursor *cursor = thread->cursor;
	cursor->at = cursor->count = 0;
	while (cursor->count < MERGE_AHEAD) {
		struct trace_event *event = &cursor->events[cursor->count];
		enum decode_result result = piece_next(merge, thread, event);
		if (result == DECODE_DAMAGED)
			piece_damaged(merge, thread->first, cursor->decoder.position);
		if (result != DECODE_EVENT)
			break;
		cursor->count++;
		if (merge->lookahead)
			merge->lookahead(merge->lookahead_context, event);
	}
	return cursor->count != 0;
}

/* Moves a thread on to its next event, over the ends of pieces. False where it has none for now. */
static bool thread_next(struct merge *merge, struct merge_thread *thread)
{
	if (thread->cursor && ++thread->cursor->at < thread->cursor->count)
		return true;
	while (thread->first) {
		if (thread->cursor || cursor_begin(merge, thread)) {
			if (cursor_refill(merge, thread))
				return true;
		} else if (merge->failed) {
			return false;
		}
		piece_end(merge, thread);
		cursor_end(merge, thread);
	}
	return false;
}

static inline const struct trace_event *thread_event(const struct merge_thread *thread)
{
	return &thread->cursor->events[thread->cursor->at];
}

/* A thread that got its first waiting piece enters the heap with that piece's first event. */
static bool thread_wake(struct merge *merge, uint32_t index)
{
	struct merge_thread *thread = &merge->threads[index];
	if (!thread_next(merge, thread))
		return !merge->failed;
	return heap_push(merge, (struct heap_entry){thread_event(thread)->time, thread->thread, index});
}

/* The event handed on last is done with: its thread moves on. */
static void consume(struct merge *merge)
{
	struct merge_thread *thread = &merge->threads[merge->heap[0].index];
	if (thread_next(merge, thread)) {
		merge->heap[0].time = thread_event(thread)->time;
		sift_down(merge, 0);
	} else {
		heap_pop(merge);
	}
}

/* ---- snapshots wait for the events before them --------------------------------------------------------- */

static bool snapshot_ready(const struct merge *merge)
{
	return merge->snapshots_count &&
	       (merge->ended || merge->snapshots[merge->snapshots_first].mark.time <= merge->limit);
}

static void snapshot_take(struct merge *merge, struct merge_item *item)
{
	merge->handed_snapshot = merge->snapshots[merge->snapshots_first];
	merge->snapshots_first++;
	if (--merge->snapshots_count == 0)
		merge->snapshots_first = 0;
	item->snapshot = &merge->handed_snapshot;
}

/* ---- the stream ---------------------------------------------------------------------------------------- */

static void count_event(struct merge *merge, const struct merge_thread *thread,
			const struct trace_event *event)
{
	struct merge_stats *stats = &merge->stats;
	stats->events++;
	stats->recovered_events += thread->first->recovered;
	if (event->time < merge->last_time)
		stats->late_events++;
	else
		merge->last_time = event->time;
}

/* Too much waits for a watermark: half of it goes on without. */
static bool draining(struct merge *merge)
{
	if (merge->buffered_bytes > MERGE_BUFFERED_BYTES_MAX)
		merge->draining = true;
	else if (merge->buffered_bytes < MERGE_BUFFERED_BYTES_MAX / 2)
		merge->draining = false;
	return merge->draining;
}

/* The smallest event, where it lies before the watermark and before the next snapshot. */
static bool event_take(struct merge *merge, struct merge_item *item)
{
	if (!merge->heap_count)
		return false;
	uint64_t time = merge->heap[0].time;
	if (time >= merge->limit && !merge->ended && !draining(merge))
		return false;
	if (snapshot_ready(merge) && time >= merge->snapshots[merge->snapshots_first].mark.time)
		return false;
	const struct merge_thread *thread = &merge->threads[merge->heap[0].index];
	item->event = thread_event(thread);
	count_event(merge, thread, item->event);
	merge->handed_event = true;
	return true;
}

static bool out_of_memory(struct error *error)
{
	return error_set(error, ERROR_INTERNAL, NULL, ERROR_NO_OFFSET, "out of memory");
}

static bool stopped(const struct merge *merge, struct error *error)
{
	if (merge->failure.code == ERROR_NONE)
		return out_of_memory(error);
	if (error->code == ERROR_NONE)
		*error = merge->failure;
	return false;
}

bool merge_next(struct merge *merge, struct merge_item *item, struct error *error)
{
	*item = (struct merge_item){0};
	if (merge->handed_event)
		consume(merge);
	merge->handed_event = false;
	for (;;) {
		if (merge->failed)
			return stopped(merge, error);
		if (event_take(merge, item))
			return true;
		if (snapshot_ready(merge)) {
			snapshot_take(merge, item);
			return true;
		}
		if (merge->ended)
			break;
		if (!merge_fill(merge, error))
			return false;
		while (merge->woken_count)
			if (!thread_wake(merge, merge->woken[--merge->woken_count]))
				return stopped(merge, error);
	}
	if (merge->last_time > merge->trace->info.last_time)
		merge->trace->info.last_time = merge->last_time;
	return false;
}

struct merge *merge_open(struct trace *trace, struct error *error)
{
	struct merge *merge = calloc(1, sizeof *merge);
	if (!merge) {
		out_of_memory(error);
		return NULL;
	}
	merge->trace = trace;
	return merge;
}

void merge_close(struct merge *merge)
{
	if (!merge)
		return;
	for (size_t i = 0; i < merge->threads_count; i++) {
		while (merge->threads[i].first)
			piece_end(merge, &merge->threads[i]);
		free(merge->threads[i].cursor);
	}
	while (merge->spare_cursors) {
		struct merge_cursor *cursor = merge->spare_cursors;
		merge->spare_cursors = cursor->next_spare;
		free(cursor);
	}
	pieces_free(merge);
	free(merge->heap);
	free(merge->threads);
	free(merge->woken);
	free(merge->snapshots);
	idmap_clear(&merge->threads_by_number);
	free(merge);
}

void merge_lookahead(struct merge *merge, void (*lookahead)(void *context, const struct trace_event *event),
		     void *context)
{
	merge->lookahead = lookahead;
	merge->lookahead_context = context;
}

const struct merge_stats *merge_stats(const struct merge *merge)
{
	return &merge->stats;
}
