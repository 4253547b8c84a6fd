/*
 * Census of the atomic instructions in one ELF file for AArch64, and what it says about the file.
 *
 * Three ways to make an atomic operation: an LSE instruction, an exclusive pair in a loop, or a call of a
 * helper
 * ("outline atomics", gcc's and clang's -moutline-atomics, the default since gcc 10.1) that has both and
 * takes one by a variable, __aarch64_have_lse_atomics, which start-up code sets from HWCAP_ATOMICS (bit 8 of
 * AT_HWCAP). Helpers are recognised by their code, so in stripped files too: (bti c,) adrp x16, ldrb w16, cbz
 * w16 to the exclusive pair, an LSE instruction, ret (libgcc's lse.S and compiler-rt alike).
 */
#ifndef MTRACE_ATOMICS_H
#define MTRACE_ATOMICS_H

#include "analyzer/atomics_word.h"
#include "analyzer/elfscan.h"

struct atomics_counts {
	uint64_t forms[ATOMIC_FORMS]; /* instructions; that of ATOMIC_NONE stays 0 */
	uint64_t outline_calls;	      /* branches to helpers */
};

uint64_t atomics_lse(const struct atomics_counts *counts);	 /* CAS, CASP, SWP, LD<op>, ST<op> */
uint64_t atomics_exclusive(const struct atomics_counts *counts); /* loads and stores of exclusive pairs */
bool atomics_any(const struct atomics_counts *counts);
void atomics_add(struct atomics_counts *sum, const struct atomics_counts *counts);

/* A section or a function in which there is something. */
struct atomics_place {
	char *name; /* owned; NULL: a function without one */
	char *section;
	uint64_t address;
	bool helper; /* of outline atomics */
	struct atomics_counts counts;
};

struct atomics_instruction {
	uint64_t address;
	uint32_t word;
	size_t section; /* among the sections of the census */
	size_t function;
};

enum atomics_verdict {
	ATOMICS_NONE,	    /* no atomics, or no code for AArch64 */
	ATOMICS_INLINE_LSE, /* LSE only */
	ATOMICS_NO_LSE,	    /* exclusive pairs only */
	ATOMICS_OUTLINE,    /* through helpers only, which choose at run time */
	ATOMICS_MIXED,	    /* several of these */
};

/* Stable names: "none", "inline-lse", "no-lse", "outline", "mixed". */
const char *atomics_verdict_name(enum atomics_verdict verdict);

struct atomics_census {
	char *machine;
	bool aarch64; /* false: counts mean nothing */
	enum elfscan_data data;
	enum atomics_verdict verdict;
	struct atomics_counts all;
	struct atomics_counts in_helpers;
	uint64_t helpers;
	uint64_t code_bytes; /* looked at */
	uint64_t data_bytes; /* left out as data */
	uint8_t build_id[32];
	size_t build_id_bytes;			    /* 0: has none */
	struct atomics_place *sections, *functions; /* in the order of addresses */
	size_t sections_count, sections_capacity, functions_count, functions_capacity;
	struct atomics_instruction *instructions; /* only where they were asked for */
	size_t instructions_count, instructions_capacity;
};

/*
 * Counts `elf`; `debug` (or NULL) is its separate debug file. `list`: keep each instruction. False with
 * `error` set as elfscan_read() does, or when out of memory; to be freed all the same, with
 * atomics_census_free().
 */
bool atomics_census(struct atomics_census *census, Elf *elf, Elf *debug, bool list, const char *file,
		    struct error *error);
void atomics_census_free(struct atomics_census *census);

/* What the counts say; `in_helpers` is the part of `all` that lies in helpers. */
enum atomics_verdict atomics_judge(const struct atomics_counts *all, const struct atomics_counts *in_helpers);

#endif
