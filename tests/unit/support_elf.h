/*
 * Writes small ELF files for AArch64: one section .text of given instruction words, with symbols, or without.
 * A file that cannot be written aborts the test.
 */
#ifndef MTRACE_SUPPORT_ELF_H
#define MTRACE_SUPPORT_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SUPPORT_TEXT_ADDRESS UINT64_C(0x10000)

struct support_symbol {
	const char *name;
	uint64_t value; /* as in the file: an address, or an offset where it is relocatable */
	uint64_t size_bytes;
	bool mapping; /* of no type, local */
};

struct support_call {
	uint64_t offset;
	size_t symbol; /* among `undefined` */
};

struct support_elf {
	const uint32_t *words;
	size_t words_count;
	const struct support_symbol *symbols;
	size_t symbols_count;
	const char *const *undefined; /* names; relocatable files */
	size_t undefined_count;
	const struct support_call *calls;
	size_t calls_count;
	const uint8_t *build_id; /* 20 bytes, or NULL */
	unsigned machine;	 /* 0: AArch64 */
	bool relocatable;	 /* else a shared object, .text at SUPPORT_TEXT_ADDRESS */
	bool big_endian;
	bool no_sections; /* an executable segment alone */
};

void support_elf_write(const char *path, const struct support_elf *file);

#endif
