#include "analyzer/reader_smaps.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/array.h"
#include "analyzer/blockcursor.h"

struct smaps_reader {
	struct block_cursor cursor;
	struct smaps_record *records; /* of the reading so far */
	size_t count, capacity;
	struct smaps_header header; /* of the block parsed last */
	uint64_t time;		    /* of the reading */
	bool begun;
	bool first; /* the block parsed last is the first of its reading */
	bool torn;  /* a block of the reading is missing */
};

struct smaps_reader *smaps_reader_open(struct trace *trace)
{
	struct smaps_reader *reader = calloc(1, sizeof *reader);
	if (reader)
		reader->cursor = (struct block_cursor){.trace = trace,
						       .type = BLOCK_SMAPS,
						       .damaged = "sums of the mappings cannot be read"};
	return reader;
}

void smaps_reader_close(struct smaps_reader *reader)
{
	if (!reader)
		return;
	block_cursor_close(&reader->cursor);
	free(reader->records);
	free(reader);
}

/* No figure is larger than its mapping, so that sums over a mapping cannot overflow. */
static bool record_good(const struct smaps_record *record, uint64_t end)
{
	uint64_t bytes = record->end - record->start;
	return record->start >= end && record->end > record->start && record->rss_bytes <= bytes &&
	       record->anonymous_bytes <= bytes && record->anon_huge_bytes <= bytes &&
	       record->file_huge_bytes <= bytes && record->shmem_huge_bytes <= bytes &&
	       record->hugetlb_bytes <= bytes && record->swap_bytes <= bytes;
}

/* The first block of a reading has another time than the one before; a rest of an unfinished one is dropped.
 */
static enum parse_result begin(struct smaps_reader *reader)
{
	const struct smaps_header *header = &reader->header;
	reader->first = !reader->begun || header->time != reader->time;
	if (reader->first)
		reader->count = 0;
	reader->begun = true;
	reader->time = header->time;
	bool room = array_reserve(&reader->records, &reader->capacity, reader->count + header->records + 1u,
				  sizeof *reader->records);
	return room ? PARSE_GOOD : PARSE_NO_MEMORY;
}

static enum parse_result parse(void *context, const uint8_t *payload, size_t bytes)
{
	struct smaps_reader *reader = context;
	struct smaps_header *header = &reader->header;
	if (bytes < sizeof *header)
		return PARSE_BAD;
	memcpy(header, payload, sizeof *header);
	if ((bytes - sizeof *header) / sizeof(struct smaps_record) < header->records)
		return PARSE_BAD;
	enum parse_result result = begin(reader);
	if (result != PARSE_GOOD)
		return result;
	uint64_t end = reader->count ? reader->records[reader->count - 1].end : 0;
	for (size_t i = 0; i < header->records; i++) {
		struct smaps_record *record = &reader->records[reader->count];
		memcpy(record, payload + sizeof *header + i * sizeof *record, sizeof *record);
		if (!record_good(record, end))
			return PARSE_BAD;
		end = record->end;
		reader->count++;
	}
	return PARSE_GOOD;
}

uint64_t smaps_reader_due(struct smaps_reader *reader)
{
	return block_cursor_due(&reader->cursor);
}

bool smaps_reader_next(struct smaps_reader *reader, uint64_t time, struct trace_smaps *smaps,
		       struct error *error)
{
	while (block_cursor_next(&reader->cursor, time, parse, reader, error)) {
		if (reader->first)
			reader->torn = reader->cursor.behind_hole;
		reader->torn |= !reader->first && reader->cursor.gap;
		if (!(reader->header.flags & SMAPS_LAST))
			continue;
		reader->begun = false;
		if (reader->torn)
			continue;
		*smaps = (struct trace_smaps){.time = reader->time,
					      .end_time = reader->header.end_time,
					      .records = reader->records,
					      .count = reader->count};
		return true;
	}
	return false;
}
