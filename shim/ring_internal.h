/*
 * The state behind ring.h, shared by its three files: ring_file.c (the file and its extents), ring_slots.c
 * (threads and their counters), ring.c (chunks).
 */
#ifndef MTRACE_RING_INTERNAL_H
#define MTRACE_RING_INTERNAL_H

#include "shim/free_stack.h"
#include "shim/raw.h"
#include "shim/ring.h"

#define _LGPL_SOURCE
#include <urcu/wfcqueue.h>

#define SMALL_PER_EXTENT (RINGS_EXTENT_BYTES / CHUNK_SMALL_BYTES)
#define SLOTS_PER_EXTENT (RINGS_EXTENT_BYTES / SLOT_BYTES)
#define THREADS_MAX	 32768u

/* Private memory beside each chunk: its place in the queue, and the writer's note. */
struct chunk_note {
	struct cds_wfcq_node node;
	uint32_t flushed_bytes;
};

struct rings {
	struct rings_header *header; /* NULL: no rings */
	uint8_t *extents;
	uint64_t mapped_bytes;
	dev_t device;
	ino_t inode;
	uint32_t extents_used;
	struct free_stack large, small, slots;
	uint32_t large_wanted, small_wanted, slots_wanted;
	bool provided_once;
	_Atomic uint32_t
		slot_extents[THREADS_MAX / SLOTS_PER_EXTENT]; /* extent of slots k * SLOTS_PER_EXTENT ... */
	_Atomic uint32_t slots_end;
	struct chunk_note *large_notes, *small_notes;
	/* Structures of the threads, a piece for each extent of slots: all at once would be 200 MiB of
	 * address space, and of memory in a guest that locks what it has. */
	struct thread *thread_pieces[THREADS_MAX / SLOTS_PER_EXTENT];
	struct __cds_wfcq_head queue_head; /* without its mutex: one consumer */
	struct cds_wfcq_tail queue_tail;
	_Atomic uint32_t ready; /* chunks in the queue */
	_Atomic uint32_t next_thread_id;
};
extern struct rings rings SHIM_LOCAL;

#endif
