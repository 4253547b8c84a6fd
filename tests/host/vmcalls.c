/* Region calls in all their forms: results, errno, and what the trace must count of them. */
#include "tests/host/guest.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#ifndef PR_SET_VMA
#define PR_SET_VMA	     0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif

enum { PAGE_COUNT = 16, TIMES = 20 };

static size_t page_bytes;
static unsigned mmaps, munmaps, madvises, mprotects, posix_madvises;

static char *map(size_t pages)
{
	char *p = mmap(NULL, pages * page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	require(p != MAP_FAILED);
	mmaps++;
	return p;
}

static void unmap(void *p, size_t pages)
{
	check(munmap(p, pages * page_bytes) == 0);
	munmaps++;
}

/* What the call gave back and what it left in errno, which was 77 before. */
static void report(const char *name, long result)
{
	int left = errno;
	say("%s: %s, errno %d", name, result == -1 ? "failed" : result == 0 ? "0" : "not 0", left);
	errno = 77;
}

static void try_mremap(void)
{
	char *p = map(PAGE_COUNT);
	p[0] = 'a';
	char *grown = mremap(p, PAGE_COUNT * page_bytes, 4 * PAGE_COUNT * page_bytes, MREMAP_MAYMOVE);
	require(grown != MAP_FAILED && grown[0] == 'a');
	char *shrunk = mremap(grown, 4 * PAGE_COUNT * page_bytes, page_bytes, 0);
	check(shrunk == grown && shrunk[0] == 'a');
	char *place = map(2);
	char *moved = mremap(shrunk, page_bytes, 2 * page_bytes, MREMAP_MAYMOVE | MREMAP_FIXED, place);
	check(moved == place && moved[0] == 'a');
	errno = 77;
	report("mremap of nothing", (long)mremap(NULL, page_bytes, 2 * page_bytes, 0));
	report("mremap without a flag for the address",
	       (long)mremap(moved, page_bytes, page_bytes, MREMAP_FIXED, place));
	unmap(place, 2);
}

static void try_protection(void)
{
	char *p = map(PAGE_COUNT);
	errno = 77;
	report("mprotect", mprotect(p, page_bytes, PROT_READ));
	report("mprotect back", mprotect(p, page_bytes, PROT_READ | PROT_WRITE));
	mprotects += 2;
	report("mprotect unaligned", mprotect(p + 1, page_bytes, PROT_READ));
	p[0] = 1;
	report("madvise", madvise(p, page_bytes, MADV_DONTNEED));
	check(p[0] == 0);
	report("madvise huge pages", madvise(p, PAGE_COUNT * page_bytes, MADV_NOHUGEPAGE));
	madvises += 2;
	report("madvise unaligned", madvise(p + 1, page_bytes, MADV_DONTNEED));
	report("madvise unknown", madvise(p, page_bytes, 12345));
	p[0] = 1;
	report("posix_madvise", posix_madvise(p, page_bytes, POSIX_MADV_DONTNEED));
	report("posix_madvise will need", posix_madvise(p, page_bytes, POSIX_MADV_WILLNEED));
	posix_madvises += 2;
	check(p[0] == 1);
	say("posix_madvise unknown: %d", posix_madvise(p, page_bytes, 12345));
	errno = 77;
	unmap(p, PAGE_COUNT);
	report("munmap unaligned", munmap(p + 1, page_bytes));
	report("mmap of nothing", (long)mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	report("mmap of a bad file", (long)mmap(NULL, page_bytes, PROT_READ, MAP_PRIVATE, -1, 0));
}

static void try_break(void)
{
	char *start = sbrk(0);
	errno = 77;
	report("sbrk", (long)sbrk((intptr_t)page_bytes));
	start[10] = 1;
	check(sbrk(0) == start + page_bytes);
	report("brk", brk(start));
	check(sbrk(0) == start);
	report("sbrk of too much", (long)sbrk(PTRDIFF_MAX / 2));
	report("brk of too much", brk((void *)(PTRDIFF_MAX - 4096)));
	check(sbrk(0) == start);
}

/* The same through syscall(), as allocators with a static build of their own do it. */
static void try_syscalls(void)
{
	size_t bytes = 4 * page_bytes;
	char *p = (char *)syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				  -1, 0);
	require(p != MAP_FAILED);
	mmaps++;
	p[0] = 1;
	errno = 77;
	report("syscall madvise", syscall(SYS_madvise, p, page_bytes, MADV_DONTNEED));
	madvises++;
	check(p[0] == 0);
	report("syscall mprotect", syscall(SYS_mprotect, p, bytes, PROT_READ));
	mprotects++;
	char *q = (char *)syscall(SYS_mremap, p, bytes, 2 * bytes, MREMAP_MAYMOVE, NULL);
	require(q != MAP_FAILED);
	report("syscall munmap", syscall(SYS_munmap, q, 2 * bytes));
	munmaps++;
	report("syscall munmap unaligned", syscall(SYS_munmap, q + 1, bytes));
	check(syscall(SYS_getpid) == getpid());
	report("syscall unknown", syscall(99999));
	check(syscall(SYS_brk, 0) == (long)sbrk(0));
	errno = 77;
	report("syscall membarrier query", syscall(SYS_membarrier, 0, 0, 0) >= 0 ? 0 : -1);
}

static void try_process_madvise(void)
{
#if defined SYS_process_madvise && defined SYS_pidfd_open
	char *p = map(4);
	int self = (int)syscall(SYS_pidfd_open, getpid(), 0);
	struct iovec range = {p, page_bytes};
	errno = 77;
	long done = syscall(SYS_process_madvise, self, &range, 1, MADV_COLD, 0);
	say("process_madvise: %s, errno %d", done == (long)page_bytes ? "all" : "refused", errno);
	close(self);
	unmap(p, 4);
#endif
}

static void try_prctl(void)
{
	char *p = map(2);
	errno = 77;
	report("PR_SET_VMA", prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, p, page_bytes, "guest region"));
	errno = 77;
	report("PR_SET_VMA bad name", prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, p, page_bytes, "back\\slash"));
	report("PR_SET_THP_DISABLE", prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0));
	say("PR_GET_THP_DISABLE: %d", prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0));
	report("PR_SET_THP_DISABLE off", prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0));
	report("prctl unknown", prctl(123456, 1, 2, 3, 4));
	char name[16] = "";
	check(prctl(PR_SET_NAME, "renamed") == 0 && prctl(PR_GET_NAME, name) == 0 &&
	      strcmp(name, "renamed") == 0);
	unmap(p, 2);
}

/* A file mapped with an offset, read through the mapping; mmap64 is the same function by another name. */
static void try_file(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	require(fd >= 0);
	char *p = mmap(NULL, page_bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	char *q = mmap64(NULL, page_bytes, PROT_READ, MAP_SHARED, fd, (off64_t)page_bytes);
	require(p != MAP_FAILED && q != MAP_FAILED);
	mmaps += 2;
	check(memcmp(p, "\177ELF", 4) == 0);
	unmap(p, 1);
	unmap(q, 1);
	char *fixed = map(3);
	check(mmap(fixed, page_bytes, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) == fixed);
	mmaps++;
	check(memcmp(fixed, "\177ELF", 4) == 0);
	unmap(fixed, 3);
	close(fd);
}

int main(void)
{
	page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	for (int i = 0; i < TIMES; i++) {
		try_mremap();
		try_protection();
		try_break();
		try_syscalls();
		try_process_madvise();
		try_prctl();
		try_file();
	}
	guest_count("mmaps", mmaps, mmaps);
	guest_count("munmaps", munmaps, munmaps);
	guest_count("mprotects", mprotects, mprotects);
	/* whether posix_madvise and process_madvise count as madvise is the shim's own business */
	guest_count("madvises", madvises, madvises + posix_madvises + TIMES);
	return 0;
}
