/*
 * Blocks about pages for tests: looks, readings of smaps, settings. Times count from SUPPORT_START_TIME.
 */
#ifndef MTRACE_SUPPORT_PAGES_H
#define MTRACE_SUPPORT_PAGES_H

#include "analyzer/pages.h"
#include "tests/unit/support_trace.h"

#define SUPPORT_PAGE_BYTES UINT64_C(4096)
#define SUPPORT_HUGE_BYTES (UINT64_C(2) << 20)

/* How a machine has its pages. */
struct support_machine {
	uint64_t page_bytes;
	uint64_t huge_bytes;
	enum pages_source source;
	bool whole; /* each look ends a look at everything */
};

/* 4 KiB, 2 MiB, PAGES_FROM_SCAN. */
extern const struct support_machine support_machine;

/* A look at [start, end) at `time`, as a block of its own. The runs end with one whose `end` is 0; runs NULL:
 * unchanged. Returns the block's offset. */
uint64_t support_look(struct support_trace *trace, const struct support_machine *machine, uint64_t time,
		      uint64_t start, uint64_t end, const struct page_run *runs);

/* A block of any contents, whose counts may be wrong. */
uint64_t support_looks(struct support_trace *trace, const struct pages_header *header,
		       const struct pages_range *ranges, size_t range_count, const struct pages_run *runs,
		       size_t run_count);

/* A reading of smaps in one block, of records that end with one whose `end` is 0. */
void support_smaps(struct support_trace *trace, uint64_t time, const struct smaps_record *records);

/* One block of a reading. */
void support_smaps_part(struct support_trace *trace, uint64_t time, const struct smaps_record *records,
			size_t count, uint32_t flags);

/* `lines` with their newlines. */
void support_settings(struct support_trace *trace, uint64_t time, bool whole, const char *lines);

/* ---- the picture of a trace of such blocks ------------------------------------------------------------ */

struct support_picture {
	struct trace *trace;
	struct pages *pages;
};

/* Has read the trace that `write` makes, and applied nothing yet. */
struct support_picture support_picture_open(void (*write)(struct support_trace *trace));
struct support_picture support_picture_keys(const char *keys, void (*write)(struct support_trace *trace));
/* The same of a flight recorder that has lost what was written before it. */
struct support_picture support_picture_wrapped(void (*write)(struct support_trace *trace));
void support_picture_until(struct support_picture *picture, uint64_t time);
void support_picture_close(struct support_picture *picture);

#endif
