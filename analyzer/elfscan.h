/*
 * The code of an ELF file, section by section: its bytes, the functions in it, and what in it is data.
 *
 * Functions come from .symtab or .dynsym, of a separate debug file too, and, where these name none, from the
 * table of .eh_frame_hdr, which has where each function begins and survives stripping. Data among AArch64
 * code: by the mapping symbols $d and $x (ELF for the Arm 64-bit Architecture, 5.5.1) or, where the file has
 * none, the words that load instructions name as their literals. A file without section headers is read by
 * its executable segments. Nothing is executed; every offset is checked.
 *
 * "Address" is the one in the ELF file; in relocatable files, whose sections have none, the offset in the
 * section.
 */
#ifndef MTRACE_ELFSCAN_H
#define MTRACE_ELFSCAN_H

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/error.h"

/* Addresses from `start` to before `end`. */
struct elfscan_span {
	uint64_t start;
	uint64_t end;
};

struct elfscan_function {
	uint64_t start;
	uint64_t end;	  /* start: goes on to the next one */
	const char *name; /* as in the symbol table, owned by the Elf; NULL where it has none */
	unsigned rank;	  /* of several names for one place the lowest is taken */
};

/* A branch that the linker has yet to fill in. */
struct elfscan_call {
	uint64_t address;
	const char *name; /* the symbol called, owned by the Elf */
};

struct elfscan_section {
	const char *name;
	size_t index; /* in the section header table; 0 for a segment */
	uint64_t address;
	const uint8_t *bytes; /* owned by the Elf */
	uint64_t size_bytes;
	struct elfscan_function *functions; /* sorted, one a start */
	size_t functions_count, functions_capacity;
	struct elfscan_span *data; /* sorted, disjoint */
	size_t data_count, data_capacity;
	struct elfscan_call *calls; /* sorted; relocatable files only */
	size_t calls_count, calls_capacity;
};

enum elfscan_data {
	ELFSCAN_DATA_SYMBOLS,  /* data is known by mapping symbols */
	ELFSCAN_DATA_LITERALS, /* no such symbols: by load instructions, which need not name all of it */
};

struct elfscan {
	const char *machine; /* "aarch64", "x86-64", ..., "machine 1234" */
	bool aarch64;	     /* false: the rest is empty */
	bool relocatable;
	enum elfscan_data data;
	struct elfscan_section *sections;
	size_t count, capacity;
	char machine_text[24];
};

/*
 * Reads `elf`, which must outlive the result; `debug` is its separate debug file or NULL. False with `error`
 * set (ERROR_INPUT, `file`) where it is no ELF file, is damaged, or is for big-endian AArch64; free it all
 * the same, with elfscan_free().
 */
bool elfscan_read(struct elfscan *scan, Elf *elf, Elf *debug, const char *file, struct error *error);
void elfscan_free(struct elfscan *scan);

/* The function around an address, NULL where there is none. */
const struct elfscan_function *elfscan_function(const struct elfscan_section *section, uint64_t address);

/* The span of data around an address, NULL in code. */
const struct elfscan_span *elfscan_data_at(const struct elfscan_section *section, uint64_t address);

/* The word at an address of the section, which must hold it. */
static inline uint32_t elfscan_word(const struct elfscan_section *section, uint64_t address)
{
	const uint8_t *at = section->bytes + (address - section->address);
	return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* Whether a whole, aligned instruction lies there. */
static inline bool elfscan_holds(const struct elfscan_section *section, uint64_t address)
{
	uint64_t offset = address - section->address;
	return address % 4 == 0 && offset < section->size_bytes && section->size_bytes - offset >= 4;
}

#endif
