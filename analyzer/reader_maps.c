#include "analyzer/reader_maps.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/array.h"
#include "analyzer/reader_internal.h"

struct maps_reader {
	struct trace *trace;
	size_t next_block;
	struct block_buffer buffer;
	struct maps_range *ranges;
	size_t ranges_capacity;
	struct trace_mapping *mappings;
	size_t mappings_capacity;
};

struct maps_reader *maps_reader_open(struct trace *trace)
{
	struct maps_reader *reader = calloc(1, sizeof *reader);
	if (reader)
		reader->trace = trace;
	return reader;
}

void maps_reader_close(struct maps_reader *reader)
{
	if (!reader)
		return;
	free(reader->buffer.data);
	free(reader->buffer.stored);
	free(reader->ranges);
	free(reader->mappings);
	free(reader);
}

/* ---- one payload -------------------------------------------------------------------------------------- */

static bool sizes_fit(const struct maps_header *header, size_t bytes)
{
	uint64_t wanted = sizeof *header + (uint64_t)header->ranges * sizeof(struct maps_range) +
			  (uint64_t)header->mappings * sizeof(struct mapping_record) + header->names_bytes;
	return wanted <= bytes && header->names_bytes > 0;
}

static bool take_ranges(struct maps_reader *reader, const uint8_t *at, size_t count)
{
	uint64_t end = 0;
	memcpy(reader->ranges, at, count * sizeof *reader->ranges);
	for (size_t i = 0; i < count; i++) {
		if (reader->ranges[i].start < end || reader->ranges[i].end <= reader->ranges[i].start)
			return false;
		end = reader->ranges[i].end;
	}
	return true;
}

static bool take_mappings(struct maps_reader *reader, const uint8_t *at, const struct maps_header *header)
{
	const char *names = (const char *)at + header->mappings * sizeof(struct mapping_record);
	uint64_t end = 0;
	if (names[header->names_bytes - 1] != '\0')
		return false;
	for (size_t i = 0; i < header->mappings; i++) {
		struct mapping_record record;
		memcpy(&record, at + i * sizeof record, sizeof record);
		if (record.start < end || record.end <= record.start || record.name >= header->names_bytes)
			return false;
		end = record.end;
		reader->mappings[i] = (struct trace_mapping){.start = record.start,
							     .end = record.end,
							     .device = record.device,
							     .inode = record.inode,
							     .flags = record.flags,
							     .name = names + record.name};
	}
	return true;
}

enum parse_result { PARSED, BAD, NO_MEMORY };

static enum parse_result parse(struct maps_reader *reader, size_t bytes, struct trace_maps *maps)
{
	const uint8_t *data = reader->buffer.data;
	struct maps_header header;
	if (bytes < sizeof header)
		return BAD;
	memcpy(&header, data, sizeof header);
	if (!sizes_fit(&header, bytes))
		return BAD;
	if (!array_reserve(&reader->ranges, &reader->ranges_capacity, header.ranges + 1u,
			   sizeof *reader->ranges) ||
	    !array_reserve(&reader->mappings, &reader->mappings_capacity, header.mappings + 1u,
			   sizeof *reader->mappings))
		return NO_MEMORY;
	const uint8_t *ranges = data + sizeof header;
	const uint8_t *mappings = ranges + header.ranges * sizeof(struct maps_range);
	if (!take_ranges(reader, ranges, header.ranges) || !take_mappings(reader, mappings, &header))
		return BAD;
	*maps = (struct trace_maps){.time = header.time,
				    .own_stack = header.own_stack,
				    .whole = header.flags & MAPS_WHOLE,
				    .ranges = reader->ranges,
				    .range_count = header.ranges,
				    .mappings = reader->mappings,
				    .mapping_count = header.mappings};
	return PARSED;
}

/* ---- one after the other ------------------------------------------------------------------------------ */

static bool out_of_memory(struct error *error)
{
	return error_set(error, ERROR_INTERNAL, NULL, ERROR_NO_OFFSET, "out of memory");
}

/* True where the block is good and stands in *maps. */
static bool load(struct maps_reader *reader, struct block_entry *entry, struct trace_maps *maps,
		 struct error *error)
{
	enum block_status status = block_load(reader->trace, entry, &reader->buffer, error);
	if (status == BLOCK_FAILED)
		return error->code ? false : out_of_memory(error);
	enum parse_result result = status == BLOCK_READ ? parse(reader, entry->raw_bytes, maps) : BAD;
	if (status == BLOCK_READ && result == BAD)
		damage_add(reader->trace, reader->trace->path, entry->offset, entry->stored_bytes,
			   "a list of mappings cannot be read");
	return result == NO_MEMORY ? out_of_memory(error) : result == PARSED;
}

/* The next block that holds mappings, or NULL. */
static struct block_entry *next_entry(struct maps_reader *reader)
{
	struct trace *trace = reader->trace;
	while (reader->next_block < trace->blocks_count &&
	       trace->blocks[reader->next_block].type != BLOCK_MAPS)
		reader->next_block++;
	return reader->next_block < trace->blocks_count ? &trace->blocks[reader->next_block] : NULL;
}

uint64_t maps_reader_due(struct maps_reader *reader)
{
	const struct block_entry *entry = next_entry(reader);
	return entry ? entry->first_time : UINT64_MAX;
}

bool maps_reader_next(struct maps_reader *reader, uint64_t time, struct trace_maps *maps, struct error *error)
{
	struct block_entry *entry;
	while ((entry = next_entry(reader)) && entry->first_time <= time) {
		bool loaded = load(reader, entry, maps, error);
		reader->next_block++;
		if (loaded || error->code)
			return loaded;
	}
	return false;
}
