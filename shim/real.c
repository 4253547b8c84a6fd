#include "shim/real.h"

#include <dlfcn.h>
#include <link.h>

struct real real;

/* glibc declares dlsym `leaf`; the barrier keeps stores before it where they are (a hook that dlsym enters reads them). */
static void *next(const char *name)
{
	__asm__ volatile("" ::: "memory");
	void *function = dlsym(RTLD_NEXT, name);
	__asm__ volatile("" ::: "memory");
	return function;
}

void real_resolve(void)
{
#define REAL_LOOK_UP(result, name, parameters) real.name = (result(*) parameters)next(#name);
	REAL_C_FUNCTIONS(REAL_LOOK_UP)
#undef REAL_LOOK_UP
}

void *real_operator(const char *name, const void *caller)
{
	Dl_info object;
	void *function = next(name);
	if (function || !dladdr(caller, &object) || !object.dli_fname)
		return function;
	/* The object is loaded: this only gives a handle, whose search covers it and what it depends on. */
	void *handle = real.dlopen(object.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	if (!handle)
		return NULL;
	function = dlsym(handle, name);
	real.dlclose(handle);
	return function;
}
