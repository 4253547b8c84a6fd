/*
 * The trace file as the writer sees it: blocks appended to the end, or round and round in a flight recorder's
 * region. Used by one thread at a time. Format: trace/layout.h, trace/FORMAT.md.
 */
#ifndef MTRACE_TRACEFILE_H
#define MTRACE_TRACEFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/layout.h"

#define TRACEFILE_PATH_BYTES 4352 /* the trace's longest path and a suffix */

/*
 * Creates the trace at `path`, or, where that exists, at path.2, path.3, ...; then path.rings must be free
 * too. Writes the file header. `max_mib` > 0: a flight recorder's region of that size. Returns 0 or -errno;
 * tracefile_path() then says what was created.
 */
int tracefile_create(const char *path, const uint8_t nonce[16], uint64_t max_mib);

/* Writes the process block; before any other block, once. False where the disk refused. */
bool tracefile_write_process(const char *text, size_t bytes);

/* Opens the file again by its path, for a thread that has a descriptor table of its own. Returns 0 or -errno.
 */
int tracefile_open(void);

/* Gives the descriptor (-1: none), for keeping it when others are closed. */
int tracefile_fd(void);

/* A trace that could not be begun: closes and removes what tracefile_create() made, if anything. */
void tracefile_discard(void);

/* Closes the descriptor; the rest of the state stays. */
void tracefile_close(void);

struct block_times {
	uint64_t first, last; /* time units */
};

/*
 * Appends a block. `level`: zstd's, or TRACEFILE_PLAIN for no compression. Returns false where it could not
 * be written (disk full, size limit, descriptor gone): nothing of it counts as written.
 */
#define TRACEFILE_PLAIN 0
bool tracefile_append(enum block_type type, const void *payload, size_t bytes, struct block_times times,
		      int level);

/* Cuts off what a block that found no room left behind the end of the file. */
void tracefile_end(void);

/* Where the guest shares our descriptors: moves this file's and `*other` to high numbers, out of the way of
 * what the guest opens after it has closed all it does not know. */
void tracefile_move_high(int *other);

/* A flight recorder's region has been half filled since the last call that returned true, or is new: so that
 * there is always one whole keyframe in it. */
bool tracefile_keyframe_due(void);

uint64_t tracefile_stored_bytes(void);
uint64_t tracefile_raw_bytes(void);
const char *tracefile_path(void);
void tracefile_rings_path(char *path); /* TRACEFILE_PATH_BYTES */

#endif
