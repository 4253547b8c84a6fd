/*
 * Two threads, each on a CPU of its own: one allocates blocks, and hands a share of them to the other to be
 * freed; the rest it frees itself.
 *
 *     handover PERCENT
 *
 * Prints how many blocks there were and how many were handed over; nothing where the process may run on one
 * CPU only.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "tests/host/guest.h"

#define BLOCKS	    20000u
#define BLOCK_BYTES 3000u /* a size that nobody else asks for */
#define PLACES	    1024u

static void *places[PLACES];
static _Atomic uint32_t handed, taken;
static _Atomic bool finished;

static bool stay_on(unsigned cpu)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof set, &set) == 0;
}

/* Waits without turning: the other one may need this CPU's time on a busy machine. */
static void *consume(void *argument)
{
	require(stay_on(*(unsigned *)argument));
	for (;;) {
		uint32_t next = atomic_load_explicit(&taken, memory_order_relaxed);
		if (next == atomic_load_explicit(&handed, memory_order_acquire)) {
			if (atomic_load(&finished) && next == atomic_load(&handed))
				return NULL;
			sched_yield();
			continue;
		}
		free(places[next % PLACES]);
		atomic_store_explicit(&taken, next + 1, memory_order_release);
	}
}

static void hand_over(void *block)
{
	uint32_t next = atomic_load_explicit(&handed, memory_order_relaxed);
	while (next - atomic_load_explicit(&taken, memory_order_acquire) == PLACES)
		sched_yield();
	places[next % PLACES] = block;
	atomic_store_explicit(&handed, next + 1, memory_order_release);
}

static unsigned find_cpus(unsigned *cpus, unsigned most)
{
	cpu_set_t set;
	unsigned count = 0;
	require(sched_getaffinity(0, sizeof set, &set) == 0);
	for (unsigned i = 0; i < CPU_SETSIZE && count < most; i++)
		if (CPU_ISSET(i, &set))
			cpus[count++] = i;
	return count;
}

int main(int argc, char **argv)
{
	unsigned cpus[2];
	require(argc == 2);
	const unsigned percent = (unsigned)strtoul(argv[1], NULL, 10);
	if (find_cpus(cpus, 2) < 2)
		return 0;
	require(stay_on(cpus[0]));
	pthread_t consumer;
	require(pthread_create(&consumer, NULL, consume, &cpus[1]) == 0);
	uint32_t state = 2463534242u, given = 0;
	for (unsigned i = 0; i < BLOCKS; i++) {
		void *block = malloc(BLOCK_BYTES);
		require(block);
		tag_block(block, BLOCK_BYTES, i);
		if ((guest_random(&state) >> 8) % 100 < percent) {
			hand_over(block);
			given++;
		} else {
			free(block);
		}
	}
	atomic_store(&finished, true);
	pthread_join(consumer, NULL);
	say("blocks %u handed over %u", BLOCKS, given);
	return 0;
}
