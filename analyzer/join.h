/* Words one after the other in one text. */
#ifndef MTRACE_JOIN_H
#define MTRACE_JOIN_H

#include <stdbool.h>

/*
 * Appends `word` to *text, after `separator` unless *text is NULL. *text is the caller's (free). False when
 * out of memory: *text is then freed, and NULL.
 */
bool join(char **text, const char *separator, const char *word);

#endif
