/* What hugeblocks found, as JSON and as text. `NULL`, or a `blocks` without a look, is unknown: null. */
#ifndef MTRACE_HUGEBLOCKS_OUTPUT_H
#define MTRACE_HUGEBLOCKS_OUTPUT_H

#include <stdio.h>

#include "analyzer/hugeblocks.h"
#include "analyzer/json.h"

struct trace;

/* Sets bloat_bytes, unused_bytes (both with _low and _high in sample mode) and `allocator` in `object`;
 * fields as docs/JSON.md lists them. */
void hugeblocks_put_json(json_t *object, const struct trace *trace, const struct hugeblocks *blocks);

/* Tables by owner and by size class, of hugeblocks_usual(), below a line that says which moment; then over
 * time. */
void hugeblocks_print(FILE *file, const struct trace *trace, const struct hugeblocks *blocks);

/* Sets `name` and, unless `exact`, NAME_low and NAME_high. */
void json_put_interval(json_t *object, const char *name, const struct interval *interval, bool exact);

/* What allocators say is free in them: names of allocator records (allocstats.h), the first one that is
 * there.
 */
struct allocator_list {
	const char *key; /* in JSON */
	const char *title;
	const char *names[3]; /* ends with NULL */
};
#define ALLOCATOR_LISTS 5
extern const struct allocator_list allocator_lists[ALLOCATOR_LISTS];

/* "up to 48 B", "more", "pages without a block": a class of holes. */
#define HOLE_NAME_BYTES 48
const char *hole_class_name(unsigned hole_class, char out[HOLE_NAME_BYTES]);

#endif
