/*
 * Starts a thread that stays, before a preloaded object's constructor runs: with libc's own pthread_create
 * where EARLY_THREAD is "libc", past whatever is preloaded.
 */
#include "tests/host/guest.h"

#include <dlfcn.h>
#include <pthread.h>

static void *stay(void *argument)
{
	for (;;)
		pause();
	return argument;
}

__attribute__((constructor)) static void start_thread(void)
{
	pthread_t thread;
	__typeof__(pthread_create) *create = pthread_create;
	const char *whose = getenv("EARLY_THREAD");
	void *own = whose && strcmp(whose, "libc") == 0 ? dlsym(RTLD_NEXT, "pthread_create") : NULL;
	if (own)
		create = (__typeof__(pthread_create) *)own;
	require(create(&thread, NULL, stay, NULL) == 0);
}
