/*
 * A program with a malloc of its own that holds a spinlock while it asks the kernel for memory, as MongoDB's
 * allocator does: whoever allocates inside mmap, munmap, madvise or mprotect waits for ever. Linked with
 * -rdynamic.
 */
#include "tests/host/guest.h"

#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

enum { CHUNK_BYTES = 1 << 20, UNIT = 16, TIMES = 30000, THREADS = 3 };

static atomic_flag lock = ATOMIC_FLAG_INIT;
static unsigned char *chunk;
static size_t chunk_used = CHUNK_BYTES;
static atomic_ulong calls;

static void acquire(void)
{
	while (atomic_flag_test_and_set_explicit(&lock, memory_order_acquire))
		continue;
}

static void release(void)
{
	atomic_flag_clear_explicit(&lock, memory_order_release);
}

static unsigned char *map(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		_exit(95);
	mprotect(p, 4096, PROT_READ | PROT_WRITE);
	madvise(p, bytes, MADV_NOHUGEPAGE);
	return p;
}

static void *take(size_t alignment, size_t bytes)
{
	size_t room = (bytes + alignment + UNIT + UNIT - 1) & ~(size_t)(UNIT - 1);
	atomic_fetch_add(&calls, 1);
	acquire();
	unsigned char *p;
	if (room > CHUNK_BYTES / 4) {
		p = map(room);
	} else {
		if (chunk_used + room > CHUNK_BYTES) {
			chunk = map(CHUNK_BYTES);
			chunk_used = 0;
		}
		p = chunk + chunk_used;
		chunk_used += room;
	}
	release();
	p = (unsigned char *)(((uintptr_t)p + UNIT + alignment - 1) & ~(uintptr_t)(alignment - 1));
	*(size_t *)(p - UNIT) = bytes;
	return p;
}

void *malloc(size_t bytes)
{
	return take(UNIT, bytes);
}

void *calloc(size_t count, size_t each)
{
	return take(UNIT, count * each);
}

size_t malloc_usable_size(void *block)
{
	return block ? *(size_t *)((uintptr_t)block - UNIT) : 0;
}

void *realloc(void *block, size_t bytes)
{
	void *p = take(UNIT, bytes);
	size_t had = malloc_usable_size(block);
	if (block)
		memcpy(p, block, had < bytes ? had : bytes);
	return p;
}

void free(void *block)
{
	(void)block;
}

void *memalign(size_t alignment, size_t bytes)
{
	return take(alignment < UNIT ? UNIT : alignment, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
	return memalign(alignment, bytes);
}

int posix_memalign(void **block, size_t alignment, size_t bytes)
{
	*block = memalign(alignment, bytes);
	return 0;
}

static void *work(void *argument)
{
	uint32_t seed = 1 + (uint32_t)(uintptr_t)argument;
	for (int i = 0; i < TIMES; i++) {
		size_t bytes = 1 + guest_random(&seed) % 600;
		char *p = malloc(bytes);
		tag_block(p, bytes, (unsigned)i);
		check(tag_holds(p, bytes, (unsigned)i));
		free(p);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	for (uintptr_t i = 0; i < THREADS; i++)
		require(pthread_create(&threads[i], NULL, work, (void *)i) == 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	check(calls >= THREADS * TIMES);
	guest_count("mmaps", 2, 10000);
	say("worked with its own malloc");
	return 0;
}
