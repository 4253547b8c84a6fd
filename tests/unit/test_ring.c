#include <criterion/criterion.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "tests/unit/support_shim.h"

#define MIB (UINT64_C(1) << 20)

static const volatile uint32_t cpu_zero;

/* ---- one thread
 * ----------------------------------------------------------------------------------------------------- */

static struct chunk_header *chunk_of(struct thread *thread)
{
	return atomic_load(&thread->chunk);
}

Test(ring, a_thread_without_records_holds_no_chunk)
{
	support_rings(MIB);
	struct thread *thread = support_ring_thread(&cpu_zero);
	cr_assert_null(chunk_of(thread));
	ring_hand_over(thread);
	cr_assert_not(rings_ready());
	cr_assert_null(rings_next_ready());
}

Test(ring, a_chunk_is_handed_over_once)
{
	support_rings(MIB);
	struct thread *thread = support_ring_thread(&cpu_zero);
	cr_assert(support_ring_write(thread, 100, 0x1000, 8));
	struct chunk_header *chunk = chunk_of(thread);
	cr_assert_eq(atomic_load(&chunk->state), CHUNK_ACTIVE);
	ring_hand_over(thread);
	cr_assert_null(chunk_of(thread));
	ring_hand_over(thread);
	cr_assert(rings_ready());
	cr_assert_eq(rings_next_ready(), chunk);
	cr_assert_null(rings_next_ready());
	cr_assert_not(rings_ready());
	rings_release(chunk);
	cr_assert_eq(atomic_load(&chunk->state), CHUNK_FREE);
}

/* As the writer asks for it each tick: the next record goes to another chunk, which is small again. */
Test(ring, rotation)
{
	support_rings(MIB);
	struct thread *thread = support_ring_thread(&cpu_zero);
	cr_assert(support_ring_write(thread, 100, 0x1000, 8));
	cr_assert(support_ring_write(thread, 101, 0x2000, 8));
	struct chunk_header *chunk = chunk_of(thread);
	uint32_t committed = atomic_load(&chunk->committed);
	atomic_store(&thread->limit, NULL);
	cr_assert_not(rings_ready(), "nothing moves before the thread writes again");
	cr_assert(support_ring_write(thread, 102, 0x3000, 8));
	cr_assert_neq(chunk_of(thread), chunk);
	cr_assert_eq(chunk_of(thread)->sequence, 1);
	cr_assert_eq(chunk_of(thread)->events_before, 2);
	cr_assert_eq(chunk_of(thread)->base_time, 102);
	cr_assert_eq(chunk_of(thread)->capacity, CHUNK_SMALL_BYTES - sizeof *chunk);
	cr_assert_eq(atomic_load(&chunk->committed), committed);
	cr_assert_eq(support_drain(), 2);
	ring_hand_over(thread);
	cr_assert_eq(support_drain(), 1);
}

Test(ring, a_full_chunk_is_followed_by_a_large_one)
{
	support_rings(2 * MIB);
	struct thread *thread = support_ring_thread(&cpu_zero);
	uint64_t written = 0;
	while (chunk_of(thread) == NULL || chunk_of(thread)->sequence == 0)
		written += support_ring_write(thread, written, written * 4096 + 4096, written);
	cr_assert_eq(chunk_of(thread)->capacity, CHUNK_LARGE_BYTES - sizeof(struct chunk_header));
	while (chunk_of(thread)->sequence == 1)
		written += support_ring_write(thread, written, written * 4096 + 4096, written);
	cr_assert_eq(chunk_of(thread)->capacity, CHUNK_LARGE_BYTES - sizeof(struct chunk_header));
	ring_hand_over(thread);
	cr_assert_eq(support_drain(), written);
}

/* What the writer notes about a chunk does not survive into its next life. */
Test(ring, the_writers_note_starts_at_zero)
{
	support_rings(MIB);
	struct thread *thread = support_ring_thread(&cpu_zero);
	cr_assert(support_ring_write(thread, 100, 0x1000, 8));
	struct chunk_header *chunk = chunk_of(thread);
	*rings_flushed(chunk) = 17;
	ring_hand_over(thread);
	cr_assert_eq(rings_next_ready(), chunk);
	cr_assert_eq(*rings_flushed(chunk), 17);
	rings_release(chunk);
	cr_assert(support_ring_write(thread, 101, 0x1000, 8));
	cr_assert_eq(chunk_of(thread), chunk, "the last chunk given back is the first one taken");
	cr_assert_eq(*rings_flushed(chunk), 0);
}

/* Nobody provides or releases: what finds no room is counted, and the thread goes on when there is room
 * again. */
Test(ring, written_and_lost_are_all)
{
	support_rings(MIB);
	struct thread *thread = support_ring_thread(&cpu_zero);
	uint64_t attempted = 0, written = 0;
	uint32_t wakes = atomic_load(&support_wakes);
	while (support_lost(thread) < 1000)
		written += support_ring_write(thread, attempted, attempted * 4096 + 4096, attempted),
			attempted++;
	cr_assert_gt(atomic_load(&support_wakes), wakes, "the writer was not told");
	cr_assert(rings_low());
	cr_assert_eq(written + support_lost(thread), attempted);
	cr_assert_eq(atomic_load(&thread->slot->counters[COUNTER_LOST_RING_FULL]), 1000);
	cr_assert_eq(support_drain(), written);
	cr_assert(support_ring_write(thread, attempted, 0x1000, 8));
	cr_assert_eq(chunk_of(thread)->lost_before, 1000);
	cr_assert_eq(chunk_of(thread)->events_before, written);
	cr_assert_eq(atomic_load(&thread->slot->counters[COUNTER_EVENTS]), written + 1);
}

/* A rotation while there is no free chunk loses the record, not the chunk. */
Test(ring, rotation_without_a_free_chunk)
{
	support_rings(MIB);
	struct thread *thread = support_ring_thread(&cpu_zero), *hog = support_ring_thread(&cpu_zero);
	cr_assert(support_ring_write(thread, 100, 0x1000, 8));
	uint64_t kept = 1;
	for (uint64_t i = 0; support_ring_write(hog, i, i * 4096 + 4096, i); i++)
		kept++;
	atomic_store(&thread->limit, NULL);
	cr_assert_not(support_ring_write(thread, 101, 0x2000, 8));
	cr_assert_eq(support_lost(thread), 1);
	cr_assert_eq(support_drain(), kept);
	cr_assert(support_ring_write(thread, 102, 0x3000, 8));
	cr_assert_eq(chunk_of(thread)->lost_before, 1);
}

/* The room asked for is there, up to the last byte, whichever chunk it is in. */
Test(ring, room_for_stacks)
{
	static struct decoder decoder;
	uint64_t frames[CODEC_STACK_DEPTH_MAX], stacks = 0;
	support_rings(MIB);
	struct thread *thread = support_ring_thread(&cpu_zero);
	for (unsigned i = 0; i < CODEC_STACK_DEPTH_MAX; i++)
		frames[i] = UINT64_MAX - i % 2 * (UINT64_MAX / 2); /* differences as long as they get */
	for (uint8_t *at; (at = ring_make_room(thread, 1, STACK_RECORD_BYTES_MAX)); stacks++) {
		struct chunk_header *chunk = chunk_of(thread);
		cr_assert_leq(at + STACK_RECORD_BYTES_MAX, (uint8_t *)(chunk + 1) + chunk->capacity);
		ring_commit_bytes(thread,
				  encode_stack(at, (uint32_t)stacks + 1, frames, CODEC_STACK_DEPTH_MAX));
	}
	cr_assert_gt(stacks, 100);
	for (struct chunk_header *chunk; (chunk = rings_next_ready());) {
		struct trace_event event;
		enum decode_result result;
		support_chunk_start(&decoder, chunk);
		for (; (result = decode_next(&decoder, &event)) == DECODE_STACK; stacks--)
			cr_assert_arr_eq(decoder.stack_frames, frames, sizeof frames);
		cr_assert_eq(result, DECODE_END);
	}
	cr_assert_eq(stacks, 0);
	cr_assert_eq(atomic_load(&thread->slot->counters[COUNTER_EVENTS]), 0, "definitions are no events");
}

/* ---- several threads, a reader
 * ------------------------------------------------------------------------------------ */

#define WRITERS 3u
#define ROUNDS	400000u

/* The n-th record that a thread tries to write is a function of n. */
struct record {
	uint64_t time, address, size_bytes;
	uint32_t cpu;
};

static struct record record_of(uint32_t thread, uint64_t n)
{
	uint64_t mixed = (n + 1) * UINT64_C(0x9e3779b97f4a7c15) ^ thread;
	return (struct record){.time = 1000 + 3 * n,
			       .address = (mixed >> 44) * 16 + 16,
			       .size_bytes = n,
			       .cpu = (uint32_t)(n / 97) % 5};
}

struct writer {
	pthread_t pthread;
	struct thread *thread;
	volatile uint32_t cpu;
	_Atomic bool done;
};

static void *write_records(void *argument)
{
	struct writer *writer = argument;
	for (uint64_t n = 0; n < ROUNDS; n++) {
		struct record record = record_of(writer->thread->id, n);
		writer->cpu = record.cpu;
		support_ring_write(writer->thread, record.time, record.address, record.size_bytes);
		if (n % 20000 == 19999)
			sched_yield();
	}
	ring_hand_over(writer->thread);
	atomic_store(&writer->done, true);
	return NULL;
}

static struct writer writers[WRITERS];

static void start_writers(void)
{
	for (unsigned i = 0; i < WRITERS; i++) {
		writers[i].thread = support_ring_thread(&writers[i].cpu);
		cr_assert_eq(writers[i].thread->id, i + 1);
	}
	for (unsigned i = 0; i < WRITERS; i++)
		cr_assert_eq(pthread_create(&writers[i].pthread, NULL, write_records, &writers[i]), 0);
}

/* What the reader has seen of a thread. */
struct progress {
	uint32_t chunks;
	uint64_t events, lost;
};

/* No record is missing inside a chunk; between chunks as many as its header says. */
static void check_chunk(struct chunk_header *chunk, struct progress *progress)
{
	static struct decoder decoder;
	struct trace_event event;
	enum decode_result result;
	cr_assert_eq(chunk->sequence, progress->chunks++);
	cr_assert_eq(chunk->events_before, progress->events);
	cr_assert_geq(chunk->lost_before, progress->lost);
	progress->lost = chunk->lost_before;
	support_chunk_start(&decoder, chunk);
	while ((result = decode_next(&decoder, &event)) == DECODE_EVENT) {
		struct record record = record_of(chunk->thread, progress->events + progress->lost);
		cr_assert_eq(event.kind, EVENT_MALLOC);
		cr_assert_eq(event.thread, chunk->thread);
		cr_assert_eq(event.size_bytes, record.size_bytes, "record %lu is in the place of %lu",
			     (unsigned long)event.size_bytes, (unsigned long)record.size_bytes);
		cr_assert_eq(event.time, record.time);
		cr_assert_eq(event.address, record.address);
		cr_assert_eq(event.cpu, record.cpu);
		progress->events++;
	}
	cr_assert_eq(result, DECODE_END);
}

static bool all_done(void)
{
	for (unsigned i = 0; i < WRITERS; i++)
		if (!atomic_load(&writers[i].done))
			return false;
	return true;
}

/* Returns how many chunks were read. */
static unsigned read_ready(struct progress progress[WRITERS])
{
	unsigned chunks = 0;
	for (struct chunk_header *chunk; (chunk = rings_next_ready()); chunks++) {
		cr_assert(chunk->thread >= 1 && chunk->thread <= WRITERS);
		check_chunk(chunk, &progress[chunk->thread - 1]);
		rings_release(chunk);
	}
	return chunks;
}

static void read_all(int fd, bool rotate)
{
	struct progress progress[WRITERS] = {0};
	for (unsigned round = 0; !all_done(); round++) {
		read_ready(progress);
		rings_provide(fd);
		if (rotate)
			atomic_store(&writers[round % WRITERS].thread->limit, NULL);
		sched_yield();
	}
	read_ready(progress);
	for (unsigned i = 0; i < WRITERS; i++) {
		struct thread *thread = writers[i].thread;
		pthread_join(writers[i].pthread, NULL);
		cr_assert_eq(progress[i].events, atomic_load(&thread->slot->counters[COUNTER_EVENTS]));
		cr_assert_eq(progress[i].events + support_lost(thread), ROUNDS);
	}
	cr_assert_not(rings_ready());
	cr_assert_eq(rings_total(COUNTER_EVENTS) + rings_total(COUNTER_LOST_RING_FULL), WRITERS * ROUNDS);
}

/* 36 MiB hold all that three threads can write, even where the reader never gets to run. */
Test(ring, everything_written_is_read)
{
	int fd = support_rings(64 * MIB);
	for (unsigned i = 0; i < 10; i++)
		rings_provide(fd);
	start_writers();
	read_all(fd, false);
}

Test(ring, everything_written_is_read_beside_rotation)
{
	int fd = support_rings(64 * MIB);
	start_writers();
	read_all(fd, true);
}

/* A pool so small that much is lost. */
Test(ring, what_a_small_pool_loses_is_counted)
{
	int fd = support_rings(0);
	start_writers();
	read_all(fd, true);
	cr_assert_gt(rings_total(COUNTER_LOST_RING_FULL), 0);
}

/* Another CPU is counted once, whether the change falls into a chunk or between two. */
Test(ring, migrations)
{
	volatile uint32_t cpu = 3;
	support_rings(MIB);
	struct thread *thread = support_ring_thread(&cpu);
	_Atomic uint64_t *migrations = &thread->slot->counters[COUNTER_MIGRATIONS];
	cr_assert(support_ring_write(thread, 1, 0x1000, 8));
	cr_assert_eq(atomic_load(migrations), 0);
	cpu = 4;
	cr_assert(support_ring_write(thread, 2, 0x1000, 8));
	cr_assert(support_ring_write(thread, 3, 0x1000, 8));
	cr_assert_eq(atomic_load(migrations), 1);
	atomic_store(&thread->limit, NULL);
	cpu = 5;
	cr_assert(support_ring_write(thread, 4, 0x1000, 8));
	cr_assert_eq(atomic_load(migrations), 2);
	atomic_store(&thread->limit, NULL);
	cr_assert(support_ring_write(thread, 5, 0x1000, 8));
	cr_assert_eq(atomic_load(migrations), 2);
}
