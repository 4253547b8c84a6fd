/* Libraries that come and go, on two threads; also into a namespace of their own (`dlloop namespace`). */
#include "tests/host/guest.h"

#include <dlfcn.h>
#include <pthread.h>

static void use(void *library)
{
	int (*sum)(int);
	require(library);
	*(void **)&sum = dlsym(library, "plug_sum");
	require(sum);
	check(sum(1000) == 499500);
	check(dlclose(library) == 0);
}

static void *open_and_close(void *argument)
{
	static const int flags[] = {RTLD_NOW, RTLD_LAZY, RTLD_NOW | RTLD_GLOBAL, RTLD_NOW | RTLD_DEEPBIND};
	for (int i = 0; i < 200; i++) {
		use(dlopen("libplug.so", flags[i % 4]));
		if (i % 10 == 0) {
			check(dlopen("libnothere.so", RTLD_NOW) == NULL);
			check(dlerror() != NULL);
		}
	}
	return argument;
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "namespace") == 0) {
		use(dlmopen(LM_ID_NEWLM, "libplug.so", RTLD_NOW));
		use(dlopen("libplug.so", RTLD_NOW));
	} else {
		pthread_t other;
		require(pthread_create(&other, NULL, open_and_close, NULL) == 0);
		open_and_close(NULL);
		pthread_join(other, NULL);
		/* Where one thread opens what the other has not closed yet, nothing is loaded; the 40
		 * failures allocate in any case. */
		guest_count("allocs", 80, 100000);
	}
	say("opened and closed");
	return 0;
}
