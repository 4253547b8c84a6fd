/*
 * The state of the process's pages, as the kernel has them: by ioctl(PAGEMAP_SCAN) (Linux 6.7), which tells
 * exactly what is mapped as a huge page; else, where the process may see frame numbers, by /proc/self/pagemap
 * and /proc/kpageflags, which tell what belongs to a huge folio. By the writer only.
 */
#ifndef MTRACE_PAGESCAN_H
#define MTRACE_PAGESCAN_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/config.h"
#include "trace/layout.h"

/* Opens what `wanted` allows. By the thread that will look. */
void pagescan_open(enum pages_wanted wanted);

/* Descriptors opened by pagescan_open(), for keeping them when others are closed; -1: none. */
#define PAGESCAN_FDS 2
void pagescan_fds(int fds[PAGESCAN_FDS]);
void pagescan_close(void);

/* enum pages_source; 0: neither way is open to this process. */
uint32_t pagescan_source(void);

uint64_t pagescan_page_bytes(void);

/* What a PMD maps, as the kernel says; 0: it does not. */
uint64_t pagescan_huge_bytes(void);

/*
 * Looks at [start, end), in whole pages, and calls visit for what is resident or swapped out there, by rising
 * address. The flags are without PAGE_FILE. One look holds the process's mmap lock for about PAGESCAN_HOLD_US
 * and may stop early. Returns the address up to which it has looked, which is `start` where the kernel
 * refused.
 */
#define PAGESCAN_HOLD_US 200
uint64_t pagescan_look(uint64_t start, uint64_t end, void (*visit)(const struct pages_run *run));

#endif
