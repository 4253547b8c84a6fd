/*
 * A guest whose memory comes from everywhere: reservations as TCMalloc makes them, arenas, thread stacks,
 * large blocks, mappings of its own. At its end GUEST_COUNTS.maps holds its /proc/self/maps, and
 * GUEST_COUNTS.owners what the analyzer must say of single addresses: address, owner, state.
 */
#include "tests/host/guest.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif
#ifndef PR_SET_VMA
#define PR_SET_VMA	     0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif

#define MIB	       (UINT64_C(1) << 20)
#define GIB	       (UINT64_C(1) << 30)
#define RW	       (PROT_READ | PROT_WRITE)
#define PRIVATE_MEMORY (MAP_PRIVATE | MAP_ANONYMOUS)

enum { THREADS = 3 };

static size_t page_bytes;
static char owners[4096];
static size_t owners_bytes;

static void expect(const void *address, const char *owner, const char *state)
{
	int n = snprintf(owners + owners_bytes, sizeof owners - owners_bytes, "%llu %s %s\n",
			 (unsigned long long)(uintptr_t)address, owner, state);
	require(n > 0 && owners_bytes + (size_t)n < sizeof owners);
	owners_bytes += (size_t)n;
}

/* ---- as TCMalloc does --------------------------------------------------------------------------------- */

/* 1 GiB at an address with one of its tags; where something lies already, one further. */
static char *reserve(uint64_t tag)
{
	for (uint64_t i = 1; i < 64; i++) {
		void *wanted = (void *)(uintptr_t)(tag << 42 | i * 16 * GIB);
		void *got = mmap(wanted, GIB, PROT_NONE, PRIVATE_MEMORY | MAP_FIXED_NOREPLACE, -1, 0);
		if (got == wanted)
			return got;
		if (got != MAP_FAILED)
			munmap(got, GIB);
	}
	return NULL;
}

static void use_reservation(uint64_t tag, const char *owner)
{
	char *start = reserve(tag);
	require(start);
	prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, start, GIB, "guest_region");
	for (int i = 1; i <= 3; i++) {
		char *piece = start + GIB - (uint64_t)i * 2 * MIB;
		check(mprotect(piece, 2 * MIB, RW) == 0);
		memset(piece, 1, 2 * MIB);
	}
	char *released = start + GIB - 4 * MIB;
	check(madvise(released, MIB, MADV_REMOVE) == -1 && errno == EINVAL);
	check(madvise(released, MIB, MADV_DONTNEED) == 0);
	expect(start, owner, "reserved");
	expect(start + GIB - 6 * MIB, owner, "committed");
	expect(released, owner, "released");
}

/* ---- mappings of the program's ------------------------------------------------------------------------ */

__attribute__((noinline)) void *__wt_guest_map(size_t bytes);
__attribute__((noinline)) void *guest_map_plain(size_t bytes);

__attribute__((noinline)) void *__wt_guest_map(size_t bytes)
{
	void *p = mmap(NULL, bytes, RW, PRIVATE_MEMORY, -1, 0);
	require(p != MAP_FAILED);
	return p;
}

__attribute__((noinline)) void *guest_map_plain(size_t bytes)
{
	void *p = mmap(NULL, bytes, RW, PRIVATE_MEMORY, -1, 0);
	require(p != MAP_FAILED);
	return p;
}

static void map_things(void)
{
	expect(__wt_guest_map(3 * MIB), "wiredtiger", "committed");
	char *p = guest_map_plain(32 * page_bytes);
	check(munmap(p + 4 * page_bytes, 4 * page_bytes) == 0);
	check(mprotect(p + 12 * page_bytes, 4 * page_bytes, PROT_NONE) == 0);
	check(mmap(p + 20 * page_bytes, page_bytes, PROT_READ, PRIVATE_MEMORY | MAP_FIXED, -1, 0) ==
	      p + 20 * page_bytes);
	expect(p + 12 * page_bytes, "mmap:guest_map_plain", "reserved");
	expect(p + 31 * page_bytes, "mmap:guest_map_plain", "committed");
	char *grown = mremap(guest_map_plain(page_bytes), page_bytes, 4 * MIB, MREMAP_MAYMOVE);
	require(grown != MAP_FAILED);
	expect(grown + 4 * MIB - 1, "mmap:guest_map_plain", "committed");
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	char *file = mmap(NULL, page_bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	require(file != MAP_FAILED);
	close(fd);
	expect(file, "file", "committed");
}

/* ---- as libc does ------------------------------------------------------------------------------------- */

static pthread_barrier_t ready, done;
static struct {
	void *block, *stack;
} seen[THREADS];

/* Small blocks come from an arena of the thread's own. */
static void *hold_memory(void *argument)
{
	size_t index = (size_t)(uintptr_t)argument;
	char local = 0;
	for (int i = 0; i < 2000; i++)
		seen[index].block = malloc(1000);
	seen[index].stack = (void *)((uintptr_t)&local & ~(uintptr_t)15);
	pthread_barrier_wait(&ready);
	pthread_barrier_wait(&done);
	return NULL;
}

static void start_threads(void)
{
	pthread_barrier_init(&ready, NULL, THREADS + 1);
	pthread_barrier_init(&done, NULL, THREADS + 1);
	for (size_t i = 0; i < THREADS; i++) {
		pthread_t thread;
		require(pthread_create(&thread, NULL, hold_memory, (void *)(uintptr_t)i) == 0);
	}
	pthread_barrier_wait(&ready);
	for (size_t i = 0; i < THREADS; i++) {
		expect(seen[i].block, "ptmalloc-arena", "committed");
		expect(seen[i].stack, "thread-stack", "committed");
	}
}

/* ---- the truth ---------------------------------------------------------------------------------------- */

static int open_beside(const char *suffix)
{
	char path[4096];
	const char *counts = getenv("GUEST_COUNTS");
	require(counts);
	snprintf(path, sizeof path, "%s.%s", counts, suffix);
	return open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
}

static void write_truth(void)
{
	static char text[1 << 16];
	int file = open_beside("owners");
	guest_write(file, owners, owners_bytes);
	close(file);
	file = open_beside("maps");
	int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	for (ssize_t n; (n = read(maps, text, sizeof text)) > 0;)
		guest_write(file, text, (size_t)n);
	close(maps);
	close(file);
}

/* Arenas, stacks and blocks that come and go while the shim looks. */
static void linger(void)
{
	for (int i = 0; i < 20; i++) {
		pthread_t thread;
		pthread_barrier_init(&ready, NULL, 1);
		pthread_barrier_init(&done, NULL, 1);
		require(pthread_create(&thread, NULL, hold_memory, NULL) == 0);
		char *block = malloc(MIB + (size_t)i * page_bytes);
		usleep(10000);
		pthread_join(thread, NULL);
		free(block);
	}
}

int main(int argc, char **argv)
{
	bool lingers = argc > 1 && strcmp(argv[1], "linger") == 0;
	page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	char *small = malloc(100), *large = malloc(5 * MIB);
	expect(small, "ptmalloc-heap", "committed");
	expect(large, "ptmalloc-mmap", "committed");
	expect(&page_bytes, "program", "committed");
	expect(&small, "thread-stack", "committed");
	expect((void *)(uintptr_t)getenv, "library", "committed");
	use_reservation(4, "tcmalloc-normal");
	use_reservation(6, "tcmalloc-normal");
	use_reservation(2, "tcmalloc-cold");
	use_reservation(3, "tcmalloc-metadata");
	map_things();
	if (lingers)
		linger();
	start_threads();
	say("mapped");
	write_truth();
	return 0;
}
