#include "shim/patch_memory.h"

#include <errno.h>
#include <unistd.h>

#include "shim/maps.h"
#include "shim/patch_site.h"
#include "shim/raw.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif
#define PROT_GUARDED 0x10 /* PROT_BTI, aarch64 */

#define AREAS_MAX    16u
#define STEP	     (UINT64_C(64) << 10) /* the largest page; the first hints are this far apart */
#define WIDE_STEP    (UINT64_C(1) << 20)
#define NEAR_STEPS   256u
/* What follows the program is its heap (brk), at a random distance: room is left for it to grow. */
#define HEAP_ROOM_BYTES (UINT64_C(64) << 20)

static struct {
	struct {
		uint8_t *start;
		size_t used;
	} areas[AREAS_MAX];
	unsigned count;
} memory;

static size_t page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

/* ---- slots
 * ------------------------------------------------------------------------------------------------------- */

static bool within(uint64_t a, uint64_t b, uint64_t bytes)
{
	return a > b ? a - b < bytes : b - a < bytes;
}

/* Kernels before 4.17 take the address for a hint. */
static uint8_t *map_at(uint64_t hint, uintptr_t entry, uint64_t reach_bytes)
{
	uint8_t *start = raw_mmap((void *)hint, page_bytes(), PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (start && within((uintptr_t)start, entry, reach_bytes) &&
	    within((uintptr_t)start + page_bytes(), entry, reach_bytes))
		return start;
	if (start)
		raw_munmap(start, page_bytes());
	return NULL;
}

/* Below the object first: nothing grows there. */
static uint8_t *map_near(const struct object *object, uintptr_t entry, uint64_t reach_bytes)
{
	uint64_t below = object->start & ~(STEP - 1), above = (object->end + HEAP_ROOM_BYTES) & ~(STEP - 1);
	uint8_t *start;
	for (unsigned i = 1; below > STEP && within(below, entry, reach_bytes); i++) {
		below -= i < NEAR_STEPS || below < WIDE_STEP ? STEP : WIDE_STEP;
		if ((start = map_at(below, entry, reach_bytes)))
			return start;
	}
	for (unsigned i = 1; within(above, entry, reach_bytes); i++) {
		if ((start = map_at(above, entry, reach_bytes)))
			return start;
		above += i < NEAR_STEPS ? STEP : WIDE_STEP;
	}
	return NULL;
}

uint8_t *patch_memory_slot(const struct object *object, uintptr_t entry, uint64_t reach_bytes)
{
	unsigned i = 0;
	while (i < memory.count && (memory.areas[i].used + PATCH_SLOT_BYTES > page_bytes() ||
				    !within((uintptr_t)memory.areas[i].start, entry, reach_bytes)))
		i++;
	if (i == memory.count) {
		uint8_t *start = i < AREAS_MAX ? map_near(object, entry, reach_bytes) : NULL;
		if (!start)
			return NULL;
		memory.areas[memory.count].start = start;
		memory.areas[memory.count++].used = 0;
	}
	uint8_t *slot = memory.areas[i].start + memory.areas[i].used;
	memory.areas[i].used += PATCH_SLOT_BYTES;
	return slot;
}

const char *patch_memory_seal(void)
{
	for (unsigned i = 0; i < memory.count; i++) {
		if (raw3(SYS_mprotect, (long)memory.areas[i].start, (long)page_bytes(),
			 PROT_READ | PROT_EXEC) != 0)
			return "this system does not let memory that was written become executable";
		patch_site_flush(memory.areas[i].start, memory.areas[i].used);
	}
	return NULL;
}

/* ---- code
 * -------------------------------------------------------------------------------------------------------- */

struct search {
	uintptr_t address;
	struct mapping found;
};

static bool look(const struct mapping *mapping, void *argument)
{
	struct search *search = argument;
	if (search->address < mapping->start || search->address >= mapping->end)
		return true;
	search->found = *mapping;
	return false;
}

/* Where there is no /proc, as the program headers have it. */
static void look_in_headers(const struct object *object, struct search *search)
{
	for (unsigned i = 0; i < object->phdr_count; i++) {
		const ElfW(Phdr) *phdr = &object->phdrs[i];
		uintptr_t start = object->bias + phdr->p_vaddr;
		if (phdr->p_type == PT_LOAD && search->address - start < phdr->p_memsz)
			search->found = (struct mapping){.start = start,
							 .end = start + phdr->p_memsz,
							 .prot = (phdr->p_flags & PF_R ? PROT_READ : 0) |
								 (phdr->p_flags & PF_W ? PROT_WRITE : 0) |
								 (phdr->p_flags & PF_X ? PROT_EXEC : 0)};
	}
}

static void align(struct patch_pages *pages, uintptr_t address, size_t bytes, size_t unit)
{
	pages->start = address & ~(uintptr_t)(unit - 1);
	pages->bytes = ((address + bytes + unit - 1) & ~(uintptr_t)(unit - 1)) - pages->start;
}

/* Text on pages of hugetlbfs can only be changed in their size: the kernel says EINVAL to less. */
static long protect(const struct mapping *mapping, uintptr_t address, size_t bytes, struct patch_pages *pages,
		    int prot)
{
	const size_t units[] = {page_bytes(), 2u << 20, 32u << 20, 512u << 20, 1u << 30};
	long result = -EINVAL;
	for (unsigned i = 0; result == -EINVAL && i < sizeof units / sizeof *units; i++) {
		align(pages, address, bytes, units[i]);
		bool inside = pages->start >= mapping->start && pages->start + pages->bytes <= mapping->end;
		if (i == 0 || inside)
			result = raw3(SYS_mprotect, (long)pages->start, (long)pages->bytes, prot);
	}
	return result;
}

const char *patch_memory_open(const struct object *object, uintptr_t address, size_t bytes,
			      struct patch_pages *pages)
{
	struct search search = {.address = address};
	if (!maps_visit(MAPS_SELF, look, &search) || !search.found.end)
		look_in_headers(object, &search);
	if (!(search.found.prot & PROT_EXEC))
		return "its address is not code";
	if (!(search.found.prot & PROT_READ))
		return "its code cannot be read";
	pages->prot = search.found.prot | (object->guarded ? PROT_GUARDED : 0);
	if (protect(&search.found, address, bytes, pages, pages->prot | PROT_WRITE) != 0)
		return "this system does not let code become writable";
	return NULL;
}

void patch_memory_close(const struct patch_pages *pages)
{
	raw3(SYS_mprotect, (long)pages->start, (long)pages->bytes, pages->prot);
}
