/*
 * The state of the pages as a table: what the last look at each address saw.
 */
#ifndef MTRACE_PAGES_CSV_H
#define MTRACE_PAGES_CSV_H

#include <stdio.h>

#include "analyzer/pages.h"

/*
 * A header line, then a line for each run of pages by rising address: start, end (hexadecimal), bytes, state,
 * file (1 in a mapping of a file or shared memory). State: huge (mapped by a PMD), small, zero (the kernel's
 * page of zeros), swapped, or folio (of a huge folio; how it is mapped is not known). What is in no line is
 * not resident.
 */
void pages_csv(FILE *file, const struct pages *pages);

#endif
