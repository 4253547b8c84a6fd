/* Locks all memory that it has and will have, as real-time programs do, and goes on with threads. All that is
 * mapped then becomes resident. */
#include "tests/host/guest.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>

enum { ROUNDS = 20, ALLOCS = 1000, MOST_KIB = 200 << 10 };

static void *allocate(void *argument)
{
	for (int i = 0; i < ALLOCS; i++) {
		char *p = malloc((size_t)(1 + i % 3000));
		require(p);
		*p = 1;
		free(p);
	}
	return argument;
}

int main(void)
{
	pthread_attr_t attributes;
	pthread_t thread;
	guest_count("allocs", ROUNDS * ALLOCS, ROUNDS * ALLOCS + 8 * ROUNDS + 64);
	if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0)
		say("cannot lock memory here");
	require(pthread_attr_init(&attributes) == 0 && pthread_attr_setstacksize(&attributes, 1 << 17) == 0);
	for (int i = 0; i < ROUNDS; i++) {
		require(pthread_create(&thread, &attributes, allocate, NULL) == 0);
		pthread_join(thread, NULL);
	}
	struct rusage usage;
	require(getrusage(RUSAGE_SELF, &usage) == 0);
	check(usage.ru_maxrss < MOST_KIB);
	say("done");
	return 0;
}
