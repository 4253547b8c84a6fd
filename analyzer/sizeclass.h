/*
 * Classes of block sizes, two a doubling: up to 16, 24, 32, 48, 64, 96, ... bytes; the last takes everything
 * above. They are the report's own, and no allocator's.
 */
#ifndef MTRACE_SIZECLASS_H
#define MTRACE_SIZECLASS_H

#include <stdint.h>

#define SIZE_CLASSES 72

struct size_classes {
	double allocs[SIZE_CLASSES];	  /* malloc, calloc, new, memalign: as `allocs` of info */
	double alloc_bytes[SIZE_CLASSES]; /* requested by them */
};

unsigned size_class_of(uint64_t size_bytes);
uint64_t size_class_upper_bytes(unsigned size_class); /* UINT64_MAX for the last */

/* Counts an allocation; `weight` is 1, or 1 / sample_probability(). */
void size_classes_add(struct size_classes *classes, uint64_t size_bytes, double weight);

#endif
