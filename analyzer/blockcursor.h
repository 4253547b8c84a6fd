/*
 * The blocks of one type in a trace, one after the other, each checked by a parser of its own. For the
 * reader's files.
 */
#ifndef MTRACE_BLOCKCURSOR_H
#define MTRACE_BLOCKCURSOR_H

#include "analyzer/reader_internal.h"

enum parse_result {
	PARSE_GOOD,
	PARSE_BAD,	 /* damage: listed and passed over */
	PARSE_NO_MEMORY, /* an error */
};

struct block_cursor {
	struct trace *trace;
	enum block_type type;
	const char *damaged; /* what a block that cannot be parsed is called in the list of damage */
	size_t next;
	struct block_buffer buffer;

	/* What is told in several blocks may lack one: of the last good block, */
	bool gap; /* since the good one before it, a block is missing or, being of this type, damaged */
	bool behind_hole; /* the block directly before it in the trace is missing or damaged likewise */
	size_t last;	  /* its index */
	bool any_good;
	bool skipped; /* a damaged one since then */
};

/* When the next block begins; UINT64_MAX: there is none. */
uint64_t block_cursor_due(struct block_cursor *cursor);

/*
 * The next good block that begins at `time` or before. `parse` gets its payload, which stays in the cursor's
 * buffer until the next call. False where there is none, or on an error, which sets error->code.
 */
bool block_cursor_next(struct block_cursor *cursor, uint64_t time,
		       enum parse_result (*parse)(void *context, const uint8_t *payload, size_t bytes),
		       void *context, struct error *error);

void block_cursor_close(struct block_cursor *cursor);

#endif
