/* What merge.c (order) and merge_pieces.c (input) share. */
#ifndef MTRACE_MERGE_INTERNAL_H
#define MTRACE_MERGE_INTERNAL_H

#include "analyzer/merge.h"
#include "analyzer/reader_internal.h"

/*
 * Where more than this waits for a watermark, the trace has lost its watermarks (or never had them): the
 * older half is then handed on without one. A second of the fastest guest seen is below 100 MB.
 */
#define MERGE_BUFFERED_BYTES_MAX (UINT64_C(512) << 20)

/* Pieces point into it; the last one gone, it is used again. */
struct piece_buffer {
	struct block_buffer block;
	struct piece_buffer *next_spare;
	const char *file;
	uint64_t offset; /* of the block or chunk in `file` */
	size_t pieces;
	uint64_t counted_bytes;
};

struct piece {
	struct piece *next;
	struct piece_buffer *buffer;
	struct chunk_header chunk;
	const uint8_t *records;
	uint32_t bytes;
	uint32_t skip;	/* records that begin before it are decoded for their state only */
	bool recovered; /* from the rings file */
};

#define MERGE_AHEAD 8u /* events decoded at once: what lies between lookahead and use */

struct merge_cursor {
	struct decoder decoder;
	struct trace_event events[MERGE_AHEAD];
	unsigned at, count; /* events[at] is the next; a refilled cursor has at < count */
	struct merge_cursor *next_spare;
};

struct merge_thread {
	struct piece *first, *last;  /* waiting */
	struct merge_cursor *cursor; /* on `first`; NULL where none waits */
	uint32_t thread;
	uint32_t sequence; /* of the newest chunk seen */
	uint32_t taken;	   /* bytes of that chunk that came so far */
	bool seen;
};

struct heap_entry {
	uint64_t time;
	uint32_t thread;
	uint32_t index; /* into threads */
};

struct merge {
	struct trace *trace;
	struct merge_stats stats;
	uint64_t limit;	    /* events before it can be handed on */
	uint64_t last_time; /* of the latest event handed on */
	bool ended;	    /* all input is read: everything can be handed on */
	bool draining;	    /* more waits than MERGE_BUFFERED_BYTES_MAX allows */
	bool failed;	    /* out of memory */
	bool handed_event;

	struct heap_entry *heap;
	size_t heap_count, heap_capacity;
	struct merge_thread *threads;
	size_t threads_count, threads_capacity;
	struct idmap threads_by_number;
	uint32_t *woken; /* threads that were without pieces and now have one */
	size_t woken_count, woken_capacity;
	struct merge_cursor *spare_cursors;

	struct snapshot *snapshots; /* waiting, a queue */
	size_t snapshots_first, snapshots_count, snapshots_capacity;
	struct snapshot handed_snapshot;

	uint8_t *stored; /* a block before decompression */
	size_t stored_capacity;
	size_t next_block;
	size_t next_chunk;
	void (*lookahead)(void *context, const struct trace_event *event);
	void *lookahead_context;
	struct piece_buffer *spare_buffers;
	struct piece *spare_pieces;
	uint64_t buffered_bytes;
};

/*
 * Reads on: blocks up to the next watermark, then the rings file; raises `limit`. False on an error, which is
 * set. Threads to be put into the heap are listed in `woken`.
 */
bool merge_fill(struct merge *merge, struct error *error);

/* A piece is done with. */
void pieces_release(struct merge *merge, struct piece *piece);
void piece_damaged(struct merge *merge, const struct piece *piece, const uint8_t *position);
void pieces_free(struct merge *merge);

#endif
