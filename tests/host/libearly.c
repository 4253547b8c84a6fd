/* A library whose IFUNC resolver and constructor allocate: see early.c. */
#include "tests/host/guest.h"

const char *early_library_report(void);
int early_library_pick(int);

static char *from_resolver, *from_constructor;

static int add_two(int x)
{
	return x + 2;
}

__attribute__((used)) static int (*resolve_inner(void))(int)
{
	from_resolver = malloc(200);
	if (from_resolver)
		strcpy(from_resolver, "library resolver");
	free(malloc(20));
	return add_two;
}

static int inner(int x) __attribute__((ifunc("resolve_inner")));

__attribute__((constructor)) static void construct(void)
{
	from_constructor = calloc(1, 1000);
	require(from_constructor && from_constructor[999] == 0);
	strcpy(from_constructor, "library constructor");
}

__attribute__((destructor)) static void destruct(void)
{
	free(from_resolver);
	free(from_constructor);
	say("library destructor");
}

int early_library_pick(int x)
{
	return inner(x);
}

const char *early_library_report(void)
{
	require(from_resolver && strcmp(from_resolver, "library resolver") == 0);
	return from_constructor;
}
