/* What `locks` prints for people. */
#ifndef MTRACE_LOCKS_TEXT_H
#define MTRACE_LOCKS_TEXT_H

#include <stdio.h>

#include "analyzer/locks_names.h"

/* Everything; false when out of memory. The trace holds records of locks. */
bool locks_print(FILE *file, const struct locks_view *view);

/* The sums, the first `view->top` locks and the exposure: the report's part. */
bool locks_print_summary(FILE *file, const struct locks_view *view);

#endif
