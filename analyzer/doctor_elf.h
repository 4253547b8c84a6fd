/*
 * What doctor needs of an ELF file: its kind, and single symbols.
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

#endif
