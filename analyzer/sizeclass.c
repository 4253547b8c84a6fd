#include "analyzer/sizeclass.h"

#include <stdbool.h>

#define SIZE_CLASS_FIRST_BYTES 16u

uint64_t size_class_upper_bytes(unsigned size_class)
{
	if (size_class >= SIZE_CLASSES - 1)
		return UINT64_MAX;
	uint64_t step = size_class % 2 ? SIZE_CLASS_FIRST_BYTES * 3 / 2 : SIZE_CLASS_FIRST_BYTES;
	return step << (size_class / 2);
}

unsigned size_class_of(uint64_t size_bytes)
{
	if (size_bytes <= SIZE_CLASS_FIRST_BYTES)
		return 0;
	/* 2^power < size <= 2^(power + 1), power >= 4 */
	unsigned power = 63 - (unsigned)__builtin_clzll(size_bytes - 1);
	bool upper_half = size_bytes > UINT64_C(3) << (power - 1);
	unsigned size_class = 2 * (power - 4) + 1 + upper_half;
	return size_class < SIZE_CLASSES ? size_class : SIZE_CLASSES - 1;
}

void size_classes_add(struct size_classes *classes, uint64_t size_bytes, double weight)
{
	unsigned size_class = size_class_of(size_bytes);
	classes->allocs[size_class] += weight;
	classes->alloc_bytes[size_class] += weight * (double)size_bytes;
}
