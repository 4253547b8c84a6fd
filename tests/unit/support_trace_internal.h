/* What support_trace.c, support_rings.c and support_files.c share. */
#ifndef MTRACE_SUPPORT_TRACE_INTERNAL_H
#define MTRACE_SUPPORT_TRACE_INTERNAL_H

#include <stdio.h>
#include <stdlib.h>

#include "tests/unit/support_trace.h"

#define SUPPORT_THREADS_MAX 64u

struct support_thread {
	bool used;
	bool announced;
	uint32_t sequence;
	struct codec_state state;
	struct chunk_header chunk;
	uint8_t *records; /* capacity + slack */
	uint8_t *at;
	uint32_t written; /* bytes of the chunk that are in the trace */
	char name[16];
	uint64_t counters[COUNTER_COUNT];
};

struct support_trace {
	char *path;
	FILE *file;
	struct support_options options;
	struct file_header header;
	uint64_t offset;
	uint64_t sequence;
	uint64_t watermark;
	uint64_t first_time; /* of the next block, where it is not SUPPORT_START_TIME */
	uint64_t stored_bytes, raw_bytes;
	struct support_thread threads[SUPPORT_THREADS_MAX];
	uint8_t *pieces; /* full chunks, waiting for the next flush */
	size_t pieces_bytes, pieces_capacity;
	uint8_t *modules;
	size_t modules_bytes;
	uint64_t shared[COUNTER_COUNT];
};

#define SUPPORT_CHECK(condition)                                                                             \
	do {                                                                                                 \
		if (!(condition)) {                                                                          \
			fprintf(stderr, "support_trace: %s failed\n", #condition);                           \
			abort();                                                                             \
		}                                                                                            \
	} while (0)

/* Closes the file and frees everything. */
void support_release(struct support_trace *trace);

#endif
