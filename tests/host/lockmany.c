/*
 * Many locks and many threads: `lockmany` goes round 2,000 mutexes, and starts 300 threads one after the
 * other. `lockmany N` takes N mutexes in turn, 400,000 times together.
 */
#include "tests/host/lockguest.h"

enum { LOCKS = 2000, ROUNDS = 50, THREADS = 300, THREAD_LOCKS = 5, THREAD_ROUNDS = 20, PAIRS = 400000 };

static pthread_mutex_t mutexes[LOCKS];

static void use(size_t lock)
{
	check(pthread_mutex_lock(&mutexes[lock]) == 0 && pthread_mutex_unlock(&mutexes[lock]) == 0);
}

static void *use_some(void *first)
{
	for (int i = 0; i < THREAD_ROUNDS; i++)
		for (size_t lock = 0; lock < THREAD_LOCKS; lock++)
			use((*(size_t *)first + lock) % LOCKS);
	return NULL;
}

static long use_all(void)
{
	pthread_t thread;
	for (int round = 0; round < ROUNDS; round++)
		for (size_t lock = 0; lock < LOCKS; lock++)
			use(lock);
	for (size_t i = 0; i < THREADS; i++) {
		require(pthread_create(&thread, NULL, use_some, &i) == 0);
		pthread_join(thread, NULL);
	}
	return ROUNDS * LOCKS + THREADS * THREAD_LOCKS * THREAD_ROUNDS;
}

static long use_in_turn(size_t locks)
{
	for (size_t i = 0; i < PAIRS; i++)
		use(i % locks);
	return PAIRS;
}

int main(int argc, char **argv)
{
	for (int i = 0; i < LOCKS; i++)
		pthread_mutex_init(&mutexes[i], NULL);
	long pairs = argc > 1 ? use_in_turn(strtoul(argv[1], NULL, 10)) : use_all();
	lock_fact("mutex", NULL, (struct lock_counts){pairs, pairs, 0, 0, 0});
	say("done");
	return 0;
}
