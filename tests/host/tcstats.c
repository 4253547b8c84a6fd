/*
 * A program that exports what google/tcmalloc or gperftools let C ask, with answers of its own.
 *
 * usage: tcstats healthy|zero|misses|fallback|costly|fork
 *
 * Built three times: with all of google/tcmalloc's functions; with some of them missing (TCSTATS_PART); with
 * gperftools' (TCSTATS_GPERFTOOLS). Whoever asks must be the shim's own thread, by names it knows, and must
 * change nothing: the setters are there to be caught. Nothing is asked without the shim, so nothing is waited
 * for then.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include "tests/host/guest.h"

enum { CPUS = 3, ALLOCATIONS = 4000, CPU_FREE = 123456, HEAP = 98765432, ANSWER_BYTES = 64 << 20 };

static struct {
	bool zero, misses, fallback, costly, held;
} scenario;

static _Atomic unsigned properties_asked, texts_asked;
static _Atomic unsigned long long underflows[CPUS];
static _Atomic int allocator_lock;

/* ---- the asker ------------------------------------------------------------------------------------------
 */

/* What an answer takes for itself is no call of the program's. */
static void take_memory(void)
{
	void *volatile block = malloc(ANSWER_BYTES);
	void *region = mmap(NULL, ANSWER_BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	check(block && region != MAP_FAILED);
	munmap(region, ANSWER_BYTES);
	free(block);
}

static void check_asker(void)
{
	char name[16] = "";
	prctl(PR_GET_NAME, name);
	check(strcmp(name, "mtrace-writer") == 0);
}

static void pause_ms(long milliseconds)
{
	struct timespec pause = {milliseconds / 1000, milliseconds % 1000 * 1000000};
	nanosleep(&pause, NULL);
}

/* ---- answers --------------------------------------------------------------------------------------------
 */

#ifndef TCSTATS_PART
static bool answer(const char *name, size_t length, size_t *value)
{
	static const struct {
		const char *name;
		size_t value;
	} answers[] = {
		{"generic.heap_size", HEAP},
		{"generic.current_allocated_bytes", HEAP / 2},
#ifdef TCSTATS_GPERFTOOLS
		{"tcmalloc.thread_cache_free_bytes", 777},
		{"tcmalloc.spinlock_total_delay_ns", 5000},
#else
		{"tcmalloc.cpu_free", CPU_FREE},
		{"tcmalloc.thread_cache_count", 31},
		{"tcmalloc.max_total_thread_cache_bytes", 33554432},
#endif
	};
	check_asker();
	for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
		if (strlen(answers[i].name) != length || memcmp(answers[i].name, name, length) != 0)
			continue;
		bool none = scenario.zero && !strcmp(answers[i].name, "tcmalloc.cpu_free");
		*value = none ? 0 : answers[i].value;
		if (i == 0) {
			take_memory();
			properties_asked++;
		}
		return true;
	}
	return false;
}
#endif

#ifdef TCSTATS_GPERFTOOLS
int MallocExtension_GetNumericProperty(const char *name, size_t *value);
int MallocExtension_GetNumericProperty(const char *name, size_t *value)
{
	return answer(name, strlen(name), value);
}

int MallocExtension_SetNumericProperty(const char *name, size_t value);
int MallocExtension_SetNumericProperty(const char *name, size_t value)
{
	check(!"a setter was called");
	return (int)(strlen(name) + value);
}
#else
static void burn(long milliseconds)
{
	struct timespec start, now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	while ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 < milliseconds);
}

static void lock_allocator(void)
{
	while (atomic_exchange(&allocator_lock, 1))
		;
}

static size_t write_text(char *text, size_t bytes)
{
	size_t used = 0;
#define PUT(...) (used += (size_t)snprintf(text + used, bytes - used, __VA_ARGS__))
	PUT("------------------------------------------------\nMALLOC: + %12u (%7.1f MiB) Bytes in per-CPU "
	    "cache freelist\n",
	    CPU_FREE, 0.1);
	PUT("Bytes in per-CPU caches (per cpu limit: %d bytes)\n", scenario.zero ? 0 : 1572864);
	for (unsigned cpu = 0; cpu < CPUS; cpu++)
		PUT("cpu %3u: %12u bytes (%7.1f MiB) with%12u bytes unallocated %s%s\n", cpu,
		    scenario.zero ? 0 : 1000 + cpu, 0.0, scenario.zero ? 0 : 500 + cpu, " active",
		    " populated");
	PUT("------------------------------------------------\n"
	    "Number of per-CPU cache underflows, overflows, and reclaims\n");
	for (unsigned cpu = 0; cpu < CPUS; cpu++)
		PUT("cpu %3u:%12llu underflows,%12u overflows, overflows / underflows: %5.2f, %12u "
		    "reclaims,%12u "
		    "resizes\n",
		    cpu, (unsigned long long)underflows[cpu], 20 + cpu, 1.0, 7u, 3u);
	PUT("PARAMETER tcmalloc_per_cpu_caches 1\n");
#undef PUT
	return used;
}

size_t TCMalloc_Internal_GetStats(char *text, size_t bytes);
size_t TCMalloc_Internal_GetStats(char *text, size_t bytes)
{
	check_asker();
	take_memory();
	check(bytes >= 256 << 10); /* with less it leaves the CPUs out */
	if (scenario.held) {
		lock_allocator();
		pause_ms(30);
		allocator_lock = 0;
	}
	if (scenario.costly)
		burn(60);
	size_t used = write_text(text, bytes);
	texts_asked++;
	return used;
}

bool MallocExtension_Internal_GetPerCpuCachesActive(void);
bool MallocExtension_Internal_GetPerCpuCachesActive(void)
{
	check_asker();
	return !scenario.fallback;
}

void MallocExtension_Internal_SetMaxPerCpuCacheSize(int32_t bytes);
void MallocExtension_Internal_SetMaxPerCpuCacheSize(int32_t bytes)
{
	(void)bytes;
	guest_failed(__FILE__, __LINE__, "a setter was called");
}

size_t MallocExtension_Internal_ReleaseCpuMemory(int cpu);
size_t MallocExtension_Internal_ReleaseCpuMemory(int cpu)
{
	(void)cpu;
	guest_failed(__FILE__, __LINE__, "memory was released");
	return 0;
}

#ifndef TCSTATS_PART
bool MallocExtension_Internal_GetNumericProperty(const char *name, size_t length, size_t *value);
bool MallocExtension_Internal_GetNumericProperty(const char *name, size_t length, size_t *value)
{
	return answer(name, length, value);
}

int32_t MallocExtension_Internal_GetMaxPerCpuCacheSize(void);
int32_t MallocExtension_Internal_GetMaxPerCpuCacheSize(void)
{
	check_asker();
	return scenario.zero ? 0 : 1572864;
}
#endif
#endif

/* ---- the program ----------------------------------------------------------------------------------------
 */

static unsigned asked(void)
{
#if defined(TCSTATS_GPERFTOOLS)
	return properties_asked;
#else
	return texts_asked;
#endif
}

/* Until the shim has asked `times` more often. */
static void wait_asked(unsigned (*count)(void), unsigned times)
{
	unsigned start = count();
	if (!getenv("MTRACE_OUT"))
		return;
	for (int waited_ms = 0; count() - start < times; waited_ms += 5) {
		require(waited_ms < 40000);
		pause_ms(5);
	}
}

static unsigned properties_count(void)
{
	return properties_asked;
}

static void allocate(void)
{
	for (int i = 0; i < ALLOCATIONS; i++) {
		void *volatile block = malloc(64);
		require(block);
		free(block);
		if (scenario.zero || scenario.misses || i % 50 == 0)
			underflows[i % CPUS]++;
	}
}

/* The lock as a fork finds it: free, although somebody was just asking. */
static void fork_while_asking(void)
{
	for (int i = 0; i < 3; i++) {
		for (int waited_ms = 0; getenv("MTRACE_OUT") && !allocator_lock; waited_ms++) {
			require(waited_ms < 20000);
			pause_ms(1);
		}
		pid_t child = fork();
		if (child == 0)
			_exit(allocator_lock ? 3 : 0);
		int status = -1;
		waitpid(child, &status, 0);
		say("child %d ends with %d", i, WEXITSTATUS(status));
	}
}

static void count_answers(void)
{
	guest_count("mmaps", 0, 0);
	guest_count("munmaps", 0, 0);
	guest_count("alloc_bytes", 2 * ALLOCATIONS * 64, ANSWER_BYTES / 2);
#ifndef TCSTATS_PART
	guest_count("allocator.values[\"generic.heap_size\"]", HEAP, HEAP);
#endif
#ifndef TCSTATS_GPERFTOOLS
	for (unsigned cpu = 0; cpu < CPUS; cpu++) {
		char field[64];
		snprintf(field, sizeof field, "allocator.cpus[%u].underflows", cpu);
		guest_count(field, underflows[cpu], underflows[cpu]);
		snprintf(field, sizeof field, "allocator.cpus[%u].overflows", cpu);
		guest_count(field, 20 + cpu, 20 + cpu);
		snprintf(field, sizeof field, "allocator.cpus[%u].used_bytes", cpu);
		guest_count(field, scenario.zero ? 0 : 1000 + cpu, scenario.zero ? 0 : 1000 + cpu);
	}
#endif
}

int main(int argc, char **argv)
{
	require(argc == 2);
	scenario.zero = !strcmp(argv[1], "zero");
	scenario.misses = !strcmp(argv[1], "misses");
	scenario.fallback = !strcmp(argv[1], "fallback");
	scenario.costly = !strcmp(argv[1], "costly");
	scenario.held = !strcmp(argv[1], "fork");
	if (scenario.costly) {
		wait_asked(properties_count, 6);
		check(texts_asked <= 1); /* 60 ms are a part in 200 of 12 s */
		return 0;
	}
	if (scenario.held) {
		fork_while_asking();
		return 0;
	}
	wait_asked(asked, 1);
	allocate();
	wait_asked(asked, 1);
	allocate();
	wait_asked(asked, 2); /* the last one came after all of the above */
	count_answers();
	say("done");
	return 0;
}
