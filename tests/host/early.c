/*
 * Allocation before main: an IFUNC resolver of the executable, .preinit_array, constructors. The library of
 * the same name does the like, and its constructor runs before that of a preloaded object. Linked twice:
 * lazily and -z now.
 */
#include "tests/host/guest.h"

const char *early_library_report(void);
int early_library_pick(int);

static char *from_resolver, *from_preinit, *from_first, *from_constructor;

static char *block_with(const char *text)
{
	char *p = malloc(64);
	char *q = calloc(4, 16);
	require(p && q);
	for (int i = 0; i < 64; i++)
		check(q[i] == 0);
	p = realloc(p, 300);
	free(q);
	require(p);
	return strcpy(p, text);
}

static int add_one(int x)
{
	return x + 1;
}

/* Runs while the executable is being relocated. */
__attribute__((used)) static int (*resolve_pick(void))(int)
{
	from_resolver = malloc(100);
	if (from_resolver)
		from_resolver[99] = 42;
	free(malloc(10));
	return add_one;
}

static int pick(int x) __attribute__((ifunc("resolve_pick")));

static void preinit(void)
{
	from_preinit = block_with("preinit");
}

__attribute__((section(".preinit_array"), used)) static void (*const preinit_entry)(void) = preinit;

__attribute__((constructor(101))) static void construct_first(void)
{
	from_first = block_with("constructor 101");
}

__attribute__((constructor)) static void construct(void)
{
	from_constructor = block_with("constructor");
}

__attribute__((destructor)) static void destruct(void)
{
	char *p = block_with("destructor");
	say("%s", p);
	free(p);
}

int main(void)
{
	require(from_resolver && from_resolver[99] == 42);
	say("%s, %s, %s, picked %d", from_preinit, from_first, from_constructor, pick(1));
	say("%s, picked %d", early_library_report(), early_library_pick(1));
	from_resolver = realloc(from_resolver, 5000);
	check(from_resolver && from_resolver[99] == 42);
	free(from_resolver);
	free(from_preinit);
	free(from_first);
	free(from_constructor);
	return 0;
}
