/*
 * Many events between two marks: one block of 123459 bytes first, one of 123457 bytes last.
 * Usage: churn PAIRS [kill|hold FILE]; `kill` ends by SIGKILL, `hold` waits until FILE exists.
 */
#include "tests/host/guest.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>

enum { PLACES = 256, FIRST_BYTES = 123459, LAST_BYTES = 123457, PAIRS_A_BREATH = 20000 };

static unsigned long pairs;

static void rest(long ns)
{
	const struct timespec pause = {0, ns};
	nanosleep(&pause, NULL);
}

static void *churn(void *argument)
{
	uint32_t seed = argument ? 31 : 32;
	struct {
		unsigned char *address;
		size_t bytes;
	} live[PLACES] = {0};
	for (unsigned long n = 0; n < pairs / 2; n++) {
		uint32_t i = guest_random(&seed) % PLACES;
		check(!live[i].address || tag_holds(live[i].address, live[i].bytes, i));
		free(live[i].address);
		live[i].bytes = 1 + guest_random(&seed) % 3000;
		live[i].address = malloc(live[i].bytes);
		require(live[i].address);
		tag_block(live[i].address, live[i].bytes, i);
		if (n % PAIRS_A_BREATH == 0)
			rest(500000);
	}
	for (int i = 0; i < PLACES; i++)
		free(live[i].address);
	return NULL;
}

int main(int argc, char **argv)
{
	pairs = argc > 1 ? strtoul(argv[1], NULL, 10) : 100000;
	free(malloc(FIRST_BYTES));
	pthread_t other;
	require(pthread_create(&other, NULL, churn, &pairs) == 0);
	churn(NULL);
	pthread_join(other, NULL);
	guest_count("allocs", pairs / 2 * 2 + 2, pairs + 2 + 64);
	say("%lu pairs", pairs);
	while (argc > 3 && strcmp(argv[2], "hold") == 0 && access(argv[3], F_OK) != 0)
		rest(10000000);
	free(malloc(LAST_BYTES));
	if (argc > 2 && strcmp(argv[2], "kill") == 0)
		raise(SIGKILL);
	return 0;
}
