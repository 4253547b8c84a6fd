/*
 * Moves the program's text to anonymous memory, huge pages where the kernel has them, before a preloaded
 * object's constructor runs: what programs do that put their text on huge pages.
 */
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define HUGE_BYTES ((size_t)2 << 20)

int text_was_moved;

static void move(uintptr_t start, size_t bytes)
{
	char *room = mmap(NULL, 2 * HUGE_BYTES + bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	if (room == MAP_FAILED)
		return;
	char *copy = (char *)(((uintptr_t)room + HUGE_BYTES - 1) & ~(HUGE_BYTES - 1));
	madvise(copy, HUGE_BYTES, MADV_HUGEPAGE);
	memcpy(copy, (void *)start, bytes);
	if (mprotect(copy, bytes, PROT_READ | PROT_EXEC) != 0)
		return;
	text_was_moved =
		mremap(copy, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)start) == (void *)start;
}

/* The first object is the program. */
static int look(struct dl_phdr_info *info, size_t size, void *argument)
{
	(void)size, (void)argument;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *phdr = &info->dlpi_phdr[i];
		if (phdr->p_type != PT_LOAD || !(phdr->p_flags & PF_X))
			continue;
		uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), start = info->dlpi_addr + phdr->p_vaddr;
		uintptr_t end = (start + phdr->p_memsz + page - 1) & ~(page - 1);
		move(start & ~(page - 1), end - (start & ~(page - 1)));
	}
	return 1;
}

__attribute__((constructor)) static void move_text(void)
{
	dl_iterate_phdr(look, NULL);
}
