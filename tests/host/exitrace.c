/* Four threads call exit() at the same moment, after they have allocated together. */
#include "tests/host/guest.h"

#include <pthread.h>

enum { THREADS = 4, ALLOCS = 20000 };

static pthread_barrier_t together;

static void *leave(void *argument)
{
	for (int i = 0; i < ALLOCS; i++)
		free(malloc((size_t)(1 + i % 300)));
	pthread_barrier_wait(&together);
	exit(7);
	return argument;
}

int main(void)
{
	pthread_t thread;
	say("leaving");
	guest_count("allocs", THREADS * ALLOCS, THREADS * ALLOCS + 64);
	require(pthread_barrier_init(&together, NULL, THREADS) == 0);
	for (int i = 1; i < THREADS; i++)
		require(pthread_create(&thread, NULL, leave, NULL) == 0);
	leave(NULL);
}
