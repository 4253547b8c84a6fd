#include <stdlib.h>
#include <string.h>

#include "analyzer/hugeblocks_sweep.h"

/* Radix sort from the lowest digit (Knuth, TAOCP 3, 5.2.5): live blocks come by the million, in the order of
 * a hash table, and again and again. */
#define DIGIT_BITS 11u
#define DIGITS	   (1u << DIGIT_BITS)
#define FEW	   1024u

static int by_start(const void *left, const void *right)
{
	const struct sweep_block *a = left, *b = right;
	return (a->start > b->start) - (a->start < b->start);
}

/* Where the blocks of each digit begin. False where all of them share one: there is nothing to move. */
static bool count_digits(const struct sweep_block *blocks, size_t count, unsigned shift, size_t *begins)
{
	memset(begins, 0, DIGITS * sizeof *begins);
	for (size_t i = 0; i < count; i++)
		begins[blocks[i].start >> shift & (DIGITS - 1)]++;
	if (begins[blocks[0].start >> shift & (DIGITS - 1)] == count)
		return false;
	size_t sum = 0;
	for (size_t i = 0; i < DIGITS; i++) {
		size_t here = begins[i];
		begins[i] = sum;
		sum += here;
	}
	return true;
}

void sweep_sort(struct sweep_block *blocks, struct sweep_block *spare, size_t count)
{
	size_t begins[DIGITS];
	struct sweep_block *from = blocks, *to = spare;
	if (count < FEW) {
		if (count)
			qsort(blocks, count, sizeof *blocks, by_start);
		return;
	}
	for (unsigned shift = 0; shift < 64; shift += DIGIT_BITS) {
		if (!count_digits(from, count, shift, begins))
			continue;
		for (size_t i = 0; i < count; i++)
			to[begins[from[i].start >> shift & (DIGITS - 1)]++] = from[i];
		struct sweep_block *other = from;
		from = to;
		to = other;
	}
	if (from != blocks)
		memcpy(blocks, from, count * sizeof *blocks);
}
