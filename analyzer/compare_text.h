/* A comparison for people: on a terminal, or as Markdown. */
#ifndef MTRACE_COMPARE_TEXT_H
#define MTRACE_COMPARE_TEXT_H

#include <stdio.h>

#include "analyzer/compare.h"
#include "analyzer/document.h"

/* False where memory is short. */
bool compare_print(FILE *file, bool markdown, const struct compare *compare);

/* ---- parts: each a section, or nothing where there is nothing to say ---------------------------------- */

bool compare_print_levels(const struct document *document, const struct compare *compare); /* knee, price */
bool compare_print_inside(const struct document *document, const struct compare *compare);
bool compare_print_settings(const struct document *document, const struct compare *compare);

#define COMPARE_NUMBER_BYTES 32

/* Five digits, "-" for NaN. Returns `text`. */
const char *compare_number(char text[COMPARE_NUMBER_BYTES], double value);

#endif
