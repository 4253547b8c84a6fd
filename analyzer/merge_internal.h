/* What merge.c (order), merge_pieces.c (input) and merge_buffers.c (its memory) share. */
#ifndef MTRACE_MERGE_INTERNAL_H
#define MTRACE_MERGE_INTERNAL_H

#include "analyzer/merge.h"
#include "analyzer/reader_internal.h"

/*
 * Where more than this waits for a watermark, the trace has lost its watermarks (or never had them): the
 * older half is then handed on without one. A second of the fastest guest seen is below 100 MB.
 */
#define MERGE_BUFFERED_BYTES_MAX (UINT64_C(512) << 20)

/*
 * Once this much waits, a further block of which nothing is needed yet is read for its chunk headers only,
 * and read again when its turn comes. A busy writer's rings hold more than this; what they held is then no
 * matter.
 */
#define MERGE_PARK_BYTES (UINT64_C(4) << 20)

/* Pieces lie in it; the last one gone, it is used again. */
struct piece_buffer {
	struct block_buffer block; /* without data: parked, to be read again from `entry` */
	struct block_entry *entry; /* NULL: of the rings file, which changes, and is read once */
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
	size_t records; /* offset in the buffer */
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
	bool failed;	    /* see `failure` */
	bool handed_event;

	struct error failure; /* nothing in it: out of memory */
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
	struct spare_memory *spare_memory;
	struct piece *spare_pieces;
	uint64_t buffered_bytes;
};

/*
 * Reads on: blocks up to the next watermark, then the rings file; raises `limit`. False on an error, which is
 * set. Threads to be put into the heap are listed in `woken`.
 */
bool merge_fill(struct merge *merge, struct error *error);

/* Has the piece's bytes in memory. As block_load(); a block that cannot be read any more is damage. */
enum block_status piece_load(struct merge *merge, struct piece *piece, struct error *error);

/* A piece is done with. */
void pieces_release(struct merge *merge, struct piece *piece);
void piece_damaged(struct merge *merge, const struct piece *piece, const uint8_t *position);
void pieces_free(struct merge *merge);

/* ---- merge_buffers.c ----------------------------------------------------------------------------------- */

/* NULL when out of memory. `status` is what block_load() or rings_load() said. */
struct piece_buffer *buffer_read_block(struct merge *merge, struct block_entry *entry,
				       enum block_status *status, struct error *error);
struct piece_buffer *buffer_read_chunk(struct merge *merge, const struct ring_chunk *chunk, size_t *bytes,
				       enum block_status *status, struct error *error);
void buffer_put(struct merge *merge, struct piece_buffer *buffer);

/* Lets the memory go, where much waits already; buffer_unpark() reads it again where need be. */
void buffer_park(struct merge *merge, struct piece_buffer *buffer);
enum block_status buffer_unpark(struct merge *merge, struct piece_buffer *buffer, struct error *error);
void buffers_free(struct merge *merge);

#endif
