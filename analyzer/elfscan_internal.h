/* What elfscan.c (sections) shares with elfscan_symbols.c (functions, mapping symbols) and elfscan_frames.c.
 */
#ifndef MTRACE_ELFSCAN_INTERNAL_H
#define MTRACE_ELFSCAN_INTERNAL_H

#include <gelf.h>

#include "analyzer/elfscan.h"

/* Each returns false when out of memory. Damage is passed over: names are no part of the census. */

/* Functions and mapping symbols of one file. With `by_address` section numbers are not asked (debug files).
 */
bool elfscan_symbols(struct elfscan *scan, Elf *elf, bool by_address, bool *mapped);

/* Where functions begin, from .eh_frame_hdr (Linux Standard Base, 10.6.2). */
bool elfscan_frames(struct elfscan *scan, Elf *elf);

/* Branches with a relocation. */
bool elfscan_calls(struct elfscan *scan, Elf *elf);

/* The targets of literal loads become data. */
bool elfscan_literals(struct elfscan_section *section);

bool elfscan_add_function(struct elfscan_section *section, const struct elfscan_function *function);
bool elfscan_add_data(struct elfscan_section *section, uint64_t start, uint64_t end);
struct elfscan_section *elfscan_section_at(struct elfscan *scan, uint64_t address);

#endif
