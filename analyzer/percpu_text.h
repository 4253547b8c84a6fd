/* What `percpu` found, for people. */
#ifndef MTRACE_PERCPU_TEXT_H
#define MTRACE_PERCPU_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "analyzer/percpu.h"
#include "analyzer/symbols.h"

/* Lists are cut to `top` lines; 0: all. False when out of memory. */
bool percpu_print(FILE *file, const struct percpu *percpu, struct symbols *symbols, size_t top);

/* The same in a few lines, for a report: in force or not, shares, advice. */
void percpu_print_summary(FILE *file, const struct percpu *percpu);

#endif
