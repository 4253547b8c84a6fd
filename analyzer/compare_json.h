/* A comparison as JSON (docs/JSON.md), and its rows as CSV. */
#ifndef MTRACE_COMPARE_JSON_H
#define MTRACE_COMPARE_JSON_H

#include <stdio.h>

#include "analyzer/compare.h"

/* The object; owned by the caller. */
json_t *compare_object(const struct compare *compare);

/* One line a row, with a header; unknown fields are empty. */
void compare_write_csv(FILE *file, const struct compare *compare);

#endif
