#include "shim/source.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "shim/diag.h"

extern __typeof__(malloc) malloc_hook __attribute__((visibility("hidden")));

/* What the program's own calls bind to is the first definition in the global scope. */
static void *bound(void)
{
	return dlsym(RTLD_DEFAULT, "malloc");
}

bool source_is_interposed(void)
{
	return bound() == (void *)malloc_hook;
}

const char *source_name(void)
{
	return source_is_interposed() ? "interposed" : "blind";
}

const char *source_reason(void)
{
	static char reason[512];
	Dl_info object;
	if (source_is_interposed())
		return "the program's calls of malloc bind to libmtrace.so, which forwards them to the next "
		       "allocator";
	const char *name = dladdr(bound(), &object) && object.dli_fname ? object.dli_fname : "another object";
	snprintf(reason, sizeof reason,
		 "malloc is defined by %.300s, which comes before libmtrace.so: its calls are not seen",
		 name);
	return reason;
}

void source_warn(void)
{
	if (!source_is_interposed())
		diag("%s; region calls are recorded; allocator calls are seen only where the program is "
		     "linked against "
		     "a shared allocator, or libmtrace.so stands first in LD_PRELOAD",
		     source_reason());
}
