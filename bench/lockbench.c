/*
 * lockbench: what an uncontended lock and unlock cost, in one thread.
 *
 * For each kind of lock a loop of pairs is timed several times, in CPU time of the thread, and the median
 * printed. The locks of a round are as many as asked for and taken in turn: with more than a few, a tracer's
 * tables show as well. A second thread sleeps: glibc takes cheaper ways while there is only one, and a tracer
 * may bring one.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/number.h"

enum { LOCKS_MOST = 4096, REPEAT_MOST = 101 };

static const char help_text[] =
	"usage: lockbench [-pairs N] [-locks N] [-repeat N] [--json]\n"
	"\n"
	"Nanoseconds for a pair of lock and unlock that nobody else wants: a mutex, a read-write lock for "
	"reading\n"
	"and for writing, a spin lock.\n"
	"  -pairs N    pairs in a round (default 5000000)\n"
	"  -locks N    that many locks of each kind, taken in turn (default 1, at most 4096)\n"
	"  -repeat N   rounds; the median is printed (default 5)\n"
	"  --json      one object: {\"locks\": N, \"results\": [{\"kind\", \"ns_per_pair\", \"least\", "
	"\"most\"}]}\n";

struct options {
	uint64_t pairs, locks, repeat;
	bool json;
};

static pthread_mutex_t mutexes[LOCKS_MOST];
static pthread_rwlock_t rwlocks[LOCKS_MOST];
static pthread_spinlock_t spinlocks[LOCKS_MOST];

static void mutex_pair(size_t i)
{
	pthread_mutex_lock(&mutexes[i]);
	pthread_mutex_unlock(&mutexes[i]);
}

static void read_pair(size_t i)
{
	pthread_rwlock_rdlock(&rwlocks[i]);
	pthread_rwlock_unlock(&rwlocks[i]);
}

static void write_pair(size_t i)
{
	pthread_rwlock_wrlock(&rwlocks[i]);
	pthread_rwlock_unlock(&rwlocks[i]);
}

static void spin_pair(size_t i)
{
	pthread_spin_lock(&spinlocks[i]);
	pthread_spin_unlock(&spinlocks[i]);
}

static const struct kind {
	const char *name;
	void (*pair)(size_t lock);
} kinds[] = {
	{"mutex", mutex_pair}, {"rwlock-read", read_pair}, {"rwlock-write", write_pair}, {"spin", spin_pair}};

static sem_t never;

static void *sleep_on(void *argument)
{
	while (sem_wait(&never) != 0)
		;
	return argument;
}

static bool start_sleeper(void)
{
	pthread_t sleeper;

	return sem_init(&never, 0, 0) == 0 && pthread_create(&sleeper, NULL, sleep_on, NULL) == 0;
}

static double thread_cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static bool make_locks(void)
{
	for (size_t i = 0; i < LOCKS_MOST; i++)
		if (pthread_mutex_init(&mutexes[i], NULL) || pthread_rwlock_init(&rwlocks[i], NULL) ||
		    pthread_spin_init(&spinlocks[i], PTHREAD_PROCESS_PRIVATE))
			return false;
	return true;
}

static double time_round(const struct options *options, const struct kind *kind)
{
	size_t lock = 0;
	double start_ns = thread_cpu_ns();

	for (uint64_t i = 0; i < options->pairs; i++) {
		kind->pair(lock);
		lock = lock + 1 == options->locks ? 0 : lock + 1;
	}
	return (thread_cpu_ns() - start_ns) / (double)options->pairs;
}

static int by_value(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

static void run_kind(const struct options *options, const struct kind *kind)
{
	double times[REPEAT_MOST] = {0};
	double median, least, most;

	time_round(options, kind); /* warms up */
	for (uint64_t i = 0; i < options->repeat; i++)
		times[i] = time_round(options, kind);
	qsort(times, options->repeat, sizeof *times, by_value);
	median = times[options->repeat / 2];
	least = times[0];
	most = times[options->repeat - 1];
	if (options->json)
		printf("%s{\"kind\": \"%s\", \"ns_per_pair\": %.2f, \"least\": %.2f, \"most\": %.2f}",
		       kind == kinds ? "" : ", ", kind->name, median, least, most);
	else
		printf("%-14s %8.2f ns a pair  (%.2f to %.2f)\n", kind->name, median, least, most);
}

static int run(const struct options *options)
{
	if (!make_locks() || !start_sleeper()) {
		fputs("lockbench: locks or a second thread could not be made\n", stderr);
		return 1;
	}
	if (options->json)
		printf("{\"locks\": %llu, \"results\": [", (unsigned long long)options->locks);
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		run_kind(options, &kinds[i]);
	if (options->json)
		puts("]}");
	return fflush(stdout) || ferror(stdout) ? 1 : 0;
}

/* ---- command line ---- */

static bool read_option(struct options *options, const char *name, const char *value)
{
	if (!strcmp(name, "-pairs"))
		return number_read("lockbench", name, value, UINT64_C(1) << 48, &options->pairs);
	if (!strcmp(name, "-locks"))
		return number_read("lockbench", name, value, LOCKS_MOST, &options->locks);
	if (!strcmp(name, "-repeat"))
		return number_read("lockbench", name, value, REPEAT_MOST, &options->repeat);
	fprintf(stderr, "lockbench: %s: unknown option (see --help)\n", name);
	return false;
}

int main(int argc, char **argv)
{
	struct options options = {.pairs = 5000000, .locks = 1, .repeat = 5};

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
			fputs(help_text, stdout);
			return 0;
		}
		if (!strcmp(argv[i], "--json"))
			options.json = true;
		else if (!read_option(&options, argv[i], i + 1 < argc ? argv[i + 1] : NULL))
			return 2;
		else
			i++;
	}
	return run(&options);
}
