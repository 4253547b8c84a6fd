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

/* A table by owner and one by size class, of hugeblocks_usual(), below a line that says which moment. */
void hugeblocks_print(FILE *file, const struct trace *trace, const struct hugeblocks *blocks);

/* Sets `name` and, unless `exact`, NAME_low and NAME_high. */
void json_put_remainder(json_t *object, const char *name, const struct remainder *remainder, bool exact);

/* "up to 48 B", "more", "free pages": a class of holes. */
#define HOLE_NAME_BYTES 48
const char *hole_class_name(unsigned hole_class, char out[HOLE_NAME_BYTES]);

#endif
