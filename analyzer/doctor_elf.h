/*
 * What doctor needs of an ELF file: its kind, single symbols, and which atomic instructions its code has.
 * Files come from containers and are not trusted: they are read through libelf, never mapped.
 */
#ifndef MTRACE_DOCTOR_ELF_H
#define MTRACE_DOCTOR_ELF_H

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct doctor_elf {
	Elf *elf;
	int fd;
	unsigned machine; /* EM_X86_64, EM_AARCH64, ... */
	bool dynamic;	  /* has a dynamic section: can be preloaded into where it has an interpreter too */
	char interpreter[256];
	uint64_t load_address; /* of its first segment, rounded down to a page of 4 KiB */
	bool has_tls;
	uint64_t tls_address, tls_bytes, tls_align; /* of the thread-local segment */
};

/* Takes over `fd`. False where it is no 64-bit ELF file, which leaves nothing to close. */
bool doctor_elf_open(struct doctor_elf *image, int fd);
void doctor_elf_close(struct doctor_elf *image);

struct doctor_symbol {
	const char *name;
	bool found; /* defined there */
	uint64_t value;
};

/* One pass over the dynamic and the static symbol table. */
void doctor_elf_symbols(const struct doctor_elf *image, struct doctor_symbol *symbols, size_t count);

/*
 * Atomic instructions in executable sections of an AArch64 file. Encodings: Arm Architecture Reference Manual
 * for A-profile, C4.1 "Loads and Stores"; CASP lies inside the exclusives' pattern.
 */
struct doctor_atomics {
	uint64_t lse;	    /* CAS, CASP, SWP, LD<op> and ST<op> */
	uint64_t exclusive; /* LDXR, STXR and their kin */
};
struct doctor_atomics doctor_elf_atomics(const struct doctor_elf *image);

/* "inline-lse", "no-lse", "outline" (both: chosen at run time), "none". */
const char *doctor_atomics_verdict(const struct doctor_atomics *atomics);

#endif
