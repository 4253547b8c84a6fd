/*
 * Threads that hop between two CPUs, and allocate and free a known number of blocks on each: of 5000 bytes on
 * the first, of 7000 on the second. Some threads end before the program does, one sleeps through its end.
 *
 *     hops ROUNDS
 *
 * Prints what was done on which CPU; nothing where the process may run on one CPU only.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

#include "tests/host/guest.h"

enum { THREADS = 4, ALLOCS = 100, FREES = 60, KEPT = ALLOCS - FREES };

static const size_t sizes[] = {5000, 7000};
static unsigned cpus[2], rounds;
static _Atomic unsigned done;

static void stay_on(unsigned cpu)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	require(sched_setaffinity(0, sizeof set, &set) == 0);
}

static void work(unsigned cpu, void **kept)
{
	void *blocks[ALLOCS];
	stay_on(cpus[cpu]);
	for (unsigned i = 0; i < ALLOCS; i++)
		require(blocks[i] = malloc(sizes[cpu]));
	for (unsigned i = 0; i < FREES; i++)
		free(blocks[i]);
	memcpy(kept, blocks + FREES, KEPT * sizeof *kept);
}

/* What was kept on a CPU is given back on the other. */
static void *hop(void *argument)
{
	const bool stays = argument != NULL;
	void *kept[KEPT];
	for (unsigned i = 0; i < rounds; i++) {
		work(0, kept);
		stay_on(cpus[1]);
		for (unsigned k = 0; k < KEPT; k++)
			free(kept[k]);
		work(1, kept);
		stay_on(cpus[0]);
		for (unsigned k = 0; k < KEPT; k++)
			free(kept[k]);
	}
	atomic_fetch_add(&done, 1);
	while (stays)
		pause();
	return NULL;
}

static unsigned find_cpus(void)
{
	cpu_set_t set;
	unsigned count = 0;
	require(sched_getaffinity(0, sizeof set, &set) == 0);
	for (unsigned i = 0; i < CPU_SETSIZE && count < 2; i++)
		if (CPU_ISSET(i, &set))
			cpus[count++] = i;
	return count;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	require(argc == 2);
	rounds = (unsigned)strtoul(argv[1], NULL, 10);
	if (find_cpus() < 2)
		return 0;
	for (uintptr_t i = 0; i < THREADS; i++)
		require(pthread_create(&threads[i], NULL, hop, i ? NULL : &done) == 0);
	for (unsigned i = 1; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	while (atomic_load(&done) < THREADS)
		sched_yield();
	for (unsigned i = 0; i < 2; i++)
		say("cpu %u size %zu allocs %u frees %u", cpus[i], sizes[i], THREADS * rounds * ALLOCS,
		    THREADS * rounds * ALLOCS);
	say("hops %u", THREADS * (2 * rounds - 1));
	return 0;
}
