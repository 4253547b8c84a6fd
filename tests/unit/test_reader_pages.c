/* Blocks about pages, smaps and settings: what is taken, and what is damage. */
#include <criterion/criterion.h>

#include "analyzer/reader_pages.h"
#include "analyzer/reader_settings.h"
#include "analyzer/reader_smaps.h"
#include "tests/unit/support_pages.h"

#define PAGE  SUPPORT_PAGE_BYTES
#define HUGE  SUPPORT_HUGE_BYTES
#define BASE  UINT64_C(0x7f0000000000)
#define START SUPPORT_START_TIME

static struct trace *open_written(void (*write)(struct support_trace *trace))
{
	struct error error = {0};
	const char *path = support_path("blocks.mtr");
	struct support_trace *made = support_open(path, &(struct support_options){.full = true});
	write(made);
	support_end(made, 1000000);
	struct trace *trace = trace_open(path, &error);
	cr_assert(trace, "%s", error.text);
	return trace;
}

/* ---- looks -------------------------------------------------------------------------------------------- */

/* A good block of two looks and three runs; each case spoils one thing. */
struct look_case {
	struct pages_header header;
	struct pages_range ranges[2];
	struct pages_run runs[3];
};

static const struct look_case good_looks = {
	.header = {.time = START + 10,
		   .end_time = START + 20,
		   .page_bytes = PAGE,
		   .huge_bytes = HUGE,
		   .source = PAGES_FROM_SCAN,
		   .ranges = 2,
		   .runs = 3},
	.ranges = {{BASE, BASE + HUGE, START + 11, 2, 0}, {BASE + HUGE, BASE + 3 * HUGE, START + 12, 1, 0}},
	.runs = {{BASE, 1, PAGE_PRESENT},
		 {BASE + PAGE, 2, PAGE_SWAPPED},
		 {BASE + 3 * HUGE - PAGE, 1, PAGE_PRESENT | PAGE_FILE}},
};

static struct look_case now;

static void write_case(struct support_trace *trace)
{
	support_looks(trace, &now.header, now.ranges, 2, now.runs, 3);
	support_looks(trace, &good_looks.header, good_looks.ranges, 2, good_looks.runs, 3);
}

/* The number of blocks that can be read of the two; the others must be in the list of damage. */
static size_t blocks_read(void)
{
	struct error error = {0};
	struct trace *trace = open_written(write_case);
	struct pages_reader *reader = pages_reader_open(trace);
	struct trace_pages pages;
	size_t count = 0;
	while (pages_reader_next(reader, UINT64_MAX, &pages, &error))
		count++;
	cr_expect_eq(error.code, ERROR_NONE);
	cr_expect_eq(trace_damage_count(trace), 2 - count);
	pages_reader_close(reader);
	trace_close(trace);
	return count;
}

#define SPOILED(change)                                                                                      \
	do {                                                                                                 \
		now = good_looks;                                                                            \
		change;                                                                                      \
		cr_expect_eq(blocks_read(), 1, "%s was taken", #change);                                     \
	} while (0)

Test(reader_pages, a_block_is_as_it_was_written)
{
	struct error error = {0};
	now = good_looks;
	struct trace *trace = open_written(write_case);
	struct pages_reader *reader = pages_reader_open(trace);
	struct trace_pages pages;
	cr_expect_eq(pages_reader_due(reader), START + 10);
	cr_expect(!pages_reader_next(reader, START + 9, &pages, &error));
	cr_assert(pages_reader_next(reader, START + 10, &pages, &error));
	cr_expect_eq(pages.source, PAGES_FROM_SCAN);
	cr_assert_eq(pages.look_count, 2);
	cr_expect_eq(pages.looks[1].first_run, 2);
	cr_expect_eq(pages.looks[1].time, START + 12);
	cr_assert_eq(pages.run_count, 3);
	cr_expect_eq(pages.runs[1].end, BASE + 3 * PAGE);
	cr_expect_eq(pages.runs[2].flags, PAGE_PRESENT | PAGE_FILE);
	cr_assert(pages_reader_next(reader, UINT64_MAX, &pages, &error));
	cr_expect(!pages_reader_next(reader, UINT64_MAX, &pages, &error));
	cr_expect_eq(pages_reader_due(reader), UINT64_MAX);
	pages_reader_close(reader);
	trace_close(trace);
}

Test(reader_pages, bad_headers_are_damage)
{
	now = good_looks;
	cr_expect_eq(blocks_read(), 2);
	SPOILED(now.header.page_bytes = 0);
	SPOILED(now.header.page_bytes = 5000);
	SPOILED(now.header.page_bytes = 1024);
	SPOILED(now.header.huge_bytes = PAGE);
	SPOILED(now.header.huge_bytes = UINT64_C(1) << 50);
	SPOILED(now.header.source = 0);
	SPOILED(now.header.source = 3);
	SPOILED(now.header.ranges = 1);
	SPOILED(now.header.ranges = UINT32_MAX);
	SPOILED(now.header.runs = 2);
	SPOILED(now.header.runs = UINT32_MAX);
}

Test(reader_pages, bad_ranges_are_damage)
{
	SPOILED(now.ranges[0].end = now.ranges[0].start);
	SPOILED(now.ranges[0].end = BASE + 2 * HUGE); /* overlaps the next */
	SPOILED(now.ranges[0].start = BASE + HUGE);   /* behind its end */
	SPOILED(now.ranges[1].start = BASE + HUGE + PAGE);
	SPOILED(now.ranges[1].end = BASE + 3 * HUGE - PAGE);
	SPOILED(now.ranges[0].runs = 3);
	SPOILED(now.ranges[0].runs = 1);
	SPOILED(now.ranges[0].runs = UINT32_MAX);
	SPOILED(now.ranges[1].flags = PAGES_UNCHANGED);
}

Test(reader_pages, bad_runs_are_damage)
{
	SPOILED(now.runs[0].start = BASE - PAGE);
	SPOILED(now.runs[0].start = BASE + 1);
	SPOILED(now.runs[0].pages = 0);
	SPOILED(now.runs[0].pages = 2); /* overlaps the next */
	SPOILED(now.runs[0].flags = 0);
	SPOILED(now.runs[0].flags = PAGE_HUGE);
	SPOILED(now.runs[1].pages = 512); /* reaches over its range */
	SPOILED(now.runs[1].pages = UINT32_MAX);
	SPOILED(now.runs[2].start = BASE + 3 * HUGE);
	SPOILED(now.runs[2].start = UINT64_MAX - PAGE + 1);
}

/* Where the size of huge pages is not known, ranges lie on pages alone. */
Test(reader_pages, ranges_lie_on_pages_where_huge_ones_are_unknown)
{
	now = good_looks;
	now.header.huge_bytes = 0;
	now.ranges[1].end -= PAGE;
	now.runs[2].start -= PAGE;
	cr_expect_eq(blocks_read(), 2);
}

static void write_short(struct support_trace *trace)
{
	support_block(trace, BLOCK_PAGES, &good_looks.header, 47);
	support_block(trace, BLOCK_SMAPS, &good_looks.header, 23);
	support_block(trace, BLOCK_SETTINGS, &good_looks.header, 15);
}

Test(reader_pages, blocks_without_a_header_are_damage)
{
	struct error error = {0};
	struct trace *trace = open_written(write_short);
	struct pages_reader *pages = pages_reader_open(trace);
	struct smaps_reader *smaps = smaps_reader_open(trace);
	struct settings_reader *settings = settings_reader_open(trace);
	cr_expect(!pages_reader_next(pages, UINT64_MAX, &(struct trace_pages){0}, &error));
	cr_expect(!smaps_reader_next(smaps, UINT64_MAX, &(struct trace_smaps){0}, &error));
	cr_expect(!settings_reader_next(settings, UINT64_MAX, &(struct trace_settings){0}, &error));
	cr_expect_eq(error.code, ERROR_NONE);
	cr_expect_eq(trace_damage_count(trace), 3);
	pages_reader_close(pages);
	smaps_reader_close(smaps);
	settings_reader_close(settings);
	trace_close(trace);
}

/* ---- smaps -------------------------------------------------------------------------------------------- */

static const struct smaps_record first = {.start = BASE, .end = BASE + HUGE, .rss_bytes = PAGE};
static const struct smaps_record second = {.start = BASE + HUGE, .end = BASE + 2 * HUGE};
static const struct smaps_record oversized = {
	.start = BASE + HUGE, .end = BASE + 2 * HUGE, .rss_bytes = 3 * HUGE};

static void write_readings(struct support_trace *trace)
{
	support_smaps_part(trace, 10, &first, 1, 0); /* never finished */
	support_smaps_part(trace, 20, &first, 1, 0);
	support_smaps_part(trace, 20, &second, 1, SMAPS_LAST);
	support_smaps_part(trace, 30, &second, 1, 0);
	support_smaps_part(trace, 30, &first, 1, SMAPS_LAST); /* goes back: damage, and with it the reading */
	support_smaps_part(trace, 40, &oversized, 1, SMAPS_LAST);
	support_smaps_part(trace, 50, &first, 1, 0);
	support_smaps_part(trace, 50, &oversized, 1, 0);
	support_smaps_part(trace, 50, &second, 1, SMAPS_LAST); /* its middle is missing */
	support_smaps_part(trace, 60, &second, 1, SMAPS_LAST);
}

Test(reader_smaps, only_whole_readings_are_handed_on)
{
	struct error error = {0};
	struct trace *trace = open_written(write_readings);
	struct smaps_reader *reader = smaps_reader_open(trace);
	struct trace_smaps smaps;
	cr_expect_eq(smaps_reader_due(reader), START + 10);
	cr_assert(smaps_reader_next(reader, UINT64_MAX, &smaps, &error));
	cr_expect_eq(smaps.time, START + 20);
	cr_assert_eq(smaps.count, 2);
	cr_expect_eq(smaps.records[0].rss_bytes, PAGE);
	cr_expect_eq(smaps.records[1].start, BASE + HUGE);
	cr_assert(smaps_reader_next(reader, UINT64_MAX, &smaps, &error));
	cr_expect_eq(smaps.time, START + 60);
	cr_expect_eq(smaps.count, 1);
	cr_expect(!smaps_reader_next(reader, UINT64_MAX, &smaps, &error));
	cr_expect_eq(error.code, ERROR_NONE);
	cr_expect_eq(trace_damage_count(trace), 3);
	smaps_reader_close(reader);
	trace_close(trace);
}

/* ---- settings ----------------------------------------------------------------------------------------- */

static void write_settings(struct support_trace *trace)
{
	support_settings(trace, 10, true,
			 "thp.enabled=always\nnonsense\n=5\nvmstat.thp_fault_alloc=7\na=b=c\n");
	support_settings(trace, 20, false, "thp.enabled=never"); /* no end of the line */
	support_settings(trace, 30, false, "");
}

Test(reader_settings, lines_are_names_and_values)
{
	struct error error = {0};
	struct trace *trace = open_written(write_settings);
	struct settings_reader *reader = settings_reader_open(trace);
	struct trace_settings settings;
	cr_assert(settings_reader_next(reader, UINT64_MAX, &settings, &error));
	cr_expect(settings.whole);
	cr_assert_eq(settings.count, 3);
	cr_expect_str_eq(settings.lines[0].name, "thp.enabled");
	cr_expect_str_eq(settings.lines[0].value, "always");
	cr_expect_str_eq(settings.lines[1].value, "7");
	cr_expect_str_eq(settings.lines[2].value, "b=c");
	cr_assert(settings_reader_next(reader, UINT64_MAX, &settings, &error));
	cr_expect_eq(settings.time, START + 30);
	cr_expect_eq(settings.count, 0);
	cr_expect(!settings.whole);
	cr_expect(!settings_reader_next(reader, UINT64_MAX, &settings, &error));
	cr_expect_eq(trace_damage_count(trace), 1);
	settings_reader_close(reader);
	trace_close(trace);
}
