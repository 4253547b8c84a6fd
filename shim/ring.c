#include "shim/ring_internal.h"

#include "shim/clock.h"
#include "shim/writer.h"

static bool is_large(const struct chunk_header *chunk)
{
	return chunk->capacity > CHUNK_SMALL_BYTES;
}

static uint64_t offset_of(const struct chunk_header *chunk)
{
	return (uint64_t)((const uint8_t *)chunk - rings.extents);
}

static struct chunk_note *note_of(struct chunk_header *chunk)
{
	return is_large(chunk) ? &rings.large_notes[offset_of(chunk) / CHUNK_LARGE_BYTES]
			       : &rings.small_notes[offset_of(chunk) / CHUNK_SMALL_BYTES];
}

static struct chunk_header *take_large(void)
{
	uint32_t item;
	if (!free_stack_take(&rings.large, &item))
		return NULL;
	struct chunk_header *chunk =
		(struct chunk_header *)(rings.extents + (uint64_t)item * CHUNK_LARGE_BYTES);
	chunk->capacity = CHUNK_LARGE_BYTES - sizeof *chunk;
	return chunk;
}

static struct chunk_header *take_small(void)
{
	uint32_t item;
	if (!free_stack_take(&rings.small, &item))
		return NULL;
	struct chunk_header *chunk =
		(struct chunk_header *)(rings.extents + (uint64_t)item * CHUNK_SMALL_BYTES);
	chunk->capacity = CHUNK_SMALL_BYTES - sizeof *chunk;
	return chunk;
}

static struct chunk_header *take_chunk(bool large)
{
	struct chunk_header *chunk = large ? take_large() : take_small();
	if (!chunk)
		chunk = large ? take_small() : take_large();
	return chunk;
}

static uint64_t lost_so_far(const struct thread *thread)
{
	uint64_t lost = 0;
	for (unsigned i = COUNTER_LOST_FIRST; i <= COUNTER_LOST_LAST; i++)
		lost += atomic_load_explicit(&thread->slot->counters[i], memory_order_relaxed);
	return lost;
}

static void open_chunk(struct thread *thread, struct chunk_header *chunk, uint64_t time)
{
	chunk->thread = thread->id;
	chunk->kernel_tid = thread->slot->kernel_tid;
	chunk->sequence = thread->next_sequence++;
	chunk->base_time = time;
	chunk->lost_before = lost_so_far(thread);
	chunk->events_before =
		atomic_load_explicit(&thread->slot->counters[COUNTER_EVENTS], memory_order_relaxed);
	chunk->cpu = *thread->cpu_id;
	chunk->skip = 0;
	chunk->magic = CHUNK_MAGIC;
	atomic_store_explicit(&chunk->committed, 0, memory_order_relaxed);
	note_of(chunk)->flushed_bytes = 0;
	if (chunk->cpu != thread->codec.cpu && chunk->sequence > 0)
		thread_count(thread, COUNTER_MIGRATIONS);
	codec_reset(&thread->codec, time, chunk->cpu);
	thread->records = thread->position = (uint8_t *)(chunk + 1);
	/* Release: a reader of the rings, or the writer, that sees the state or the address sees the header.
	 */
	atomic_store_explicit(&chunk->state, CHUNK_ACTIVE, memory_order_release);
	atomic_store_explicit(&thread->chunk, chunk, memory_order_release);
}

void ring_hand_over(struct thread *thread)
{
	struct chunk_header *chunk = atomic_load_explicit(&thread->chunk, memory_order_relaxed);
	if (!chunk)
		return;
	atomic_store_explicit(&thread->limit, NULL, memory_order_relaxed);
	atomic_store_explicit(&thread->chunk, NULL, memory_order_relaxed);
	thread->position = (uint8_t *)1;
	atomic_store_explicit(&chunk->state, CHUNK_READY, memory_order_release);
	struct chunk_note *note = note_of(chunk);
	cds_wfcq_node_init(&note->node);
	atomic_fetch_add_explicit(&rings.ready, 1, memory_order_relaxed);
	cds_wfcq_enqueue(&rings.queue_head, &rings.queue_tail, &note->node);
}

/* Hands over the chunk that is full, or asked for. True where there is room in it after all. */
static bool still_has_room(struct thread *thread, size_t need)
{
	struct chunk_header *chunk = atomic_load_explicit(&thread->chunk, memory_order_relaxed);
	if (!chunk)
		return false;
	uint8_t *end = (uint8_t *)(chunk + 1) + chunk->capacity;
	bool rotate = atomic_load_explicit(&thread->limit, memory_order_relaxed) == NULL;
	if (!rotate && (size_t)(end - thread->position) >= need)
		return true;
	thread->chunk_filled = !rotate;
	ring_hand_over(thread);
	return false;
}

static bool open_next(struct thread *thread, uint64_t time, size_t need)
{
	struct chunk_header *chunk = take_chunk(thread->chunk_filled || need > CHUNK_SMALL_BYTES / 2);
	if (!chunk)
		return false;
	if (chunk->capacity < need + DECODE_SLACK_BYTES) {
		rings_release(chunk);
		return false;
	}
	open_chunk(thread, chunk, time);
	atomic_store_explicit(&thread->limit, thread->records + chunk->capacity - RECORD_BYTES_MAX,
			      memory_order_relaxed);
	return true;
}

/* A sealed thread takes what is there: neither can it keep signals away, nor wake the writer. */
static __attribute__((noinline)) uint8_t *make_room_sealed(struct thread *thread, uint64_t time, size_t need)
{
	return still_has_room(thread, need) || open_next(thread, time, need) ? thread->position : NULL;
}

/* Signals wait: a handler that left the queue or a free stack half changed, by a jump, would break them for
 * everybody. */
__attribute__((noinline)) uint8_t *ring_make_room(struct thread *thread, uint64_t time, size_t need)
{
	uint64_t signals;
	if (unlikely(thread->sealed))
		return make_room_sealed(thread, time, need);
	raw_block_signals(&signals);
	bool room = still_has_room(thread, need) || open_next(thread, time, need);
	raw_restore_signals(&signals);
	if (unlikely(rings_low()))
		writer_wake();
	return room ? thread->position : NULL;
}

struct chunk_header *rings_next_ready(void)
{
	struct cds_wfcq_node *node = __cds_wfcq_dequeue_nonblocking(&rings.queue_head, &rings.queue_tail);
	if (!node || node == CDS_WFCQ_WOULDBLOCK)
		return NULL;
	atomic_fetch_sub_explicit(&rings.ready, 1, memory_order_relaxed);
	struct chunk_note *note = (struct chunk_note *)((char *)node - offsetof(struct chunk_note, node));
	uint64_t large = (uint64_t)(note - rings.large_notes);
	uint8_t *at = note >= rings.large_notes && large < rings.header->extents_count
			      ? rings.extents + large * CHUNK_LARGE_BYTES
			      : rings.extents + (uint64_t)(note - rings.small_notes) * CHUNK_SMALL_BYTES;
	return (struct chunk_header *)at;
}

uint32_t *rings_flushed(struct chunk_header *chunk)
{
	return &note_of(chunk)->flushed_bytes;
}

void rings_release(struct chunk_header *chunk)
{
	uint64_t offset = offset_of(chunk);
	bool large = is_large(chunk);
	atomic_store_explicit(&chunk->state, CHUNK_FREE, memory_order_release);
	if (large)
		free_stack_give(&rings.large, (uint32_t)(offset / CHUNK_LARGE_BYTES));
	else
		free_stack_give(&rings.small, (uint32_t)(offset / CHUNK_SMALL_BYTES));
}
