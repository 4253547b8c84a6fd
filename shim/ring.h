/*
 * The rings file: memory that threads write records to and that outlives the process.
 *
 * It is cut into extents of 64 KiB, allocated on disk before anybody stores to them (a store to a hole on a
 * full disk is a SIGBUS in the guest), and extents into slots (counters of a thread), small chunks, or one
 * large chunk. Free items wait on lock-free stacks; filled chunks go to the writer through liburcu's
 * wait-free queue.
 *
 * Who may do what, beside what:
 *
 *   operation              by                beside
 *   ring_make_room         a guest thread    everything
 *   ring_hand_over         a guest thread    everything
 *   rings_take_slot        a guest thread    everything
 *   rings_next_ready       the writer        everything by guest threads
 *   rings_release          the writer        everything by guest threads
 *   rings_provide          the writer, or the starting thread before any other runs
 *   rings_remake, _empty   the writer, while nothing is recorded
 *   rings_create, _forget  the starting thread while nothing is recorded
 *
 * Order: `committed` is stored with release after the bytes of a record; whoever loads it with acquire sees
 * them. A chunk's header is written before its address is stored (release) to thread->chunk. A chunk comes
 * back to the free stack only from the writer, after its content is in the trace file.
 */
#ifndef MTRACE_RING_H
#define MTRACE_RING_H

#include <stddef.h>

#include "shim/thread.h"

/* Creates the file at `path` (must not exist) for at most `bytes` of ring memory. Returns 0 or -errno. */
int rings_create(const char *path, const uint8_t nonce[16], uint64_t bytes);

/*
 * For a file that was removed while the trace goes on: puts a copy at `path`, which takes its place in memory
 * too. Returns its descriptor or -errno; then the removed file stays in use. By the writer, while nothing is
 * recorded.
 */
int rings_remake(const char *path);

/* Gives the file's space back and leaves its size: what is stored to afterwards is there, and of no use. */
void rings_empty(int fd);

/* Unmaps the file and forgets all: for a process that starts a trace anew after a fork. */
void rings_forget(void);

/* Makes sure that some chunks and slots are free, within the bound. Opens the file by `fd`. Cheap when they
 * are. */
void rings_provide(int fd);

/* True where so few large chunks are free that the writer should look now rather than later. */
bool rings_low(void);

/* Handed-over chunks that wait. */
uint32_t rings_ready(void);

/* Bytes of ring memory allocated in the file so far, header included. */
uint64_t rings_bytes(void);

/* Share of the ring memory that waits for the writer, in percent. */
unsigned rings_backlog_percent(void);

/* A free slot and its thread structure, or NULL: none to be had. */
struct thread *rings_take_slot(void);

/* Writer: folds the counters of an ended thread into the shared ones and gives its slot back. */
void rings_release_slot(struct thread *thread);

/* Slots in use have an index below this. */
uint32_t rings_slots_end(void);
struct thread *rings_thread(uint32_t index);

/* In a forked child: no thread of the parent is recorded here. */
void rings_forget_threads(void);
struct ring_slot *rings_slot(uint32_t index);

/* Counters that belong to no slot: exact, shared, atomic. Usable as soon as rings_create() has been called.
 */
void rings_count_shared(enum counter counter, uint64_t n);
uint64_t rings_shared(enum counter counter);

/* A counter's sum over all threads that are and were. */
uint64_t rings_total(enum counter counter);

/*
 * Room for one more record at the returned place, in a new chunk if need be; NULL: there is none. `time` is
 * the time of the record, `need` the bytes it may take.
 */
uint8_t *ring_make_room(struct thread *thread, uint64_t time, size_t need);

/* Gives the thread's chunk to the writer; the thread has none afterwards. */
void ring_hand_over(struct thread *thread);

/* Writer: the next chunk handed over, or NULL. */
struct chunk_header *rings_next_ready(void);

/* Writer: bytes of this chunk that are in the trace file already. */
uint32_t *rings_flushed(struct chunk_header *chunk);

/* Writer: the chunk may be used again. */
void rings_release(struct chunk_header *chunk);

/* ---- the hot path
 * -------------------------------------------------------------------------------------------- */

/* A place for a record of at most RECORD_BYTES_MAX bytes, with the CPU up to date; NULL: the event is lost,
 * and counted. */
ALWAYS_INLINE uint8_t *ring_begin(struct thread *thread, uint64_t time)
{
	uint8_t *at = thread->position;
	if (unlikely(at > atomic_load_explicit(&thread->limit, memory_order_relaxed))) {
		at = ring_make_room(thread, time, RECORD_BYTES_MAX);
		if (!at) {
			thread_count(thread, COUNTER_LOST_RING_FULL);
			return NULL;
		}
	}
	uint32_t cpu = *thread->cpu_id;
	if (unlikely(cpu != thread->codec.cpu)) {
		at = encode_cpu(&thread->codec, at, cpu);
		thread_count(thread, COUNTER_MIGRATIONS);
	}
	return at;
}

/* Makes what stands before `at` part of the chunk, without counting an event. */
ALWAYS_INLINE void ring_commit_bytes(struct thread *thread, uint8_t *at)
{
	struct chunk_header *chunk = atomic_load_explicit(&thread->chunk, memory_order_relaxed);
	thread->position = at;
	/* Release: the record's bytes are visible to whoever reads `committed` with acquire. */
	atomic_store_explicit(&chunk->committed, (uint32_t)(at - thread->records), memory_order_release);
}

ALWAYS_INLINE void ring_commit(struct thread *thread, uint8_t *at)
{
	ring_commit_bytes(thread, at);
	thread_count(thread, COUNTER_EVENTS);
}

#endif
