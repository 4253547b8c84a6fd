#include "bench/engine.h"

#include <stdatomic.h>
#include <stdio.h>

void engine_complain(const struct engine *engine, const char *what, const char *why)
{
	enum { LINES_MOST = 10 };
	static _Atomic unsigned lines;
	unsigned line = atomic_fetch_add_explicit(&lines, 1, memory_order_relaxed);

	if (line < LINES_MOST)
		fprintf(stderr, "ycsb-embedded: %s: %s: %s\n", engine->name, what, why);
	else if (line == LINES_MOST)
		fprintf(stderr, "ycsb-embedded: %s: further messages are left out\n", engine->name);
}
