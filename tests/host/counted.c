/*
 * Known counts: two threads, 1,000,000 mallocs, 250,000 reallocs, 1,000,000 frees (a third of them on the
 * other thread), 100 mmaps of which 50 are unmapped, 10 madvises, 5 mprotects. `counted empty` does
 * everything but these calls, so that the difference of the two traces is exact whatever libc itself does at
 * start and end.
 */
#include "tests/host/guest.h"

#include <pthread.h>
#include <sys/mman.h>

enum { THREADS = 2, ROUNDS = 500, BATCH = 1000, REALLOCS = 250, KEPT = 10, OWN = 667, MAP_BYTES = 65536 };

struct block {
	unsigned char *address;
	size_t bytes;
};

static struct block blocks[THREADS][BATCH];
static struct block kept[THREADS][ROUNDS * KEPT];
static int64_t live_bytes[THREADS]; /* requested; a thread may go below zero */
static pthread_barrier_t barrier;
static int rounds;

static void fill(unsigned me, uint32_t *seed)
{
	for (unsigned i = 0; i < BATCH; i++) {
		struct block *b = &blocks[me][i];
		b->bytes = 1 + guest_random(seed) % 700;
		b->address = malloc(b->bytes);
		require(b->address);
		tag_block(b->address, b->bytes, i);
		live_bytes[me] += (int64_t)b->bytes;
	}
}

/* Realloc of blocks that exist, and KEPT times of NULL: these are live at the end. */
static void resize(unsigned me, int round, uint32_t *seed)
{
	for (unsigned i = 0; i < REALLOCS; i++) {
		bool is_new = i < KEPT;
		struct block *b = is_new ? &kept[me][round * KEPT + (int)i] : &blocks[me][i * 4];
		size_t bytes = 1 + guest_random(seed) % 1500;
		unsigned char *address = realloc(b->address, bytes);
		require(address);
		check(is_new || address[0] == (unsigned char)(i * 4));
		live_bytes[me] += (int64_t)bytes - (int64_t)b->bytes;
		*b = (struct block){address, bytes};
		tag_block(address, bytes, is_new ? 0 : i * 4);
	}
}

static void release(unsigned me, unsigned owner, unsigned from, unsigned to)
{
	for (unsigned i = from; i < to; i++) {
		struct block *b = &blocks[owner][i];
		check(tag_holds(b->address, b->bytes, i));
		live_bytes[me] -= (int64_t)b->bytes;
		free(b->address);
	}
}

static void *work(void *argument)
{
	unsigned me = argument ? 1 : 0;
	uint32_t seed = 77 + me;
	for (int round = 0; round < rounds; round++) {
		fill(me, &seed);
		resize(me, round, &seed);
		pthread_barrier_wait(&barrier);
		release(me, me, 0, OWN);
		release(me, 1 - me, OWN, BATCH);
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

static void map_regions(int regions)
{
	for (int i = 0; i < regions; i++) {
		char *p = mmap(NULL, MAP_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		require(p != MAP_FAILED);
		p[0] = 1;
		if (i % 10 == 0)
			check(madvise(p, MAP_BYTES, MADV_DONTNEED) == 0 && p[0] == 0);
		if (i % 20 == 1)
			check(mprotect(p, 4096, PROT_READ) == 0);
		if (i % 2 == 0)
			check(munmap(p, MAP_BYTES) == 0);
	}
}

int main(int argc, char **argv)
{
	bool is_empty = argc > 1 && strcmp(argv[1], "empty") == 0;
	rounds = is_empty ? 0 : ROUNDS;
	pthread_t other;
	pthread_barrier_init(&barrier, NULL, THREADS);
	require(pthread_create(&other, NULL, work, &barrier) == 0);
	work(NULL);
	pthread_join(other, NULL);
	map_regions(is_empty ? 0 : 100);
	say("live_bytes %lld", (long long)(live_bytes[0] + live_bytes[1]));
	return 0;
}
