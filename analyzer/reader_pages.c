#include "analyzer/reader_pages.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/array.h"
#include "analyzer/blockcursor.h"

/* No machine has smaller pages, nor a larger page middle directory entry (64 KiB pages: 512 MiB). */
#define PAGE_BYTES_MIN UINT64_C(4096)
#define HUGE_BYTES_MAX (UINT64_C(1) << 40)

struct pages_reader {
	struct block_cursor cursor;
	struct page_look *looks;
	size_t looks_capacity;
	struct page_run *runs;
	size_t runs_capacity;
	struct trace_pages block; /* the one parsed last */
};

struct pages_reader *pages_reader_open(struct trace *trace)
{
	struct pages_reader *reader = calloc(1, sizeof *reader);
	if (reader)
		reader->cursor = (struct block_cursor){
			.trace = trace, .type = BLOCK_PAGES, .damaged = "a look at the pages cannot be read"};
	return reader;
}

void pages_reader_close(struct pages_reader *reader)
{
	if (!reader)
		return;
	block_cursor_close(&reader->cursor);
	free(reader->looks);
	free(reader->runs);
	free(reader);
}

/* ---- one payload -------------------------------------------------------------------------------------- */

static bool power_of_two(uint64_t value)
{
	return value && (value & (value - 1)) == 0;
}

static bool header_good(const struct pages_header *header, size_t bytes)
{
	uint64_t wanted = sizeof *header + (uint64_t)header->ranges * sizeof(struct pages_range) +
			  (uint64_t)header->runs * sizeof(struct pages_run);
	bool sizes = power_of_two(header->page_bytes) && header->page_bytes >= PAGE_BYTES_MIN &&
		     header->page_bytes <= HUGE_BYTES_MAX &&
		     (!header->huge_bytes ||
		      (power_of_two(header->huge_bytes) && header->huge_bytes > header->page_bytes &&
		       header->huge_bytes <= HUGE_BYTES_MAX));
	bool source = header->source == PAGES_FROM_SCAN || header->source == PAGES_FROM_KPAGEFLAGS;
	return wanted <= bytes && sizes && source;
}

/* Ends of ranges lie on huge pages where their size is known. */
static bool take_looks(struct pages_reader *reader, const uint8_t *at, const struct pages_header *header)
{
	uint64_t unit = header->huge_bytes ? header->huge_bytes : header->page_bytes;
	uint64_t end = 0, runs = 0;
	for (size_t i = 0; i < header->ranges; i++) {
		struct pages_range range;
		memcpy(&range, at + i * sizeof range, sizeof range);
		bool unchanged = range.flags & PAGES_UNCHANGED;
		if (range.start < end || range.end <= range.start || (range.start | range.end) & (unit - 1))
			return false;
		if (range.runs > header->runs - runs || (unchanged && range.runs))
			return false;
		end = range.end;
		reader->looks[i] = (struct page_look){.start = range.start,
						      .end = range.end,
						      .time = range.time,
						      .unchanged = unchanged,
						      .first_run = (size_t)runs,
						      .run_count = range.runs};
		runs += range.runs;
	}
	return runs == header->runs;
}

static bool take_runs(struct pages_reader *reader, const uint8_t *at, const struct page_look *look,
		      uint64_t page_bytes)
{
	uint64_t end = look->start;
	for (size_t i = look->first_run; i < look->first_run + look->run_count; i++) {
		struct pages_run run;
		memcpy(&run, at + i * sizeof run, sizeof run);
		if (run.start < end || run.start >= look->end || run.start & (page_bytes - 1) || !run.pages ||
		    run.pages > (look->end - run.start) / page_bytes ||
		    !(run.flags & (PAGE_PRESENT | PAGE_SWAPPED)))
			return false;
		end = run.start + run.pages * page_bytes;
		reader->runs[i] = (struct page_run){run.start, end, run.flags};
	}
	return true;
}

static enum parse_result parse(void *context, const uint8_t *payload, size_t bytes)
{
	struct pages_reader *reader = context;
	struct pages_header header;
	if (bytes < sizeof header)
		return PARSE_BAD;
	memcpy(&header, payload, sizeof header);
	if (!header_good(&header, bytes))
		return PARSE_BAD;
	if (!array_reserve(&reader->looks, &reader->looks_capacity, header.ranges + 1u,
			   sizeof *reader->looks) ||
	    !array_reserve(&reader->runs, &reader->runs_capacity, header.runs + 1u, sizeof *reader->runs))
		return PARSE_NO_MEMORY;
	const uint8_t *ranges = payload + sizeof header;
	const uint8_t *runs = ranges + header.ranges * sizeof(struct pages_range);
	if (!take_looks(reader, ranges, &header))
		return PARSE_BAD;
	for (size_t i = 0; i < header.ranges; i++)
		if (!take_runs(reader, runs, &reader->looks[i], header.page_bytes))
			return PARSE_BAD;
	reader->block = (struct trace_pages){.time = header.time,
					     .end_time = header.end_time,
					     .page_bytes = header.page_bytes,
					     .huge_bytes = header.huge_bytes,
					     .source = (enum pages_source)header.source,
					     .whole = header.flags & PAGES_WHOLE,
					     .looks = reader->looks,
					     .look_count = header.ranges,
					     .runs = reader->runs,
					     .run_count = header.runs};
	return PARSE_GOOD;
}

/* ---- one after the other ------------------------------------------------------------------------------ */

uint64_t pages_reader_due(struct pages_reader *reader)
{
	return block_cursor_due(&reader->cursor);
}

bool pages_reader_next(struct pages_reader *reader, uint64_t time, struct trace_pages *pages,
		       struct error *error)
{
	bool good = block_cursor_next(&reader->cursor, time, parse, reader, error);
	if (good)
		*pages = reader->block;
	return good;
}
