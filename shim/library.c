#include "shim/library.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "shim/config.h"
#include "shim/real.h"

/* A sanitizer's runtime refuses DEEPBIND. */
static int open_flags(void)
{
	bool sanitized = dlsym(RTLD_DEFAULT, "__asan_init") || dlsym(RTLD_DEFAULT, "__tsan_init") ||
			 dlsym(RTLD_DEFAULT, "__msan_init");
	return RTLD_NOW | RTLD_LOCAL | (sanitized ? 0 : RTLD_DEEPBIND);
}

void *library_open(const char *soname)
{
	char path[CONFIG_PATH_BYTES];
	Dl_info self;
	if (dladdr((void *)library_open, &self) && self.dli_fname) {
		const char *slash = strrchr(self.dli_fname, '/');
		int folder = slash ? (int)(slash - self.dli_fname) : 0;
		int length = snprintf(path, sizeof path, "%.*s/%s", folder, self.dli_fname, soname);
		void *handle = slash && length < (int)sizeof path ? real.dlopen(path, open_flags()) : NULL;
		if (handle)
			return handle;
	}
	return real.dlopen(soname, open_flags());
}
