#include "analyzer/reader_locks.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/array.h"
#include "analyzer/blockcursor.h"

struct locks_reader {
	struct block_cursor cursor;
	struct lock_record *records;
	size_t capacity;
	struct trace_locks block; /* the one parsed last */
};

struct locks_reader *locks_reader_open(struct trace *trace)
{
	struct locks_reader *reader = calloc(1, sizeof *reader);
	if (reader)
		reader->cursor = (struct block_cursor){
			.trace = trace, .type = BLOCK_LOCKS, .damaged = "records of locks cannot be read"};
	return reader;
}

void locks_reader_close(struct locks_reader *reader)
{
	if (!reader)
		return;
	block_cursor_close(&reader->cursor);
	free(reader->records);
	free(reader);
}

static enum parse_result parse(void *context, const uint8_t *payload, size_t bytes)
{
	struct locks_reader *reader = context;
	struct locks_header header;
	if (bytes < sizeof header)
		return PARSE_BAD;
	memcpy(&header, payload, sizeof header);
	if (header.records > (bytes - sizeof header) / sizeof(struct lock_record) ||
	    header.end_time < header.time)
		return PARSE_BAD;
	if (!array_reserve(&reader->records, &reader->capacity, header.records + 1u, sizeof *reader->records))
		return PARSE_NO_MEMORY;
	size_t kept = 0;
	for (size_t i = 0; i < header.records; i++) {
		struct lock_record *record = &reader->records[kept];
		memcpy(record, payload + sizeof header + i * sizeof *record, sizeof *record);
		kept += lock_kind_name(record->kind) != NULL;
	}
	reader->block = (struct trace_locks){.time = header.time,
					     .end_time = header.end_time,
					     .whole = header.flags & LOCKS_WHOLE,
					     .records = reader->records,
					     .count = kept};
	return PARSE_GOOD;
}

uint64_t locks_reader_due(struct locks_reader *reader)
{
	return block_cursor_due(&reader->cursor);
}

bool locks_reader_next(struct locks_reader *reader, uint64_t time, struct trace_locks *locks,
		       struct error *error)
{
	bool good = block_cursor_next(&reader->cursor, time, parse, reader, error);
	if (good)
		*locks = reader->block;
	return good;
}

const char *lock_kind_name(unsigned kind)
{
	static const char *const names[LOCK_KINDS] = {
		[LOCK_MUTEX] = "mutex",	  [LOCK_RWLOCK] = "rwlock", [LOCK_SPIN] = "spin",
		[LOCK_COND] = "cond",	  [LOCK_SEM] = "sem",	    [LOCK_BARRIER] = "barrier",
		[LOCK_ATOMIC] = "atomic",
	};
	return kind < LOCK_KINDS ? names[kind] : NULL;
}
