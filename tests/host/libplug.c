/* A library that allocates when it comes and when it goes: see dlloop.c. */
#include "tests/host/guest.h"

int plug_sum(int n);

static int *table;
static _Thread_local char lazily[3000]; /* allocated by the loader at first use */

__attribute__((constructor)) static void come(void)
{
	table = malloc(1000 * sizeof *table);
	require(table);
	for (int i = 0; i < 1000; i++)
		table[i] = i;
}

__attribute__((destructor)) static void go(void)
{
	char *p = calloc(10, 10);
	require(p && p[99] == 0);
	free(p);
	free(table);
}

int plug_sum(int n)
{
	int sum = 0;
	lazily[n] = 1;
	for (int i = 0; i < n; i++)
		sum += table[i];
	return sum + lazily[n] - 1;
}
