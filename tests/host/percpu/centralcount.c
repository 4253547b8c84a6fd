/*
 * Counts what gperftools' thread caches ask of its central lists: linked with its archive, whose calls of
 * CentralFreeList::RemoveRange and InsertRange the linker redirects to the functions below (--wrap).
 *
 *     centralcount burst|ring|server SEED
 *
 * Prints "fetches N objects N releases N objects N": the calls since the workload began.
 *
 *   burst   a thread that builds up some thousand blocks, and frees them in another order
 *   ring    threads that free what their neighbour allocated, and allocate for the next one
 *   server  threads of which each serves requests out of a working set of its own, with buffers that grow
 */
#include <pthread.h>
#include <stdatomic.h>

#include "tests/host/guest.h"

/* ---- counting ------------------------------------------------------------------------------------------ */

static _Atomic uint64_t fetches, fetched_objects, releases, released_objects;

#define REMOVE_RANGE "_ZN8tcmalloc15CentralFreeList11RemoveRangeEPPvS2_i"
#define INSERT_RANGE "_ZN8tcmalloc15CentralFreeList11InsertRangeEPvS1_i"

int real_remove(void *list, void **start, void **end, int objects) __asm__("__real_" REMOVE_RANGE);
void real_insert(void *list, void *start, void *end, int objects) __asm__("__real_" INSERT_RANGE);
int count_remove(void *list, void **start, void **end, int objects) __asm__("__wrap_" REMOVE_RANGE);
void count_insert(void *list, void *start, void *end, int objects) __asm__("__wrap_" INSERT_RANGE);

int count_remove(void *list, void **start, void **end, int objects)
{
	int got = real_remove(list, start, end, objects);
	atomic_fetch_add_explicit(&fetches, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&fetched_objects, (uint64_t)got, memory_order_relaxed);
	return got;
}

void count_insert(void *list, void *start, void *end, int objects)
{
	atomic_fetch_add_explicit(&releases, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&released_objects, (uint64_t)objects, memory_order_relaxed);
	real_insert(list, start, end, objects);
}

/* ---- workloads ----------------------------------------------------------------------------------------- */

#define THREADS 4u
#define BLOCKS	4096u

static uint32_t seed;

/* From 16 bytes to 32 KiB (`doublings` is 11), small ones more often: each doubling as likely as the next. */
static size_t some_size(uint32_t *state, unsigned doublings)
{
	uint32_t random = guest_random(state);
	size_t base = (size_t)16 << (random >> 8) % doublings;
	return base + (random >> 12) % base;
}

static void *filled(size_t bytes)
{
	void *block = malloc(bytes);
	require(block);
	tag_block(block, bytes, 1);
	return block;
}

static void shuffle(void **blocks, uint32_t count, uint32_t *state)
{
	for (uint32_t i = count; i > 1; i--) {
		uint32_t other = guest_random(state) % i;
		void *block = blocks[i - 1];
		blocks[i - 1] = blocks[other];
		blocks[other] = block;
	}
}

static void burst(void)
{
	static void *blocks[BLOCKS];
	uint32_t state = seed;
	for (unsigned round = 0; round < 150; round++) {
		uint32_t count = 1 + guest_random(&state) % BLOCKS;
		for (uint32_t i = 0; i < count; i++)
			blocks[i] = filled(some_size(&state, 11));
		shuffle(blocks, count, &state);
		for (uint32_t i = 0; i < count; i++)
			free(blocks[i]);
	}
}

static void *slots[THREADS][BLOCKS];
static pthread_barrier_t turn;

static void *ring_thread(void *argument)
{
	const unsigned self = (unsigned)(uintptr_t)argument, next = (self + 1) % THREADS;
	uint32_t state = seed + 77 * self;
	for (unsigned round = 0; round < 100; round++) {
		uint32_t count = 1 + guest_random(&state) % (BLOCKS / 2);
		for (uint32_t i = 0; i < BLOCKS && slots[self][i]; i++) {
			free(slots[self][i]);
			slots[self][i] = NULL;
		}
		pthread_barrier_wait(&turn);
		for (uint32_t i = 0; i < count; i++)
			slots[next][i] = filled(some_size(&state, 11));
		pthread_barrier_wait(&turn);
	}
	for (uint32_t i = 0; i < BLOCKS && slots[self][i]; i++)
		free(slots[self][i]);
	return NULL;
}

/* A request: some buffers that grow as they are filled, and a few blocks that stay. */
static void *server_thread(void *argument)
{
	const unsigned self = (unsigned)(uintptr_t)argument;
	uint32_t state = seed + 131 * self;
	void **kept = slots[self];
	for (unsigned request = 0; request < 3000; request++) {
		void *buffers[64];
		uint32_t count = 1 + guest_random(&state) % 64;
		for (uint32_t i = 0; i < count; i++) {
			size_t bytes = some_size(&state, 10);
			buffers[i] = filled(bytes);
			for (; guest_random(&state) % 3 == 0; bytes *= 2)
				require((buffers[i] = realloc(buffers[i], 2 * bytes)) != NULL);
		}
		for (unsigned i = 0; i < 16; i++) {
			void **place = &kept[guest_random(&state) % BLOCKS];
			free(*place);
			*place = filled(some_size(&state, 10));
		}
		for (uint32_t i = 0; i < count; i++)
			free(buffers[i]);
	}
	for (uint32_t i = 0; i < BLOCKS; i++)
		free(kept[i]);
	return NULL;
}

static void threads(void *(*work)(void *))
{
	pthread_t ids[THREADS];
	for (unsigned i = 0; i < THREADS; i++)
		require(pthread_create(&ids[i], NULL, work, (void *)(uintptr_t)i) == 0);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(ids[i], NULL);
}

int main(int argc, char **argv)
{
	require(argc == 3);
	seed = (uint32_t)strtoul(argv[2], NULL, 10) | 1;
	require(pthread_barrier_init(&turn, NULL, THREADS) == 0);
	fetches = fetched_objects = releases = released_objects = 0;
	if (!strcmp(argv[1], "burst"))
		burst();
	else if (!strcmp(argv[1], "ring"))
		threads(ring_thread);
	else if (!strcmp(argv[1], "server"))
		threads(server_thread);
	else
		require(false);
	say("fetches %llu objects %llu releases %llu objects %llu", (unsigned long long)fetches,
	    (unsigned long long)fetched_objects, (unsigned long long)releases,
	    (unsigned long long)released_objects);
	return 0;
}
