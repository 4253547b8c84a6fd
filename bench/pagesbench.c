/*
 * What it costs to know which pages of a process are huge: pagesbench GIB MAPPINGS RESIDENT_PERCENT SECONDS
 * READER
 *
 * Makes MAPPINGS mappings of GIB together, of which RESIDENT_PERCENT are touched, every other one on huge
 * pages where the kernel gives them. Then, for SECONDS, maps and unmaps a page once a millisecond and takes
 * the time of it: that is how long a guest waits for who reads about it. READER is what a thread does
 * meanwhile, once a second: none     nothing: for a run without or under libmtrace.so, whose own thread then
 * is the reader smaps    reads /proc/self/smaps pages    reads /proc/self/pagemap and /proc/kpageflags page
 * by page, as the kernel's tools/mm/thpmaps does
 *
 * Prints `name value` lines: cpu_percent of all threads but the first, of one CPU; reads; read_ms, the mean
 * wall time of a reading; mmap_median_us, mmap_p99_us, mmap_max_us. Exit status: 0 measured; 1 it failed; 2
 * wrong usage.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define NS	       UINT64_C(1000000000)
#define PRIVATE_MEMORY (MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE)
#define WINDOW	       512

enum reader { READER_NONE, READER_SMAPS, READER_PAGES, READERS };
static const char *const reader_names[] = {"none", "smaps", "pages"};

struct mapping {
	char *start;
	size_t bytes;
};

static struct {
	struct mapping *mappings;
	size_t count;
	enum reader reader;
	_Atomic bool over;
	uint64_t reads, read_ns;
} bench;

_Noreturn static void fail(const char *what)
{
	fprintf(stderr, "pagesbench: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t time_ns(clockid_t clock)
{
	struct timespec time;
	clock_gettime(clock, &time);
	return (uint64_t)time.tv_sec * NS + (uint64_t)time.tv_nsec;
}

/* ---- the process that is looked at ------------------------------------------------------------------------
 */

/* A page without access after each keeps the kernel from joining neighbours. */
static void make_mappings(size_t all_bytes, size_t percent)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), each = all_bytes / bench.count / page * page;
	for (size_t i = 0; i < bench.count; i++) {
		char *start = mmap(NULL, each + page, PROT_NONE, PRIVATE_MEMORY, -1, 0);
		if (start == MAP_FAILED || mprotect(start, each, PROT_READ | PROT_WRITE))
			fail("mapping memory");
		madvise(start, each, i % 2 ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
		bench.mappings[i] = (struct mapping){start, each};
		for (size_t at = 0; at < each * percent / 100; at += page)
			start[at] = 1;
	}
}

/* ---- readers ----------------------------------------------------------------------------------------------
 */

static void read_smaps(void)
{
	char text[4096];
	int fd = open("/proc/self/smaps", O_RDONLY);
	if (fd < 0)
		fail("/proc/self/smaps");
	while (read(fd, text, sizeof text) > 0)
		;
	close(fd);
}

/* Counts the pages that belong to a huge page. */
static uint64_t read_pages_of(const struct mapping *mapping, int pagemap_fd, int flags_fd)
{
	uint64_t entries[WINDOW], flags, huge = 0;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	for (size_t at = 0; at < mapping->bytes / page; at += WINDOW) {
		size_t count = mapping->bytes / page - at < WINDOW ? mapping->bytes / page - at : WINDOW;
		off_t offset = (off_t)(((uintptr_t)mapping->start / page + at) * sizeof *entries);
		if (pread(pagemap_fd, entries, count * sizeof *entries, offset) < 0)
			fail("/proc/self/pagemap");
		for (size_t i = 0; i < count; i++) {
			uint64_t frame = entries[i] & ((UINT64_C(1) << 55) - 1);
			if (entries[i] >> 63 &&
			    pread(flags_fd, &flags, sizeof flags, (off_t)(frame * sizeof flags)) > 0)
				huge += flags >> 22 & 1;
		}
	}
	return huge;
}

static void read_pages(void)
{
	int pagemap_fd = open("/proc/self/pagemap", O_RDONLY), flags_fd = open("/proc/kpageflags", O_RDONLY);
	if (pagemap_fd < 0 || flags_fd < 0)
		fail("/proc/kpageflags (needs root)");
	for (size_t i = 0; i < bench.count && !atomic_load(&bench.over); i++)
		read_pages_of(&bench.mappings[i], pagemap_fd, flags_fd);
	close(pagemap_fd);
	close(flags_fd);
}

static void *read_often(void *unused)
{
	(void)unused;
	while (!atomic_load(&bench.over)) {
		uint64_t start_ns = time_ns(CLOCK_MONOTONIC);
		if (bench.reader == READER_SMAPS)
			read_smaps();
		else
			read_pages();
		uint64_t took_ns = time_ns(CLOCK_MONOTONIC) - start_ns;
		bench.reads++;
		bench.read_ns += took_ns;
		if (took_ns < NS)
			usleep((useconds_t)((NS - took_ns) / 1000));
	}
	return NULL;
}

/* ---- measuring --------------------------------------------------------------------------------------------
 */

static int by_value(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
	return (a > b) - (a < b);
}

static size_t take_times(uint64_t seconds, uint64_t *times_ns, size_t most)
{
	size_t count = 0;
	uint64_t end_ns = time_ns(CLOCK_MONOTONIC) + seconds * NS;
	for (uint64_t now_ns; (now_ns = time_ns(CLOCK_MONOTONIC)) < end_ns && count < most; usleep(1000)) {
		void *page = mmap(NULL, 4096, PROT_READ, PRIVATE_MEMORY, -1, 0);
		if (page == MAP_FAILED || munmap(page, 4096))
			fail("mapping a page");
		times_ns[count++] = time_ns(CLOCK_MONOTONIC) - now_ns;
	}
	qsort(times_ns, count, sizeof *times_ns, by_value);
	return count;
}

static void measure(uint64_t seconds)
{
	size_t most = seconds * 1000 + 1;
	uint64_t *times_ns = calloc(most, sizeof *times_ns);
	pthread_t thread = 0;
	if (!times_ns || (bench.reader && pthread_create(&thread, NULL, read_often, NULL)))
		fail("starting");
	uint64_t start_ns = time_ns(CLOCK_MONOTONIC);
	uint64_t others_ns = time_ns(CLOCK_PROCESS_CPUTIME_ID) - time_ns(CLOCK_THREAD_CPUTIME_ID);
	size_t count = take_times(seconds, times_ns, most);
	if (count == 0)
		fail("no time was taken");
	others_ns = time_ns(CLOCK_PROCESS_CPUTIME_ID) - time_ns(CLOCK_THREAD_CPUTIME_ID) - others_ns;
	uint64_t took_ns = time_ns(CLOCK_MONOTONIC) - start_ns;
	atomic_store(&bench.over, true);
	if (bench.reader)
		pthread_join(thread, NULL);
	printf("cpu_percent %.3f\n", 100 * (double)others_ns / (double)took_ns);
	if (bench.reads)
		printf("reads %llu\nread_ms %.3f\n", (unsigned long long)bench.reads,
		       (double)bench.read_ns / (double)bench.reads / 1e6);
	size_t median = count / 2, most_of_them = count - 1 - count / 100;
	printf("mmap_median_us %.1f\nmmap_p99_us %.1f\nmmap_max_us %.1f\n", (double)times_ns[median] / 1e3,
	       (double)times_ns[most_of_them] / 1e3, (double)times_ns[count - 1] / 1e3);
	free(times_ns);
}

static uint64_t number(const char *text, uint64_t most)
{
	char *end;
	unsigned long long value = strtoull(text, &end, 10);
	if (*end || !*text || value > most || *text == '-') {
		fprintf(stderr, "pagesbench: %s is no number up to %llu\n", text, (unsigned long long)most);
		exit(2);
	}
	return value;
}

int main(int argc, char **argv)
{
	if (argc != 6) {
		fprintf(stderr, "usage: pagesbench GIB MAPPINGS RESIDENT_PERCENT SECONDS none|smaps|pages\n");
		return 2;
	}
	size_t bytes = number(argv[1], 1 << 16) << 30;
	bench.count = number(argv[2], 60000);
	size_t percent = number(argv[3], 100);
	uint64_t seconds = number(argv[4], 3600);
	while (bench.reader < READERS && strcmp(argv[5], reader_names[bench.reader]) != 0)
		bench.reader++;
	if (bench.reader == READERS || !bench.count || !seconds) {
		fprintf(stderr, "pagesbench: wrong reader, or nothing to do\n");
		return 2;
	}
	bench.mappings = calloc(bench.count, sizeof *bench.mappings);
	if (!bench.mappings)
		fail("starting");
	make_mappings(bytes, percent);
	measure(seconds);
	return 0;
}
