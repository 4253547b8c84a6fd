/*
 * The statistics text of google/tcmalloc: what of it is known in no other way. Its lines differ between
 * versions in spacing and order, so that each figure is found by the word behind it, and a line that is cut
 * off by the end of the buffer counts for nothing.
 */
#ifndef MTRACE_TCMALLOC_TEXT_H
#define MTRACE_TCMALLOC_TEXT_H

#include <stddef.h>
#include <stdint.h>

#define TCMALLOC_UNKNOWN  UINT64_MAX
#define TCMALLOC_CPUS_MAX 4096u /* what has a higher number is left out */

/* One CPU's cache; TCMALLOC_UNKNOWN where the text does not say. */
struct tcmalloc_cpu {
	uint64_t used_bytes;
	uint64_t unallocated_bytes; /* of its capacity, given to no size class */
	uint64_t underflows;	    /* allocations that found its cache empty */
	uint64_t overflows;	    /* frees that found it full */
	uint64_t reclaims; /* times that it was emptied for being idle ("drains" in later versions) */
};

struct tcmalloc_text {
	uint64_t per_cpu_limit_bytes;
	unsigned cpus; /* entries of `cpu` that are filled in: 0 to the highest number seen */
	struct tcmalloc_cpu cpu[TCMALLOC_CPUS_MAX];
};

/* Reads `bytes` of text, which needs no NUL at its end. Everything that it does not say becomes unknown. */
void tcmalloc_text_read(struct tcmalloc_text *out, const char *text, size_t bytes);

#endif
