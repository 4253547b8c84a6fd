/*
 * BLOCK_PAGES in the making: what was seen of the pages, cell by cell. A cell is an aligned piece of the
 * address space; it is compared and told as a whole. By the writer only.
 */
#ifndef MTRACE_PAGEBLOCK_H
#define MTRACE_PAGEBLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/layout.h"

/* Memory for blocks of cells of `cell_bytes`. False where there is none. */
bool pageblock_start(uint64_t page_bytes, uint64_t huge_bytes, uint64_t cell_bytes, uint32_t source);

/* Between these two: pageblock_run() for what lies in the cell, by rising address. Cells rise, too. */
void pageblock_open(uint64_t cell_start);
void pageblock_run(const struct pages_run *run);

/* Of what was seen in the open cell; 0: nothing. */
uint64_t pageblock_hash(void);

enum pageblock_verdict {
	PAGEBLOCK_SILENT,    /* nothing is said of this cell */
	PAGEBLOCK_UNCHANGED, /* it is as it was last told */
	PAGEBLOCK_CHANGED,   /* it holds what was seen, and nothing else */
};
void pageblock_close(enum pageblock_verdict verdict);

/* Writes what has come together, if anything. `flags`: PAGES_WHOLE, and then in any case, or 0. */
void pageblock_write(uint32_t flags);

#endif
