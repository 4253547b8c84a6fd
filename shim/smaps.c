#include "shim/smaps.h"

#include <string.h>

#include "shim/clock.h"
#include "shim/lines.h"
#include "shim/maps.h"
#include "shim/own.h"
#include "shim/raw.h"
#include "shim/text.h"
#include "shim/tracefile.h"

#define PATH	       "/proc/self/smaps"
#define RECORDS_MAX    8192u
#define KIB	       UINT64_C(1024)
#define RARE	       5u /* of a reading's share of the time: 1/1000 */
#define LEVEL	       1
#define FINISH_MOST_NS UINT64_C(200000000)

struct block {
	struct smaps_header header;
	struct smaps_record records[RECORDS_MAX];
};

static struct {
	struct block *block;
	struct smaps_record record; /* of the mapping whose lines are coming; its end is 0 before the first */
	bool eligible_seen;
	uint64_t written_end; /* of the records of this reading that stand in the file */
	bool read, wanted;
	uint64_t last_ns, cost_ns;
} state;

static void write_block(uint32_t flags)
{
	struct smaps_header *header = &state.block->header;
	header->flags = flags;
	header->end_time = clock_now();
	state.written_end = state.block->records[header->records - 1].end;
	tracefile_append(BLOCK_SMAPS, state.block,
			 sizeof *header + header->records * sizeof *state.block->records,
			 (struct block_times){header->time, header->end_time}, LEVEL);
	header->records = 0;
}

/* A mapping that has grown since the piece of the list before it was read comes once more, now as a whole:
 * what it was then goes. False where it overlaps with what is in the file already: then it is left out. */
static bool follows(const struct smaps_record *record)
{
	struct smaps_header *header = &state.block->header;
	while (header->records && state.block->records[header->records - 1].start >= record->start)
		header->records--;
	if (header->records)
		return state.block->records[header->records - 1].end <= record->start;
	return record->start >= state.written_end;
}

static void finish_record(void)
{
	struct smaps_header *header = &state.block->header;
	if (state.record.end == 0 || !follows(&state.record))
		return;
	if (!state.eligible_seen)
		state.record.flags |= SMAPS_NO_ELIGIBLE;
	if (header->records == RECORDS_MAX)
		write_block(0);
	state.block->records[header->records++] = state.record;
}

/* The kernel joins neighbours: only a mapping that is ours altogether is called so. */
static bool is_own(const struct mapping *mapping)
{
	uint64_t start = mapping->start;
	while (start < mapping->end && own_at(start, mapping->end, &start))
		;
	return start >= mapping->end && own_at(mapping->end - 1, mapping->end, &start);
}

static void begin_record(const struct mapping *mapping)
{
	finish_record();
	state.eligible_seen = false;
	state.record = (struct smaps_record){.start = mapping->start,
					     .end = mapping->end,
					     .flags = (mapping->inode || mapping->shared ? SMAPS_FILE : 0) |
						      (is_own(mapping) ? SMAPS_OWN : 0)};
}

/* " rd wr mr mw me hg": two letters each, as proc(5) lists them. */
static uint32_t flags_of(const char *text)
{
	static const struct {
		char letters[4];
		uint32_t flag;
	} names[] = {{" hg", SMAPS_HUGEPAGE},
		     {" nh", SMAPS_NO_HUGEPAGE},
		     {" ht", SMAPS_HUGETLB},
		     {" lo", SMAPS_LOCKED},
		     {" gd", SMAPS_GROWS_DOWN}};
	uint32_t flags = 0;
	for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
		if (strstr(text, names[i].letters))
			flags |= names[i].flag;
	return flags;
}

static uint64_t *field_of(const char *name, size_t length)
{
	static const struct {
		char name[20];
		uint32_t offset;
	} fields[] = {
		{"Rss", offsetof(struct smaps_record, rss_bytes)},
		{"Anonymous", offsetof(struct smaps_record, anonymous_bytes)},
		{"AnonHugePages", offsetof(struct smaps_record, anon_huge_bytes)},
		{"FilePmdMapped", offsetof(struct smaps_record, file_huge_bytes)},
		{"ShmemPmdMapped", offsetof(struct smaps_record, shmem_huge_bytes)},
		{"Shared_Hugetlb", offsetof(struct smaps_record, hugetlb_bytes)},
		{"Private_Hugetlb", offsetof(struct smaps_record, hugetlb_bytes)},
		{"Swap", offsetof(struct smaps_record, swap_bytes)},
	};
	for (unsigned i = 0; i < sizeof fields / sizeof *fields; i++)
		if (strlen(fields[i].name) == length && memcmp(fields[i].name, name, length) == 0)
			return (uint64_t *)(void *)((char *)&state.record + fields[i].offset);
	return NULL;
}

static bool visit(char *line, void *unused)
{
	(void)unused;
	struct mapping mapping;
	const char *colon = strchr(line, ':');
	if (!colon || line[0] < 'A' || line[0] > 'Z') {
		if (maps_parse(line, &mapping))
			begin_record(&mapping);
		return true;
	}
	size_t length = (size_t)(colon - line);
	const char *value = colon + 1;
	while (*value == ' ')
		value++;
	uint64_t *field = field_of(line, length);
	if (field) {
		*field += text_number(&value, 10) * KIB;
	} else if (strncmp(line, "VmFlags", length) == 0) {
		state.record.flags |= flags_of(colon + 1);
	} else if (strncmp(line, "THPeligible", length) == 0) {
		state.eligible_seen = true;
		state.record.flags |= *value == '1' ? SMAPS_ELIGIBLE : 0;
	}
	return true;
}

static void take(void)
{
	uint64_t start_ns = clock_thread_cpu_ns();
	if (!state.block)
		state.block = raw_reserve(sizeof *state.block);
	if (!state.block)
		return;
	state.block->header = (struct smaps_header){.time = clock_now()};
	state.record = (struct smaps_record){0};
	state.written_end = 0;
	bool whole = lines_visit(PATH, visit, NULL);
	finish_record();
	if (state.block->header.records)
		write_block(whole ? SMAPS_LAST : 0);
	state.read = true;
	state.wanted = false;
	state.last_ns = clock_monotonic_ns();
	state.cost_ns = clock_thread_cpu_ns() - start_ns;
}

void smaps_take(uint64_t interval_ms, bool alone)
{
	uint64_t cost_ns = alone || state.wanted ? state.cost_ns : RARE * state.cost_ns;
	if (!state.read || clock_cost_allows(clock_monotonic_ns(), interval_ms, state.last_ns, cost_ns))
		take();
}

void smaps_finish(void)
{
	if (!state.read || state.cost_ns < FINISH_MOST_NS)
		take();
}

void smaps_want(void)
{
	state.wanted = true;
}

void smaps_forget(void)
{
	state.read = state.wanted = false;
}
