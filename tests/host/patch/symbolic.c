/* Calls libsymbolic's allocator from outside, and has the library call it itself. */
#include "tests/host/guest.h"

void symbolic_use(unsigned times);

enum { TIMES = 700, SLACK = 16 };

int main(void)
{
	symbolic_use(TIMES);
	for (unsigned i = 0; i < TIMES; i++) {
		char *p = malloc(100 + i % 50);
		require(p);
		tag_block(p, 100, i);
		check(tag_holds(p, 100, i));
		free(p);
	}
	guest_count("allocs", 3 * TIMES, 3 * TIMES + SLACK);
	guest_count("frees", 3 * TIMES, 3 * TIMES + SLACK);
	guest_count("reallocs", TIMES, TIMES + SLACK);
	say("done");
	return 0;
}
