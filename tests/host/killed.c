/*
 * Killed in mid-run: three threads allocate, free and map, count each call after it in a shared file, and a
 * fourth kills the process once enough is counted. The trace must hold everything counted, and at most one
 * call a thread more. Usage: killed COUNTER-FILE TOTAL; the file holds three 64-bit numbers: allocations,
 * frees, mmaps.
 */
#include "tests/host/guest.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <time.h>

enum { THREADS = 3 };

struct counters {
	_Atomic uint64_t allocs, frees, mmaps;
};

static struct counters *counters;

static void count(_Atomic uint64_t *counter)
{
	atomic_fetch_add_explicit(counter, 1, memory_order_seq_cst);
}

static void work_once(uint32_t *seed, char **live, size_t places)
{
	size_t i = guest_random(seed) % places;
	if (live[i]) {
		free(live[i]);
		count(&counters->frees);
	}
	live[i] = malloc(1 + guest_random(seed) % 2000);
	count(&counters->allocs);
	*live[i] = 1;
	if (guest_random(seed) % 1000 != 0)
		return;
	void *p = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	count(&counters->mmaps);
	munmap(p, 8192);
}

static void *work(void *argument)
{
	uint32_t seed = 100 + (uint32_t)(uintptr_t)argument;
	char *live[200] = {NULL};
	const struct timespec breath = {0, 200000};
	for (;;) {
		for (int i = 0; i < 500; i++)
			work_once(&seed, live, 200);
		nanosleep(&breath, NULL); /* so that no event is lost for want of room */
	}
	return NULL;
}

int main(int argc, char **argv)
{
	require(argc == 3);
	uint64_t total = strtoull(argv[2], NULL, 10);
	int fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0666);
	require(fd >= 0 && ftruncate(fd, sizeof *counters) == 0);
	counters = mmap(NULL, sizeof *counters, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	require(counters != MAP_FAILED);
	close(fd);
	for (uintptr_t i = 0; i < THREADS; i++) {
		pthread_t thread;
		require(pthread_create(&thread, NULL, work, (void *)i) == 0);
	}
	const struct timespec pause = {0, 1000000};
	while (atomic_load(&counters->allocs) < total)
		nanosleep(&pause, NULL);
	kill(getpid(), SIGKILL);
	return 0;
}
