/* The room in each block is the allocator's own affair: all of it printed, so that a byte more would show. */
#include "tests/host/guest.h"

#include <malloc.h>

int main(void)
{
	unsigned long sum = 0;
	for (size_t bytes = 0; bytes < 5000; bytes++) {
		void *p = malloc(bytes);
		sum = sum * 31 + malloc_usable_size(p);
		free(p);
	}
	say("malloc: %lx", sum);
	/* Below the allocator's own mapping threshold: above it the rounding depends on what the heap has
	 * left. */
	for (size_t bytes = 1; bytes < 100000; bytes = bytes * 5 / 4 + 7) {
		void *p = malloc(bytes), *q = calloc(1, bytes), *r = realloc(NULL, bytes),
		     *s = memalign(64, bytes);
		say("%zu: %zu %zu %zu", bytes, malloc_usable_size(p), malloc_usable_size(q),
		    malloc_usable_size(r));
		check(malloc_usable_size(s) >= bytes); /* how much more may depend on the address */
		free(p);
		free(q);
		free(r);
		free(s);
	}
	return 0;
}
