/*
 * The look-up of symbols allocates: dlerror after a failed dlsym, and a dlsym of the program's own that takes
 * memory for each question before it passes it on. The dlsym here is exported, so a preloaded object that
 * asks calls it.
 */
#include "tests/host/guest.h"

#include <dlfcn.h>

static unsigned questions;
static void *(*next_dlsym)(void *, const char *);

static void *find_next_dlsym(void)
{
	static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17"};
	for (size_t i = 0; i < sizeof versions / sizeof versions[0]; i++) {
		void *found = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
		if (found)
			return found;
	}
	return NULL;
}

/* Ends in a jump (this guest is built with -O2), so that RTLD_NEXT still means what follows the caller. */
void *dlsym(void *restrict handle, const char *restrict name)
{
	questions++;
	char *copy = malloc(strlen(name) + 1);
	char *zeroed = calloc(1, 32);
	if (copy)
		strcpy(copy, name);
	free(copy);
	free(zeroed);
	if (!next_dlsym)
		next_dlsym = (void *(*)(void *, const char *))find_next_dlsym();
	return next_dlsym(handle, name);
}

int main(void)
{
	check(dlsym(RTLD_DEFAULT, "malloc") != NULL);
	for (int i = 0; i < 100; i++) {
		char name[64];
		snprintf(name, sizeof name, "no_such_symbol_%d", i);
		check(dlsym(RTLD_DEFAULT, name) == NULL);
		const char *reason = dlerror();
		check(reason && strstr(reason, name));
		check(dlerror() == NULL);
		check(dlopen("/nonexistent/library.so", RTLD_NOW) == NULL);
		check(dlerror() != NULL);
	}
	check(questions >= 101);
	say("looked up");
	return 0;
}
