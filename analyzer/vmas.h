/*
 * The kernel's mappings (VMAs) of a process as far as huge pages are concerned: how far each reaches, whether
 * it is eligible, and whose call made it.
 *
 * A reading of smaps tells all of that exactly, and is rare. Between readings a mapping that a call or a
 * setting has changed since is predicted: its bounds are those of neighbouring regions of one kind (file,
 * access, advice), as the kernel joins them, and its eligibility follows from the settings and from madvise
 * (Documentation/admin-guide/mm/transhuge.rst). Such a mapping is marked as predicted.
 */
#ifndef MTRACE_VMAS_H
#define MTRACE_VMAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/hugecause.h"
#include "analyzer/pages.h"
#include "analyzer/regions.h"
#include "analyzer/thpstate.h"

struct vmas;

/* `page_bytes` is the kernel's. NULL when out of memory. */
struct vmas *vmas_open(uint64_t page_bytes);
void vmas_close(struct vmas *vmas); /* NULL is fine */

/* The next event, of any kind, in order of time. False when out of memory. */
bool vmas_event(struct vmas *vmas, const struct trace_event *event);

/* A new reading of smaps stands in the pages: nothing has changed since. */
void vmas_read(struct vmas *vmas);

/* A setting is another than at the last reading: nobody knows what it would say now. */
void vmas_settings_changed(struct vmas *vmas);

struct vma {
	uint64_t start;
	uint64_t end;
	uint64_t inner_start;  /* whole huge pages at their natural places: what a PMD can map */
	uint64_t inner_end;    /* equal to inner_start where there are none */
	enum huge_cause cause; /* of bytes of the inner part, where the mapping is not eligible */
	bool eligible;	       /* its inner part is */
	bool predicted;
	bool hugetlb; /* of another kind: neither resident nor huge in our words */
	bool file;
};

/*
 * All mappings now, by rising address; they cover exactly the regions. *list is owned by the caller (free).
 * False when out of memory.
 */
bool vmas_list(struct vmas *vmas, const struct regionmap *regions, const struct pages *pages,
	       const struct thpstate *settings, struct vma **list, size_t *count);

/* One mapping as the newest reading of smaps has it. */
struct vma vmas_of_record(const struct vmas *vmas, const struct smaps_record *record,
			  const struct pages *pages, const struct thpstate *settings);

/* The stack of the call that mapped `address`, 0 where no call is known; *end is where that may become
 * another. */
uint32_t vmas_site(const struct vmas *vmas, uint64_t address, uint64_t *end);

#endif
