/*
 * Memory for patching: code memory near a function, and a function's own pages made writable for a moment.
 */
#ifndef MTRACE_PATCH_MEMORY_H
#define MTRACE_PATCH_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/object.h"

/* PATCH_SLOT_BYTES of writable memory within `reach_bytes` of `entry`; NULL: there is none. */
uint8_t *patch_memory_slot(const struct object *object, uintptr_t entry, uint64_t reach_bytes);

/* The slots handed out become executable and read-only. NULL, or why that is not allowed. */
const char *patch_memory_seal(void);

/* Pages that were opened, to close them again. */
struct patch_pages {
	uintptr_t start;
	size_t bytes;
	int prot;
};

/*
 * Makes code writable, and leaves it executable, so that nothing is lost where it cannot be taken back. NULL,
 * or why not: kernels and security modules that keep writable memory from being executable refuse here.
 */
const char *patch_memory_open(const struct object *object, uintptr_t address, size_t bytes,
			      struct patch_pages *pages);
void patch_memory_close(const struct patch_pages *pages);

#endif
