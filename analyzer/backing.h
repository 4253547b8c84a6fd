/*
 * What the mapped memory of a process is backed with: regions (who owns it) and pages (what is resident, and
 * how) put together.
 *
 * The picture of the pages may be older than the regions (pages.h). What has been unmapped since is left out
 * here; what was given back since by madvise still counts as it was looked at.
 */
#ifndef MTRACE_BACKING_H
#define MTRACE_BACKING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/pages.h"
#include "analyzer/regions.h"

/* Bytes of one region in one state. */
struct backed {
	uint64_t start;
	uint64_t end;
	const struct region *region;
	const struct region_owner *owner;
	uint32_t flags; /* PAGE_*; 0: not resident, or never looked at */
};

/* Takes memory of its own: present, and not the page of zeros. */
static inline bool backed_resident(const struct backed *backed)
{
	return (backed->flags & PAGE_PRESENT) && !(backed->flags & PAGE_ZERO);
}

static inline bool backed_huge(const struct backed *backed)
{
	return backed_resident(backed) && (backed->flags & PAGE_HUGE);
}

/* Calls `visit` for all mapped memory but the shim's own, by rising address, until it returns false, which is
 * then returned. In time linear in regions and runs, but for a logarithm. */
bool backing_walk(const struct regions *regions, const struct pages *pages,
		  bool (*visit)(void *context, const struct backed *backed), void *context);

#endif
