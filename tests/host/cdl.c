/*
 * A C program that opens a C++ library with RTLD_LOCAL: libstdc++ is not in the global scope, so what follows
 * a preloaded operator new cannot be found by RTLD_NEXT alone.
 */
#include "tests/host/guest.h"

#include <dlfcn.h>

static int (*find(void *library, const char *name))(int)
{
	int (*function)(int);
	*(void **)&function = dlsym(library, name);
	require(function);
	return function;
}

int main(void)
{
	for (int i = 0; i < 3; i++) {
		char *keep = malloc(100);
		void *library = dlopen("libcxxplug.so", RTLD_LOCAL | (i == 1 ? RTLD_LAZY : RTLD_NOW));
		require(library);
		check(dlsym(RTLD_DEFAULT, "cxxplug_work") == NULL);
		check(find(library, "cxxplug_work")(1000) == 50);
		check(find(library, "cxxplug_without_memory")(0) == 2);
		check(find(library, "cxxplug_throw")(10) == 100);
		check(dlclose(library) == 0);
		free(keep);
	}
	say("the C++ library was used");
	return 0;
}
