/*
 * The events block in the making: chunks are copied into it as pieces, and given back once it is in the trace
 * file. By the writer only.
 */
#ifndef MTRACE_GATHER_H
#define MTRACE_GATHER_H

#include <stdbool.h>

#include "trace/layout.h"

#define GATHER_BLOCK_BYTES (256u << 10) /* a block is written when it has this much */

/* Empties the block, reserves its memory the first time. False where that fails. */
bool gather_start(void);

/* Adds what is new of a chunk since it was added last; the chunk stays its owner's. */
void gather_chunk(struct chunk_header *chunk);

/* Adds all chunks that were handed over before the call; they are released with the block. Writes full blocks
 * on the way. Ends also where the guest hands over faster than this writes. False where one of them did not
 * come. */
bool gather_ready(void);

/* Writes the block, if there is anything in it; what the disk refuses is counted as lost. */
void gather_write(void);

/* Blocks written so far, of about GATHER_BLOCK_BYTES each. */
uint64_t gather_blocks(void);

#endif
