#include "tests/unit/support_pages.h"

#include "tests/unit/support_trace_internal.h"

#define ITEMS_MAX 1024u

const struct support_machine support_machine = {SUPPORT_PAGE_BYTES, SUPPORT_HUGE_BYTES, PAGES_FROM_SCAN,
						false};

uint64_t support_looks(struct support_trace *trace, const struct pages_header *header,
		       const struct pages_range *ranges, size_t range_count, const struct pages_run *runs,
		       size_t run_count)
{
	static uint8_t payload[sizeof *header + ITEMS_MAX * (sizeof *ranges + sizeof *runs)];
	SUPPORT_CHECK(range_count <= ITEMS_MAX && run_count <= ITEMS_MAX);
	uint8_t *at = payload;
	memcpy(at, header, sizeof *header);
	at += sizeof *header;
	if (range_count)
		memcpy(at, ranges, range_count * sizeof *ranges);
	at += range_count * sizeof *ranges;
	if (run_count)
		memcpy(at, runs, run_count * sizeof *runs);
	at += run_count * sizeof *runs;
	uint64_t time = header->time > SUPPORT_START_TIME ? header->time - SUPPORT_START_TIME : 0;
	return support_block_from(trace, time, BLOCK_PAGES, payload, (uint32_t)(at - payload));
}

uint64_t support_look(struct support_trace *trace, const struct support_machine *machine, uint64_t time,
		      uint64_t start, uint64_t end, const struct page_run *runs)
{
	struct pages_run written[ITEMS_MAX];
	uint32_t count = 0;
	for (; runs && runs[count].end; count++) {
		SUPPORT_CHECK(count + 1 < ITEMS_MAX);
		uint64_t pages = (runs[count].end - runs[count].start) / machine->page_bytes;
		written[count] = (struct pages_run){runs[count].start, (uint32_t)pages, runs[count].flags};
	}
	struct pages_header header = {.time = SUPPORT_START_TIME + time,
				      .end_time = SUPPORT_START_TIME + time + 1,
				      .page_bytes = machine->page_bytes,
				      .huge_bytes = machine->huge_bytes,
				      .source = machine->source,
				      .ranges = 1,
				      .flags = machine->whole ? PAGES_WHOLE : 0,
				      .runs = count};
	struct pages_range range = {.start = start,
				    .end = end,
				    .time = SUPPORT_START_TIME + time,
				    .runs = count,
				    .flags = runs ? 0 : PAGES_UNCHANGED};
	return support_looks(trace, &header, &range, 1, written, count);
}

void support_smaps_part(struct support_trace *trace, uint64_t time, const struct smaps_record *records,
			size_t count, uint32_t flags)
{
	static uint8_t payload[sizeof(struct smaps_header) + ITEMS_MAX * sizeof *records];
	struct smaps_header header = {.time = SUPPORT_START_TIME + time,
				      .end_time = SUPPORT_START_TIME + time + 1,
				      .records = (uint32_t)count,
				      .flags = flags};
	SUPPORT_CHECK(count <= ITEMS_MAX);
	memcpy(payload, &header, sizeof header);
	if (count)
		memcpy(payload + sizeof header, records, count * sizeof *records);
	support_block_from(trace, time, BLOCK_SMAPS, payload,
			   (uint32_t)(sizeof header + count * sizeof *records));
}

void support_smaps(struct support_trace *trace, uint64_t time, const struct smaps_record *records)
{
	size_t count = 0;
	while (records[count].end)
		count++;
	support_smaps_part(trace, time, records, count, SMAPS_LAST);
}

void support_settings(struct support_trace *trace, uint64_t time, bool whole, const char *lines)
{
	static uint8_t payload[16384];
	size_t bytes = strlen(lines);
	struct settings_header header = {.time = SUPPORT_START_TIME + time,
					 .flags = whole ? SETTINGS_WHOLE : 0,
					 .bytes = (uint32_t)bytes};
	SUPPORT_CHECK(sizeof header + bytes <= sizeof payload);
	memcpy(payload, &header, sizeof header);
	memcpy(payload + sizeof header, lines, bytes);
	support_block_from(trace, time, BLOCK_SETTINGS, payload, (uint32_t)(sizeof header + bytes));
}

/* ---- the picture of a trace of such blocks ------------------------------------------------------------ */

#define LAP_BYTES  65536u
#define FILL_BYTES 960u
#define FILL_NS	   2000000u

static struct support_picture picture_of(const struct support_options *options,
					 void (*write)(struct support_trace *trace))
{
	struct error error = {0};
	const char *path = support_path("pages.mtr");
	struct support_trace *made = support_open(path, options);
	for (unsigned i = 0; options->region_bytes && i < 3 * LAP_BYTES / FILL_BYTES; i++)
		support_block_from(made, FILL_NS, BLOCK_ALLOCATOR, (char[FILL_BYTES]){0}, FILL_BYTES);
	if (write)
		write(made);
	support_end(made, 1000000);
	struct support_picture picture = {.trace = trace_open(path, &error)};
	SUPPORT_CHECK(picture.trace);
	picture.pages = pages_open(picture.trace);
	SUPPORT_CHECK(picture.pages);
	return picture;
}

struct support_picture support_picture_keys(const char *keys, void (*write)(struct support_trace *trace))
{
	return picture_of(&(struct support_options){.full = true, .extra_keys = keys}, write);
}

struct support_picture support_picture_wrapped(void (*write)(struct support_trace *trace))
{
	return picture_of(&(struct support_options){.full = true, .region_bytes = LAP_BYTES}, write);
}

struct support_picture support_picture_open(void (*write)(struct support_trace *trace))
{
	return support_picture_keys(NULL, write);
}

void support_picture_until(struct support_picture *picture, uint64_t time)
{
	struct error error = {0};
	SUPPORT_CHECK(
		pages_until(picture->pages, time == UINT64_MAX ? time : SUPPORT_START_TIME + time, &error));
	SUPPORT_CHECK(!pages_check(picture->pages));
}

void support_picture_close(struct support_picture *picture)
{
	pages_close(picture->pages);
	trace_close(picture->trace);
}
