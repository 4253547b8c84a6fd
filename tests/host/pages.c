/*
 * A guest whose pages are in every state that there is. GUEST_COUNTS.pages says of each of its areas what its
 * own /proc/self/smaps has (`area NAME START END RSS HUGE ELIGIBLE`), and page by page what
 * /proc/self/pagemap and /proc/kpageflags have (`run NAME START END STATE`: huge, folio, small, zero or none;
 * frames are seen by root alone, otherwise `present` or `none`). A folio is a huge page that is mapped page
 * by page.
 *
 * usage: pages [break|fork]: with `break`, huge pages are broken up by parts of calls, with sleeps between;
 * with `fork`, a child lives for a while.
 */
#include "tests/host/guest.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

#define RW	       (PROT_READ | PROT_WRITE)
#define PRIVATE_MEMORY (MAP_PRIVATE | MAP_ANONYMOUS)
#define AREAS_MAX      16

static size_t page_bytes, huge_bytes;
static size_t built_huge; /* bytes on huge pages before anything was broken */

struct area {
	const char *name;
	char *start;
	size_t bytes;
	size_t rss, huge; /* of smaps */
	int eligible;
};
static struct area areas[AREAS_MAX];
static unsigned area_count;

/* Aligned, and alone: pages without access around it keep the kernel from joining it with its neighbours. */
static char *new_area(const char *name, size_t bytes, int flags, int fd)
{
	char *all = mmap(NULL, bytes + 2 * huge_bytes, PROT_NONE, PRIVATE_MEMORY | MAP_NORESERVE, -1, 0);
	require(all != MAP_FAILED && area_count < AREAS_MAX);
	char *start = all + huge_bytes - (uintptr_t)all % huge_bytes;
	require(mmap(start, bytes, RW, flags | MAP_FIXED, fd, 0) == start);
	areas[area_count++] = (struct area){.name = name, .start = start, .bytes = bytes};
	return start;
}

static char *new_memory(const char *name, unsigned huge_pages)
{
	return new_area(name, huge_pages * huge_bytes, PRIVATE_MEMORY, -1);
}

static void touch(char *start, size_t bytes, size_t every)
{
	for (size_t at = 0; at < bytes; at += every)
		start[at] = 1;
}

/* ---- the layout -------------------------------------------------------------------------------------------
 */

static char *new_huge(const char *name, unsigned huge_pages)
{
	char *start = new_memory(name, huge_pages);
	madvise(start, huge_pages * huge_bytes, MADV_HUGEPAGE);
	touch(start, huge_pages * huge_bytes, page_bytes);
	return start;
}

static void build_file(void)
{
	char name[] = "/tmp/mtrace-pages-XXXXXX";
	int fd = mkstemp(name);
	require(fd >= 0 && unlink(name) == 0 && ftruncate(fd, (off_t)(2 * huge_bytes)) == 0);
	char *start = new_area("file", 2 * huge_bytes, MAP_SHARED, fd);
	touch(start, huge_bytes / 2, page_bytes);
	close(fd);
}

static void *stay(void *ready)
{
	char deep[64 * 1024];
	touch(deep, sizeof deep, 512);
	__asm__ volatile("" ::"r"(deep) : "memory");
	atomic_store((_Atomic int *)ready, 1);
	for (;;)
		pause();
	return NULL;
}

static void build_stack(void)
{
	static _Atomic int ready;
	pthread_attr_t attributes;
	pthread_t thread;
	char *start = new_memory("stack", 1);
	pthread_attr_init(&attributes);
	require(pthread_attr_setstack(&attributes, start, huge_bytes) == 0);
	require(pthread_create(&thread, &attributes, stay, &ready) == 0);
	while (!atomic_load(&ready))
		usleep(1000);
	pthread_attr_destroy(&attributes);
}

static void build(void)
{
	new_huge("fault", 4);
	char *start = new_memory("collapse", 3);
	touch(start, 3 * huge_bytes, page_bytes);
	madvise(start, 3 * huge_bytes, MADV_COLLAPSE);
	start = new_memory("nohuge", 2);
	madvise(start, 2 * huge_bytes, MADV_NOHUGEPAGE);
	touch(start, 2 * huge_bytes, page_bytes);
	start = new_memory("scattered", 5); /* more pieces than the kernel tells at once */
	madvise(start, 5 * huge_bytes, MADV_NOHUGEPAGE);
	touch(start, 5 * huge_bytes, 3 * page_bytes);
	start = new_huge("released", 3);
	madvise(start + huge_bytes + 5 * page_bytes, 2 * page_bytes, MADV_DONTNEED);
	madvise(start + 2 * huge_bytes, huge_bytes, MADV_DONTNEED);
	start = new_huge("split", 2); /* mapped page by page, and still two folios */
	for (unsigned i = 0; i < 2; i++) {
		mprotect(start + i * huge_bytes + page_bytes, page_bytes, PROT_READ);
		mprotect(start + i * huge_bytes + page_bytes, page_bytes, RW);
	}
	start = new_huge("locked", 2);
	mlock(start, 2 * huge_bytes);
	start = new_memory("zero", 1);
	madvise(start, huge_bytes, MADV_NOHUGEPAGE);
	for (size_t at = 0; at < huge_bytes; at += 2 * page_bytes)
		(void)*(volatile char *)(start + at);
	new_memory("untouched", 1);
	build_file();
	build_stack();
}

/* ---- what the kernel says ---------------------------------------------------------------------------------
 */

static size_t field(const char *line, const char *name, size_t otherwise)
{
	size_t length = strlen(name);
	return strncmp(line, name, length) ? otherwise : strtoull(line + length, NULL, 10);
}

/* An area that mprotect went through may be several mappings. */
static void read_smaps(void)
{
	char line[512];
	struct area *area = NULL;
	FILE *file = fopen("/proc/self/smaps", "r");
	require(file);
	while (fgets(line, sizeof line, file)) {
		char *dash;
		if (line[0] >= 'A' && line[0] <= 'Z') {
			if (!area)
				continue;
			area->rss += 1024 * field(line, "Rss:", 0);
			area->huge +=
				1024 * (field(line, "AnonHugePages:", 0) + field(line, "ShmemPmdMapped:", 0) +
					field(line, "FilePmdMapped:", 0));
			area->eligible += (int)field(line, "THPeligible:", 0);
		} else {
			uintptr_t start = strtoul(line, &dash, 16);
			area = NULL;
			require(*dash == '-');
			for (unsigned i = 0; i < area_count; i++)
				if (start >= (uintptr_t)areas[i].start &&
				    start < (uintptr_t)areas[i].start + areas[i].bytes)
					area = &areas[i];
		}
	}
	fclose(file);
}

#define PRESENT	  (UINT64_C(1) << 63)
#define FRAME	  ((UINT64_C(1) << 55) - 1)
#define FLAG_THP  (UINT64_C(1) << 22)
#define FLAG_ZERO (UINT64_C(1) << 24)

static uint64_t flags_of(uint64_t entry, int flags_fd)
{
	uint64_t flags = 0, frame = entry & FRAME;
	return frame && pread(flags_fd, &flags, sizeof flags, (off_t)(frame * 8)) == sizeof flags ? flags : 0;
}

static const char *state_of(uint64_t entry, int flags_fd, bool mapped_whole)
{
	if (!(entry & PRESENT))
		return "none";
	if (!(entry & FRAME) || flags_fd < 0)
		return "present";
	uint64_t flags = flags_of(entry, flags_fd);
	return flags & FLAG_ZERO ? "zero" : !(flags & FLAG_THP) ? "small" : mapped_whole ? "huge" : "folio";
}

static struct {
	FILE *file;
	const struct area *area;
	const char *state;
	uintptr_t start;
} run;

static void end_run(uintptr_t at, const char *next)
{
	if (run.state && strcmp(run.state, next) == 0)
		return;
	if (run.state)
		fprintf(run.file, "run %s %lu %lu %s\n", run.area->name, (unsigned long)run.start,
			(unsigned long)at, run.state);
	run.state = next;
	run.start = at;
}

/* What lies under one PMD. Its folio is mapped whole where nothing of it is missing and smaps knows of huge
 * pages. */
static void write_block(uintptr_t start, int pagemap_fd, int flags_fd)
{
	static uint64_t entries[1 << 16];
	size_t count = huge_bytes / page_bytes, present = 0;
	require(count <= sizeof entries / sizeof *entries);
	require(pread(pagemap_fd, entries, count * 8, (off_t)(start / page_bytes * 8)) ==
		(ssize_t)(count * 8));
	for (size_t i = 0; i < count; i++)
		present += (entries[i] & PRESENT) != 0;
	for (size_t i = 0; i < count; i++)
		end_run(start + i * page_bytes,
			state_of(entries[i], flags_fd, present == count && run.area->huge));
}

static void write_runs(FILE *file, const struct area *area, int pagemap_fd, int flags_fd)
{
	run.file = file;
	run.area = area;
	run.state = NULL;
	for (size_t at = 0; at < area->bytes; at += huge_bytes)
		write_block((uintptr_t)area->start + at, pagemap_fd, flags_fd);
	end_run((uintptr_t)area->start + area->bytes, "");
}

static void write_pages(void)
{
	int pagemap_fd = open("/proc/self/pagemap", O_RDONLY), flags_fd = open("/proc/kpageflags", O_RDONLY);
	char path[PATH_MAX];
	const char *counts = getenv("GUEST_COUNTS");
	snprintf(path, sizeof path, "%s.pages", counts ? counts : "guest");
	FILE *file = fopen(path, "w");
	require(pagemap_fd >= 0 && file);
	fprintf(file, "built %zu\n", built_huge);
	read_smaps();
	for (unsigned i = 0; i < area_count; i++) {
		const struct area *area = &areas[i];
		fprintf(file, "area %s %lu %lu %zu %zu %d\n", area->name,
			(unsigned long)(uintptr_t)area->start,
			(unsigned long)(uintptr_t)area->start + area->bytes, area->rss, area->huge,
			area->eligible);
		write_runs(file, area, pagemap_fd, flags_fd);
	}
	fclose(file);
	close(pagemap_fd);
	if (flags_fd >= 0)
		close(flags_fd);
}

/* ---- breaking ---------------------------------------------------------------------------------------------
 */

/* Long enough for some looks of the shim; where everything takes longer, run.sh says how many times. */
static void pause_for_looks(void)
{
	const char *slower = getenv("GUEST_SLOWER");
	long times = slower ? strtol(slower, NULL, 10) : 1;
	for (long i = 0; i < times; i++)
		usleep(400000);
}

__attribute__((noinline)) static void give_back_a_part(char *page)
{
	madvise(page + 3 * page_bytes, page_bytes, MADV_DONTNEED);
	__asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void unmap_a_part(char *page)
{
	munmap(page, page_bytes);
	__asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void give_back_all(char *page)
{
	madvise(page, huge_bytes, MADV_DONTNEED);
	__asm__ volatile("" ::: "memory");
}

/* Page 0 is broken and comes back; 1 and 2 are broken for good; 3 is given back as a whole, which breaks
 * nothing. */
static void break_pages(void)
{
	char *start = new_huge("broken", 5);
	read_smaps();
	built_huge = areas[0].huge;
	areas[0].rss = areas[0].huge = 0;
	pause_for_looks();
	give_back_a_part(start);
	give_back_a_part(start + huge_bytes);
	unmap_a_part(start + 2 * huge_bytes);
	give_back_all(start + 3 * huge_bytes);
	pause_for_looks();
	madvise(start, huge_bytes, MADV_COLLAPSE);
	pause_for_looks();
}

/* The child holds what its parent touched. */
static void fork_one(void)
{
	touch(new_memory("forked", (unsigned)((32 << 20) / huge_bytes + 1)), 32 << 20, page_bytes);
	pause_for_looks();
	pid_t child = fork();
	require(child >= 0);
	pause_for_looks();
	if (child == 0)
		_exit(0);
	require(waitpid(child, NULL, 0) == child);
}

int main(int argc, char **argv)
{
	char text[64] = "";
	page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	int fd = open("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", O_RDONLY);
	if (fd >= 0 && read(fd, text, sizeof text - 1) > 0)
		huge_bytes = strtoull(text, NULL, 10);
	if (fd >= 0)
		close(fd);
	if (!huge_bytes)
		huge_bytes = 512 * page_bytes;
	if (argc > 1 && strcmp(argv[1], "break") == 0)
		break_pages();
	else if (argc > 1 && strcmp(argv[1], "fork") == 0)
		fork_one();
	else
		build();
	write_pages();
	return 0;
}
