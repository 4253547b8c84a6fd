/* The helpers of outline atomics: where they are, and who calls them. */
#ifndef MTRACE_ATOMICS_HELPERS_H
#define MTRACE_ATOMICS_HELPERS_H

#include "analyzer/elfscan.h"

/* Sorted, disjoint; each from its first instruction to behind its last `ret`. Zero-initialize, free `spans`.
 */
struct atomics_helpers {
	struct elfscan_span *spans;
	size_t count, capacity;
};

/* Adds the helpers in one section, found by their code. False when out of memory. */
bool atomics_helpers_find(struct atomics_helpers *helpers, const struct elfscan_section *section);

/* To be called once after the last of them was found. */
void atomics_helpers_sort(struct atomics_helpers *helpers);

/* The helper around an address; NULL where there is none. */
const struct elfscan_span *atomics_helper_at(const struct atomics_helpers *helpers, uint64_t address);

/*
 * Whether the word at `address` is a branch (B, BL) to the beginning of a helper, or to a linker's veneer of
 * one. In relocatable files the relocation's symbol decides: __aarch64_<operation><bytes>_<order>.
 */
bool atomics_calls_helper(const struct atomics_helpers *helpers, const struct elfscan *scan,
			  const struct elfscan_section *section, uint64_t address);

/* Whether a function is called as helpers are. */
bool atomics_helper_name(const char *name);

#endif
