/* Payloads of blocks that are nearly right: what a reader of them must bear. Each returns its bytes. */
#ifndef MTRACE_FUZZ_PAYLOADS_H
#define MTRACE_FUZZ_PAYLOADS_H

#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "trace/layout.h"

/* Rising addresses from a small range, so that readings and calls meet; now and then one is out of order. */
static uint64_t next_address(struct input *input, uint64_t address)
{
	uint8_t step = input_byte(input);
	return step == 255 ? 0 : address + step * UINT64_C(4096);
}

static size_t make_maps(struct input *input, uint8_t *to)
{
	static const char names[] = "\0[heap]\0[anon:tcmalloc_region_COLD]\0/bin/true\0/lib/x.so";
	struct maps_header header = {.time = input_byte(input) * UINT64_C(100), .names_bytes = sizeof names};
	uint64_t address = input_byte(input) * UINT64_C(4096);
	size_t bytes = sizeof header;
	header.own_stack = address;
	for (header.ranges = 0; header.ranges < input_byte(input) % 4u; header.ranges++) {
		struct maps_range range = {address, next_address(input, address)};
		memcpy(to + bytes, &range, sizeof range);
		bytes += sizeof range;
		address = next_address(input, range.end);
	}
	address = header.own_stack;
	for (header.mappings = 0; header.mappings < input_byte(input) % 8u; header.mappings++) {
		struct mapping_record record = {.start = address, .end = next_address(input, address)};
		record.flags = input_byte(input);
		record.inode = input_byte(input) % 4;
		record.name = input_byte(input) % sizeof names;
		memcpy(to + bytes, &record, sizeof record);
		bytes += sizeof record;
		address = next_address(input, record.end);
	}
	memcpy(to, &header, sizeof header);
	memcpy(to + bytes, names, sizeof names);
	return bytes + sizeof names;
}

/* A look at some huge pages of 16 small ones. */
#define FUZZ_HUGE_BYTES UINT64_C(65536)

static size_t make_pages(struct input *input, uint8_t *to)
{
	struct pages_header header = {.time = input_byte(input) * UINT64_C(100),
				      .page_bytes = 4096,
				      .huge_bytes = FUZZ_HUGE_BYTES,
				      .source = 1 + input_byte(input) % 2,
				      .ranges = 1,
				      .flags = input_byte(input) % 2};
	struct pages_range range = {.start = input_byte(input) % 16 * FUZZ_HUGE_BYTES, .time = header.time};
	range.end = range.start + (1 + input_byte(input) % 4) * FUZZ_HUGE_BYTES;
	range.flags = input_byte(input) % 4 == 0 ? PAGES_UNCHANGED : 0;
	size_t bytes = sizeof header + sizeof range;
	uint64_t address = range.start;
	for (unsigned runs = range.flags ? 0 : input_byte(input) % 16; runs > 0; runs--) {
		struct pages_run run = {.start = next_address(input, address),
					.pages = input_byte(input) % 32};
		run.flags = input_byte(input);
		memcpy(to + bytes, &run, sizeof run);
		bytes += sizeof run;
		header.runs++;
		address = run.start + run.pages * header.page_bytes;
	}
	range.runs = header.runs;
	memcpy(to, &header, sizeof header);
	memcpy(to + sizeof header, &range, sizeof range);
	return bytes;
}

static size_t make_smaps(struct input *input, uint8_t *to)
{
	struct smaps_header header = {.time = input_byte(input) * UINT64_C(100),
				      .flags = input_byte(input) % 4 ? SMAPS_LAST : 0};
	uint64_t address = input_byte(input) * UINT64_C(4096);
	size_t bytes = sizeof header;
	for (header.records = 0; header.records < input_byte(input) % 8u; header.records++) {
		struct smaps_record record = {.start = address, .end = next_address(input, address)};
		record.rss_bytes = input_byte(input) * UINT64_C(4096);
		record.anon_huge_bytes = input_byte(input) % 4 * FUZZ_HUGE_BYTES;
		input_take(input, &record.flags, sizeof record.flags);
		memcpy(to + bytes, &record, sizeof record);
		bytes += sizeof record;
		address = next_address(input, record.end);
	}
	memcpy(to, &header, sizeof header);
	return bytes;
}

/* Few threads and addresses, so that entries meet; times of opening among those of events. */
static size_t make_locks(struct input *input, uint8_t *to)
{
	struct locks_header header = {.time = input_byte(input) * UINT64_C(100),
				      .flags = input_byte(input) % 2};
	size_t bytes = sizeof header;
	header.end_time = header.time + input_byte(input);
	for (header.records = 0; header.records < input_byte(input) % 8u; header.records++) {
		struct lock_record record = {.address = input_byte(input) * UINT64_C(512),
					     .opened = input_byte(input) * UINT64_C(100)};
		input_take(input, &record.thread, 1);
		record.kind = input_byte(input) % 9;
		record.flags = input_byte(input) % 2;
		input_take(input, &record.acquired, 4);
		record.released = input_byte(input);
		record.contended = input_byte(input);
		input_take(input, &record.wait, 6);
		record.waits[input_byte(input) % LOCK_BUCKETS] = UINT32_MAX;
		memcpy(to + bytes, &record, sizeof record);
		bytes += sizeof record;
	}
	memcpy(to, &header, sizeof header);
	return bytes;
}

#endif
