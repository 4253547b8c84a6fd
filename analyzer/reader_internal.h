/*
 * What the reader's files share with each other and with the merge; nobody else includes this.
 *
 *   reader.c          opens, accessors
 *   reader_blocks.c   where the blocks are, and their payloads
 *   reader_process.c  the process block's keys
 *   reader_defs.c     modules, threads, stacks
 *   reader_clock.c    time units to wall clock
 *   reader_rings.c    the rings file
 *   reader_allocator.c  the allocator's statistics
 *   blockcursor.c     the blocks of one type, for reader_pages.c, reader_smaps.c and reader_settings.c
 *   reader_damage.c   damage and notes
 */
#ifndef MTRACE_READER_INTERNAL_H
#define MTRACE_READER_INTERNAL_H

#include "analyzer/allocstats.h"
#include "analyzer/idmap.h"
#include "analyzer/reader.h"
#include "trace/codec.h"

/* A block whose header is good. 48 bytes for each 256 KiB of records: the index is no burden. */
struct block_entry {
	uint64_t offset;
	uint64_t sequence;
	uint64_t first_time;
	uint64_t last_time;
	uint32_t stored_bytes;
	uint32_t raw_bytes;
	uint16_t type; /* 0: found damaged after the scan, pass it over */
	uint16_t encoding;
};

/* Bytes without a block, found by the scan. */
struct block_hole {
	uint64_t offset;
	uint64_t bytes;
};

/* Sorted by time; realtime and monotonic never step back. */
struct clock_point {
	uint64_t time;
	uint64_t realtime_ns;
	uint64_t monotonic_ns;
};

struct stack_entry {
	uint64_t first; /* index into stack_frames */
	uint32_t depth;
};

/* A chunk of the rings file that holds committed records. */
struct ring_chunk {
	uint64_t offset; /* of its header in the rings file */
	uint32_t thread;
	uint32_t sequence;
	uint32_t size_bytes; /* header included */
};

struct damage_list {
	struct trace_damage *items;
	size_t count;
	size_t capacity;
	uint64_t total;
};

struct trace {
	struct trace_info info;
	char *path;
	char *rings_path;
	int fd;
	int rings_fd; /* -1: none */
	struct file_header header;
	bool region_unknown; /* no header could be read: the search began at the process block */
	bool wrapped;	     /* a flight recorder that has overwritten blocks */

	struct block_entry *blocks; /* ordered by sequence */
	size_t blocks_count, blocks_capacity;
	struct block_hole *holes; /* only while the file is scanned */
	size_t holes_count, holes_capacity;

	struct process_key *keys;
	size_t keys_count, keys_capacity;

	struct clock_point *clock;
	size_t clock_count, clock_capacity;
	double nominal_ns; /* one time unit; 0 where unknown */
	uint64_t start_time;

	struct trace_module *modules;
	size_t modules_count, modules_capacity, modules_compacted;
	struct trace_thread *threads;
	size_t threads_count, threads_capacity;
	struct idmap threads_by_number;
	struct stack_entry *stacks;
	size_t stacks_count, stacks_capacity;
	uint64_t *stack_frames;
	size_t frames_count, frames_capacity;
	struct idmap stacks_by_id;

	struct ring_chunk *ring_chunks; /* ordered by thread, then sequence */
	size_t ring_chunks_count, ring_chunks_capacity;

	struct allocstats allocator; /* the newest record */

	struct damage_list damage;
	char **notes;
	size_t notes_count, notes_capacity;
};

/* ---- reader_blocks.c ----------------------------------------------------------------------------------- */

/* A payload in memory, with DECODE_SLACK_BYTES behind it. Reused: zero-initialize, free `data` at the end. */
struct block_buffer {
	uint8_t *data;
	size_t capacity;
	uint8_t *stored; /* before decompression */
	size_t stored_capacity;
};

/* Finds the blocks of the whole file; sets info.blocks, wrapped. False when out of memory or on a read error.
 */
bool blocks_scan(struct trace *trace, struct error *error);

/* The block at `offset`. False where none begins there, or on a read error, which sets `error`. */
bool block_at(struct trace *trace, uint64_t offset, struct block_entry *entry, struct error *error);

/* After the scan, when it is known whether a torn tail is to be expected: lists what is missing as damage. */
void blocks_judge(struct trace *trace);

enum block_status {
	BLOCK_READ = 1,
	BLOCK_SKIPPED = 2, /* not whole: damage is listed where it is damage */
	BLOCK_FAILED = 3,  /* error is set */
};

/* Reads, checks and decompresses a payload of entry->raw_bytes into `buffer`. */
enum block_status block_load(struct trace *trace, struct block_entry *entry, struct block_buffer *buffer,
			     struct error *error);

/* Reads exactly `bytes` at `offset`. 1: done; 0: the file ends before; -1: read error, `error` is set. */
int read_at(int fd, const char *path, void *data, size_t bytes, uint64_t offset, struct error *error);

/* ---- reader.c ------------------------------------------------------------------------------------------ */

/* A snapshot's payload; what a shorter one lacks is SNAPSHOT_UNKNOWN (counters: 0). False: shorter than its
 * mark. */
bool snapshot_parse(struct snapshot *snapshot, const uint8_t *payload, size_t bytes);

/* ---- reader_process.c ---------------------------------------------------------------------------------- */

/* Parses `key=value` lines. False when out of memory. */
bool process_parse(struct trace *trace, const char *text, size_t bytes);
void process_free(struct trace *trace);

/* ---- reader_defs.c ------------------------------------------------------------------------------------- */

/* Payloads of BLOCK_MODULES, BLOCK_THREADS, BLOCK_STACKS. False when out of memory; bad bytes become damage.
 */
bool defs_modules(struct trace *trace, const uint8_t *payload, size_t bytes, uint64_t block_offset);
bool defs_threads(struct trace *trace, const uint8_t *payload, size_t bytes, uint64_t block_offset);
bool defs_stacks(struct trace *trace, const uint8_t *payload, size_t bytes, uint64_t block_offset);

/* Adds what is not known yet about a thread. */
bool defs_thread(struct trace *trace, const struct thread_record *record);
bool defs_stack(struct trace *trace, uint32_t stack_id, const uint64_t *frames, unsigned depth);

/* After the last definition: sorts. */
bool defs_finish(struct trace *trace);
void defs_free(struct trace *trace);

/* ---- reader_clock.c ------------------------------------------------------------------------------------ */

/* Marks in any order; nonsense is passed over. False when out of memory. */
bool clock_add(struct trace *trace, uint64_t time, uint64_t realtime_ns, uint64_t monotonic_ns);
void clock_finish(struct trace *trace);

/* ---- reader_rings.c ------------------------------------------------------------------------------------ */

/* Looks for the rings file of an incomplete trace: adds its counters, threads and chunks. */
bool rings_open(struct trace *trace, struct error *error);

/* Reads a chunk's header and committed records (*bytes) into `buffer`, slack behind them. */
enum block_status rings_load(struct trace *trace, const struct ring_chunk *chunk, struct block_buffer *buffer,
			     size_t *bytes, struct error *error);

/* ---- reader_allocator.c -------------------------------------------------------------------------------- */

/* Sets trace->allocator. False on an error, which is set. */
bool allocator_read_last(struct trace *trace, struct error *error);

/* ---- reader_damage.c ----------------------------------------------------------------------------------- */

/* Adds damage unless the same place of the same file is listed. `file` must live as long as the trace. */
void damage_add(struct trace *trace, const char *file, uint64_t offset_bytes, uint64_t bytes,
		const char *format, ...) __attribute__((format(printf, 5, 6)));
void note_add(struct trace *trace, const char *format, ...) __attribute__((format(printf, 2, 3)));
void damage_free(struct trace *trace);

#endif
