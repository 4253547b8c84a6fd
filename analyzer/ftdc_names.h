/* A set of names in the order in which they came: the metrics of all schemas. */
#ifndef MTRACE_FTDC_NAMES_H
#define MTRACE_FTDC_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FTDC_NAMES_MAX	     (UINT32_C(1) << 18) /* names come from the input; MongoDB 8 has about 3,000 */
#define FTDC_NAMES_MAX_BYTES (UINT32_C(1) << 26)
#define FTDC_NO_NAME	     SIZE_MAX

/* Zero-initialize. */
struct ftdc_names {
	char **items;
	size_t count, capacity;
	size_t *slots; /* index + 1, 0 where empty; at most half full */
	unsigned bits; /* 2^bits slots, where slots is not NULL */
	size_t text_bytes;
	size_t refused; /* names beyond those limits, each as often as it came */
};

/* The index of `name`, FTDC_NO_NAME where it is not there. */
size_t ftdc_names_find(const struct ftdc_names *names, const char *name);

/* The same, after adding it where it is not there: FTDC_NO_NAME where the set is full, and where memory runs
 * out: *memory is then false. */
size_t ftdc_names_add(struct ftdc_names *names, const char *name, bool *memory);

void ftdc_names_free(struct ftdc_names *names);

#endif
