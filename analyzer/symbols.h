/*
 * Names for addresses, from the ELF files of the traced modules: function names by DWARF, .symtab or .dynsym,
 * with inlined functions where DWARF is there; C++ names demangled.
 *
 * Files are looked for at sysroot + path, and, where that one has another build-id, under its build-id in the
 * debug directory. A module whose file is missing or has another build-id is not used, and is named by
 * symbols_unmatched(). Nothing of a file is executed; only regular files are opened.
 */
#ifndef MTRACE_SYMBOLS_H
#define MTRACE_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/reader.h"

struct symbols;

struct symbol_options {
	const char *sysroot;   /* NULL: "/" */
	const char *debug_dir; /* NULL: /usr/lib/debug */
};

/* One function at an address; several where functions were inlined. Strings are owned by the symbols. */
struct symbol_frame {
	uint64_t address;
	const char *name;   /* function; "MODULE+0xOFFSET" where unknown, "0xADDRESS" outside all modules */
	const char *module; /* base name of the module; NULL outside all modules */
	const char *source_file; /* NULL where unknown */
	unsigned line;		 /* 0 where unknown */
	bool inlined;		 /* into the frame that follows */
};

#define SYMBOL_INLINE_MAX 16u

/* `trace` must outlive the result. NULL when out of memory. Options may be NULL; their strings must stay
 * valid. */
struct symbols *symbols_create(const struct trace *trace, const struct symbol_options *options);
void symbols_free(struct symbols *symbols);

/*
 * Names a return address (the call before it is meant: address - 1 is looked up), innermost inlined function
 * first. Returns the number of frames, at least 1. Results are cached; the pointer stays valid until
 * symbols_free().
 */
size_t symbols_resolve(struct symbols *symbols, uint64_t return_address, const struct symbol_frame **frames);

/*
 * The symbol that holds the data at `in_file`, an address of the ELF file of trace_modules()[module]. True:
 * *name is the caller's to free, *offset_bytes is how far behind it the data lies. False where there is none.
 */
bool symbols_data(struct symbols *symbols, size_t module, uint64_t in_file, char **name,
		  uint64_t *offset_bytes);

/* Names the shim's own module: its frames are no part of the program's stacks. */
bool symbols_is_shim(const struct symbols *symbols, uint64_t address);

/* A whole stack, innermost first, without the shim's own frames at both ends. Owned by the caller: free(). */
struct symbol_stack {
	const struct symbol_frame **frames; /* each points into the cache */
	size_t depth;
};
bool symbols_stack(struct symbols *symbols, const struct trace_stack *stack, struct symbol_stack *names);
void symbol_stack_free(struct symbol_stack *names);

/*
 * Modules that were needed so far and could not be used: "PATH: reason". *count is set; owned by the symbols.
 */
const char *const *symbols_unmatched(const struct symbols *symbols, size_t *count);

#endif
