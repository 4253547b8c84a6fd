/* Huge page coverage for machines and for people. docs/hugepages.md says what the words mean. */
#ifndef MTRACE_COVERAGE_OUTPUT_H
#define MTRACE_COVERAGE_OUTPUT_H

#include <stdio.h>

#include "analyzer/coverage.h"
#include "analyzer/hugeblocks.h"
#include "analyzer/json.h"
#include "analyzer/symbols.h"

/* What is printed. None of it is owned. */
struct coverage_view {
	const struct trace *trace;
	const struct coverage *coverage;
	const struct regions *regions;
	const struct pages *pages;
	const struct hugeblocks *blocks; /* NULL: bloat is not known */
	struct symbols *symbols;
};

/* The object of `hugepages --json`, as docs/JSON.md describes it. Where nothing is known all is null or
 * empty. */
json_t *coverage_json(const struct coverage_view *view);

/* Tables; `top`: breakers and mapping sites shown, 0 for all. False when out of memory. */
bool coverage_print(FILE *file, const struct coverage_view *view, size_t top);

/* "scan", "kpageflags", "smaps"; NULL where the trace knows nothing of pages. */
const char *coverage_source(const struct coverage_view *view);

/* The row with most resident memory; NULL where there are none. */
const struct coverage_row *coverage_peak_row(const struct coverage *coverage);

/* "madvise(MADV_DONTNEED)", "munmap". Returns `out`. */
#define CALL_NAME_BYTES 64
const char *coverage_call_name(const struct breaker *breaker, char out[CALL_NAME_BYTES]);

/* Names of a stack; empty where it has none. False when out of memory. Free with symbol_stack_free(). */
bool coverage_stack(const struct coverage_view *view, uint32_t stack_id, struct symbol_stack *names);

/* By bytes lost, most first: indices into hugeplaces_breakers() of those that broke something. NULL when out
 * of memory; the caller frees it. */
size_t *coverage_breakers_sorted(const struct hugeplaces *places, size_t *count);

#endif
