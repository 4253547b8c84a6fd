/*
 * Writes synthetic traces and rings files for tests, through trace/codec.h and trace/layout.h. Failures of
 * the test's own files abort: a test without its input is none.
 *
 * Clock of these traces: tick_hz 1e9, time_shift 0, so one time unit is 1 ns; the trace starts at time
 * SUPPORT_START_TIME, at SUPPORT_START_REALTIME_NS of the wall clock and SUPPORT_START_MONOTONIC_NS.
 */
#ifndef MTRACE_SUPPORT_TRACE_H
#define MTRACE_SUPPORT_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/codec.h"
#include "trace/layout.h"

#define SUPPORT_START_TIME	   UINT64_C(1000000000)
#define SUPPORT_START_REALTIME_NS  UINT64_C(1700000000000000000)
#define SUPPORT_START_MONOTONIC_NS UINT64_C(5000000000)

struct support_trace;

struct support_options {
	bool full;		/* mode=full, otherwise sample */
	uint64_t sample_bytes;	/* sample mode; 0: 512 KiB */
	uint64_t region_bytes;	/* 0: grows; otherwise a flight recorder with a region of so many bytes */
	uint32_t gap_bytes;	/* room between the process block and the first one, as the shim leaves it; a
				   multiple of 16 */
	uint32_t chunk_bytes;	/* of a thread's chunks, header included; 0: CHUNK_SMALL_BYTES */
	bool compressed;	/* blocks by zstd */
	const char *rseq_owner; /* in the process block; NULL: glibc */
	const char *extra_keys; /* more lines for the process block, each with its newline; or NULL */
};

struct support_trace *support_open(const char *path, const struct support_options *options);

/* Encodes an event into the chunk of event->thread, in the hot form where it fits; counts it in the counters
 * as the shim would. A full chunk waits for the next support_flush(). */
void support_event(struct support_trace *trace, const struct trace_event *event);

/* Shorthands; times count from SUPPORT_START_TIME. */
void support_malloc(struct support_trace *trace, uint32_t thread, uint64_t time, uint64_t address,
		    uint64_t size_bytes, uint32_t stack_id);
void support_free_block(struct support_trace *trace, uint32_t thread, uint64_t time, uint64_t address);

void support_stack(struct support_trace *trace, uint32_t thread, uint32_t stack_id, const uint64_t *frames,
		   unsigned depth);
void support_module(struct support_trace *trace, uint64_t start, uint64_t end, uint64_t bias,
		    const char *path, const uint8_t *build_id, uint16_t build_id_bytes);
void support_thread(struct support_trace *trace, uint32_t thread,
		    const char *name); /* in the next threads block */

/* Pieces of everything not yet written go into events blocks. */
void support_flush(struct support_trace *trace);

/* A snapshot at `time` (from SUPPORT_START_TIME), watermark at the same moment, after a flush. `fields` may
 * be NULL; its mark, counters, stored and raw bytes are filled in. */
void support_snapshot(struct support_trace *trace, uint64_t time, const struct snapshot *fields);

/* A watermark alone. */
void support_mark(struct support_trace *trace, uint64_t time);

/* Any block, for unknown types and bad payloads. Returns its offset in the file. */
uint64_t support_block(struct support_trace *trace, uint16_t type, const void *payload, uint32_t bytes);

/* The same, with a time in its header before which it holds nothing. */
uint64_t support_block_from(struct support_trace *trace, uint64_t time, uint16_t type, const void *payload,
			    uint32_t bytes);

/* Adds to a counter without an event. */
void support_count(struct support_trace *trace, enum counter counter, uint64_t amount);

/* Ends: flush, last snapshot and end record at `time`, closes and frees. */
void support_end(struct support_trace *trace, uint64_t time);

/* Ends as SIGKILL does: no flush, no end record; <path>.rings holds the threads' chunks and counters as they
 * are. */
void support_kill(struct support_trace *trace);

/* A path in a directory of this process's own below /tmp (owned by the support code); the directory is
 * removed at exit. */
const char *support_path(const char *name);

/* Blocks get the start of the trace as their first time; the shim knows better. This gives each the time of
 * the mark before it, which is what last_time holds. */
void support_tell_first_times(const char *path);

/* Whole files. The result is malloc()ed. */
uint8_t *support_read_file(const char *path, size_t *bytes);
void support_write_file(const char *path, const void *data, size_t bytes);

#endif
