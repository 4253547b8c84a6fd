/* `churn`: 10,000 short threads that hand blocks on and allocate in a key's destructor; `wide`: 256 at once.
 */
#include "tests/host/guest.h"

#include <pthread.h>
#include <semaphore.h>

enum { CHURNED = 10000, AT_ONCE = 4, WIDE = 256, WIDE_BLOCKS = 100 };

static pthread_key_t key;
static pthread_attr_t small;
static sem_t detached_done;

/* Runs at thread exit, perhaps after a preloaded object's own destructor; comes back once. */
static void destroy(void *value)
{
	char *again = *(char *)value == 1 ? malloc(40) : NULL;
	free(value);
	if (again) {
		*again = 2;
		pthread_setspecific(key, again);
	}
}

static void *live_shortly(void *argument)
{
	size_t number = (size_t)argument;
	char *p = malloc(16 + number % 500);
	char *q = malloc(100);
	char *mark = malloc(8);
	require(p && q && mark);
	*mark = 1;
	pthread_setspecific(key, mark);
	*p = (char)number;
	free(q);
	if (number % 2)
		pthread_exit(p);
	return p;
}

static void *live_detached(void *argument)
{
	free(live_shortly((void *)((size_t)argument & ~(size_t)1)));
	sem_post(&detached_done);
	return NULL;
}

static void churn_joined(void)
{
	for (size_t i = 0; i < CHURNED; i += AT_ONCE) {
		pthread_t threads[AT_ONCE];
		for (size_t j = 0; j < AT_ONCE; j++)
			require(pthread_create(&threads[j], &small, live_shortly, (void *)(i + j)) == 0);
		for (size_t j = 0; j < AT_ONCE; j++) {
			void *block;
			require(pthread_join(threads[j], &block) == 0);
			check(*(char *)block == (char)(i + j));
			free(block);
		}
	}
}

static void churn_detached(void)
{
	enum { DETACHED = 500 };
	sem_init(&detached_done, 0, 0);
	for (size_t i = 0; i < DETACHED; i++) {
		pthread_t thread;
		require(pthread_create(&thread, &small, live_detached, (void *)i) == 0);
		pthread_detach(thread);
		sem_wait(&detached_done);
	}
}

static void churn(void)
{
	pthread_key_create(&key, destroy);
	churn_joined();
	churn_detached();
	/* four allocations a thread; libc takes and keeps a few more, at most two a thread */
	guest_count("allocs", 4 * (CHURNED + 500), 7 * (CHURNED + 500) + 64);
	say("%d threads have lived", CHURNED);
}

static pthread_barrier_t barrier;
static char *wide_blocks[WIDE][WIDE_BLOCKS];

static void *live_beside_others(void *argument)
{
	size_t me = (size_t)argument;
	for (size_t i = 0; i < WIDE_BLOCKS; i++) {
		wide_blocks[me][i] = malloc(24 + i);
		require(wide_blocks[me][i]);
		tag_block(wide_blocks[me][i], 24 + i, (unsigned)(me + i));
	}
	pthread_barrier_wait(&barrier);
	size_t neighbour = (me + 1) % WIDE;
	for (size_t i = 0; i < WIDE_BLOCKS; i++) {
		check(tag_holds(wide_blocks[neighbour][i], 24 + i, (unsigned)(neighbour + i)));
		free(wide_blocks[neighbour][i]);
	}
	pthread_barrier_wait(&barrier);
	return NULL;
}

static void widen(void)
{
	pthread_t threads[WIDE];
	pthread_barrier_init(&barrier, NULL, WIDE);
	for (size_t i = 0; i < WIDE; i++)
		require(pthread_create(&threads[i], &small, live_beside_others, (void *)i) == 0);
	for (size_t i = 0; i < WIDE; i++)
		pthread_join(threads[i], NULL);
	guest_count("allocs", WIDE * WIDE_BLOCKS, WIDE * (WIDE_BLOCKS + 4) + 64);
	guest_count("frees", WIDE * WIDE_BLOCKS, WIDE * (WIDE_BLOCKS + 4) + 64);
	say("%d threads at once", WIDE);
}

int main(int argc, char **argv)
{
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 256 * 1024);
	if (argc > 1 && strcmp(argv[1], "wide") == 0)
		widen();
	else
		churn();
	return 0;
}
