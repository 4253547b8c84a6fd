/*
 * mallocbench: what a malloc/free pair costs, with 1 to N threads.
 *
 * Each thread keeps a window of live blocks of 16 to 527 bytes. A pair frees the block in a random slot,
 * allocates a block of random size there and writes its first byte. Threads share nothing, so what they cost
 * each other is the allocator's (or a tracer's). Per thread count the measurement is repeated and the median
 * printed.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/number.h"
#include "bench/timing.h"

enum { SIZE_LEAST = 16, SIZE_SPREAD = 512, THREADS_MOST = 1024, REPEAT_MOST = 101 };

struct options {
	uint64_t threads;
	uint64_t pairs; /* per thread and repetition */
	uint64_t window;
	uint64_t repeat;
	bool json;
};

static const char help_text[] =
	"usage: mallocbench [-threads N] [-pairs N] [-window N] [-repeat N] [--json]\n"
	"\n"
	"Prints the time of a malloc/free pair in nanoseconds, with 1 thread, with 2, ... up to N.\n"
	"\n"
	"  -threads N  most threads (default 1)\n"
	"  -pairs N    pairs a thread (default 3000000)\n"
	"  -window N   live blocks a thread, 16 to 527 bytes each (default 1024)\n"
	"  -repeat N   measurements for each number of threads, of which the median is printed (default 3)\n"
	"  --json      one object on one line instead of text\n";

/* ---- measuring ---- */

struct thread {
	const struct options *options;
	pthread_barrier_t *start;
	pthread_t handle;
	unsigned number;
	bool failed; /* malloc returned NULL */
	double ns_per_pair;
};

static inline uint64_t xorshift(uint64_t *state)
{
	uint64_t x = *state;

	x ^= x << 13;
	x ^= x >> 7;
	return *state = x ^ x << 17;
}

/* The low half chooses the slot, the high bits the size. False where malloc fails. */
static inline bool replace_block(volatile char **blocks, uint64_t window, uint64_t random)
{
	volatile char **slot = &blocks[(random & UINT32_MAX) * window >> 32];

	free((void *)*slot);
	*slot = malloc(SIZE_LEAST + (random >> 55) % SIZE_SPREAD);
	if (!*slot)
		return false;
	**slot = 1;
	return true;
}

static bool churn(volatile char **blocks, uint64_t window, uint64_t pairs, uint64_t *random)
{
	for (uint64_t i = 0; i < pairs; i++)
		if (!replace_block(blocks, window, xorshift(random)))
			return false;
	return true;
}

static bool fill_window(volatile char **blocks, uint64_t window)
{
	for (uint64_t i = 0; i < window; i++)
		if (!(blocks[i] = malloc(SIZE_LEAST)))
			return false;
	return true;
}

static void *thread_main(void *argument)
{
	struct thread *thread = argument;
	uint64_t window = thread->options->window, pairs = thread->options->pairs, start_ns;
	uint64_t random = UINT64_C(0x9E3779B97F4A7C15) * (thread->number + 1);
	volatile char **blocks = calloc(window, sizeof *blocks);

	/* Once through the window before the clock starts, so that all sizes are there. */
	thread->failed =
		!blocks || !fill_window(blocks, window) || !churn(blocks, window, window * 4, &random);
	pthread_barrier_wait(thread->start);
	start_ns = monotonic_ns();
	if (!thread->failed)
		thread->failed = !churn(blocks, window, pairs, &random);
	thread->ns_per_pair = (double)(monotonic_ns() - start_ns) / (double)pairs;
	for (uint64_t i = 0; blocks && i < window; i++)
		free((void *)blocks[i]);
	free(blocks);
	return NULL;
}

static void start_threads(struct thread *threads, unsigned count, const struct options *options,
			  pthread_barrier_t *start)
{
	for (unsigned i = 0; i < count; i++) {
		int error;

		threads[i] = (struct thread){.options = options, .start = start, .number = i};
		error = pthread_create(&threads[i].handle, NULL, thread_main, &threads[i]);
		if (error) {
			fprintf(stderr, "mallocbench: cannot start thread %u of %u: %s\n", i + 1, count,
				strerror(error));
			exit(1); /* those started wait at the barrier for ever */
		}
	}
}

/* The mean over the threads of nanoseconds per pair, or a negative number where memory ran out. */
static double measure_once(const struct options *options, unsigned count)
{
	static struct thread threads[THREADS_MOST];
	pthread_barrier_t start;
	double sum = 0;
	bool failed = false;

	pthread_barrier_init(&start, NULL, count);
	start_threads(threads, count, options, &start);
	for (unsigned i = 0; i < count; i++) {
		pthread_join(threads[i].handle, NULL);
		sum += threads[i].ns_per_pair;
		failed |= threads[i].failed;
	}
	pthread_barrier_destroy(&start);
	return failed ? -1 : sum / count;
}

static int ascending(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

/* Fills `times` with options->repeat measurements, sorted. */
static bool measure(const struct options *options, unsigned count, double *times)
{
	for (uint64_t i = 0; i < options->repeat; i++) {
		times[i] = measure_once(options, count);
		if (times[i] < 0) {
			fprintf(stderr, "mallocbench: out of memory: %u threads with %llu blocks each\n",
				count, (unsigned long long)options->window);
			return false;
		}
	}
	qsort(times, options->repeat, sizeof *times, ascending);
	return true;
}

/* ---- printing ---- */

static void print_result(const struct options *options, unsigned count, const double *times)
{
	double median = times[options->repeat / 2], low = times[0], high = times[options->repeat - 1];

	if (options->json)
		printf("%s{\"threads\": %u, \"ns_per_pair\": %.2f, \"ns_per_pair_min\": %.2f, "
		       "\"ns_per_pair_max\": %.2f}",
		       count > 1 ? ", " : "", count, median, low, high);
	else
		printf("%7u  %11.1f  %5.1f .. %.1f\n", count, median, low, high);
	fflush(stdout);
}

static void print_head(const struct options *options)
{
	unsigned long long pairs = options->pairs, window = options->window, repeat = options->repeat;

	if (options->json)
		printf("{\"pairs\": %llu, \"window\": %llu, \"repeat\": %llu, \"size_min_bytes\": %d, "
		       "\"size_max_bytes\": %d, \"results\": [",
		       pairs, window, repeat, SIZE_LEAST, SIZE_LEAST + SIZE_SPREAD - 1);
	else
		printf("malloc/free pairs: %llu a thread, window of %llu blocks, %d to %d bytes, median of "
		       "%llu\n"
		       "threads  ns per pair  range\n",
		       pairs, window, SIZE_LEAST, SIZE_LEAST + SIZE_SPREAD - 1, repeat);
}

static int run(const struct options *options)
{
	double times[REPEAT_MOST];

	print_head(options);
	for (unsigned count = 1; count <= options->threads; count++) {
		if (!measure(options, count, times))
			return 1;
		print_result(options, count, times);
	}
	if (options->json)
		puts("]}");
	return fflush(stdout) || ferror(stdout) ? 1 : 0;
}

/* ---- command line ---- */

static bool read_option(struct options *options, const char *name, const char *value)
{
	if (!strcmp(name, "-threads"))
		return number_read("mallocbench", name, value, THREADS_MOST, &options->threads);
	if (!strcmp(name, "-pairs"))
		return number_read("mallocbench", name, value, UINT64_C(1) << 48, &options->pairs);
	if (!strcmp(name, "-window"))
		return number_read("mallocbench", name, value, 1 << 24, &options->window);
	if (!strcmp(name, "-repeat"))
		return number_read("mallocbench", name, value, REPEAT_MOST, &options->repeat);
	fprintf(stderr, "mallocbench: %s: unknown option (see --help)\n", name);
	return false;
}

int main(int argc, char **argv)
{
	struct options options = {.threads = 1, .pairs = 3000000, .window = 1024, .repeat = 3};

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
