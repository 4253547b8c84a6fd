/*
 * A guest that knows its own blocks and what they lie on. Its heap is on huge pages in part; it allocates
 * from two functions, frees a third, and asks the kernel (PAGEMAP_SCAN) for the pages that are resident and
 * those that are huge. GUEST_COUNTS.blocks then has
 *
 *     site FUNCTION BLOCKS LIVE-BYTES HUGE-BYTES
 *     heap RESIDENT-BYTES HUGE-BYTES of the whole heap, COVERED-BYTES of its resident ones, by these blocks
 *
 * or `none`, where the kernel cannot say.
 */
#include "tests/host/guest.h"

#include <malloc.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#define BLOCKS_MAX 60000
#define RUNS_MAX   4096
#define HEAP_BYTES (24u << 20) /* reserved at once, so that it is one mapping */

/* Of linux/fs.h since 6.7, which older headers lack. */
struct scan_run {
	uint64_t start, end, categories;
};
struct scan_arguments {
	uint64_t size, flags, start, end, walk_end, runs, runs_max, pages_max;
	uint64_t inverted, all_of, any_of, returned;
};
#define SCAN	     _IOWR('f', 16, struct scan_arguments)
#define SCAN_PRESENT (1u << 3)
#define SCAN_ZERO    (1u << 5)
#define SCAN_HUGE    (1u << 6)

struct block {
	char *start;
	size_t bytes;
	bool large;
};
static struct block blocks[BLOCKS_MAX];
static unsigned block_count;
static struct scan_run runs[RUNS_MAX];

static void keep(char *start, size_t bytes, bool large)
{
	require(start && block_count < BLOCKS_MAX);
	memset(start, 1, bytes);
	blocks[block_count++] = (struct block){start, bytes, large};
}

__attribute__((noinline)) static void small_blocks(size_t bytes)
{
	keep(malloc(bytes), bytes, false);
}

__attribute__((noinline)) static void large_blocks(size_t bytes)
{
	keep(calloc(1, bytes), bytes, true);
}

static void free_a_third(void)
{
	uint32_t random = 1;
	unsigned kept = 0;
	for (unsigned i = 0; i < block_count; i++) {
		if (guest_random(&random) % 3 == 0)
			free(blocks[i].start);
		else
			blocks[kept++] = blocks[i];
	}
	block_count = kept;
}

/* Where the kernel has the heap begin: others have allocated before main(). */
static char *heap_start(void)
{
	static char maps[1 << 16];
	size_t bytes = 0;
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	for (ssize_t n; fd >= 0 && (n = read(fd, maps + bytes, sizeof maps - 1 - bytes)) > 0;)
		bytes += (size_t)n;
	close(fd);
	char *line = strstr(maps, "[heap]");
	require(line);
	while (line > maps && line[-1] != '\n')
		line--;
	return (char *)strtoul(line, NULL, 16);
}

/* The first part may get huge pages, the rest has small ones. */
static char *make_heap(void)
{
	mallopt(M_MMAP_THRESHOLD, 1 << 30);
	mallopt(M_TRIM_THRESHOLD, 1 << 30);
	mallopt(M_TOP_PAD, HEAP_BYTES);
	small_blocks(1);
	char *start = heap_start();
	char *middle = start + HEAP_BYTES / 2;
	middle -= (uintptr_t)middle % (2u << 20);
	madvise(start, (size_t)(middle - start), MADV_HUGEPAGE);
	madvise(middle, (size_t)((char *)sbrk(0) - middle), MADV_NOHUGEPAGE);
	return start;
}

/* ---- what the kernel says ------------------------------------------------------------------------------ */

static long scan(uint64_t start, uint64_t end)
{
	struct scan_arguments arguments = {.size = sizeof arguments,
					   .start = start,
					   .end = end,
					   .runs = (uint64_t)(uintptr_t)runs,
					   .runs_max = RUNS_MAX,
					   .any_of = SCAN_PRESENT,
					   .returned = SCAN_PRESENT | SCAN_ZERO | SCAN_HUGE};
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	long count = fd < 0 ? -1 : ioctl(fd, SCAN, &arguments);
	close(fd);
	return count < RUNS_MAX ? count : -1;
}

struct sums {
	unsigned long blocks, live, huge, resident;
};

static unsigned long overlap(const struct scan_run *run, uint64_t start, uint64_t end)
{
	start = start > run->start ? start : run->start;
	end = end < run->end ? end : run->end;
	return end > start ? end - start : 0;
}

static void add_block(struct sums *sums, const struct block *block, long count)
{
	uint64_t start = (uintptr_t)block->start, end = start + block->bytes;
	sums->blocks++;
	sums->live += block->bytes;
	for (long i = 0; i < count; i++) {
		unsigned long bytes = overlap(&runs[i], start, end);
		sums->resident += runs[i].categories & SCAN_ZERO ? 0 : bytes;
		sums->huge += (runs[i].categories & (SCAN_HUGE | SCAN_ZERO)) == SCAN_HUGE ? bytes : 0;
	}
}

static void tell(int fd, const char *text, const struct sums *sums)
{
	char line[160];
	int n = snprintf(line, sizeof line, "%s %lu %lu %lu\n", text, sums->blocks, sums->live, sums->huge);
	guest_write(fd, line, (size_t)n);
}

static void tell_all(int fd, char *start)
{
	long count = scan((uintptr_t)start, (uintptr_t)sbrk(0));
	struct sums sites[2] = {{0}}, heap = {0};
	if (count < 0) {
		guest_write(fd, "none\n", 5);
		return;
	}
	for (unsigned i = 0; i < block_count; i++)
		add_block(&sites[blocks[i].large], &blocks[i], count);
	for (long i = 0; i < count; i++) {
		unsigned long bytes = runs[i].categories & SCAN_ZERO ? 0 : runs[i].end - runs[i].start;
		heap.blocks += bytes;
		heap.live += runs[i].categories & SCAN_HUGE ? bytes : 0;
	}
	heap.huge = sites[0].resident + sites[1].resident;
	tell(fd, "site small_blocks", &sites[0]);
	tell(fd, "site large_blocks", &sites[1]);
	tell(fd, "heap", &heap);
}

int main(void)
{
	char *start = make_heap(), path[PATH_MAX];
	uint32_t random = 7;
	for (unsigned i = 0; i < 20000; i++)
		small_blocks(1 + guest_random(&random) % 600);
	for (unsigned i = 0; i < 300; i++)
		large_blocks(9000 + guest_random(&random) % 9000);
	free_a_third();
	const char *counts = getenv("GUEST_COUNTS");
	if (!counts || snprintf(path, sizeof path, "%s.blocks", counts) >= (int)sizeof path)
		return 0;
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	require(fd >= 0);
	tell_all(fd, start);
	close(fd);
	return 0;
}
