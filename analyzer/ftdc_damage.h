/* What of diagnostic data could not be read, for people. */
#ifndef MTRACE_FTDC_DAMAGE_H
#define MTRACE_FTDC_DAMAGE_H

#include "analyzer/ftdc.h"

/* A line for each damaged place to stderr: file, offset, what. Returns the exit status: ERROR_INPUT where
 * there are any. */
int ftdc_print_damage(const struct ftdc *ftdc);

#endif
