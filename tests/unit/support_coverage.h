/*
 * A trace gone through for its coverage, and a layout with memory of every kind. Times count from
 * SUPPORT_START_TIME.
 */
#ifndef MTRACE_SUPPORT_COVERAGE_H
#define MTRACE_SUPPORT_COVERAGE_H

#include "analyzer/coverage.h"
#include "tests/unit/support_pages.h"
#include "tests/unit/support_regions.h"

#define SUPPORT_BASE  UINT64_C(0x7f0000000000)
#define SUPPORT_AT(n) (SUPPORT_BASE + (n)*SUPPORT_HUGE_BYTES)

struct support_coverage {
	const char *path;
	struct trace *trace;
	struct regions *regions;
	struct pages *pages;
	struct coverage *coverage;
};

/* `write` makes the trace up to its end, at 10 s; `keys` are more lines for the process block, or NULL. */
struct support_coverage support_coverage_open(const char *keys, void (*write)(struct support_trace *trace));
void support_coverage_close(struct support_coverage *world);

/* The trace alone, for commands. Returns its path. */
const char *support_coverage_trace(const char *keys, void (*write)(struct support_trace *trace));

void support_map_call(struct support_trace *trace, uint64_t time, uint64_t start, uint64_t bytes,
		      uint32_t stack_id);

void support_cause_is(const struct coverage_sums *sums, enum huge_cause cause, uint64_t bytes);

/*
 * Three huge pages and more in an eligible mapping; edges; MADV_NOHUGEPAGE; a file; a small mapping; memory
 * without access; zeros and swapped pages; hugetlb; the shim's own. All end with an empty entry.
 */
#define SUPPORT_LAYOUT_MAPPINGS 9u
extern const struct support_mapping support_layout_maps[SUPPORT_LAYOUT_MAPPINGS + 1];
extern const struct smaps_record support_layout_smaps[SUPPORT_LAYOUT_MAPPINGS + 1];
extern const struct page_run support_layout_runs[];

/* There is one. */
const struct coverage_row *support_last_row(const struct support_coverage *world);

#endif
