#include "shim/lock_next.h"

#include <dlfcn.h>
#include <errno.h>

#include "arch.h"

struct lock_next lock_next;

static int absent(void)
{
	return ENOSYS;
}

static void *next(const char *name, const char *version)
{
	__asm__ volatile("" ::: "memory"); /* see real.c */
	void *function = version ? dlvsym(RTLD_NEXT, name, version) : NULL;
	if (!function)
		function = dlsym(RTLD_NEXT, name);
	__asm__ volatile("" ::: "memory");
	return function ? function : (void *)absent;
}

void lock_next_resolve(void)
{
#define LOCK_NEXT_LOOK_UP(result, name, parameters, version)                                                 \
	lock_next.name = (result(*) parameters)next(#name, version);
	LOCK_NEXT_FUNCTIONS(LOCK_NEXT_LOOK_UP)
#undef LOCK_NEXT_LOOK_UP
}
