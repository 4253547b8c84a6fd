/* The numbers on the command lines of the small benchmarks, which are single files without modules. */
#ifndef MTRACE_BENCH_NUMBER_H
#define MTRACE_BENCH_NUMBER_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* `text` (NULL: there is none) as a whole number from 1 to `most`. False after a message that names `program`
 * and its option `name`. */
static inline bool number_read(const char *program, const char *name, const char *text, uint64_t most,
			       uint64_t *value)
{
	char *end = NULL;

	errno = 0;
	*value = text && text[0] >= '0' && text[0] <= '9' ? strtoull(text, &end, 10) : 0;
	if (*value >= 1 && *value <= most && !errno && !*end)
		return true;
	fprintf(stderr, "%s: %s %s: expected a whole number from 1 to %llu\n", program, name,
		text ? text : "", (unsigned long long)most);
	return false;
}

#endif
