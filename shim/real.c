#include "shim/real.h"

#include <dlfcn.h>
#include <link.h>

struct real real;

/* glibc declares dlsym `leaf`; the barrier keeps stores before it where they are (a hook that dlsym enters
 * reads them). */
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

static bool is_ours(const void *function)
{
	Dl_info object, self;
	return dladdr(function, &object) && dladdr(&real, &self) && object.dli_fbase == self.dli_fbase;
}

/* What a loaded object, and what it depends on, define under this name; NULL: nothing, or only we do. */
static void *defined_near(const char *object, const char *name)
{
	void *handle = object ? real.dlopen(object, RTLD_LAZY | RTLD_NOLOAD) : NULL;
	if (!handle)
		return NULL;
	void *function = dlsym(handle, name);
	real.dlclose(handle);
	return function && !is_ours(function) ? function : NULL;
}

/* A caller that jumped here instead of calling left somebody else's return address: then the usual libraries
 * are asked. */
void *real_operator(const char *name, const void *caller)
{
	static const char *const libraries[] = {"libstdc++.so.6", "libc++.so.1", "libc++abi.so.1"};
	Dl_info object;
	void *function = next(name);
	if (!function && dladdr(caller, &object))
		function = defined_near(object.dli_fname, name);
	for (size_t i = 0; !function && i < sizeof libraries / sizeof *libraries; i++)
		function = defined_near(libraries[i], name);
	return function;
}
